"""The verbs that change what is remembered: remember, revise, forget, restore, erase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from django.db.models import QuerySet

from memories import audit, prepared, revisions, storage
from memories.access import Principal, may_change, partition_for, visible_to
from memories.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from memories.models import (
    RESTRICTED_IMPORTANCE_MAX,
    RESTRICTED_SOURCES,
    SHARED_PARTITION,
    TRUST,
    Memory,
    Message,
    Scope,
    Source,
    Status,
    content_hash,
)
from memories.schemas import MemoryIn

Action = Literal["created", "updated", "unchanged", "kept_beside", "archived", "restored"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a write, with the memory as it stands now."""

    memory: Memory
    action: Action

    @property
    def revision(self) -> int:
        return self.memory.revision


def stamp_source(claimed: str | None, allowed: Sequence[str]) -> str:
    """Return the source that is stored. Raises Forbidden for a claim that the token may not make.

    Without a claim it is ``agent``, or the most trusted allowed source below that, or whatever is allowed.
    """
    if claimed is not None:
        if claimed not in allowed:
            raise Forbidden(
                f"this token may not claim the source {claimed!r}; allowed: {', '.join(allowed) or 'none'}",
                field="source",
                code="source_not_allowed",
            )
        return claimed
    if not allowed:
        raise Forbidden("this token may not claim any source", field="source", code="source_not_allowed")
    modest = [source for source in allowed if TRUST[source] <= TRUST[Source.AGENT]]
    return max(modest or allowed, key=TRUST.__getitem__)


def hold_back(fields: dict[str, Any], source: str) -> dict[str, Any]:
    """Return the fields with importance and pin lowered to what a restricted source may have by itself."""
    if source in RESTRICTED_SOURCES:
        importance = min(fields["importance"], RESTRICTED_IMPORTANCE_MAX)
        return fields | {"importance": importance, "pinned": False}
    return fields


@storage.write
def remember(principal: Principal, item: MemoryIn, *, now: datetime) -> Receipt:
    """Return the receipt of remembering one item.

    Under a key the row with that key is updated, unless it comes from a more trusted source: then the item is kept
    beside it without the key. Without a key, equal text in the same partition and subject makes no new row.
    """
    if principal.is_reader:
        raise Forbidden("a reader may not remember")
    if principal.agent_id is None:
        raise Forbidden("only an agent remembers; use its token")
    scope = item.scope or (Scope.AGENT if principal.private == "own" else Scope.SHARED).value
    _check_scope(principal, scope)
    source = stamp_source(item.source, principal.sources)
    if item.message_id is not None:
        # What was said by somebody less trusted is not more to be trusted for being remembered.
        source = min(source, _trust_of_message(principal, item.message_id), key=TRUST.__getitem__)
    fields = {
        "content": item.content,
        "subject": item.subject,
        "key": item.key,
        "kind": item.kind,
        "tags": item.tags,
        "importance": item.importance,
        "scope": scope,
        "source": source,
        "expires_at": item.expires_at,
        "pinned": item.pinned,
        "metadata": item.metadata,
        "message_id": item.message_id,
    }
    sent = item.sent - {"scope", "key"} | {"source"}
    partition = partition_for(scope, principal.agent_id)
    beside: Memory | None = None
    if item.key is not None:
        holder = _holder_of(principal, partition, item.key)
        if holder is not None and TRUST[source] >= TRUST[holder.source]:
            return _update(principal, holder, fields, sent, source, now=now)
        if holder is not None:
            beside = holder
            fields["key"] = None
            fields["kept_beside_id"] = holder.pk
    if fields["key"] is None:
        equal = _equal_to(principal, partition, item)
        if equal is not None:
            receipt = _remember_again(principal, equal, fields, sent, source, now=now)
            return Receipt(receipt.memory, "kept_beside") if beside else receipt
    memory = revisions.create(
        workspace_id=principal.workspace_id,
        agent_id=principal.agent_id,
        fields=hold_back(fields, source),
        by=principal.actor,
        now=now,
    )
    return Receipt(memory, "kept_beside" if beside else "created")


