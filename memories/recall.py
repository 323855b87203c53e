"""Ordered, budgeted reading: recall, brief, the plain list, history and counts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any, Literal, TypeVar

from django.db import models
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import TruncDate

from memories import prepared
from memories.access import Principal, visible_to
from memories.models import (
    RECALL_ORDER,
    SHARED_PARTITION,
    ActiveCount,
    Agent,
    Memory,
    MemoryTag,
    Revision,
    Scope,
    Status,
)
from memories.plain_text import cut, one_line
from memories.remember import find
from memories.schemas import MEMORY_COLUMNS, row_json

ORDER = tuple(f"-{column}" for column in RECALL_ORDER)
RARE_TAG = 1000
"""A tag with at most so many rows is looked up first; a commoner one is checked on rows in recall's order."""
GROUPS_MAX = 200
M = TypeVar("M", bound=models.Model)
# A subquery, not a join: the planner must not start from the agents, which would lose the order of the index.
CREATED_BY = Subquery(Agent.objects.filter(pk=OuterRef("agent_id")).order_by().values("name")[:1])


@dataclass(frozen=True, slots=True)
class Filters:
    """Which memories; what is empty does not narrow. Lists mean any of their values, except tags: all of them."""

    subject: str | None = None
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    scope: str | None = None
    statuses: tuple[str, ...] = (Status.ACTIVE.value,)
    min_importance: int = 1
    sources: tuple[str, ...] = ()
    created_by: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    include_restricted: bool = True


@dataclass(frozen=True, slots=True)
class Recall:
    """Memories as JSON in recall's order, as many as fit, and how many there are."""

    memories: list[dict[str, Any]]
    total: int
    chars: int
    truncated: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "memories": self.memories,
            "total": self.total,
            "returned": len(self.memories),
            "chars": self.chars,
            "truncated": self.truncated,
        }


def recall(principal: Principal, filters: Filters, *, limit: int, max_chars: int, now: datetime) -> Recall:
    """Return active, unexpired memories: pinned first, then importance, recency and id, all descending.

    At most ``limit`` memories and ``max_chars`` code points of content. The answer stops at the first memory that
    does not fit; the first one always comes, cut between grapheme clusters if it alone is too long.
    """
    memories: list[dict[str, Any]] = []
    chars, truncated = 0, False
    for row in _in_order(principal, filters, limit=limit, now=now):
        content = row["content"]
        del row["recency"]
        row["cut"], row["content_chars"] = False, len(content)
        if chars + len(content) > max_chars:
            truncated = True
            if memories:
                break
            row["content"], row["cut"] = cut(content, max_chars), True
        memories.append(row_json(row))
        chars += len(row["content"])
    total = _total(principal, filters, now=now) if truncated or len(memories) >= limit else len(memories)
    return Recall(memories, total, chars, truncated or total > len(memories))


def _in_order(principal: Principal, filters: Filters, *, limit: int, now: datetime) -> Iterator[dict[str, Any]]:
    """Return rows of MEMORY_COLUMNS, ``created_by`` and ``recency`` in recall's order, read as they are asked for."""
    # Few sizes, so that few statements are prepared.
    most = next((size for size in (25, 100) if limit <= size), limit)

    def build(values: dict[str, Any]) -> QuerySet:
        rows = _narrowed(*_with_values(principal, filters, values), now=values["now"])
        return _merged(rows, principal, filters, values, most)

    if filters.tags:
        rows = _narrowed(principal, filters, now=now)
        for tag in filters.tags:
            rows = _with_tag(rows, principal, tag)
        return _merged(rows, principal, filters, _values(principal, filters, now), limit).iterator(chunk_size=25)
    found = prepared.rows(("recall", most, *_shape(principal, filters)), _values(principal, filters, now), build)
    return islice(found, limit)


def _shape(principal: Principal, filters: Filters) -> tuple[Hashable, ...]:
    """Return what the SQL of recall depends on, beside the values."""
    return (
        principal.private,
        filters.scope,
        filters.subject is not None,
        len(filters.kinds),
        filters.min_importance,
        filters.include_restricted,
    )


