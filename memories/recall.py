"""Ordered, budgeted reading: recall, brief, the plain list, history and counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any, Literal, TypeVar

from django.db import models
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import TruncDate

from memories import prepared
from memories.access import Principal, visible_to
from memories.json_lines import REFERENCES
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

RECALLED = (*MEMORY_COLUMNS, "recency")
ORDER = tuple(f"-{column}" for column in RECALL_ORDER)
RARE_TAG = 1000
"""Memories with a tag that is on so few are sorted; for a commoner tag, memories are tried in recall's order."""
PARTITIONS_MAX = 50
"""Up to so many partitions are read each in its order and merged; beyond that the database sorts."""
GROUPS_MAX = 200
COUNTED_MAX = 100_000
"""Memories of a list that are counted."""
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
    key: str | None = None
    pinned: bool | None = None
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
    rows = _in_order(principal, filters, limit=limit, now=now)
    return within_budget(rows, lambda: _Asked(principal, filters, now).total(), limit=limit, max_chars=max_chars)


def within_budget(rows: Iterable[dict[str, Any]], total_of: Callable[[], int], *, limit: int, max_chars: int) -> Recall:
    """Return the first of the rows (of RECALLED and ``created_by``), as many as fit.

    ``total_of`` is asked how many there are only where the rows do not tell.
    """
    memories: list[dict[str, Any]] = []
    chars, truncated = 0, False
    for row in islice(rows, limit):
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
    total = total_of() if truncated or len(memories) >= limit else len(memories)
    return Recall(memories, total, chars, truncated or total > len(memories))


def recallable(principal: Principal, filters: Filters, *, now: datetime) -> QuerySet[Memory] | None:
    """Return the active, unexpired memories that the filters allow, in no order; None where they can allow none."""
    asked = _Asked(principal, filters, now)
    return None if asked.partitions == [] else asked.rows(asked.values)


def _in_order(principal: Principal, filters: Filters, *, limit: int, now: datetime) -> Iterator[dict[str, Any]]:
    """Return rows of MEMORY_COLUMNS, ``created_by`` and ``recency`` in recall's order, read as they are asked for."""
    asked = _Asked(principal, filters, now)
    if asked.partitions == []:
        return iter(())
    # Few sizes, so that few statements are prepared.
    most = next((size for size in (20, 100) if limit <= size), limit)
    if filters.tags and asked.tagged() <= RARE_TAG:
        found = prepared.rows(
            ("recall tag", most, *asked.shape), asked.values, lambda values: asked.sorted(values)[:most]
        )
        return ({name.removeprefix("memory__"): value for name, value in row.items()} for row in islice(found, limit))
    found = prepared.rows(("recall", most, *asked.shape), asked.values, lambda values: asked.merged(values)[:most])
    return islice(found, limit)


def _merge(runs: list[QuerySet]) -> QuerySet:
    """Return the rows of all runs. Ordered alike, each from an index, they are merged and not sorted."""
    merged: QuerySet = runs[0].union(*runs[1:], all=True) if len(runs) > 1 else runs[0]
    return merged


