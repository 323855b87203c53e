"""The only code that writes Memory rows. Every change leaves a Revision, so that it can be shown and taken back.

``seen_count`` and ``last_seen_at`` are bookkeeping: being seen again is no change of the memory and makes no revision.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db import connection, transaction
from django.db.models import Count, F, QuerySet

from memories import prepared, storage
from memories.access import Actor, partition_for
from memories.errors import Conflict, NotFound, Stale
from memories.models import (
    RESTRICTED_SOURCES,
    ActiveCount,
    IdempotencyKey,
    Memory,
    MemoryTag,
    Revision,
    Status,
    content_hash,
)

TEXT_FIELDS = ("content", "subject", "key", "tags", "metadata", "archive_reason")
"""Fields that may hold what somebody wrote; erase empties them everywhere."""
TIME_FIELDS = ("merged_at", "archived_at", "expires_at")
FIELDS = (
    "scope",
    "subject",
    "key",
    "kind",
    "content",
    "tags",
    "importance",
    "source",
    "status",
    "merged_into_id",
    "merged_at",
    "archived_at",
    "archive_reason",
    "kept_beside_id",
    "message_id",
    "expires_at",
    "pinned",
    "metadata",
)
"""Every field whose change is a Revision."""
TAGGED = {"tags", "partition", "status", "source", "expires_at"}
"""Fields that stand in MemoryTag too."""


def create(
    *,
    workspace_id: int,
    agent_id: int,
    fields: Mapping[str, Any],
    by: Actor,
    now: datetime,
    verb: str = "remember",
    reason: str = "",
    created_at: datetime | None = None,
) -> Memory:
    """Return a new memory with its first revision. ``fields`` names any of FIELDS, with ``content`` at least."""
    memory = Memory(
        workspace_id=workspace_id,
        agent_id=agent_id,
        created_at=created_at or now,
        updated_at=created_at or now,
        last_seen_at=created_at or now,
        **fields,
    )
    memory.partition = partition_for(memory.scope, agent_id)
    memory.content_hash = content_hash(memory.content)
    prepared.insert(memory)
    _write_tags(memory, memory.tags)
    _count(memory, +1)
    after = {name: as_json(getattr(memory, name)) for name in FIELDS}
    _record(memory, 1, verb=verb, before={}, after=after, by=by, now=created_at or now, reason=reason)
    return memory


@dataclass(frozen=True, slots=True)
class Past:
    """One revision that a memory brings along from elsewhere, written as it is."""

    number: int
    verb: str
    before: dict[str, Any]
    after: dict[str, Any]
    actor: str
    reason: str
    request_id: str
    at: datetime


def load(rows: Sequence[tuple[Memory, Sequence[Past]]]) -> None:
    """Write new memories in bulk, each with its whole history; nothing is added to it.

    Partition, content hash and revision number are set here; every other field comes with the memory, which then has
    its id.
    """
    for memory, history in rows:
        memory.partition = partition_for(memory.scope, memory.agent_id)
        memory.content_hash = "" if memory.status == Status.ERASED else content_hash(memory.content)
        memory.revision = history[-1].number
    Memory.objects.bulk_create([memory for memory, _ in rows])
    MemoryTag.objects.bulk_create([tag for memory, _ in rows for tag in _tag_rows(memory, memory.tags)])
    Revision.objects.bulk_create(
        Revision(
            memory=memory,
            number=past.number,
            verb=past.verb,
            before=past.before,
            after=past.after,
            actor=past.actor,
            reason=past.reason,
            request_id=past.request_id,
            created_at=past.at,
        )
        for memory, history in rows
        for past in history
    )
    for counted, step in Counter(_counted(memory) for memory, _ in rows).items():
        _add_to_count(counted, step)


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in a loaded memory that names another one, which had no id yet when it was loaded.

    ``part`` is the row itself or a side of its revision ``number``; ``at`` is that revision's time, which tells that it
    is still the loaded one (None: not checked).
    """

    memory_id: int
    number: int
    at: datetime | None
    part: Literal["row", "before", "after"]
    field: Literal["merged_into_id", "kept_beside_id"]
    target_id: int


