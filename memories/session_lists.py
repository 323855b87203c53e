"""Lists of sessions: the most recently active first, or those with an id like the one asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, Value, When

from memories.access import Principal, visible_to
from memories.errors import Invalid
from memories.models import SUBAGENT, Agent, Session
from memories.schemas import LARGEST_ID
from memories.transcript_reading import Page
from memories.transcript_schemas import SESSION_COLUMNS

HOPS = 100
"""Continuations that are followed from one session to the next."""
MATCHES_MAX = 1_000
"""Sessions with a matching id that are looked through, best first."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Match = Literal["exact", "prefix", "substring"]
MATCHES: tuple[Match, ...] = ("exact", "prefix", "substring")
"""How an id may match, the best first."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is asked of a session while its continuation is looked for."""

    id: int
    workspace_id: int
    partition: str
    parent_id: int | None
    external_id: str
    source: str
    archived: bool
    started_at: datetime
    last_active_at: datetime

    @property
    def is_subagent(self) -> bool:
        return self.source == SUBAGENT


FOUND_COLUMNS = tuple(Found.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class SessionFilters:
    """Which sessions; what is empty does not narrow."""

    q: str = ""
    sources: Sequence[str] = ()
    exclude_sources: Sequence[str] = ()
    include_archived: bool = False
    include_subagents: bool = False

    def condition(self) -> Q:
        """Return the filters, q aside, as a condition for the database."""
        wanted = Q()
        if self.sources:
            wanted &= Q(source__in=self.sources)
        if self.exclude_sources:
            wanted &= ~Q(source__in=self.exclude_sources)
        if not self.include_archived:
            wanted &= Q(archived=False)
        if not self._shows_subagents:
            wanted &= ~Q(source=SUBAGENT)
        return wanted

    def let_through(self, session: Found) -> bool:
        """Return the same for one session."""
        return (
            (not self.sources or session.source in self.sources)
            and session.source not in self.exclude_sources
            and (self.include_archived or not session.archived)
            and (self._shows_subagents or not session.is_subagent)
        )

    @property
    def _shows_subagents(self) -> bool:
        return self.include_subagents or SUBAGENT in self.sources


def list_sessions(principal: Principal, filters: SessionFilters, *, cursor: str | None, limit: int) -> Page:
    """Return sessions, the most recently active first; with q those with such an id, the best match first."""
    if filters.q.strip():
        return _list_named(principal, filters, cursor=cursor, limit=limit)
    # Through the one door; the partitions that it opens are spelled out one by one right behind it.
    rows = visible_to(replace(principal, private="all"), Session).filter(filters.condition())
    runs = [rows.filter(partition=partition) for partition in principal.partitions or ()] or [rows]
    if cursor is not None:
        _rank, moment, number = _read_cursor(cursor)
        runs = [run.filter(last_active_at=moment, pk__lt=number) for run in runs] + [
            run.filter(last_active_at__lt=moment) for run in runs
        ]
    shown = [_shown(principal, run) for run in runs]
    # Each run comes in the order of an index, so that the database merges them and does not sort.
    merged = shown[0].union(*shown[1:], all=True) if len(shown) > 1 else shown[0]
    found = list(merged.order_by("-last_active_at", "-id")[: limit + 1])
    page = [_as_json(row) for row in found[:limit]]
    more = len(found) > limit
    return Page(page, _cursor(0, page[-1]["last_active_at"], page[-1]["id"]) if more else None)


def _shown(principal: Principal, rows: QuerySet[Session]) -> QuerySet:
    """Return the columns that JSON shows, with the names of the agent and of the parent, if that may be seen."""
    parent = visible_to(principal, Session).filter(pk=OuterRef("parent_id")).order_by().values("external_id")[:1]
    agent = Agent.objects.filter(pk=OuterRef("agent_id")).order_by().values("name")[:1]
    names = {"parent_name": Subquery(parent), "created_by": Subquery(agent)}
    shown: QuerySet = rows.order_by().values(*SESSION_COLUMNS, **names)
    return shown


def _as_json(row: dict[str, Any]) -> dict[str, Any]:
    row["parent"] = row.pop("parent_name")
    return row


def _list_named(principal: Principal, filters: SessionFilters, *, cursor: str | None, limit: int) -> Page:
    """Return the sessions with such an id. In an ancestor's place stands its newest continuation, once for all of them.

    Case is ignored. Only the MATCHES_MAX best matches are looked through; ``truncated`` tells that there are more.
    """
    matches = _matches(principal, filters.q.strip().casefold())
    truncated = len(matches) > MATCHES_MAX
    del matches[MATCHES_MAX:]
    continuations = _continuations(principal, [session for _rank, session in matches])
    best: dict[int, tuple[int, Found, str]] = {}
    for rank, session in matches:
        tip = _tip(session, continuations, filters)
        if tip is None:
            continue
        known = best.get(tip.id)
        if known is None or (rank, session.id != tip.id) < (known[0], known[2] != tip.external_id):
            best[tip.id] = rank, tip, session.external_id
    ordered = sorted(best.values(), key=lambda one: _order(one[0], one[1].last_active_at, one[1].id))
    if cursor is not None:
        behind = _order(*_read_cursor(cursor))
        ordered = [one for one in ordered if _order(one[0], one[1].last_active_at, one[1].id) > behind]
    page = ordered[:limit]
    rows = _shown(principal, _seen_before([tip.id for _rank, tip, _matched in page]))
    by_id = {row["id"]: _as_json(row) for row in rows}
    found = [by_id[tip.id] | {"match": MATCHES[rank], "matched": matched} for rank, tip, matched in page]
    last = page[-1] if len(ordered) > limit else None
    next_cursor = None if last is None else _cursor(last[0], last[1].last_active_at, last[1].id)
    return Page(found, next_cursor, truncated)


def _seen_before(ids: Sequence[int]) -> QuerySet[Session]:
    """Return the sessions of these ids, each of which came through ``visible_to`` or ``Principal.sees``.

    Through the door once more, the database would walk all that is visible instead of taking the ids.
    """
    return Session.objects.filter(pk__in=ids)


def _matches(principal: Principal, needle: str) -> list[tuple[int, Found]]:
    """Return the sessions whose id holds the needle with their place in MATCHES, the best and newest first."""
    rank = Case(When(folded_id=needle, then=Value(0)), When(folded_id__startswith=needle, then=Value(1)), default=2)
    rows = visible_to(principal, Session).filter(folded_id__contains=needle).annotate(rank=rank)
    # Ids alone, which an index has: the rows of those that do not match are not read.
    ranks = dict(rows.order_by("rank", "-last_active_at", "-id").values_list("id", "rank")[: MATCHES_MAX + 1])
    found = {row["id"]: Found(**row) for row in _seen_before(list(ranks)).values(*FOUND_COLUMNS)}
    return [(rank, found[number]) for number, rank in ranks.items()]


def _continuations(principal: Principal, sessions: Iterable[Found]) -> dict[int, Found]:
    """Return the newest continuation of each session that has one, and of these in turn, HOPS times.

    A sub-agent's session continues none but a sub-agent's.
    """
    newest: dict[int, Found] = {}
    asked: set[int] = set()
    frontier = {session.id: session for session in sessions}
    for _hop in range(HOPS):
        frontier = {number: session for number, session in frontier.items() if number not in asked}
        if not frontier:
            break
        asked |= frontier.keys()
        rows = Session.objects.filter(parent_id__in=list(frontier))
        if not any(session.is_subagent for session in frontier.values()):
            rows = rows.exclude(source=SUBAGENT)
        for row in rows.order_by("parent_id", "started_at", "id").values(*FOUND_COLUMNS):
            child = Found(**row)
            assert child.parent_id is not None
            is_seen = principal.sees(workspace_id=child.workspace_id, partition=child.partition)
            if is_seen and child.is_subagent == frontier[child.parent_id].is_subagent:
                newest[child.parent_id] = child
        frontier = {newest[number].id: newest[number] for number in frontier if number in newest}
    return newest


def _tip(session: Found, continuations: dict[int, Found], filters: SessionFilters) -> Found | None:
    """Return the last session that the filters let through on the way from this one, None where there is none."""
    tip = session if filters.let_through(session) else None
    seen = {session.id}
    for _hop in range(HOPS):
        following = continuations.get(session.id)
        if following is None or following.id in seen:
            break
        session = following
        seen.add(session.id)
        tip = session if filters.let_through(session) else tip
    return tip


def _order(rank: int, moment: datetime, number: int) -> tuple[int, timedelta, int]:
    return rank, _EPOCH - moment, -number


def _cursor(rank: int, moment: datetime, number: int) -> str:
    return f"{rank}.{(moment - _EPOCH) // timedelta(microseconds=1)}.{number}"


def _read_cursor(cursor: str) -> tuple[int, datetime, int]:
    """Return what a cursor of ours says. Raises Invalid for any other text."""
    read = re.fullmatch(r"([012])\.(-?\d{1,18})\.(\d{1,19})", cursor, re.ASCII)
    try:
        if read is not None and int(read[3]) <= LARGEST_ID:
            return int(read[1]), _EPOCH + timedelta(microseconds=int(read[2])), int(read[3])
    except OverflowError:
        pass
    raise Invalid("cursor: send the next_cursor of the page before", field="cursor")