class _Asked:
    """One question to recall, with its values by name, so that the statements for it are prepared once a shape.

    The querysets it gives are made from ``values``: the question's own, or stand-ins for them.
    """

    def __init__(self, principal: Principal, filters: Filters, now: datetime) -> None:
        self.principal, self.filters = principal, filters
        self.partitions = _partitions(principal, filters.scope)
        self.values: dict[str, prepared.Value] = {"workspace": principal.workspace_id, "now": now}
        self.values |= {f"partition {place}": partition for place, partition in enumerate(self.partitions or ())}
        self.values |= {f"kind {place}": kind for place, kind in enumerate(filters.kinds)}
        self.values |= {f"tag {place}": tag for place, tag in enumerate(filters.tags)}
        if filters.subject is not None:
            self.values["subject"] = filters.subject
        self.shape: tuple[Hashable, ...] = (
            len(self.partitions) if self.partitions is not None else None,
            filters.scope if self.partitions is None else None,
            len(filters.kinds),
            len(filters.tags),
            filters.subject is not None,
            filters.min_importance,
            filters.include_restricted,
        )

    def seen(self, model: type[M], values: dict[str, Any]) -> QuerySet[M]:
        """Return the model's rows that the principal may see, in the scope asked for."""
        # Through the one door; which partitions it opens is spelled out right behind it.
        rows = visible_to(replace(self.principal, workspace_id=values["workspace"], private="all"), model)
        if self.partitions is not None:
            return rows.filter(partition__in=self._named("partition", values))
        if self.filters.scope is None:
            return rows
        shared = Q(partition=SHARED_PARTITION)
        return rows.filter(shared if self.filters.scope == Scope.SHARED else ~shared)

    def rows(self, values: dict[str, Any]) -> QuerySet[Memory]:
        """Return the active, unexpired memories that the filters allow."""
        rows = self._fitting(self.seen(Memory, values), values, "").filter(_unexpired(values), status=Status.ACTIVE)
        return _with_tags(rows, self._named("tag", values))

    def merged(self, values: dict[str, Any]) -> QuerySet:
        """Return what the filters allow in recall's order, read from indexes and merged by the database."""
        runs = self.runs(self.rows(values), values)
        return _merge([run.values(*RECALLED, created_by=CREATED_BY) for run in runs]).order_by(*ORDER)

    def sorted(self, values: dict[str, Any]) -> QuerySet:
        """Return the same, found by the first tag and sorted; the columns lie at ``memory__``."""
        created_by = Subquery(Agent.objects.filter(pk=OuterRef("memory__agent_id")).order_by().values("name")[:1])
        rows = self.of_tag(values).values(*(f"memory__{column}" for column in RECALLED), created_by=created_by)
        found: QuerySet = rows.order_by(*(f"-memory__{column}" for column in RECALL_ORDER))
        return found

    def runs(self, rows: QuerySet[Memory], values: dict[str, Any]) -> list[QuerySet[Memory]]:
        """Return queries that together give ``rows``, each ordered by one stretch of an index.

        An index gives recall's order only inside one partition, one kind, one value of restricted and, where importance
        is bounded, one value of pinned. A flag is compared by IN, since ``NOT restricted`` is no stretch of an index.
        """
        runs = _by_partition(rows, self._named("partition", values))
        if self.filters.include_restricted:
            runs = [run.filter(restricted__in=[restricted]) for run in runs for restricted in (False, True)]
        if len(self.filters.kinds) > 1:
            runs = [run.filter(kind=kind) for run in runs for kind in self._named("kind", values)]
        if self.filters.min_importance > 1:
            runs = [run.filter(pinned__in=[pinned]) for run in runs for pinned in (True, False)]
        return runs

    def of_tag(self, values: dict[str, Any]) -> QuerySet[MemoryTag]:
        """Return the first tag's entries of the memories that the filters allow."""
        first, *others = self._named("tag", values)
        entries = self._entries(first, values)
        return self._fitting(_with_tags(entries, others, "memory_id"), values, "memory__")

    def tagged(self) -> int:
        """Return how many active memories have the first tag, other filters aside."""

        def entries(values: dict[str, Any]) -> QuerySet:
            return _number(self._entries(values["tag 0"], values), Count("id"))

        names = {"workspace", "now", "tag 0"} | {name for name in self.values if name.startswith("partition")}
        return self._count("tagged", entries, names)

    def total(self) -> int:
        """Return how many memories the filters allow: from the kept counts where they can tell, else by counting."""
        filters = self.filters
        if self.partitions == []:
            return 0
        narrowed = filters.subject is not None or filters.kinds or filters.min_importance > 1
        if len(filters.tags) == 1 and not narrowed:
            return self.tagged()
        if filters.tags and self.tagged() <= RARE_TAG:
            return self._count("of tag", lambda values: _number(self.of_tag(values), Count("id")))
        if filters.tags or filters.subject is not None:
            return self._count("rows", lambda values: _number(self.rows(values), Count("id")))
        active = self._count("active", self._active, self.values.keys() - {"now"})
        return active - self._count("expired", self._expired)

    def _active(self, values: dict[str, Any]) -> QuerySet:
        return _number(self._fitting(self.seen(ActiveCount, values), values, ""), Sum("rows"))

    def _expired(self, values: dict[str, Any]) -> QuerySet:
        rows = self._fitting(self.seen(Memory, values), values, "")
        # As the partial index memory_expiring has it: SQLite does not see that `lapsed IN (0)` means the same.
        expired = rows.filter(status=Status.ACTIVE, expires_at__lte=values["now"], lapsed=False)
        return _number(expired, Count("id"))

    def _entries(self, tag: Any, values: dict[str, Any]) -> QuerySet[MemoryTag]:
        restricted = [False, True] if self.filters.include_restricted else [False]
        entries = self.seen(MemoryTag, values).filter(tag=tag, active__in=[True], restricted__in=restricted)
        return entries.filter(_unexpired(values))

    def _fitting(self, rows: QuerySet[M], values: dict[str, Any], path: str) -> QuerySet[M]:
        """Narrow by subject, kind, importance and restriction, columns that lie at ``path``."""
        filters = self.filters
        if filters.subject is not None:
            rows = rows.filter(**{f"{path}subject": values["subject"]})
        if filters.kinds:
            rows = rows.filter(**{f"{path}kind__in": self._named("kind", values)})
        if filters.min_importance > 1:
            rows = rows.filter(**{f"{path}importance__gte": filters.min_importance})
        if not path:
            rows = rows.filter(restricted__in=[False, True] if filters.include_restricted else [False])
        return rows

    def _count(
        self, name: str, build: Callable[[dict[str, Any]], QuerySet], names: Collection[str] | None = None
    ) -> int:
        values = self.values if names is None else {name: self.values[name] for name in self.values if name in names}
        # Nothing to group gives no row at all.
        return sum(row["number"] or 0 for row in prepared.rows((name, *self.shape), values, build))

    def _named(self, name: str, values: dict[str, Any]) -> list[Any]:
        return [values[known] for known in self.values if known.startswith(f"{name} ")]