def connect(references: Sequence[Reference]) -> int:
    """Return how many places were filled in. This completes ``load`` and is no change of the memory.

    Left alone is what already names a memory, and what was changed since the memory was loaded.
    """
    ids = {reference.memory_id for reference in references}
    numbers = {reference.number for reference in references}
    memories = Memory.objects.only("pk", "revision", "merged_into_id", "kept_beside_id").in_bulk(ids)
    found = Revision.objects.filter(memory_id__in=ids, number__in=numbers)
    revisions = {(revision.memory_id, revision.number): revision for revision in found}
    filled, touched = 0, set()
    for reference in references:
        place = reference.memory_id, reference.number
        revision = revisions.get(place)
        if revision is None or reference.at not in (None, revision.created_at):
            continue
        if reference.part == "row":
            filled += _connect_row(memories[reference.memory_id], reference)
            continue
        values = revision.before if reference.part == "before" else revision.after
        if values.get(reference.field, 0) is None:
            values[reference.field] = reference.target_id
            touched.add(place)
            filled += 1
    for place in touched:
        revisions[place].save(update_fields=["before", "after"])
    return filled


def _connect_row(memory: Memory, reference: Reference) -> bool:
    if getattr(memory, reference.field) is not None:
        return False
    if memory.revision > reference.number:
        later = memory.revisions.filter(number__gt=reference.number).values_list("before", flat=True)
        if any(reference.field in before for before in later):
            return False
    return bool(Memory.objects.filter(pk=memory.pk).update(**{reference.field: reference.target_id}))


def change(
    memory: Memory,
    fields: Mapping[str, Any],
    *,
    by: Actor,
    now: datetime,
    verb: str,
    reason: str = "",
    touch: bool = True,
) -> bool:
    """Return whether anything changed; ``memory`` then holds the new values and the next revision number.

    Equal values are left out. ``touch=False`` leaves ``updated_at`` alone, for changes of state that say nothing new
    about the memory. Raises Stale where the row has another revision than ``memory`` by now, Conflict where its key
    is taken.
    """
    before = {name: getattr(memory, name) for name in fields}
    changed = {name: value for name, value in fields.items() if not _same(before[name], value)}
    if not changed:
        return False
    was = _counted(memory)
    values: dict[str, Any] = dict(changed)
    if "content" in changed:
        values["content_hash"] = content_hash(changed["content"])
    if "scope" in changed:
        values["partition"] = partition_for(changed["scope"], memory.agent_id)
    if memory.lapsed and "expires_at" in changed:
        values["lapsed"] = False
    if touch:
        values["updated_at"] = now
    _refuse_taken_key(memory, values)
    number = memory.revision + 1
    if not Memory.objects.filter(pk=memory.pk, revision=memory.revision).update(revision=number, **values):
        raise Stale(f"memory {memory.pk} is no longer at revision {memory.revision}")
    for name, value in values.items():
        setattr(memory, name, value)
    memory.revision = number
    if TAGGED & set(values):
        MemoryTag.objects.filter(memory=memory).delete()
        _write_tags(memory, memory.tags)
    if _counted(memory) != was:
        _add_to_count(was, -1)
        _add_to_count(_counted(memory), +1)
    _record(
        memory,
        number,
        verb=verb,
        before={name: as_json(before[name]) for name in changed},
        after={name: as_json(value) for name, value in changed.items()},
        by=by,
        now=now,
        reason=reason,
    )
    return True


def mark_seen(memory: Memory, *, now: datetime) -> None:
    """Count that the memory was remembered again as it stands."""
    prepared.update("seen", {"id": memory.pk, "now": now}, _seen)
    memory.seen_count += 1
    memory.last_seen_at = now


def _seen(values: dict[str, Any]) -> tuple[QuerySet, dict[str, Any]]:
    seen = {"seen_count": F("seen_count") + 1, "last_seen_at": values["now"]}
    return Memory.objects.filter(pk=values["id"]), seen


