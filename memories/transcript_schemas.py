"""What goes in and out of transcripts: fields of requests with their limits, sessions and messages as JSON."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import AfterValidator, BeforeValidator, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from memories.models import LABEL_MAX, NAME_MAX, Message, Session
from memories.schemas import (
    LARGEST_ID,
    Body,
    Flag,
    Metadata,
    ScopeName,
    SourceName,
    Time,
    no_controls,
    not_blank,
    stripped,
    unset_is_not_null,
)

MESSAGES_MAX = 1000
MESSAGE_MAX = 1_000_000
"""Characters of one message."""
PARTS_MAX = 1000


def _no_address_marks(value: str) -> str:
    if any(mark in value for mark in "/?#"):
        raise PydanticCustomError("address", "must not contain / ? or #")
    return value


def _as_role(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _plain_word(value: str) -> str:
    if re.fullmatch(r"[a-z][a-z0-9_.-]*", value) is None:
        raise PydanticCustomError("role", "must be a word such as user, assistant, system or tool")
    return value


def _empty_for_null(value: Any) -> Any:
    return "" if value is None else stripped(value)


SessionId = Annotated[
    str,
    Strict(),
    Field(min_length=1, max_length=NAME_MAX),
    AfterValidator(not_blank),
    AfterValidator(no_controls),
    AfterValidator(_no_address_marks),
]
MessageName = Annotated[
    str, Strict(), Field(min_length=1, max_length=NAME_MAX), AfterValidator(not_blank), AfterValidator(no_controls)
]
Label = Annotated[
    str, Strict(), BeforeValidator(stripped), Field(min_length=1, max_length=LABEL_MAX), AfterValidator(no_controls)
]
Role = Annotated[
    str,
    Strict(),
    BeforeValidator(_as_role),
    Field(min_length=1, max_length=LABEL_MAX),
    AfterValidator(_plain_word),
]
DisplayKind = Annotated[
    str,
    Strict(),
    BeforeValidator(_empty_for_null, json_schema_input_type=str | None),
    Field(max_length=LABEL_MAX),
    AfterValidator(no_controls),
]
Absent = Annotated[
    str,
    Strict(),
    BeforeValidator(_empty_for_null, json_schema_input_type=str | None),
    Field(max_length=NAME_MAX),
    AfterValidator(no_controls),
]
"""A name that may be null, which means that there is none."""


def _content(value: Any) -> Any:
    """Return the content. Raises for anything but a text, a list of parts (objects or texts) or null."""
    if isinstance(value, str):
        return _bounded(value)
    if isinstance(value, list):
        if len(value) > PARTS_MAX:
            raise PydanticCustomError("too_long", "must have at most {most} parts", {"most": PARTS_MAX})
        if all(isinstance(part, str | dict) for part in value):
            return value
    elif value is None:
        return value
    raise PydanticCustomError("content", "must be a text or a list of parts, which are objects or texts")


def _calls(value: Any) -> Any:
    """Return the calls of tools. Raises for anything but a list, an object, JSON text or null."""
    if isinstance(value, str):
        return _bounded(value)
    if value is not None and not isinstance(value, list | dict):
        raise PydanticCustomError("calls", "must be a list of calls, one call, or their JSON as a text")
    return value


def _bounded(value: str) -> str:
    if len(value) > MESSAGE_MAX:
        raise PydanticCustomError("too_long", "must have at most {most} characters", {"most": MESSAGE_MAX})
    return value


def _reference(value: Any) -> Any:
    """Return what names a message: a number is its id, a text its external id."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST_ID):
        return value
    if isinstance(value, str) and 0 < len(value) <= NAME_MAX:
        return value
    raise PydanticCustomError("message", "must be the id of a message (a number) or its external_id (a text)")


Content = Annotated[Any, BeforeValidator(_content, json_schema_input_type=str | list[str | dict[str, Any]] | None)]
Calls = Annotated[Any, BeforeValidator(_calls, json_schema_input_type=list[Any] | dict[str, Any] | str | None)]
MessageRef = Annotated[Any, BeforeValidator(_reference, json_schema_input_type=int | str | None)]
Summary = Annotated[str, Strict(), Field(min_length=1, max_length=MESSAGE_MAX), AfterValidator(not_blank)]


class SessionIn(Body):
    """A session; of one that is there already only the fields sent are changed."""

    source: Label | None = Field(None, description="Where it takes place; required for a new session.")
    model: Absent = ""
    title: Absent = ""
    scope: ScopeName | None = Field(None, description="Default: agent. A session keeps its scope.")
    parent: SessionId | None = Field(None, description="The session that it continues, or works for.")
    started_at: Time | None = Field(None, description="Default: now.")
    ended_at: Time | None = None
    archived: Flag = False
    metadata: Metadata = {}

    _not_null = model_validator(mode="before")(
        unset_is_not_null(("source", "scope", "started_at", "archived", "metadata"))
    )

    @property
    def changes(self) -> dict[str, Any]:
        """Return the fields sent, apart from those that name sessions."""
        return {name: getattr(self, name) for name in self.model_fields_set - {"scope", "parent"}}


