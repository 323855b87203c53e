"""The format of exported memories, known to memories/exporting.py and memories/importers/jsonl.py.

The first line is ``{"format": "memoryweb", "version": 1, "memories": <how many>}``, every other one a memory. Lines,
fields and values have a fixed order, so that the export of an imported export has the same bytes.
docs/IMPORT.md describes each field.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from memories.plain_text import clean_text

FORMAT = "memoryweb"
VERSION = 1
LINE_MAX = 128 * 2**20
"""Bytes of the longest line that is read; a longer one is skipped and reported."""
ORIGIN = "memoryweb"
"""``ImportedItem.source`` of a memory that came from an export; its external id is the memory's origin."""
WHOLE_WORKSPACE = "*"
"""``ImportedItem.partition`` of an origin: a memory keeps it when its scope changes."""
REFERENCES = {"merged_into_id": "merged_into", "kept_beside_id": "kept_beside"}
"""Fields that name another memory, by the name under which they hold its number in the file."""
LEFT_OUT = frozenset({"message_id"})
"""Fields that name what a file of memories does not bring."""
ROW = {
    "agent": "agent__name",
    "scope": "scope",
    "status": "status",
    "subject": "subject",
    "key": "key",
    "kind": "kind",
    "content": "content",
    "tags": "tags",
    "importance": "importance",
    "source": "source",
    "pinned": "pinned",
    "expires_at": "expires_at",
    "metadata": "metadata",
    "merged_into": "merged_into_id",
    "merged_at": "merged_at",
    "archived_at": "archived_at",
    "archive_reason": "archive_reason",
    "kept_beside": "kept_beside_id",
    "seen_count": "seen_count",
    "last_seen_at": "last_seen_at",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "revision": "revision",
}
"""Fields of a line in their order, and the column that each one shows."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ORIGIN = re.compile(r"([0-9]{1,18})\.(-?[0-9]{1,18})", re.ASCII)


def origin_of(memory_id: int, created_at: datetime) -> str:
    """Return what names a memory that was first written in this store, here and in every copy of it."""
    return f"{memory_id}.{(created_at - _EPOCH) // timedelta(microseconds=1)}"


def read_origin(origin: str) -> tuple[int, datetime] | None:
    """Return the id and the time that an origin is made of, or None for one of another make."""
    match = _ORIGIN.fullmatch(origin)
    try:
        return (int(match[1]), _EPOCH + timedelta(microseconds=int(match[2]))) if match else None
    except OverflowError:
        return None


def plain(value: Any) -> Any:
    """Return the value as a line shows it: times in UTC, the names in an object sorted."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, dict):
        return {name: plain(part) for name, part in sorted(value.items())}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value


def to_line(value: dict[str, Any]) -> bytes:
    """Return the object as one line of JSON in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return clean_text(text).encode() + b"\n"