def state_at(memory: Memory, number: int) -> dict[str, Any]:
    """Return the value of every field of FIELDS as of revision ``number``.

    Raises NotFound for a number it never had.
    """
    if not 1 <= number <= memory.revision:
        raise NotFound(f"memory {memory.pk} has revisions 1 to {memory.revision}", field="revision")
    state = {name: getattr(memory, name) for name in FIELDS}
    undone: set[str] = set()
    # The first change after ``number`` knows what the field was then.
    for revision in memory.revisions.filter(number__gt=number).order_by("number").iterator(chunk_size=500):
        for name, value in revision.before.items():
            if name in state and name not in undone:
                state[name] = from_json(name, value)
                undone.add(name)
    return state


def erase(memory: Memory, *, by: Actor, now: datetime, reason: str) -> None:
    """Overwrite the memory's text in the row, its revisions and stored answers. There is no way back.

    The database file is cleaned of the old bytes after the commit. Backups made before still hold them.
    """
    was = _counted(memory)
    memory.subject, memory.key, memory.content, memory.content_hash = "", None, "", ""
    memory.tags, memory.metadata, memory.archive_reason = [], {}, ""
    memory.pinned, memory.expires_at = False, None
    previous_status, memory.status = memory.status, Status.ERASED
    memory.revision += 1
    memory.updated_at = now
    memory.save(force_update=True)
    MemoryTag.objects.filter(memory=memory).delete()
    _add_to_count(was, -1)
    for revision in memory.revisions.iterator(chunk_size=500):
        revision.before, revision.after = _without_text(revision.before), _without_text(revision.after)
        revision.reason = ""
        revision.save(update_fields=["before", "after", "reason"])
    IdempotencyKey.objects.filter(memories=memory).update(status=409, answer=ERASED_ANSWER)
    for forget in _copies:
        forget(memory)
    _record(
        memory,
        memory.revision,
        verb="erase",
        before={"status": previous_status},
        after={"status": Status.ERASED.value},
        by=by,
        now=now,
        reason=reason,
    )
    transaction.on_commit(drop_deleted_content)


ERASED_ANSWER = json.dumps(
    {
        "error": {
            "code": "erased",
            "message": "what this request remembered was erased since; it is not remembered again",
        }
    }
)


_copies: list[Callable[[Memory], None]] = []


def add_copy(forget: Callable[[Memory], None]) -> None:
    """Have the copies that another app keeps of a memory's text emptied, in the transaction that erases it."""
    _copies.append(forget)


Eraser = Callable[[], bool]
_erasers: list[Eraser] = []


def add_eraser(eraser: Eraser) -> None:
    """Have the words of deleted rows erased from an index too, whenever the database file is written anew.

    ``eraser`` is called outside a transaction, may be called often, and returns whether nothing is left.
    """
    _erasers.append(eraser)


def drop_deleted_content(*, rewrite_up_to: int | None = None) -> bool:
    """Return whether nothing that was deleted is left in the database's files and indexes.

    A file of more than ``rewrite_up_to`` bytes (None: a small one) is only cleaned as far as that goes in a moment.
    """
    drop = getattr(connection, "drop_deleted_content", None)  # the SQLite backend's; PostgreSQL leaves it to VACUUM
    return drop is None or bool(drop(_erase_indexes, rewrite_up_to=rewrite_up_to))


def _erase_indexes() -> bool:
    done = [eraser() for eraser in _erasers]
    return all(done)


@storage.write
def sweep_expired(*, now: datetime, most: int = 500) -> int:
    """Return how many memories, ``most`` at most, were found expired and taken out of the counts.

    Recall looks at the clock itself and does not depend on it; but what has expired need not be counted off each time.
    """
    expired = list(
        Memory.objects.select_for_update()
        .filter(status=Status.ACTIVE, expires_at__lte=now, lapsed=False)
        .only("workspace_id", "partition", "kind", "importance", "source", "status", "lapsed")[:most]
    )
    Memory.objects.filter(pk__in=[memory.pk for memory in expired]).update(lapsed=True)
    for counted, rows in Counter(_counted(memory) for memory in expired).items():
        _add_to_count(counted, -rows)
    return len(expired)