class MessageIn(Body):
    """A message to append."""

    external_id: MessageName | None = Field(None, description="Your own name for it, once in its session.")
    role: Role
    content: Content = Field(None, description="A text, or a list of parts.")
    tool_name: Absent = ""
    tool_calls: Calls = None
    timestamp: Time | None = Field(None, description="Default: now.")
    display_kind: DisplayKind = Field("", description="What kind of bookkeeping it is, if it is no real message.")
    trust: SourceName | None = Field(None, description="Where it comes from; by default its role decides.")

    @model_validator(mode="after")
    def _says_something(self) -> MessageIn:
        if "content" not in self.model_fields_set and self.tool_calls is None:
            raise PydanticCustomError("no_content", "content is required, unless there are tool_calls")
        return self


class MessagesIn(Body):
    """Messages to append in their order, all or none."""

    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=MESSAGES_MAX)]


class RewindIn(Body):
    """The message to go back to, or ``undo`` to take the last rewind back."""

    after_message: MessageRef = None
    undo: Flag = False

    @model_validator(mode="after")
    def _one_of_them(self) -> RewindIn:
        _exactly_one("after_message", self.after_message, self.undo)
        return self


class CompactIn(Body):
    """The message through which all is summarised away, or ``undo`` to take the last compaction back."""

    through_message: MessageRef = None
    summary: Summary | None = None
    undo: Flag = False

    @model_validator(mode="after")
    def _one_of_them(self) -> CompactIn:
        _exactly_one("through_message", self.through_message, self.undo)
        if self.undo and self.summary is not None:
            raise PydanticCustomError("undo", "undo takes no summary")
        return self


def _exactly_one(name: str, message: int | str | None, undo: bool) -> None:
    if (message is None) != undo:
        raise PydanticCustomError("undo", "send {name}, or undo: true", {"name": name})


SESSION_COLUMNS = (
    "id",
    "external_id",
    "source",
    "model",
    "title",
    "scope",
    "started_at",
    "ended_at",
    "last_active_at",
    "archived",
    "metadata",
    "message_count",
    "created_at",
    "updated_at",
)
"""Columns of a session that its JSON shows, beside its parent and agent."""
MESSAGE_COLUMNS = (
    "id",
    "external_id",
    "role",
    "content",
    "parts",
    "tool_name",
    "tool_calls",
    "timestamp",
    "active",
    "compacted",
    "display_kind",
    "trust",
)
"""Columns of a message that its JSON shows."""


def session_json(session: Session, *, parent: str | None, created_by: str) -> dict[str, Any]:
    """Return the session as the API shows it. ``parent`` is the parent's own name, None where it is not to be seen."""
    return {name: getattr(session, name) for name in SESSION_COLUMNS} | {"parent": parent, "created_by": created_by}


def message_json(message: Message) -> dict[str, Any]:
    """Return the message as the API shows it."""
    return {name: getattr(message, name) for name in MESSAGE_COLUMNS}


class SessionOut(Schema):
    """A session as the API shows it; ``external_id`` is the caller's own name for it."""

    id: int
    external_id: str
    source: str
    model: str
    title: str
    scope: ScopeName
    parent: str | None
    created_by: str
    started_at: datetime
    ended_at: datetime | None
    last_active_at: datetime
    archived: bool
    metadata: dict[str, Any]
    message_count: int
    created_at: datetime
    updated_at: datetime


class FoundSession(SessionOut):
    """A session of a list. With q: how it was found, and by which session's id (its own or an ancestor's)."""

    match: Literal["exact", "prefix", "substring"] | None = None
    matched: str | None = None


class SessionReceipt(Schema):
    session: SessionOut
    action: Literal["created", "updated", "unchanged"]


class SessionPage(Schema):
    """Sessions, most recently active first; ``truncated`` tells that more ids matched than are looked through."""

    sessions: list[FoundSession]
    next_cursor: str | None
    truncated: bool = False


class MessageOut(Schema):
    """A message. ``active`` is live; not active but ``compacted`` was summarised away."""

    id: int
    external_id: str | None
    role: str
    content: str
    parts: list[Any] | None
    tool_name: str
    tool_calls: Any
    timestamp: datetime
    active: bool
    compacted: bool
    display_kind: str
    trust: SourceName


class MessageReceipt(Schema):
    """What became of one message; ``unchanged`` was there already."""

    id: int
    external_id: str | None
    action: Literal["created", "unchanged"]
    timestamp: datetime


class AppendOut(Schema):
    """A receipt for each message, in their order."""

    receipts: list[MessageReceipt]


class MessagePage(Schema):
    """Messages in their order; ``next_cursor`` is null on the last page, else what to send as ``after``."""

    messages: list[MessageOut]
    next_cursor: str | None


class AroundOut(Schema):
    """Messages around one, how many of them stand before and after it, and how the session begins and ends."""

    window: list[MessageOut]
    before: int
    after: int
    bookend_start: list[MessageOut]
    bookend_end: list[MessageOut]


class UserMessage(Schema):
    """The beginning of something that the user said, on one line."""

    id: int
    external_id: str | None
    timestamp: datetime
    preview: str


class UserMessages(Schema):
    """What the user said last, newest first."""

    messages: list[UserMessage]


class MovedOut(Schema):
    """What became of a session's messages: how many changed their state, and the summary that stands for them."""

    action: Literal["rewound", "compacted", "restored", "unchanged"]
    messages: int
    summary_id: int | None = None
    session: SessionOut
