"""Transcripts to import, and importing them without the command around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memories.importers.session_files import import_sessions
from memories.importers.session_loading import SessionReport
from memories.models import Message, Session
from tests.memories.importers.files import NOW, target


def load_sessions(path: Path, **options: Any) -> SessionReport:
    """Return the report of importing the file or directory."""
    report = SessionReport()
    import_sessions(path, target(**options), report, now=NOW)
    return report


def session(external_id: str) -> Session:
    return Session.objects.get(external_id=external_id)


def said(external_id: str) -> list[tuple[str, str, str]]:
    """Return role, kind and text of the session's messages in their order."""
    rows = Message.objects.filter(session__external_id=external_id).order_by("timestamp", "id")
    return list(rows.values_list("role", "display_kind", "content"))


def claude(kind: str, content: Any, uuid: str | None, *, second: int = 0, **fields: Any) -> dict[str, Any]:
    """Return a line of Claude Code's."""
    line = {
        "type": kind,
        "sessionId": "walk-1",
        "timestamp": f"2026-04-01T09:{second // 60:02}:{second % 60:02}.000Z",
        "parentUuid": None,
        "isSidechain": False,
        "cwd": "/home/ilse/garden",
        "version": "2.1.0",
        "message": {"role": kind, "content": content},
    }
    if uuid is not None:
        line["uuid"] = uuid
    return line | fields