def recount() -> None:
    """Make the counts anew from the rows, for loads that went around this module."""
    ActiveCount.objects.all().delete()
    groups = (
        Memory.objects.filter(status=Status.ACTIVE, lapsed=False)
        .values("workspace_id", "partition", "kind", "importance", "restricted")
        .annotate(rows=Count("id"))
        .order_by()
    )
    ActiveCount.objects.bulk_create([ActiveCount(**group) for group in groups])


def as_json(value: Any) -> Any:
    """Return the field's value as it stands in a Revision."""
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, str) else value


def from_json(name: str, value: Any) -> Any:
    """Return a Revision's value as the field holds it."""
    return datetime.fromisoformat(value) if name in TIME_FIELDS and value is not None else value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict | list):  # JSON tells 1 from true and Python does not, so they are compared as JSON
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    return bool(one == other)


def _record(
    memory: Memory,
    number: int,
    *,
    verb: str,
    before: dict[str, Any],
    after: dict[str, Any],
    by: Actor,
    now: datetime,
    reason: str,
) -> None:
    revision = Revision(
        memory=memory,
        number=number,
        verb=verb,
        before=before,
        after=after,
        actor=by.name,
        reason=reason,
        request_id=by.request_id,
        created_at=now,
    )
    prepared.insert(revision)


def _refuse_taken_key(memory: Memory, values: Mapping[str, Any]) -> None:
    if not {"key", "status", "partition"} & set(values):
        return
    key = values.get("key", memory.key)
    if key is None or values.get("status", memory.status) != Status.ACTIVE:
        return
    taken = (
        Memory.objects.filter(
            workspace_id=memory.workspace_id, partition=values.get("partition", memory.partition), active_key=key
        )
        .exclude(pk=memory.pk)
        .values_list("pk", flat=True)
        .first()
    )
    if taken is not None:
        raise Conflict(f"the key {key!r} belongs to memory {taken} now", field="key", code="key_taken")


def _write_tags(memory: Memory, tags: list[str]) -> None:
    for tag in _tag_rows(memory, tags):
        prepared.insert(tag)


def _tag_rows(memory: Memory, tags: list[str]) -> list[MemoryTag]:
    return [
        MemoryTag(
            memory=memory,
            workspace_id=memory.workspace_id,
            partition=memory.partition,
            tag=tag,
            active=memory.status == Status.ACTIVE,
            restricted=memory.source in RESTRICTED_SOURCES,
            expires_at=memory.expires_at,
        )
        for tag in dict.fromkeys(tags)
    ]


Counted = tuple[int, str, str, int, bool]


def _counted(memory: Memory) -> Counted | None:
    """Return which count the memory belongs to, None while it is not active or known to have expired."""
    if memory.status != Status.ACTIVE or memory.lapsed:
        return None
    restricted = memory.source in RESTRICTED_SOURCES
    return memory.workspace_id, memory.partition, memory.kind, memory.importance, restricted


def _count(memory: Memory, step: int) -> None:
    _add_to_count(_counted(memory), step)


def _add_to_count(counted: Counted | None, step: int) -> None:
    if counted is None:
        return
    workspace_id, partition, kind, importance, restricted = counted
    values: dict[str, prepared.Value] = {
        "workspace": workspace_id,
        "partition": partition,
        "kind": kind,
        "step": step,
    }

    def one_count(values: dict[str, Any]) -> tuple[QuerySet, dict[str, Any]]:
        chosen = ActiveCount.objects.filter(
            workspace_id=values["workspace"],
            partition=values["partition"],
            kind=values["kind"],
            importance=importance,
            restricted__in=[restricted],
        )
        return chosen, {"rows": F("rows") + values["step"]}

    if not prepared.update(("count", importance, restricted), values, one_count):
        ActiveCount.objects.create(
            workspace_id=workspace_id,
            partition=partition,
            kind=kind,
            importance=importance,
            restricted=restricted,
            rows=step,
        )


def _without_text(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in TEXT_FIELDS}
