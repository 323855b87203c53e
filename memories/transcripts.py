"""The only code that writes sessions and messages: begin and change a session, append, rewind, compact.

Nothing is deleted. Rewinding and compacting change the state of messages and can be taken back, the last act first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db.models import DateTimeField, F, Q, QuerySet, Value
from django.db.models.functions import Greatest

from memories import audit, prepared, storage
from memories.access import Principal, partition_for
from memories.errors import Conflict, Forbidden, Invalid, NotFound
from memories.models import SUMMARY, TRUST, AuditEntry, Message, Scope, Session, Source, Token
from memories.plain_text import calls_in_parts, text_of_calls, text_of_parts
from memories.transcript_reading import SHOWN, find_message, find_session, sessions_named
from memories.transcript_schemas import MessageIn, SessionIn

ROLE_SOURCE = {
    "user": Source.OWNER.value,
    "assistant": Source.AGENT.value,
    "system": Source.AGENT.value,
    "developer": Source.AGENT.value,
}
"""Where a message of a role comes from, unless it says that it deserves less trust."""
OTHER_ROLE_SOURCE = Source.TOOL.value
SKEW = timedelta(minutes=1)
"""How far a clock may be behind the session's newest message and its messages still come after that."""
_TICK = timedelta(microseconds=1)
CONTENT_FIELDS = ("role", "content", "parts", "tool_name", "tool_calls")
"""What two messages of the same external id must have in common."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message to write. ``content`` is a text or a list of parts."""

    role: str
    content: str | list[Any] | None = ""
    timestamp: datetime | None = None
    external_id: str | None = None
    tool_name: str = ""
    tool_calls: Any = None
    display_kind: str = ""
    trust: str | None = None
    active: bool = True
    compacted: bool = False


@dataclass(frozen=True, slots=True)
class Put:
    """What became of a session."""

    session: Session
    action: Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of one message. ``differs`` was there already with other content, and was left as it is."""

    message: Message
    action: Literal["created", "unchanged", "differs"]


@dataclass(frozen=True, slots=True)
class Moved:
    """How many messages changed their state, and the summary that was added."""

    session: Session
    action: Literal["rewound", "compacted", "restored", "unchanged"]
    messages: int = 0
    summary_id: int | None = None


def source_of(role: str, claimed: str | None, *, best: int) -> str:
    """Return the source of a message: the least trusted of its role's, the claimed one and the best allowed."""
    source = min(ROLE_SOURCE.get(role, OTHER_ROLE_SOURCE), claimed or Source.OWNER.value, key=TRUST.__getitem__)
    return source if TRUST[source] <= best else next(name for name, trust in TRUST.items() if trust <= best)


# Sessions


@storage.write
def put_session(principal: Principal, external_id: str, item: SessionIn, *, now: datetime) -> Put:
    """Return the session of this name, begun or with the fields sent changed. A session keeps its scope.

    Without a scope it is the principal's own, else the shared one, else a new one of its own.
    """
    _check_writer(principal)
    found = _session_to_put(principal, external_id, item.scope)
    changes = item.changes
    if "parent" in item.model_fields_set:
        changes["parent_id"] = _parent_id(principal, item.parent, found)
    if found is not None:
        _check_shared(principal, found.scope)
        return Put(found, "updated" if change(found, changes, now=now) else "unchanged")
    scope = item.scope or Scope.AGENT.value
    _check_shared(principal, scope)
    if item.source is None:
        raise Invalid("source is required for a new session", field="source")
    assert principal.agent_id is not None
    session = begin(
        workspace_id=principal.workspace_id,
        agent_id=principal.agent_id,
        scope=scope,
        external_id=external_id,
        fields=changes,
        now=now,
    )
    return Put(session, "created")


def _session_to_put(principal: Principal, external_id: str, scope: str | None) -> Session | None:
    found = sessions_named(principal, external_id)
    if scope is None:
        return found[0] if found else None
    there = next((session for session in found if session.scope == scope), None)
    if there is None and found and scope == Scope.SHARED:
        raise Conflict(
            f"session {external_id!r} is private to its agent, and a session keeps its scope; choose another id",
            field="scope",
            code="scope_fixed",
        )
    return there


def _parent_id(principal: Principal, parent: str | None, child: Session | None) -> int | None:
    if parent is None:
        return None
    try:
        found = find_session(principal, parent)
    except NotFound as error:
        raise Invalid(f"parent: {error.message}", field="parent") from None
    if child is not None and found.pk == child.pk:
        raise Invalid("parent: a session cannot be its own parent", field="parent")
    return found.pk