def _partitions(principal: Principal, scope: str | None) -> list[str] | None:
    """Return the partitions to read, one by one; None where they are too many to name."""
    partitions = principal.partitions
    if partitions is None:
        agents = Agent.objects.filter(workspace_id=principal.workspace_id).order_by("id")[: PARTITIONS_MAX + 1]
        partitions = (SHARED_PARTITION, *(agent.partition for agent in agents))
        if scope != Scope.SHARED and len(partitions) > PARTITIONS_MAX:
            return None
    return [
        partition
        for partition in partitions
        if scope is None or (partition == SHARED_PARTITION) == (scope == Scope.SHARED)
    ]


def _by_partition(rows: QuerySet[M], partitions: list[Any]) -> list[QuerySet[M]]:
    return [rows.filter(partition=partition) for partition in partitions] or [rows]


def _unexpired(values: dict[str, Any]) -> Q:
    return Q(expires_at=None) | Q(expires_at__gt=values["now"])


def _with_tags(rows: QuerySet[M], tags: list[Any], memory: str = "pk") -> QuerySet[M]:
    """Return the rows whose memory has all the tags."""
    for tag in tags:
        rows = rows.filter(Exists(MemoryTag.objects.filter(memory_id=OuterRef(memory), tag=tag)))
    return rows


def _number(rows: QuerySet, number: Count | Sum) -> QuerySet:
    counted: QuerySet = rows.order_by().values("workspace_id").annotate(number=number).values("number")
    return counted


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
    total = _Asked(principal, filters, now).total()
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
    shown = [run.values(*MEMORY_COLUMNS, created_by=CREATED_BY) for run in _listed(principal, filters, cursor=cursor)]
    found = list(_merge(shown).order_by("-id")[: limit + 1]) if shown else []
    page = [row_json(row) for row in found[:limit]]
    return Page(page, str(page[-1]["id"]) if len(found) > limit else None)


def count_memories(principal: Principal, filters: Filters) -> int:
    """Return how many memories ``list_memories`` lists in all, counted up to COUNTED_MAX + 1."""
    count = 0
    for run in _listed(principal, filters, cursor=None):
        count += run.values("pk")[: COUNTED_MAX + 1 - count].count()
    return count


def _listed(principal: Principal, filters: Filters, *, cursor: int | None) -> list[QuerySet[Memory]]:
    """Return the memories that the filters name in runs, each of one partition and status."""
    rows = visible_to(principal, Memory)
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
    if filters.key is not None:
        rows = rows.filter(key=filters.key)
    if filters.pinned is not None:
        rows = rows.filter(pinned=filters.pinned)
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor)
    rows = _listed_tags(principal, rows, filters.tags)
    partitions = _partitions(principal, filters.scope)
    if partitions == []:
        return []
    if partitions is None and filters.scope is not None:
        rows = rows.exclude(partition=SHARED_PARTITION)
    return [run.filter(status=status) for run in _by_partition(rows, partitions or []) for status in filters.statuses]


def _listed_tags(principal: Principal, rows: QuerySet[Memory], tags: tuple[str, ...]) -> QuerySet[Memory]:
    if tags:
        tagged = visible_to(principal, MemoryTag).filter(tag=tags[0]).values_list("memory_id", flat=True)
        few = list(tagged[: RARE_TAG + 1])
        if len(few) <= RARE_TAG:
            rows, tags = rows.filter(pk__in=few), tags[1:]
    return _with_tags(rows, list(tags))


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
        "before": {REFERENCES.get(name, name): value for name, value in revision.before.items()},
        "after": {REFERENCES.get(name, name): value for name, value in revision.after.items()},
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
