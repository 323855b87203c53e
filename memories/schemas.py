"""What comes in and goes out: the fields of a request with their limits, and a memory as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from memories.models import CONTENT_MAX, NAME_MAX, TAG_MAX, Memory

TAGS_MAX = 50
METADATA_MAX = 16_384
BATCH_MAX = 1000
LARGEST_ID = 2**63 - 1

# The choices of memories.models once more, since a type must be spelled out; a test keeps them equal.
KindName = Literal["fact", "decision", "observation", "task", "contact", "relationship", "world_event", "other"]
SourceName = Literal["owner", "agent", "tool", "import", "group_chat", "stranger", "web"]
ScopeName = Literal["agent", "shared"]
StatusName = Literal["active", "merged", "archived", "erased"]


def aware_time(value: Any) -> Any:
    """Return the moment in UTC.

    Only ISO 8601 with a time zone is taken: a naive time means another moment to each reader.
    """
    if value is None or (isinstance(value, datetime) and value.tzinfo is not None):
        return value
    if not isinstance(value, str):
        raise PydanticCustomError("time", "must be a text such as 2026-03-01T09:00:00Z")
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise PydanticCustomError("time", "must be an ISO 8601 time such as 2026-03-01T09:00:00Z") from None
    if moment.tzinfo is None:
        raise PydanticCustomError(
            "time", "must name its time zone, as in 2026-03-01T09:00:00Z or ...+02:00; a naive time is refused"
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("time", "must lie between the years 1 and 9999 in UTC") from None


def no_controls(value: str) -> str:
    """Return the text. Raises where it holds line breaks or other control characters."""
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in value):
        raise PydanticCustomError("controls", "must not contain line breaks or other control characters")
    return value


def not_blank(value: str) -> str:
    """Return the text. Raises where it is white space only."""
    if not value.strip():
        raise PydanticCustomError("blank", "must not be blank")
    return value


def _bounded_json(value: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(value, ensure_ascii=False)) > METADATA_MAX:
        raise PydanticCustomError("too_long", "must be at most 16384 characters of JSON")
    return value


def stripped(value: Any) -> Any:
    """Return a text without white space at its ends, anything else as it is."""
    return value.strip() if isinstance(value, str) else value


def unset_is_not_null(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """Return a check that refuses null for these fields, which are left out to keep them."""

    def check(data: Any) -> Any:
        if isinstance(data, dict):
            for name in names:
                if name in data and data[name] is None:
                    raise PydanticCustomError(
                        "null", "{name} must not be null: leave it out to keep it as it is", {"name": name}
                    )
        return data

    return check


Time = Annotated[datetime, BeforeValidator(aware_time, json_schema_input_type=datetime)]
Content = Annotated[str, Strict(), Field(min_length=1, max_length=CONTENT_MAX), AfterValidator(not_blank)]
Name = Annotated[str, Strict(), BeforeValidator(stripped), Field(max_length=NAME_MAX), AfterValidator(no_controls)]
Key = Annotated[Name, Field(min_length=1)]
Tag = Annotated[
    str, Strict(), BeforeValidator(stripped), Field(min_length=1, max_length=TAG_MAX), AfterValidator(no_controls)
]
Tags = Annotated[list[Tag], Field(max_length=TAGS_MAX), AfterValidator(lambda tags: list(dict.fromkeys(tags)))]
Importance = Annotated[int, Strict(), Field(ge=1, le=5)]
Flag = Annotated[bool, Strict()]
Metadata = Annotated[dict[str, Any], AfterValidator(_bounded_json)]
MessageId = Annotated[int, Strict(), Field(ge=1, le=LARGEST_ID)]
Reason = Annotated[str, Strict(), BeforeValidator(stripped), Field(max_length=NAME_MAX), AfterValidator(no_controls)]


class Body(Schema):
    """A request body: unknown fields are refused by name."""

    model_config = ConfigDict(extra="forbid")


class MemoryIn(Body):
    """A memory to remember. Under a key only the fields sent are changed."""

    content: Content
    subject: Name = ""
    key: Key | None = None
    kind: KindName = "observation"
    tags: Tags = []
    importance: Importance = 3
    scope: ScopeName | None = Field(None, description="Default: agent for an agent's token, shared for others.")
    source: SourceName | None = Field(
        None, description="Default: agent, or the best that the token may claim below it."
    )
    expires_at: Time | None = None
    pinned: Flag = False
    metadata: Metadata = {}
    message_id: MessageId | None = Field(None, description="The message that it was taken from.")

    @property
    def sent(self) -> set[str]:
        """Return the names of the fields that the request carried."""
        return self.model_fields_set


class MemoryPatch(Body):
    """Fields of a memory to revise; what is left out stays."""

    content: Content | None = None
    subject: Name | None = None
    key: Key | None = None
    kind: KindName | None = None
    tags: Tags | None = None
    importance: Importance | None = None
    scope: ScopeName | None = None
    expires_at: Time | None = None
    pinned: Flag | None = None
    metadata: Metadata | None = None
    reason: Reason = ""

    _not_null = model_validator(mode="before")(
        unset_is_not_null(("content", "subject", "kind", "tags", "importance", "scope", "pinned", "metadata", "reason"))
    )

    @property
    def changes(self) -> dict[str, Any]:
        """Return the fields sent with their new values."""
        return {name: getattr(self, name) for name in self.model_fields_set if name != "reason"}


class BatchIn(Body):
    """Memories to remember one by one; each is checked on its own, so that a bad one does not lose the others."""

    memories: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=BATCH_MAX)]


class RestoreIn(Body):
    """Which revision to go back to; without one an archived memory becomes active again."""

    revision: Annotated[int, Strict(), Field(ge=1, le=2**31 - 1)] | None = None
    reason: Reason = ""


class EraseIn(Body):
    """Why the text must go. The reason is kept, so it must not repeat what is erased."""

    reason: Annotated[Reason, Field(min_length=1)]


MEMORY_COLUMNS = (
    "id",
    "content",
    "subject",
    "key",
    "kind",
    "tags",
    "importance",
    "scope",
    "source",
    "status",
    "pinned",
    "expires_at",
    "metadata",
    "seen_count",
    "last_seen_at",
    "revision",
    "created_at",
    "updated_at",
    "merged_into_id",
    "merged_at",
    "archived_at",
    "archive_reason",
    "kept_beside_id",
    "message_id",
)
"""Columns of a memory that its JSON shows, as they are named in the database."""


def memory_json(memory: Memory, *, created_by: str) -> dict[str, Any]:
    """Return the memory as the API shows it."""
    row = {name: getattr(memory, name) for name in MEMORY_COLUMNS}
    return row_json(row | {"created_by": created_by})


def row_json(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of MEMORY_COLUMNS and ``created_by`` as the API shows it; the row itself is changed."""
    row["merged_into"] = row.pop("merged_into_id")
    row["kept_beside"] = row.pop("kept_beside_id")
    return row