def begin(
    *, workspace_id: int, agent_id: int, scope: str, external_id: str, fields: dict[str, Any], now: datetime
) -> Session:
    """Return a new session. ``fields`` has ``source`` at least; it started now unless they say when."""
    started_at = fields.get("started_at") or now
    session = Session(
        workspace_id=workspace_id,
        agent_id=agent_id,
        scope=scope,
        partition=partition_for(scope, agent_id),
        external_id=external_id,
        folded_id=external_id.casefold(),
        last_active_at=started_at,
        created_at=now,
        updated_at=now,
        **fields | {"started_at": started_at},
    )
    prepared.insert(session)
    return session


def change(session: Session, fields: dict[str, Any], *, now: datetime) -> bool:
    """Return whether any of the fields had another value; the session then has the new ones."""
    changes = {name: value for name, value in fields.items() if not _equal(getattr(session, name), value)}
    if not changes:
        return False
    started_at = changes.get("started_at")
    if started_at is not None:
        changes["last_active_at"] = max(started_at, session.last_active_at) if session.message_count else started_at
    changes["updated_at"] = now
    Session.objects.filter(pk=session.pk).update(**changes)
    for name, value in changes.items():
        setattr(session, name, value)
    return True


# Messages


@storage.write
def append(principal: Principal, external_id: str, items: Sequence[MessageIn], *, now: datetime) -> list[Appended]:
    """Return what became of each message: all are written, or none.

    Raises Conflict where one of them was appended before with other content.
    """
    session = _find_to_write(principal, external_id)
    said = [
        Said(
            role=item.role,
            content=item.content,
            timestamp=item.timestamp,
            external_id=item.external_id,
            tool_name=item.tool_name,
            tool_calls=item.tool_calls,
            display_kind=item.display_kind,
            trust=item.trust,
        )
        for item in items
    ]
    appended = _told_apart(session, said, best=principal.trust, now=now)
    for place, one in enumerate(appended):
        if one.action == "differs":
            raise Conflict(
                f"message {one.message.external_id!r} was appended before with other content",
                field=f"messages.{place}.external_id",
                code="external_id_taken",
            )
    _write_new(session, appended)
    return appended


@storage.write
def load(session: Session, said: Sequence[Said], *, now: datetime, best: int = TRUST[Source.OWNER]) -> list[Appended]:
    """Return what became of each message. Those whose external id is there already are left as they are.

    ``best`` is the most trust that a message may have. Without a time of its own a message follows those before it.
    """
    appended = _told_apart(session, said, now=now, best=best)
    _write_new(session, appended)
    return appended


def _told_apart(session: Session, said: Sequence[Said], *, now: datetime, best: int) -> list[Appended]:
    """Return what is to become of each message; nothing is written."""
    known = _known(session, [one.external_id for one in said if one.external_id is not None])
    # A time taken before another process's write was waited for must not put the message before that one's.
    after_last = session.last_active_at + _TICK
    start = after_last if now < after_last <= now + SKEW else now
    appended: list[Appended] = []
    for place, one in enumerate(said):
        message = _message(session, one, timestamp=one.timestamp or start + place * _TICK, best=best)
        twin = known.get(one.external_id) if one.external_id is not None else None
        if twin is not None:
            same = all(_equal(getattr(twin, name), getattr(message, name)) for name in CONTENT_FIELDS)
            appended.append(Appended(twin, "unchanged" if same else "differs"))
            continue
        if one.external_id is not None:
            known[one.external_id] = message
        appended.append(Appended(message, "created"))
    return appended


def _write_new(session: Session, appended: Sequence[Appended]) -> None:
    new = [one.message for one in appended if one.action == "created"]
    if len(new) == 1:
        prepared.insert(new[0])
    else:
        Message.objects.bulk_create(new)
    if new:
        _note_messages(session, new)


@storage.write
def restate(session: Session, states: Mapping[int, tuple[bool, bool]]) -> int:
    """Return how many messages have another state than before: (active, compacted) by the message's id.

    What an act of this store took out keeps its state.
    """
    rows = session.messages.filter(pk__in=list(states), rewound_by=None).exclude(compacted_by__gt=0)
    changed: dict[tuple[bool, bool], list[int]] = {}
    step = 0
    for pk, *before in rows.values_list("pk", "active", "compacted"):
        if tuple(before) != states[pk]:
            changed.setdefault(states[pk], []).append(pk)
            step += any(states[pk]) - any(before)
    for (active, compacted), ids in changed.items():
        session.messages.filter(pk__in=ids).update(active=active, compacted=compacted)
    if step:
        _add_to_count(session, step)
    return sum(map(len, changed.values()))


