"""Files to import, and importing them without the command around it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memories.access import Actor
from memories.importers import import_file
from memories.importers.base import Report, Target

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def write_lines(path: Path, *lines: Any) -> Path:
    """Return the path after writing one line each: bytes as they are, anything else as JSON."""
    raw = [line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    return path


def target(**options: Any) -> Target:
    """Return where things go in most tests."""
    options = {"workspace": "home", "agent": "imported", "scope": "agent", "actor": Actor("test")} | options
    return Target(**options)


def load(path: Path, **options: Any) -> Report:
    """Return the report of importing the file."""
    report = Report()
    import_file(path, target(**options), report, now=NOW)
    return report


def reasons(report: Report) -> dict[str, tuple[int, list[int]]]:
    """Return why things were skipped: how many, and on which lines."""
    return {reason: (tally.count, tally.lines) for reason, tally in report.skipped.items()}


def entity(name: str, *observations: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "entity", "name": name, "entityType": "person", "observations": list(observations)} | fields


def relation(start: str, kind: str, end: str, **fields: Any) -> dict[str, Any]:
    return {"type": "relation", "from": start, "to": end, "relationType": kind} | fields