class MemoryOut(Schema):
    """A memory as the API shows it."""

    id: int
    content: str
    subject: str
    key: str | None
    kind: KindName
    tags: list[str]
    importance: int
    scope: ScopeName
    source: SourceName
    status: StatusName
    pinned: bool
    expires_at: datetime | None
    metadata: dict[str, Any]
    created_by: str
    seen_count: int
    last_seen_at: datetime
    revision: int
    created_at: datetime
    updated_at: datetime
    merged_into: int | None
    merged_at: datetime | None
    archived_at: datetime | None
    archive_reason: str
    kept_beside: int | None
    message_id: int | None


class TakenIn(Schema):
    """A memory that was merged into another one, and the message it was taken from."""

    id: int
    message_id: int | None


class OneMemory(MemoryOut):
    """A memory with where it went, one after the other, and what it took in."""

    merged_chain: list[int]
    merged_from: list[TakenIn]
    merged_from_total: int


class RecalledMemory(MemoryOut):
    """A memory in a recall; where its content was cut, ``content_chars`` tells its full length."""

    cut: bool
    content_chars: int


class ReceiptOut(Schema):
    """What became of a write."""

    memory: MemoryOut
    action: Literal["created", "updated", "unchanged", "kept_beside", "archived", "restored"]
    revision: int


class RecallOut(Schema):
    """Memories in the order of recall, as many as fit, and how many there are."""

    memories: list[RecalledMemory]
    total: int
    returned: int
    chars: int
    truncated: bool


class BriefOut(Schema):
    """The overview as text, how many memories it shows and how many there are."""

    brief: str
    total: int
    returned: int
    chars: int
    truncated: bool


class MemoryPage(Schema):
    """Memories, newest first; ``next_cursor`` is null on the last page."""

    memories: list[MemoryOut]
    next_cursor: str | None


class RevisionOut(Schema):
    """One change: the changed fields before and after."""

    revision: int
    verb: str
    before: dict[str, Any]
    after: dict[str, Any]
    actor: str
    reason: str
    request_id: str
    at: datetime


class HistoryOut(Schema):
    """Revisions of a memory, oldest first."""

    revisions: list[RevisionOut]
    next_cursor: str | None


class ErasedOut(Schema):
    """What was erased, and memories merged into it, which keep their own text."""

    id: int
    status: Literal["erased"]
    revision: int
    merged_from: list[int]


class StatsOut(Schema):
    """Visible memories counted: active ones by group, the largest groups first."""

    group: str
    by_status: dict[str, int]
    groups: list[dict[str, Any]]
    truncated: bool


class BatchReceipt(Schema):
    """What became of one item of a batch: the receipt's fields, or an error."""

    index: int
    memory: MemoryOut | None = None
    action: str | None = None
    revision: int | None = None
    error: dict[str, Any] | None = None


class BatchOut(Schema):
    receipts: list[BatchReceipt]


class ErrorDetail(Schema):
    code: str
    message: str
    field: str | None = None


class ErrorOut(Schema):
    """Every error of the API."""

    error: ErrorDetail
