"""Reading transcripts: a session by name, its messages page by page and around one of them.

Every read seeks by (session, timestamp, id), so that none takes longer in a longer session. Rewound messages are left
out everywhere. A message belongs to whom its session belongs to: a session that came through ``visible_to`` opens its
messages, and no other way leads to them here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Left

from memories import prepared
from memories.access import Principal, visible_to
from memories.errors import NotFound
from memories.models import SHARED_PARTITION, Message, Session
from memories.plain_text import cut, one_space
from memories.schemas import LARGEST_ID
from memories.transcript_schemas import MESSAGE_COLUMNS, message_json

PAGE_CHARS = 4_000_000
"""Characters of content after which a page of messages ends early."""
PREVIEW = 80
"""Characters of a user message's preview."""
BEGINNING = 1_000
"""Characters of a message that a preview is made from, unless they are white space."""
SAID = ("user", "assistant")
"""Roles whose messages show how a session begins and ends."""
SHOWN = Q(active=True) | Q(compacted=True)
"""Messages that are not rewound."""
# In the model's order, as from_db wants them.
MESSAGE_FIELDS = [
    field.attname for field in Message._meta.concrete_fields if field.attname in {*MESSAGE_COLUMNS, "session_id"}
]
SESSION_FIELDS = [field.attname for field in Session._meta.concrete_fields]


def sessions_named(principal: Principal, external_id: str) -> list[Session]:
    """Return the sessions of this name that the principal may see, the one that the name means first.

    That is its own, else the shared one; who has none of its own but sees those of others gets what was active last.
    """
    partitions = principal.partitions
    values: dict[str, prepared.Value] = {"workspace": principal.workspace_id, "name": external_id}
    values |= {f"partition {place}": partition for place, partition in enumerate(partitions or ())}

    def build(values: dict[str, Any]) -> QuerySet:
        rows = visible_to(replace(principal, workspace_id=values["workspace"], private="all"), Session)
        if partitions is not None:
            rows = rows.filter(partition__in=[values[f"partition {place}"] for place in range(len(partitions))])
        found: QuerySet = rows.filter(external_id=values["name"]).values(*SESSION_FIELDS)
        return found

    shape = f"session in {len(partitions) if partitions is not None else 'all'}"
    rows = prepared.rows(shape, values, build)
    found = [Session.from_db("default", list(row), list(row.values())) for row in rows]
    wanted = principal.own_partition or SHARED_PARTITION
    return sorted(found, key=lambda session: (session.partition == wanted, session.last_active_at), reverse=True)


def find_session(principal: Principal, external_id: str) -> Session:
    """Return the session that the name means. Raises NotFound, also for sessions that the principal may not see."""
    found = sessions_named(principal, external_id)
    if not found:
        raise NotFound(f"there is no session {external_id!r}")
    return found[0]


def find_message(session: Session, reference: int | str, *, field: str | None = None) -> Message:
    """Return the session's message of this id (a number) or external id (a text), of any state. Raises NotFound."""
    found = _message_named(session, reference)
    if found is None:
        raise NotFound(f"session {session.external_id!r} has no message {reference!r}", field=field)
    return found


def find_addressed(session: Session, address: str, *, field: str | None = None) -> Message:
    """Return the message that a part of an address names: by its id if it is one of the session's, else as external id.

    Raises NotFound.
    """
    number = int(address) if address.isascii() and address.isdigit() and len(address) < 20 else 0
    found = _message_named(session, number) if 0 < number <= LARGEST_ID else None
    return found or find_message(session, address, field=field)


def _message_named(session: Session, reference: int | str) -> Message | None:
    column = "pk" if isinstance(reference, int) else "external_id"

    def build(values: dict[str, Any]) -> QuerySet:
        rows = Message.objects.filter(session_id=values["session"], **{column: values["name"]})
        found: QuerySet = rows.values(*MESSAGE_FIELDS)
        return found

    rows = prepared.rows(f"message by {column}", {"session": session.pk, "name": reference}, build)
    return next(map(_as_message, rows), None)


def _as_message(row: dict[str, Any]) -> Message:
    return Message.from_db("default", list(row), list(row.values()))


def visible_parent(principal: Principal, session: Session) -> str | None:
    """Return the parent's own name, or None where there is none that the principal may see."""
    if session.parent_id is None:
        return None
    return visible_to(principal, Session).filter(pk=session.parent_id).values_list("external_id", flat=True).first()


# Messages in their order


