"""Memories coming in: one module a format, each found by the file's content.

base.Format tells what such a module has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from memories import audit
from memories.importers import jsonl, mcp_memory
from memories.importers.base import Document, Format, Report, Target, Unreadable
from memories.models import Workspace

FORMATS: Sequence[Format] = (jsonl, mcp_memory)
LOOKS = {
    b"\x1f\x8b": "it is compressed; unpack it first",
    b"PK\x03\x04": "it is a ZIP archive; unpack it first",
    b"SQLite format 3": "it is an SQLite database",
    b"\xff\xfe": "it is UTF-16; save it as UTF-8",
    b"\xfe\xff": "it is UTF-16; save it as UTF-8",
}
"""What files that are no text begin with, and what to say of them."""


def import_file(
    path: Path, target: Target, report: Report, *, now: datetime, on_bytes: Callable[[int], object] = lambda count: None
) -> None:
    """Import the file; what becomes of it stands in ``report``. Raises Unreadable for a file that is none of ours.

    The audit log tells of every run, also of one that was broken off; a dry run leaves no trace.
    """
    with Document(path, on_bytes=on_bytes) as document:
        format_ = detect(document)
        report.format = format_.DESCRIPTION
        report.interrupted = True
        try:
            format_.load(document, target, report, now=now)
            report.interrupted = False
        finally:
            if not target.dry_run:
                _record(format_, target, report)


def detect(document: Document) -> Format:
    """Return the format of the file. Raises Unreadable saying what the file looks like and what is allowed."""
    for format_ in FORMATS:
        if format_.recognises(document):
            return format_
    allowed = "".join(f"\n  - {format_.DESCRIPTION}" for format_ in FORMATS)
    raise Unreadable(f"{document.path} cannot be imported: {look_of(document)}. Allowed are:{allowed}")


def look_of(document: Document) -> str:
    """Return what an unknown file looks like."""
    start = document.start
    if not start.strip():
        return "it is empty"
    for magic, look in LOOKS.items():
        if start.startswith(magic):
            return look
    if document.first_values:
        first = document.first_values[0]
        if isinstance(first, dict):
            names = ", ".join(sorted(first)[:10])
            return f"its first JSON line is an object with the fields {names or '(none)'}"[:500]
        return f"its first JSON line is {'a list' if isinstance(first, list) else 'no object'}"
    return "none of its first lines is JSON"


def _record(format_: Format, target: Target, report: Report) -> None:
    counts = report.counts
    said = " ".join(f"{name}={count}" for name, count in counts.items())
    audit.record(
        "memory.import",
        actor=target.actor.name,
        workspace_id=Workspace.objects.filter(name=target.workspace).values_list("pk", flat=True).first(),
        result=f"format={format_.NAME} interrupted={str(report.interrupted).lower()} {said}",
        counts=counts,
        request_id=target.actor.request_id,
    )