def _values(principal: Principal, filters: Filters, now: datetime) -> dict[str, prepared.Value]:
    """Return the values in recall's SQL by their names."""
    values: dict[str, prepared.Value] = {"now": now, "workspace": principal.workspace_id}
    if principal.private == "own" and principal.own_partition and filters.scope != Scope.SHARED:
        values["own"] = principal.own_partition
    if filters.subject is not None:
        values["subject"] = filters.subject
    return values | {f"kind {place}": kind for place, kind in enumerate(filters.kinds)}


def _with_values(principal: Principal, filters: Filters, values: dict[str, Any]) -> tuple[Principal, Filters]:
    """Return principal and filters with the given values in place of their own."""
    return (
        replace(principal, workspace_id=values["workspace"], own_partition=values.get("own")),
        replace(
            filters,
            subject=values.get("subject"),
            kinds=tuple(values[f"kind {place}"] for place in range(len(filters.kinds))),
        ),
    )


def _merged(
    rows: QuerySet[Memory], principal: Principal, filters: Filters, values: dict[str, Any], limit: int
) -> QuerySet[Memory, dict[str, Any]]:
    """Return the first rows in recall's order. The database merges runs that each come ordered from an index."""
    runs = _runs(rows, *_with_values(principal, filters, values))
    shown = [run.values(*MEMORY_COLUMNS, "recency", created_by=CREATED_BY) for run in runs]
    merged = shown[0].union(*shown[1:], all=True) if len(shown) > 1 else shown[0]
    found: QuerySet[Memory, dict[str, Any]] = merged.order_by(*ORDER)[:limit]
    return found


def _runs(rows: QuerySet[Memory], principal: Principal, filters: Filters) -> list[QuerySet[Memory]]:
    """Return queries that together give ``rows``, each ordered by one stretch of an index.

    An index gives recall's order only inside one partition, one kind, one value of restricted and, where importance is
    bounded, one value of pinned. A flag is compared by IN, since ``NOT restricted`` is no stretch of an index.
    """
    runs = [rows]
    if principal.partitions is not None and filters.scope is None:
        runs = [run.filter(partition=partition) for run in runs for partition in principal.partitions]
    if filters.include_restricted:
        runs = [run.filter(restricted__in=[restricted]) for run in runs for restricted in (False, True)]
    if len(filters.kinds) > 1:
        runs = [run.filter(kind=kind) for run in runs for kind in filters.kinds]
    if filters.min_importance > 1:
        runs = [run.filter(pinned__in=[pinned]) for run in runs for pinned in (True, False)]
    return runs


def _narrowed(principal: Principal, filters: Filters, *, now: datetime) -> QuerySet[Memory]:
    """Return the active, unexpired memories that the filters allow, tags aside."""
    rows = visible_to(principal, Memory).filter(Q(expires_at=None) | Q(expires_at__gt=now), status=Status.ACTIVE)
    if filters.scope is not None:
        rows = rows.filter(_scope_filter(principal, filters.scope))
    if filters.subject is not None:
        rows = rows.filter(subject=filters.subject)
    if filters.kinds:
        rows = rows.filter(kind__in=filters.kinds) if len(filters.kinds) > 1 else rows.filter(kind=filters.kinds[0])
    if filters.min_importance > 1:
        rows = rows.filter(importance__gte=filters.min_importance)
    if not filters.include_restricted:
        rows = rows.filter(restricted__in=[False])
    return rows


def _scope_filter(principal: Principal, scope: str) -> Q:
    """Return the condition for a scope, for an agent's own one that an index can use."""
    if scope == Scope.SHARED:
        return Q(partition=SHARED_PARTITION)
    if principal.private == "own" and principal.own_partition is not None:
        return Q(partition=principal.own_partition)
    return ~Q(partition=SHARED_PARTITION)


