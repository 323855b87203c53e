"""Reading transcripts: a session by name, its messages page by page and around one of them.

Every read seeks by (session, timestamp, id), so that none takes longer in a longer session. Rewound messages are left
out everywhere. A message belongs to whom its session belongs to: a session that came through ``visible_to`` opens its
messages, and no other way leads to them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Left

from memories import prepared
from memories.access import Principal, visible_to
from memories.errors import NotFound
from memories.models import SHARED_PARTITION, Message, Session
from memories.plain_text import cut, one_space
from memories.schemas import LARGEST_ID
from memories.transcript_schemas import message_json

PAGE_CHARS = 4_000_000
"""Characters of content after which a page of messages ends early."""
PREVIEW = 80
"""Characters of a user message's preview."""
BEGINNING = 1_000
"""Characters of a message that a preview is made from, unless they are white space."""
STEP = 50
"""Messages that a page reads at a time."""
SAID = ("user", "assistant")
"""Roles whose messages show how a session begins and ends."""
SHOWN = Q(active=True) | Q(compacted=True)
"""Messages that are not rewound."""
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
    name = {"pk": reference} if isinstance(reference, int) else {"external_id": reference}
    found = session.messages.filter(**name).first()
    if found is None:
        raise NotFound(f"session {session.external_id!r} has no message {reference!r}", field=field)
    return found


def find_addressed(session: Session, address: str, *, field: str | None = None) -> Message:
    """Return the message that a part of an address names: by its id if it is one of the session's, else as external id.

    Raises NotFound.
    """
    number = int(address) if address.isascii() and address.isdigit() and len(address) < 20 else 0
    found = session.messages.filter(pk=number).first() if 0 < number <= LARGEST_ID else None
    return found or find_message(session, address, field=field)


def visible_parent(principal: Principal, session: Session) -> str | None:
    """Return the parent's own name, or None where there is none that the principal may see."""
    if session.parent_id is None:
        return None
    return visible_to(principal, Session).filter(pk=session.parent_id).values_list("external_id", flat=True).first()


# Messages in their order


def shown_messages(session: Session) -> QuerySet[Message]:
    """Return the session's messages that are not rewound."""
    return session.messages.filter(SHOWN)


FORWARDS, BACKWARDS = ("timestamp", "id"), ("-timestamp", "-id")


def _in_order(rows: QuerySet[Message], order: tuple[str, str], limit: int, roles: Sequence[str] = ()) -> list[Message]:
    """Return the first rows in order, of these roles (none: of all), read from an index and not sorted."""
    if not roles:
        return list(rows.order_by(*order)[:limit])
    runs = [rows.filter(role=role).order_by() for role in roles]
    merged = runs[0].union(*runs[1:], all=True) if len(runs) > 1 else runs[0]
    return list(merged.order_by(*order)[:limit])


def _beyond(
    rows: QuerySet[Message], place: Message, order: tuple[str, str], limit: int, roles: Sequence[str] = ()
) -> list[Message]:
    """Return the first rows behind ``place`` in order.

    Two seeks, one among the messages of the same moment and one behind it: as one condition, the database would read a
    session from its beginning.
    """
    sign = "gt" if order == FORWARDS else "lt"
    found = _in_order(rows.filter(timestamp=place.timestamp, **{f"id__{sign}": place.pk}), order, limit, roles)
    if len(found) < limit:
        later = rows.filter(**{f"timestamp__{sign}": place.timestamp})
        found += _in_order(later, order, limit - len(found), roles)
    return found


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
    rows = shown_messages(session)
    found: list[Message] = []
    chars, is_last = 0, False
    while len(found) < limit and chars < PAGE_CHARS and not is_last:
        step = min(STEP, limit - len(found))
        chunk = _in_order(rows, FORWARDS, step) if place is None else _beyond(rows, place, FORWARDS, step)
        is_last = len(chunk) < step
        for message in chunk:
            if chars >= PAGE_CHARS:
                is_last = False
                break
            found.append(message)
            chars += len(message.content)
        place = found[-1] if found else place
    more = not is_last and bool(found) and bool(_beyond(rows, found[-1], FORWARDS, 1))
    return Page([message_json(message) for message in found], str(found[-1].pk) if more else None)


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
    rows = shown_messages(session)
    before = _beyond(rows, anchor, BACKWARDS, window, keep_roles)[::-1]
    after = _beyond(rows, anchor, FORWARDS, window, keep_roles)
    first, last = [*before, anchor][0], [anchor, *after][-1]
    said = rows.filter(display_kind="").exclude(content="")
    roles = keep_roles or SAID
    head = _in_order(said, FORWARDS, bookend, roles)
    tail = _in_order(said, BACKWARDS, bookend, roles)[::-1]
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
