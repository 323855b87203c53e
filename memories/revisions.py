"""The only code that writes Memory rows. Every change leaves a Revision, so that it can be shown and taken back.

``seen_count`` and ``last_seen_at`` are bookkeeping: being seen again is no change of the memory and makes no revision.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, F

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
    "expires_at",
    "pinned",
    "metadata",
)
"""Every field whose change is a Revision."""


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
    memory.save(force_insert=True)
    _write_tags(memory, memory.tags)
    _count(memory, +1)
    after = {name: as_json(getattr(memory, name)) for name in FIELDS}
    _record(memory, 1, verb=verb, before={}, after=after, by=by, now=created_at or now, reason=reason)
    return memory


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
    if touch:
        values["updated_at"] = now
    _refuse_taken_key(memory, values)
    number = memory.revision + 1
    if not Memory.objects.filter(pk=memory.pk, revision=memory.revision).update(revision=number, **values):
        raise Stale(f"memory {memory.pk} is no longer at revision {memory.revision}")
    for name, value in values.items():
        setattr(memory, name, value)
    memory.revision = number
    if "tags" in changed or "partition" in values:
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
    Memory.objects.filter(pk=memory.pk).update(seen_count=F("seen_count") + 1, last_seen_at=now)
    memory.seen_count += 1
    memory.last_seen_at = now


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
    transaction.on_commit(_drop_deleted_content)


ERASED_ANSWER = json.dumps(
    {
        "error": {
            "code": "erased",
            "message": "what this request remembered was erased since; it is not remembered again",
        }
    }
)


def _drop_deleted_content() -> None:
    drop = getattr(connection, "drop_deleted_content", None)  # the SQLite backend's; PostgreSQL leaves it to VACUUM
    if drop is not None:
        drop()


def recount() -> None:
    """Make the counts anew from the rows, for loads that went around this module."""
    ActiveCount.objects.all().delete()
    groups = (
        Memory.objects.filter(status=Status.ACTIVE)
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
    # JSON tells 1 from true, so a change from one to the other is a change.
    return type(one) is type(other) and one == other if isinstance(one, dict | list) else one == other


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
    Revision.objects.create(
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
    if tags:
        MemoryTag.objects.bulk_create(
            MemoryTag(memory=memory, workspace_id=memory.workspace_id, partition=memory.partition, tag=tag)
            for tag in dict.fromkeys(tags)
        )


Counted = tuple[int, str, str, int, bool]


def _counted(memory: Memory) -> Counted | None:
    """Return which count the memory belongs to, None while it is not active."""
    if memory.status != Status.ACTIVE:
        return None
    restricted = memory.source in RESTRICTED_SOURCES
    return memory.workspace_id, memory.partition, memory.kind, memory.importance, restricted


def _count(memory: Memory, step: int) -> None:
    _add_to_count(_counted(memory), step)


def _add_to_count(counted: Counted | None, step: int) -> None:
    if counted is None:
        return
    workspace_id, partition, kind, importance, restricted = counted
    key = {
        "workspace_id": workspace_id,
        "partition": partition,
        "kind": kind,
        "importance": importance,
        "restricted": restricted,
    }
    if not ActiveCount.objects.filter(**key).update(rows=F("rows") + step):
        ActiveCount.objects.create(**key, rows=step)


def _without_text(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in TEXT_FIELDS}