def _trust_of_message(principal: Principal, message_id: int) -> str:
    """Return the source of a message that the principal may see. Raises Invalid for any other."""
    trust = visible_to(principal, Message).filter(pk=message_id).values_list("trust", flat=True).first()
    if trust is None:
        raise Invalid(f"there is no message {message_id}", field="message_id")
    return trust


COLUMNS = [field.attname for field in Memory._meta.concrete_fields]


def _holder_of(principal: Principal, partition: str, key: str) -> Memory | None:
    """Return the memory that has the key in a partition of the principal's."""

    def build(values: dict[str, Any]) -> QuerySet:
        rows = visible_to(replace(principal, workspace_id=values["workspace"], private="all"), Memory)
        found: QuerySet = rows.filter(partition=values["partition"], active_key=values["key"]).values(*COLUMNS)
        return found

    return _one("holder", {"workspace": principal.workspace_id, "partition": partition, "key": key}, build)


def _equal_to(principal: Principal, partition: str, item: MemoryIn) -> Memory | None:
    """Return the oldest active memory without key that has the item's text and subject in the partition."""

    def build(values: dict[str, Any]) -> QuerySet:
        rows = visible_to(replace(principal, workspace_id=values["workspace"], private="all"), Memory)
        equal = rows.filter(
            partition=values["partition"],
            subject=values["subject"],
            content_hash=values["hash"],
            status=Status.ACTIVE,
            key=None,
        )
        found: QuerySet = equal.order_by("id").values(*COLUMNS)[:1]
        return found

    values: dict[str, prepared.Value] = {
        "workspace": principal.workspace_id,
        "partition": partition,
        "subject": item.subject,
        "hash": content_hash(item.content),
    }
    return _one("equal", values, build)


def _one(shape: str, values: dict[str, prepared.Value], build: prepared.Build) -> Memory | None:
    row = next(prepared.rows(shape, values, build), None)
    return None if row is None else Memory.from_db("default", list(row), list(row.values()))


def _update(
    principal: Principal, memory: Memory, fields: dict[str, Any], sent: set[str], source: str, *, now: datetime
) -> Receipt:
    changes = {name: fields[name] for name in sent}
    if "expires_at" not in sent and memory.expires_at is not None and memory.expires_at <= now:
        changes["expires_at"] = None
    if source in RESTRICTED_SOURCES and changes["content"] != memory.content:
        # What a person raised was the old text; the new one starts low again.
        changes = hold_back({"importance": memory.importance, "pinned": memory.pinned} | changes, source)
    elif source in RESTRICTED_SOURCES:
        changes.pop("importance", None)
        changes.pop("pinned", None)
    if revisions.change(memory, changes, by=principal.actor, now=now, verb="remember"):
        return Receipt(memory, "updated")
    revisions.mark_seen(memory, now=now)
    return Receipt(memory, "unchanged")


def _remember_again(
    principal: Principal, memory: Memory, fields: dict[str, Any], sent: set[str], source: str, *, now: datetime
) -> Receipt:
    """Count the equal text as seen; what else the request says is not lost, unless its source is less trusted."""
    changes: dict[str, Any] = {}
    if TRUST[source] >= TRUST[memory.source]:
        # White space around the text is no news.
        changes = {name: fields[name] for name in sent if name != "content"}
        if source in RESTRICTED_SOURCES:
            changes.pop("importance", None)
            changes.pop("pinned", None)
        elif memory.source in RESTRICTED_SOURCES and "importance" not in sent:
            changes["importance"] = fields["importance"]
    if "expires_at" not in changes and memory.expires_at is not None and memory.expires_at <= now:
        changes["expires_at"] = None
    revisions.mark_seen(memory, now=now)
    changed = revisions.change(memory, changes, by=principal.actor, now=now, verb="remember")
    return Receipt(memory, "updated" if changed else "unchanged")


