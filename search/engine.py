"""Running a plan: ids first, text second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from memories.access import Principal
from search import maintenance
from search.backends import backend
from search.backends.base import Condition, Found, IndexDamaged, Kind, Sort
from search.corpora import Corpus
from search.matching import Meaning, PreparedText, like_prefilter, matches
from search.models import IndexState
from search.query import Node, Query, terms
from search.routing import Mode, Plan, Step, plan

WINDOW = 1000
"""Hits that are ranked by relevance, the newest; the rest follows newest first."""
TOTAL_MAX = 10_000
"""Hits are counted up to here."""
VERIFIED = 200
"""Rows whose text is loaded at once to be looked at."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A row found, how, and its place in the answer: 1.0 for the first, falling."""

    id: int
    match: str
    score: float


@dataclass(slots=True)
class Answer:
    """A page of hits and what is to be said of it."""

    hits: list[Hit]
    query: Query
    plan: Plan
    total: int
    total_is_exact: bool
    complete: bool
    scanned_to: str | None
    ranking_is_exact: bool
    index_state: str
    index_percent: int
    next_offset: int | None
    took_ms: float = 0.0


@dataclass(slots=True)
class _Run:
    """One search while it runs: what has been found, and whether anything was left out."""

    corpus: Corpus
    root: Node
    condition: Condition
    sort: Sort
    states: dict[Kind, IndexState]
    deadline: float
    found: dict[int, Meaning] = field(default_factory=dict)
    complete: bool = True
    scanned_to: str | None = None
    ranking_is_exact: bool = True

    def gap(self, kind: Kind) -> tuple[int, int] | None:
        state = self.states[kind]
        filled = state.state == IndexState.State.READY or state.progress >= state.high_water
        return None if filled else (state.progress, state.high_water)


def search(
    corpus: Corpus,
    query: Query,
    rows: QuerySet[Any],
    principal: Principal,
    *,
    mode: Mode = "auto",
    sort: Sort = "relevance",
    unindexed_rows: bool = True,
    limit: int = 20,
    offset: int = 0,
    resolve: Callable[[list[int]], list[int]] = list,
) -> Answer:
    """Return a page of the rows that the query finds among ``rows``, a queryset through ``visible_to`` without joins.

    Meaning and access path are two things: the same rows are found by index and by scan. An index that turns out to be
    damaged is detached and the search goes on without it. What could not be looked at in time is told. ``resolve``
    may put other rows in the place of those found.
    """
    started = time.monotonic()
    while True:
        states = maintenance.states(corpus)
        usable = {kind: state.state != IndexState.State.STALE for kind, state in states.items()}
        chosen = plan(
            query,
            mode,
            words=usable.get("words", False),
            trigram=usable.get("trigram", False),
            unindexed_rows=unindexed_rows and corpus.unindexed is not None,
        )
        try:
            return _run(corpus, query, rows, principal, chosen, states, sort, limit, offset, started, resolve)
        except IndexDamaged as error:
            maintenance.detach(error.corpus, error.kind, error.detail)


def _run(
    corpus: Corpus,
    query: Query,
    rows: QuerySet[Any],
    principal: Principal,
    chosen: Plan,
    states: dict[Kind, IndexState],
    sort: Sort,
    limit: int,
    offset: int,
    started: float,
    resolve: Callable[[list[int]], list[int]],
) -> Answer:
    percent = min((state.percent for state in states.values()), default=0)
    state = _state_in_words(states)
    if query.root is None:
        return Answer([], query, chosen, 0, True, True, None, True, state, percent, None, _ms(started))
    condition = backend().condition(corpus, rows, workspace_id=principal.workspace_id, partitions=principal.partitions)
    run = _Run(corpus, query.root, condition, sort, states, started + settings.SEARCH_SCAN_MS / 1000)
    ordered: list[int] = []
    stopped_early = False
    for step in chosen.steps:
        if step.when == "empty" and ordered:
            stopped_early = True
            continue
        if step.when == "short" and len(ordered) >= offset + limit:
            stopped_early = True
            continue
        for id_ in _step(run, step):
            run.found[id_] = step.meaning
            ordered.append(id_)
    if sort != "relevance" and len({run.found[id_] for id_ in ordered}) > 1:
        ordered = _by_time(run, ordered)
    ordered = resolve(ordered)
    page = ordered[offset : offset + limit]
    hits = [
        Hit(
            id_,
            "substring" if run.found.get(id_) == "substring" else "word",
            round(1 - (offset + place) / (len(ordered) + 1), 4),
        )
        for place, id_ in enumerate(page)
    ]
    more = offset + limit < len(ordered)
    exact = run.complete and not (stopped_early and any(step.when == "short" for step in chosen.steps))
    return Answer(
        hits=hits,
        query=query,
        plan=chosen,
        total=min(len(ordered), TOTAL_MAX),
        total_is_exact=exact and len(ordered) <= TOTAL_MAX,
        complete=run.complete,
        scanned_to=run.scanned_to,
        ranking_is_exact=run.ranking_is_exact,
        index_state=state,
        index_percent=percent,
        next_offset=offset + limit if more or (stopped_early and len(page) == limit) else None,
        took_ms=_ms(started),
    )


