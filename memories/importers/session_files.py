"""Transcripts coming in: one module a format, each found by the content of a file, from one file or a whole directory.

session_loading.SessionFormat tells what such a module has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memories import audit
from memories.importers import claude_code, hermes, look_of, openai_messages
from memories.importers.base import SHOWN, Document, Target, Unreadable
from memories.importers.session_loading import SessionFormat, SessionLoader, SessionReport
from memories.models import Workspace

FORMATS: Sequence[SessionFormat] = (hermes, claude_code, openai_messages)
_BESIDE = ("-wal", "-shm", "-journal")
"""Ends of files that belong to an SQLite file."""


def import_sessions(
    path: Path,
    target: Target,
    report: SessionReport,
    *,
    now: datetime,
    on_bytes: Callable[[int], object] = lambda count: None,
) -> None:
    """Import the file, or every transcript in the directory; what becomes of them stands in ``report``.

    Raises Unreadable where there is none. The audit log tells of every run, also of one that was broken off; a dry run
    leaves no trace.
    """
    several = path.is_dir()
    loader = SessionLoader(target, report, now=now)
    report.interrupted = True
    try:
        for file in files_of(path):
            try:
                _import_file(file, loader, name=str(file.relative_to(path)) if several else "", on_bytes=on_bytes)
            except Unreadable as error:
                if not several:
                    raise
                report.other_files += 1
                if len(report.others) < SHOWN:
                    report.others.append(error.message.partition(". Allowed are:")[0])
                on_bytes(size_of(file))
        if not report.files:
            raise Unreadable(f"{path} holds no transcript. Allowed are:{_allowed()}")
        loader.finish()
        report.interrupted = False
    finally:
        if report.files and not target.dry_run:
            _record(target, report)


def files_of(path: Path) -> Iterator[Path]:
    """Yield the file, or the directory's files: sessions before those of their sub-agents, links not followed."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names, key=lambda name: (name.startswith("agent-"), name)):
            file = Path(folder, name)
            if file.is_file() and not file.is_symlink() and not name.endswith(_BESIDE):
                yield file


def size_of(path: Path) -> int:
    """Return the bytes of the file, or of all that a directory's import reads."""
    total = 0
    for file in files_of(path):
        try:
            total += file.stat().st_size
        except OSError:
            continue
    return total


def detect(document: Document) -> SessionFormat:
    """Return the format of the file. Raises Unreadable saying what the file looks like and what is allowed."""
    for format_ in FORMATS:
        if format_.recognises(document):
            return format_
    raise Unreadable(f"{document.path} cannot be imported: {look_of(document)}. Allowed are:{_allowed()}")


def _import_file(file: Path, loader: SessionLoader, *, name: str, on_bytes: Callable[[int], object]) -> None:
    report = loader.report
    with Document(file, on_bytes=on_bytes) as document:
        format_ = detect(document)
        report.files += 1
        report.formats[format_.NAME] += 1
        report.file_name = name
        report.format = format_.DESCRIPTION
        loader.begin_file(format_.NAME, time=datetime.fromtimestamp(file.stat().st_mtime, UTC))
        format_.load(document, loader)
        loader.end_file()


def _allowed() -> str:
    return "".join(f"\n  - {format_.DESCRIPTION}" for format_ in FORMATS)


def _record(target: Target, report: SessionReport) -> None:
    counts = report.counts
    said = " ".join(f"{name}={count}" for name, count in counts.items())
    audit.record(
        "session.import",
        actor=target.actor.name,
        workspace_id=Workspace.objects.filter(name=target.workspace).values_list("pk", flat=True).first(),
        result=f"format={','.join(report.formats)} interrupted={str(report.interrupted).lower()} {said}",
        counts=counts,
        request_id=target.actor.request_id,
    )