def _message(session: Session, said: Said, *, timestamp: datetime, best: int) -> Message:
    parts = said.content if isinstance(said.content, list) else None
    calls = calls_in_parts(parts)
    called = [text_of_calls(said.tool_calls), text_of_calls(calls)]
    return Message(
        session_id=session.pk,
        workspace_id=session.workspace_id,
        partition=session.partition,
        external_id=said.external_id,
        role=said.role,
        content=text_of_parts(said.content),
        parts=parts,
        tool_name=said.tool_name,
        tool_calls=said.tool_calls,
        tool_text="\n".join(text for text in called if text),
        timestamp=timestamp,
        active=said.active,
        compacted=said.compacted,
        display_kind=said.display_kind,
        trust=source_of(said.role, said.trust, best=best),
    )


def _known(session: Session, external_ids: Sequence[str]) -> dict[str, Message]:
    """Return the session's messages of these external ids, with what a repeated one is compared by."""
    columns = ("id", "external_id", "timestamp", *CONTENT_FIELDS)
    if not external_ids:
        return {}
    if len(external_ids) == 1:
        values: dict[str, prepared.Value] = {"session": session.pk, "name": external_ids[0]}
        rows: Any = prepared.rows(
            "message named",
            values,
            lambda v: Message.objects.filter(session_id=v["session"], external_id=v["name"]).values(*columns),
        )
    else:
        rows = Message.objects.filter(session_id=session.pk, external_id__in=set(external_ids)).values(*columns)
    return {row["external_id"]: Message(**row) for row in rows}


def _equal(one: Any, other: Any) -> bool:
    # JSON tells 1 from true.
    if isinstance(one, list | dict) and isinstance(other, list | dict):
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    return type(one) is type(other) and bool(one == other)


def _note_messages(session: Session, new: Sequence[Message]) -> None:
    """Count the messages in, and let the session be as active as its newest one."""
    count = sum(message.active or message.compacted for message in new)
    newest = max(message.timestamp for message in new)
    is_first = session.message_count == 0

    def noted(values: dict[str, Any]) -> tuple[QuerySet, dict[str, Any]]:
        moment: Any = values["newest"]
        if not is_first:
            moment = Greatest(F("last_active_at"), Value(moment, output_field=DateTimeField()))
        changes = {"last_active_at": moment, "message_count": F("message_count") + values["count"]}
        return Session.objects.filter(pk=values["id"]), changes

    prepared.update(("appended", is_first), {"id": session.pk, "newest": newest, "count": count}, noted)
    session.last_active_at = newest if is_first else max(session.last_active_at, newest)
    session.message_count += count


# Taking messages out of the live part, and back


@storage.write
def rewind(principal: Principal, external_id: str, after_message: int | str, *, now: datetime) -> Moved:
    """Return how many messages were rewound: all behind a live one, which is then the session's last."""
    session = _find_to_write(principal, external_id)
    anchor = find_message(session, after_message, field="after_message")
    if not anchor.active:
        state = "summarised away" if anchor.compacted else "rewound"
        raise Conflict(
            f"message {after_message!r} was {state}; take that back first (undo)",
            field="after_message",
            code="compacted" if anchor.compacted else "rewound",
        )
    rows = session.messages.filter(SHOWN, _behind(anchor))
    count = rows.count()
    if not count:
        return Moved(session, "unchanged")
    entry = _audit(principal, session, "session.rewind", f"after=message {anchor.pk}", {"rewound": count}, now)
    # Taken back, what was compacted is so again; an import does not tell by which act.
    rows.filter(compacted=True, compacted_by=None).update(compacted_by=0)
    rows.update(active=False, compacted=False, rewound_by=entry)
    _add_to_count(session, -count)
    return Moved(session, "rewound", count)


@storage.write
def undo_rewind(principal: Principal, external_id: str, *, now: datetime) -> Moved:
    """Return how many messages the last rewind had taken out; they are what they were before it.

    Messages that were appended since stay. Raises Conflict where nothing is left to take back.
    """
    session = _find_to_write(principal, external_id)
    act = _last_act(session, "rewound_by", "rewind")
    rows = session.messages.filter(rewound_by=act)
    count = rows.filter(compacted_by=None).update(active=True, rewound_by=None)
    count += rows.update(compacted=True, rewound_by=None)
    _audit(principal, session, "session.rewind", f"undo={act}", {"restored": count}, now)
    _add_to_count(session, count)
    return Moved(session, "restored", count)