def _check_scope(principal: Principal, scope: str) -> None:
    if scope == Scope.SHARED and not principal.may_write_shared:
        raise Forbidden("this token may not write shared memories", field="scope", code="shared_not_allowed")
    if scope == Scope.AGENT and principal.private == "none":
        raise Forbidden(f"a token of role {principal.role} has no private memories; use scope shared", field="scope")


def find(principal: Principal, memory_id: int) -> Memory:
    """Return the memory. Raises NotFound, also for rows that the principal may not see."""
    partitions = principal.partitions
    values: dict[str, prepared.Value] = {"workspace": principal.workspace_id, "id": memory_id}
    values |= {f"partition {place}": partition for place, partition in enumerate(partitions or ())}

    def build(values: dict[str, Any]) -> QuerySet:
        rows = visible_to(replace(principal, workspace_id=values["workspace"], private="all"), Memory)
        if partitions is not None:
            rows = rows.filter(partition__in=[values[f"partition {place}"] for place in range(len(partitions))])
        found: QuerySet = rows.filter(pk=values["id"]).values(*COLUMNS)
        return found

    memory = _one(f"find in {len(partitions) if partitions is not None else 'all'}", values, build)
    if memory is None:
        raise NotFound(f"there is no memory {memory_id}")
    return memory


def _find_to_change(principal: Principal, memory_id: int) -> Memory:
    memory = find(principal, memory_id)
    why_not = may_change(principal, memory)
    if why_not is not None:
        raise Forbidden(why_not)
    if memory.status == Status.ERASED:
        raise Conflict(f"memory {memory_id} was erased", code="erased")
    return memory


def _check_revision(memory: Memory, expected: int | None) -> None:
    if expected is not None and expected != memory.revision:
        raise Stale(f"memory {memory.pk} is at revision {memory.revision}, not {expected}: read it again")


@storage.write
def revise(
    principal: Principal,
    memory_id: int,
    changes: dict[str, Any],
    *,
    now: datetime,
    if_revision: int | None = None,
    reason: str = "",
) -> Receipt:
    """Return the receipt of changing the named fields of an active memory."""
    memory = _find_to_change(principal, memory_id)
    _check_revision(memory, if_revision)
    if memory.status != Status.ACTIVE:
        raise Conflict(f"memory {memory_id} is {memory.status}: restore it first", code="not_active")
    if memory.restricted and not principal.actor.is_person:
        if changes.get("importance", 0) > max(RESTRICTED_IMPORTANCE_MAX, memory.importance) or changes.get("pinned"):
            raise Forbidden(
                f"a memory from {memory.source} has importance {RESTRICTED_IMPORTANCE_MAX} at most and no pin "
                "until a person raises it",
                field="pinned" if changes.get("pinned") else "importance",
                code="restricted",
            )
        if changes.get("content", memory.content) != memory.content:
            changes = hold_back({"importance": memory.importance, "pinned": memory.pinned} | changes, memory.source)
    if "scope" in changes and changes["scope"] != memory.scope:
        _check_scope(principal, changes["scope"])
        if memory.partition == SHARED_PARTITION and memory.agent_id != principal.agent_id:
            raise Forbidden("only the agent that remembered it can make it private", field="scope")
    changed = revisions.change(memory, changes, by=principal.actor, now=now, verb="revise", reason=reason)
    return Receipt(memory, "updated" if changed else "unchanged")


@storage.write
def forget(
    principal: Principal, memory_id: int, *, now: datetime, if_revision: int | None = None, reason: str = ""
) -> Receipt:
    """Return the receipt of archiving a memory. Nothing is deleted: restore brings it back as it was."""
    memory = _find_to_change(principal, memory_id)
    _check_revision(memory, if_revision)
    if memory.status == Status.MERGED:
        raise Conflict(f"memory {memory_id} is merged into memory {memory.merged_into_id}", code="merged")
    if memory.status == Status.ARCHIVED:
        return Receipt(memory, "unchanged")
    fields = {"status": Status.ARCHIVED.value, "archived_at": now, "archive_reason": reason or "forgotten"}
    revisions.change(memory, fields, by=principal.actor, now=now, verb="forget", reason=reason, touch=False)
    audit.record(
        "memory.forget",
        actor=principal.actor.name,
        workspace_id=memory.workspace_id,
        target=f"memory {memory.pk}",
        request_id=principal.actor.request_id,
        at=now,
    )
    return Receipt(memory, "archived")