def _ms(started: float) -> float:
    return round(1000 * (time.monotonic() - started), 1)


def _state_in_words(states: dict[Kind, IndexState]) -> str:
    found = {state.state for state in states.values()}
    if not states or IndexState.State.STALE in found:
        return "damaged"
    return "rebuilding" if IndexState.State.BUILDING in found else "ready"


def _step(run: _Run, step: Step) -> list[int]:
    """Return the ids that a step adds, in their order, without those that an earlier one found."""
    if step.path == "scan":
        return _order(run, _scan(run, step.meaning, only_unindexed=step.rows == "unindexed"), ranked=False)
    kind: Kind = "words" if step.path == "words" else "trigram"
    generation = maintenance.generation_of(run.states[kind])
    gap = run.gap(kind)
    candidates = backend().search(generation, run.root, run.condition, gap=gap)
    exact = kind == "words" and not any(term.symbols for term in terms(run.root))
    found = (
        [one for one in candidates if one.id not in run.found] if exact else _verified(run, candidates, step.meaning)
    )
    if gap is not None:
        found += _scan(run, step.meaning, within=gap)
    return _order(run, found, ranked=kind == "words")


def _verified(run: _Run, candidates: Iterator[Found], meaning: Meaning) -> list[Found]:
    """Return the candidates whose text really matches.

    Candidates come newest first; what time does not allow is told.
    """
    found: list[Found] = []
    batch: list[Found] = []

    def look() -> None:
        texts = backend().texts(run.corpus, [one.id for one in batch])
        for one in batch:
            row = texts.get(one.id)
            if row is not None and matches(run.root, PreparedText(run.corpus.text_of(row)), meaning):
                found.append(one)
        batch.clear()

    for one in candidates:
        if one.id in run.found:
            continue
        batch.append(one)
        if len(batch) >= VERIFIED:
            look()
            if time.monotonic() > run.deadline:
                run.complete = False
                return found
    look()
    return found


def _scan(
    run: _Run, meaning: Meaning, *, only_unindexed: bool = False, within: tuple[int, int] | None = None
) -> list[Found]:
    """Return matching rows by reading them, in the order of time, as many as time allows."""
    condition = run.condition
    if only_unindexed and run.corpus.unindexed is not None:
        column, value = run.corpus.unindexed
        sql = f'{condition.sql} AND "{run.corpus.table}"."{column}" = %s'
        condition = Condition(sql, (*condition.parameters, value), condition.workspace_id, condition.partitions)
    found: list[Found] = []
    rows = backend().scan(
        run.corpus,
        condition,
        like=like_prefilter(run.root, meaning),
        newest_first=run.sort != "oldest",
        within=within,
    )
    for one, row in rows:
        if one.id not in run.found and matches(run.root, PreparedText(run.corpus.text_of(row)), meaning):
            found.append(one)
        if time.monotonic() > run.deadline:
            run.complete, run.scanned_to = False, one.time
            break
    return found


def _order(run: _Run, found: list[Found], *, ranked: bool) -> list[int]:
    if run.sort != "relevance" or not ranked:
        ordered = sorted(found, key=lambda one: (one.time, one.id), reverse=run.sort != "oldest")
        return [one.id for one in ordered]
    by_id = sorted((one.id for one in found), reverse=True)
    window = by_id[:WINDOW]
    if len(by_id) > WINDOW:
        run.ranking_is_exact = False
    generation = maintenance.generation_of(run.states["words"])
    best = backend().best(generation, run.root, window, most=len(window)) if len(window) > 1 else window
    ranked_ids = set(best)
    return [*best, *(id_ for id_ in window if id_ not in ranked_ids), *by_id[WINDOW:]]


def _by_time(run: _Run, ids: Sequence[int]) -> list[int]:
    """Return ids of several steps in one order of time."""
    model, column = run.corpus.model, run.corpus.time
    times: dict[int, datetime] = {}
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        times |= dict(model._default_manager.filter(pk__in=some).values_list("pk", column))
    return sorted(ids, key=lambda id_: (times[id_], id_), reverse=run.sort != "oldest")