def _with_tag(rows: QuerySet[Memory], principal: Principal, tag: str) -> QuerySet[Memory]:
    tagged = visible_to(principal, MemoryTag).filter(tag=tag).values_list("memory_id", flat=True)
    few = list(tagged[: RARE_TAG + 1])
    return rows.filter(pk__in=few if len(few) <= RARE_TAG else tagged)


def _total(principal: Principal, filters: Filters, *, now: datetime) -> int:
    """Return how many memories the filters allow: from the kept counts where they can tell, else by counting."""
    if filters.tags:
        rows = _narrowed(principal, filters, now=now)
        for tag in filters.tags:
            rows = _with_tag(rows, principal, tag)
        return rows.count()
    shape, values = _shape(principal, filters), _values(principal, filters, now)

    def counted(values: dict[str, Any]) -> QuerySet:
        return _sum(_narrowed(*_with_values(principal, filters, values), now=values["now"]), Count("id"))

    def active(values: dict[str, Any]) -> QuerySet:
        return _sum(_count_rows(ActiveCount, *_with_values(principal, filters, values)), Sum("rows"))

    def expired(values: dict[str, Any]) -> QuerySet:
        rows = _count_rows(Memory, *_with_values(principal, filters, values))
        return _sum(rows.filter(status=Status.ACTIVE, expires_at__lte=values["now"]), Count("id"))

    if filters.subject is not None:
        return _only_number(prepared.rows(("counted", *shape), values, counted))
    timeless = {name: value for name, value in values.items() if name != "now"}
    return _only_number(prepared.rows(("active", *shape), timeless, active)) - _only_number(
        prepared.rows(("expired", *shape), values, expired)
    )


def _count_rows(model: type[M], principal: Principal, filters: Filters) -> QuerySet[M]:
    """Return what the filters allow of a model with the columns that active memories are counted by."""
    rows = visible_to(principal, model)
    if filters.scope is not None:
        rows = rows.filter(_scope_filter(principal, filters.scope))
    if filters.kinds:
        rows = rows.filter(kind__in=filters.kinds)
    if filters.min_importance > 1:
        rows = rows.filter(importance__gte=filters.min_importance)
    if not filters.include_restricted:
        rows = rows.filter(restricted__in=[False])
    return rows


def _sum(rows: QuerySet, number: Count | Sum) -> QuerySet:
    summed: QuerySet = rows.order_by().values("workspace_id").annotate(number=number).values("number")
    return summed


def _only_number(found: Iterator[dict[str, Any]]) -> int:
    # Nothing to group gives no row at all.
    return sum(row["number"] or 0 for row in found)


@dataclass(frozen=True, slots=True)
class Brief:
    """The overview: one line a memory."""

    text: str
    total: int
    returned: int
    truncated: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "brief": self.text,
            "total": self.total,
            "returned": self.returned,
            "chars": len(self.text),
            "truncated": self.truncated,
        }


def brief_line(row: dict[str, Any]) -> str:
    """Return a memory as one line.

    ``- (kind) subject: content``, everything that could break out of the line escaped.
    """
    subject = f" {one_line(row['subject'])}:" if row["subject"] else ""
    return f"- ({row['kind']}){subject} {one_line(row['content'].strip())}"