@storage.write
def compact(
    principal: Principal, external_id: str, through_message: int | str, *, now: datetime, summary: str | None = None
) -> Moved:
    """Return how many messages were summarised away: all that are live, up to and including one.

    The summary becomes a message of its own behind them, trusted as little as the least trusted of them.
    """
    session = _find_to_write(principal, external_id)
    anchor = find_message(session, through_message, field="through_message")
    if not (anchor.active or anchor.compacted):
        raise Conflict(
            f"message {through_message!r} was rewound; take that back first (undo)",
            field="through_message",
            code="rewound",
        )
    rows = session.messages.filter(_up_to(anchor), active=True)
    trusts = list(rows.order_by().values_list("trust", flat=True).distinct())
    if not trusts:
        return Moved(session, "unchanged")
    count = rows.count()
    counts: dict[str, Any] = {"compacted": count}
    stands_for = None
    if summary is not None:
        worst = min(TRUST[trust] for trust in trusts)
        said = Said("system", summary, anchor.timestamp, display_kind=SUMMARY)
        stands_for = load(session, [said], now=now, best=min(worst, principal.trust))[0].message
        counts["summary_id"] = stands_for.pk
    entry = _audit(principal, session, "session.compact", f"through=message {anchor.pk}", counts, now)
    rows.update(active=False, compacted=True, compacted_by=entry)
    return Moved(session, "compacted", count, stands_for.pk if stands_for else None)


@storage.write
def undo_compact(principal: Principal, external_id: str, *, now: datetime) -> Moved:
    """Return how many messages the last compaction had taken out; they are live again, and its summary is rewound.

    Raises Conflict where nothing is left to take back.
    """
    session = _find_to_write(principal, external_id)
    act = _last_act(session, "compacted_by", "compaction")
    rows = session.messages.filter(compacted_by=act)
    count = rows.filter(compacted=True).update(active=True, compacted=False, compacted_by=None)
    rows.update(compacted_by=None)  # what was rewound since is live once that is taken back
    counts = AuditEntry.objects.filter(pk=act).values_list("counts", flat=True).first() or {}
    summary = session.messages.filter(pk=counts.get("summary_id") or 0)
    withdrawn = summary.filter(SHOWN).update(active=False, compacted=False)
    summary.update(rewound_by=None)
    _audit(principal, session, "session.compact", f"undo={act}", {"restored": count}, now)
    _add_to_count(session, -withdrawn)
    return Moved(session, "restored", count)


def _behind(place: Message) -> Q:
    """Return the condition for the messages behind this one."""
    # The first half alone lets the database begin in the right place of its index.
    return Q(timestamp__gte=place.timestamp) & (Q(timestamp__gt=place.timestamp) | Q(pk__gt=place.pk))


def _up_to(place: Message) -> Q:
    """Return the condition for this message and those before it."""
    return Q(timestamp__lte=place.timestamp) & (Q(timestamp__lt=place.timestamp) | Q(pk__lte=place.pk))


def _last_act(session: Session, column: Literal["rewound_by", "compacted_by"], name: str) -> int:
    acts = session.messages.filter(**{f"{column}__gt": 0}).order_by(f"-{column}")
    act = acts.values_list(column, flat=True).first()
    if act is None:
        raise Conflict(f"no {name} is left to take back", field="undo", code="nothing_to_undo")
    return int(act)


def _add_to_count(session: Session, step: int) -> None:
    Session.objects.filter(pk=session.pk).update(message_count=F("message_count") + step)
    session.message_count += step


def _audit(
    principal: Principal, session: Session, verb: str, result: str, counts: dict[str, Any], now: datetime
) -> int:
    """Return the id of the new audit entry, by which the act is known."""
    entry = audit.record(
        verb,
        actor=principal.actor.name,
        workspace_id=session.workspace_id,
        target=f"session {session.pk}",
        result=result,
        counts=counts,
        request_id=principal.actor.request_id,
        at=now,
    )
    return entry.pk


# Who may write


def _find_to_write(principal: Principal, external_id: str) -> Session:
    session = find_session(principal, external_id)
    _check_writer(principal)
    _check_shared(principal, session.scope)
    return session


def _check_writer(principal: Principal) -> None:
    if principal.role != Token.Role.AGENT or principal.agent_id is None:
        raise Forbidden("only an agent writes transcripts; use a token of role agent")
    if not principal.trust:
        raise Forbidden("this token may not claim any source", field="source", code="source_not_allowed")


def _check_shared(principal: Principal, scope: str) -> None:
    if scope == Scope.SHARED and not principal.may_write_shared:
        raise Forbidden("this token may not write shared sessions", field="scope", code="shared_not_allowed")