FORWARDS, BACKWARDS = ("timestamp", "id"), ("-timestamp", "-id")
LIMITS = (8, 32, 128, 512)
"""Most rows that a statement gives; few sizes, so that few are prepared."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A way through the messages of a session that are not rewound, in order or backwards.

    ``roles`` are the only ones met (none: all are); ``said`` leaves out bookkeeping and what has no text, ``rewound``
    lets rewound ones in.
    """

    session: Session
    order: tuple[str, str] = FORWARDS
    roles: Sequence[str] = ()
    said: bool = False
    rewound: bool = False

    def take(self, limit: int, *, behind: Message | None = None) -> Iterator[Message]:
        """Yield up to ``limit`` messages from the beginning, or behind one of them; read as they are asked for.

        Behind a message are two seeks, one among those of the same moment and one beyond: as one, the database
        would read the session from its beginning.
        """
        if behind is None:
            return self._read("all", {}, limit)
        place: dict[str, prepared.Value] = {"timestamp": behind.timestamp, "id": behind.pk}
        same = self._read("same moment", place, limit)
        return islice(chain(same, self._read("beyond", {"timestamp": behind.timestamp}, limit)), limit)

    def _read(self, stretch: str, place: dict[str, prepared.Value], limit: int) -> Iterator[Message]:
        if not limit:
            return
        most = next(size for size in LIMITS if size >= limit)
        values: dict[str, prepared.Value] = {"session": self.session.pk, **place}
        values |= {f"role {number}": role for number, role in enumerate(self.roles)}
        shape = ("messages", stretch, self.order, len(self.roles), self.said, self.rewound, most)
        rows = prepared.rows(shape, values, lambda named: self._rows(stretch, named)[:most])
        yield from islice(map(_as_message, rows), limit)

    def _rows(self, stretch: str, values: dict[str, Any]) -> QuerySet:
        sign = "gt" if self.order == FORWARDS else "lt"
        rows = Message.objects.filter(session_id=values["session"])
        if not self.rewound:
            rows = rows.filter(SHOWN)
        if stretch == "same moment":
            rows = rows.filter(timestamp=values["timestamp"], **{f"id__{sign}": values["id"]})
        elif stretch == "beyond":
            rows = rows.filter(**{f"timestamp__{sign}": values["timestamp"]})
        if self.said:
            rows = rows.filter(display_kind="").exclude(content="")
        # One stretch of an index for each role, merged by the database and not sorted.
        runs = [rows.filter(role=values[f"role {number}"]) for number in range(len(self.roles))] or [rows]
        shown: list[QuerySet] = [run.values(*MESSAGE_FIELDS) for run in runs]
        merged = shown[0].union(*shown[1:], all=True) if len(shown) > 1 else shown[0]
        return merged.order_by(*self.order)


@dataclass(frozen=True, slots=True)
class Page:
    """Rows as JSON, and the cursor of the next page (None on the last)."""

    rows: list[dict[str, Any]]
    next_cursor: str | None
    truncated: bool = False


def list_messages(principal: Principal, external_id: str, *, after: str | None, limit: int) -> Page:
    """Return the session's messages behind the one that ``after`` names, in their order.

    A page ends early where its content reaches PAGE_CHARS. ``after`` may have been rewound since: its place stays.
    """
    session = find_session(principal, external_id)
    place = None if after is None else find_addressed(session, after, field="after")
    found: list[Message] = []
    chars = 0
    for message in Walk(session).take(limit + 1, behind=place):
        if len(found) == limit or chars >= PAGE_CHARS:
            return Page([message_json(one) for one in found], str(found[-1].pk))
        found.append(message)
        chars += len(message.content)
    return Page([message_json(one) for one in found], None)


@dataclass(frozen=True, slots=True)
class View:
    """Messages around one, and those with which the session begins and ends; no message stands in two of the lists."""

    before: list[Message]
    anchor: Message
    after: list[Message]
    bookend_start: list[Message]
    bookend_end: list[Message]

    def as_json(self) -> dict[str, Any]:
        return {
            "window": [message_json(message) for message in (*self.before, self.anchor, *self.after)],
            "before": len(self.before),
            "after": len(self.after),
            "bookend_start": [message_json(message) for message in self.bookend_start],
            "bookend_end": [message_json(message) for message in self.bookend_end],
        }


def look_around(
    principal: Principal, external_id: str, address: str, *, window: int, bookend: int, keep_roles: Sequence[str]
) -> View:
    """Return up to ``window`` messages of these roles (none: of all) on each side of one, and the session's ends.

    The message itself comes whatever its role and state. The ends are up to ``bookend`` messages each that say
    something, of these roles, else of user and assistant, as far as they stand outside the window.
    """
    session = find_session(principal, external_id)
    anchor = find_addressed(session, address)
    before = list(Walk(session, BACKWARDS, keep_roles).take(window, behind=anchor))[::-1]
    after = list(Walk(session, FORWARDS, keep_roles).take(window, behind=anchor))
    first, last = [*before, anchor][0], [anchor, *after][-1]
    roles = keep_roles or SAID
    head = Walk(session, FORWARDS, roles, said=True).take(bookend)
    tail = list(Walk(session, BACKWARDS, roles, said=True).take(bookend))[::-1]
    return View(
        before=before,
        anchor=anchor,
        after=after,
        bookend_start=[message for message in head if _place(message) < _place(first)],
        bookend_end=[message for message in tail if _place(message) > _place(last)],
    )


def _place(message: Message) -> tuple[datetime, int]:
    return message.timestamp, message.pk


def preview(text: str) -> str:
    """Return the text on one line, cut to PREVIEW characters with three dots at the end."""
    line = one_space(text)
    return line if len(line) <= PREVIEW else cut(line, PREVIEW - 3) + "..."


def list_user_messages(principal: Principal, external_id: str, *, limit: int) -> list[dict[str, Any]]:
    """Return what the user said last, newest first, as previews; only what is live, and no bookkeeping."""
    session = find_session(principal, external_id)
    rows = session.messages.filter(role="user", active=True, display_kind="").order_by(*BACKWARDS)
    found: QuerySet = rows.values("id", "external_id", "timestamp", text=Left("content", BEGINNING))[:limit]
    return [_user_message(session, row) for row in found]


def _user_message(session: Session, row: dict[str, Any]) -> dict[str, Any]:
    text = row.pop("text")
    if len(text) == BEGINNING and len(one_space(text)) <= PREVIEW:  # almost all of it is white space
        text = session.messages.values_list("content", flat=True).get(pk=row["id"])
    return row | {"preview": preview(text)}