def brief(principal: Principal, *, subject: str | None, max_chars: int, now: datetime) -> Brief:
    """Return the memories in recall's order as text of at most ``max_chars`` code points, line breaks included.

    Equal memories give the same bytes: nothing in it depends on the time of asking. Restricted memories are left out.
    It stops at the first line that does not fit; the first one is cut instead. A last line tells how many are not
    shown, if it fits.
    """
    filters = Filters(subject=subject, include_restricted=False)
    # The shortest line, `- (fact) x`, has ten characters: no more memories than this can fit.
    rows = _in_order(principal, filters, limit=max_chars // 10 + 1, now=now)
    lines: list[str] = []
    used, was_cut = 0, False
    for row in rows:
        line = brief_line(row)
        length = len(line) + (1 if lines else 0)
        if used + length > max_chars:
            if lines:
                break
            line, was_cut = cut(line, max(max_chars - 1, 0)) + "…"[:max_chars], True
            length = len(line)
        lines.append(line)
        used += length
    total = _total(principal, filters, now=now)
    left = total - len(lines)
    note = f"({left} more not shown)"
    if left and used + 1 + len(note) <= max_chars:
        lines.append(note)
        return Brief("\n".join(lines), total, len(lines) - 1, True)
    return Brief("\n".join(lines), total, len(lines), was_cut or left > 0)


@dataclass(frozen=True, slots=True)
class Page:
    """Rows as JSON, and the cursor of the next page (None on the last)."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    next_cursor: str | None = None


def list_memories(principal: Principal, filters: Filters, *, cursor: int | None, limit: int) -> Page:
    """Return memories, newest first, of any status that the filters name; expired ones are among them."""
    rows = visible_to(principal, Memory)
    if filters.statuses:
        rows = rows.filter(status__in=filters.statuses)
    if filters.scope is not None:
        rows = rows.filter(_scope_filter(principal, filters.scope))
    if filters.subject is not None:
        rows = rows.filter(subject=filters.subject)
    if filters.kinds:
        rows = rows.filter(kind__in=filters.kinds)
    if filters.sources:
        rows = rows.filter(source__in=filters.sources)
    if filters.min_importance > 1:
        rows = rows.filter(importance__gte=filters.min_importance)
    if filters.created_by is not None:
        rows = rows.filter(agent__name=filters.created_by)
    if filters.since is not None:
        rows = rows.filter(created_at__gte=filters.since)
    if filters.until is not None:
        rows = rows.filter(created_at__lt=filters.until)
    for tag in filters.tags:
        rows = _with_tag(rows, principal, tag)
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor)
    found = list(rows.order_by("-id").values(*MEMORY_COLUMNS, created_by=CREATED_BY)[: limit + 1])
    page = [row_json(row) for row in found[:limit]]
    return Page(page, str(page[-1]["id"]) if len(found) > limit else None)


def history(principal: Principal, memory_id: int, *, cursor: int | None, limit: int) -> Page:
    """Return the memory's revisions, oldest first."""
    memory = find(principal, memory_id)
    found = list(memory.revisions.filter(number__gt=cursor or 0).order_by("number")[: limit + 1])
    page = [revision_json(revision) for revision in found[:limit]]
    return Page(page, str(page[-1]["revision"]) if len(found) > limit else None)


def revision_json(revision: Revision) -> dict[str, Any]:
    """Return the revision as the API shows it."""
    return {
        "revision": revision.number,
        "verb": revision.verb,
        "before": {name.removesuffix("_id"): value for name, value in revision.before.items()},
        "after": {name.removesuffix("_id"): value for name, value in revision.after.items()},
        "actor": revision.actor,
        "reason": revision.reason,
        "request_id": revision.request_id,
        "at": revision.created_at,
    }


Group = Literal["kind", "subject", "source", "day"]


def stats(principal: Principal, group: Group) -> dict[str, Any]:
    """Return visible memories by status, and the active ones by kind, subject, source or day of creation (UTC)."""
    rows = visible_to(principal, Memory)
    by_status = dict.fromkeys(Status.values, 0) | dict(rows.values_list("status").annotate(rows=Count("id")).order_by())
    active = rows.filter(status=Status.ACTIVE)
    value = TruncDate("created_at") if group == "day" else F(group)
    order = ("-value",) if group == "day" else ("-rows", "value")
    ordered = active.values(value=value).annotate(rows=Count("id")).order_by(*order)
    found = list(ordered[: GROUPS_MAX + 1])
    return {
        "group": group,
        "by_status": by_status,
        "groups": [{"value": str(row["value"]), "count": row["rows"]} for row in found[:GROUPS_MAX]],
        "truncated": len(found) > GROUPS_MAX,
    }