@storage.write
def restore(
    principal: Principal,
    memory_id: int,
    *,
    now: datetime,
    revision: int | None = None,
    if_revision: int | None = None,
    reason: str = "",
) -> Receipt:
    """Return the receipt of going back to a revision, or of making an archived or merged memory active again.

    Raises Conflict where another memory holds the key now, Forbidden where the old state is not the principal's to
    bring back.
    """
    memory = _find_to_change(principal, memory_id)
    _check_revision(memory, if_revision)
    if revision is None:
        state: dict[str, Any] = {
            "status": Status.ACTIVE.value,
            "merged_into_id": None,
            "merged_at": None,
            "archived_at": None,
            "archive_reason": "",
        }
    else:
        state = revisions.state_at(memory, revision)
        _check_state(principal, memory, state)
        if not Message.objects.filter(pk=state["message_id"] or 0).exists():
            state["message_id"] = None
    touch = state.get("content", memory.content) != memory.content
    changed = revisions.change(memory, state, by=principal.actor, now=now, verb="restore", reason=reason, touch=touch)
    if not changed:
        return Receipt(memory, "unchanged")
    audit.record(
        "memory.restore",
        actor=principal.actor.name,
        workspace_id=memory.workspace_id,
        target=f"memory {memory.pk}",
        result=f"revision={revision}" if revision else "",
        request_id=principal.actor.request_id,
        at=now,
    )
    return Receipt(memory, "restored")


def _check_state(principal: Principal, memory: Memory, state: dict[str, Any]) -> None:
    if principal.actor.is_person:
        return
    if TRUST[state["source"]] > principal.trust:
        raise Forbidden(f"this token may not bring back what came from the more trusted source {state['source']!r}")
    if state["scope"] != memory.scope:
        _check_scope(principal, state["scope"])
        if memory.agent_id != principal.agent_id:
            raise Forbidden("only the agent that remembered it can change its scope")
    raised = state["importance"] > max(memory.importance, RESTRICTED_IMPORTANCE_MAX) or state["pinned"] > memory.pinned
    if state["source"] in RESTRICTED_SOURCES and raised:
        raise Forbidden("a memory from a restricted source is raised by a person only", code="restricted")


@dataclass(frozen=True, slots=True)
class Erased:
    """What erase left: the emptied memory, and memories merged into it, which keep their own text."""

    memory: Memory
    merged_from: list[int]


@storage.write
def erase(principal: Principal, memory_id: int, *, reason: str, now: datetime) -> Erased:
    """Overwrite a memory's text everywhere, for secrets and personal data. An admin may erase what it cannot read."""
    if not principal.is_admin:
        find(principal, memory_id)
        raise Forbidden("only an admin erases; forget archives")
    if not reason.strip():
        raise Invalid("erase needs a reason", field="reason")
    memory = Memory.objects.filter(workspace_id=principal.workspace_id, pk=memory_id).first()
    if memory is None:
        raise NotFound(f"there is no memory {memory_id}")
    if memory.status != Status.ERASED:
        revisions.erase(memory, by=principal.actor, now=now, reason=reason)
        audit.record(
            "memory.erase",
            actor=principal.actor.name,
            workspace_id=memory.workspace_id,
            target=f"memory {memory.pk}",
            result=f"reason={reason}",
            request_id=principal.actor.request_id,
            at=now,
        )
    return Erased(memory, list(memory.merged_from.order_by("id").values_list("pk", flat=True)))
