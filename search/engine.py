"""Running a plan: ids first, text second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet

from memories.access import Principal
from search import maintenance, slow_log, upkeep
from search.backends import backend
from search.backends.base import Condition, Found, IndexDamaged, Kind, Sort
from search.corpora import Corpus
from search.matching import Meaning, PreparedText, like_prefilter, matches
from search.models import IndexState
from search.query import Match, Node, Not, Query, Term, terms
from search.relevance import RESCORED, Ranker
from search.routing import Mode, Plan, Rows, Step, plan

Resolve = Callable[[list[int]], dict[int, int | None]]

WINDOW = 1000
"""Hits that are ranked by relevance, the newest; the rest follows newest first."""
TOTAL_MAX = 10_000
"""Hits are counted up to here."""
VERIFIED = 200
"""Rows whose text is loaded at once to be looked at."""
SCANS = threading.BoundedSemaphore(2)
"""Of a process at once: reading rows takes a processor, which searches by index shall not wait for."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A row found, how, and its place in the answer: 1.0 for the first, falling."""

    id: int
    match: str
    score: float
    # Of a question's best rows, what the row's own score is of the first one's; 0.0 for all others.
    relevance: float = 0.0


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
    # Hits that are in their order by relevance where the rest is by time; None where all are.
    ranking_window: int | None
    index_state: str
    index_percent: int
    next_offset: int | None
    took_ms: float = 0.0


@dataclass(slots=True)
class _Run:
    """One search while it runs: what has been found, and whether anything was left out."""

    corpus: Corpus
    principal: Principal
    root: Node
    match: Match
    condition: Condition
    sort: Sort
    # Rows up to the end of the page.
    wanted: int
    states: dict[Kind, IndexState]
    deadline: float
    found: dict[int, Meaning] = field(default_factory=dict)
    shown: dict[int, Meaning] = field(default_factory=dict)
    complete: bool = True
    scanned_to: str | None = None
    ranking_window: int | None = None
    # How many rows a step that was not read to its end finds, up to TOTAL_MAX + 1.
    counted: int | None = None
    relevance: dict[int, float] = field(default_factory=dict)


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
    resolve: Resolve | None = None,
) -> Answer:
    """Return a page of the rows that the query finds among ``rows``, a queryset through ``visible_to`` without joins.

    Meaning and access path are two things: the same rows are found by index and by scan. An index that turns out to be
    damaged is detached and the search goes on without it. What could not be looked at in time is told. ``resolve``
    returns for found rows the rows to show in their place, None for those to leave out.
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
        note = partial(
            slow_log.note, query, corpus=corpus.name, workspace_id=principal.workspace_id, route=chosen.route
        )
        try:
            answer = _run(corpus, query, rows, principal, chosen, states, sort, limit, offset, started, resolve)
        except IndexDamaged as error:
            broken = error.generation
            maintenance.detach(broken.corpus, broken.kind, error.detail, number=broken.number)
            continue
        except DatabaseError as error:
            note(took_ms=_ms(started), error=type(error).__name__)
            raise
        note(took_ms=answer.took_ms, rows=len(answer.hits))
        return answer


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
    resolve: Resolve | None,
) -> Answer:
    percent = min((state.percent for state in states.values()), default=0)
    state = state_in_words(states)
    if query.root is None:
        return Answer([], query, chosen, 0, True, True, None, None, state, percent, None, _ms(started))
    condition = backend().condition(corpus, rows, workspace_id=principal.workspace_id, partitions=principal.partitions)
    deadline = started + settings.SEARCH_SCAN_MS / 1000
    run = _Run(corpus, principal, query.root, query.match, condition, sort, offset + limit, states, deadline)
    ordered, stopped_early = _ordered(run, chosen.steps, resolve)
    page = ordered[offset : offset + limit]
    total = max(len(ordered), run.counted or 0)
    hits = [
        Hit(
            id_,
            "substring" if run.shown[id_] == "substring" else "word",
            round(1 - place / (total + 1), 4),
            run.relevance.get(id_, 0.0),
        )
        for place, id_ in enumerate(page, start=offset)
    ]
    more = offset + limit < len(ordered)
    # Rows shown in the place of others are only known once all are read.
    exact = run.complete and not stopped_early and (run.counted is None or resolve is None)
    return Answer(
        hits=hits,
        query=query,
        plan=chosen,
        total=min(total if resolve is None else len(ordered), TOTAL_MAX),
        total_is_exact=exact and total <= TOTAL_MAX,
        complete=run.complete,
        scanned_to=run.scanned_to,
        ranking_window=run.ranking_window,
        index_state=state,
        index_percent=percent,
        next_offset=offset + limit if more or (stopped_early and len(page) == limit) else None,
        took_ms=_ms(started),
    )


def _ordered(run: _Run, steps: Sequence[Step], resolve: Resolve | None) -> tuple[list[int], bool]:
    """Return what the steps find in one order, and whether steps were left out as the page is full without.

    By relevance the hits of a step stand behind those before. By time they mix while there are few before, however
    few are wanted: what is on one page must not depend on how far the reader turns.
    """
    groups: list[list[int]] = []
    count, left_out = 0, False
    for step in steps:
        mixes = run.sort != "relevance" and count <= WINDOW
        if step.when == "empty" and count:
            continue
        if step.when == "short" and count >= run.wanted and not mixes:
            left_out = True
            continue
        found = _step(run, step)
        run.found |= dict.fromkeys(found, step.meaning)
        places = resolve(found) if resolve is not None else dict(zip(found, found, strict=True))
        new = list(
            dict.fromkeys(id_ for one in found if (id_ := places.get(one, one)) is not None and id_ not in run.shown)
        )
        run.shown |= dict.fromkeys(new, step.meaning)
        count += len(new)
        if mixes and groups:
            groups[-1] += new
        else:
            groups.append(new)
    if run.sort != "relevance" and (len(steps) > 1 or resolve is not None):
        groups = [_by_time(run, group) for group in groups]
    return [id_ for group in groups for id_ in group], left_out


def _ms(started: float) -> float:
    return round(1000 * (time.monotonic() - started), 1)


def state_in_words(states: dict[Kind, IndexState]) -> str:
    """Return whether a corpus's indexes are ``ready``, ``rebuilding`` or ``damaged``: searches are right in each."""
    found = {state.state for state in states.values()}
    if not states or IndexState.State.STALE in found:
        return "damaged"
    return "rebuilding" if IndexState.State.BUILDING in found else "ready"


def _step(run: _Run, step: Step) -> list[int]:
    """Return the ids that a step adds, in their order, without those that an earlier one found."""
    if step.path == "scan":
        words = run.states.get("words")
        indexed = words is not None and words.state != IndexState.State.STALE
        found = _scan(run, step.meaning, rows=step.rows)
        return _order(run, found, ranked=indexed and step.meaning == "words" and _rankable(run.root) is not None)
    kind: Kind = "words" if step.path == "words" else "trigram"
    state = run.states[kind]
    gap = maintenance.gap_of(state)
    generation, engine = maintenance.generation_of(state), backend()
    exact = kind == "words" and not any(term.symbols for term in terms(run.root))
    best: dict[int, float] = {}
    if exact:
        if run.sort == "relevance" and run.match == "any":
            best = _ranker(run).best_of_any(gap)
            best = {id_: score for id_, score in best.items() if id_ not in run.found}
            highest = max(best.values(), default=0.0) or 1.0
            run.relevance |= {id_: score / highest for id_, score in best.items()}
        # One more than any page up to this one shows, whatever was found before.
        most = max(WINDOW, run.wanted) + len(run.found) + 1
        by_time = None if run.sort == "relevance" else run.sort
        candidates = engine.search(generation, run.root, run.condition, gap=gap, by_time=by_time, most=most)
        rows = list(candidates)
        if len(rows) == most:
            run.counted = engine.count(generation, run.root, run.condition, gap=gap, most=TOTAL_MAX + 1)
        found = [one for one in rows if one.id not in run.found]
    else:
        candidates = engine.search(generation, run.root, run.condition, gap=gap)
        found = _verified(run, candidates, step.meaning)
    if not found:
        # An index may be empty for damage that SQLite does not tell of: "nothing" is only said after a look.
        upkeep.probe(state, most=3)
    if gap is not None:
        found += _scan(run, step.meaning, within=gap, rows=step.rows)
    return _order(run, found, ranked=kind == "words" and _rankable(run.root) is not None, best=best)


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
                run.complete, run.scanned_to = False, one.time
                return found
    look()
    return found


def _scan(run: _Run, meaning: Meaning, *, rows: Rows, within: tuple[int, int] | None = None) -> list[Found]:
    """Return matching rows by reading them, in the order of time, as many as time allows."""
    condition = run.condition
    if rows != "all" and run.corpus.unindexed is not None:
        column, value = run.corpus.unindexed
        sql = f'{condition.sql} AND "{run.corpus.table}"."{column}" {"=" if rows == "unindexed" else "<>"} %s'
        condition = Condition(sql, (*condition.parameters, value), condition.workspace_id, condition.partitions)
    # Waiting for others takes from the same time.
    if not SCANS.acquire(timeout=max(0.0, run.deadline - time.monotonic())):
        run.complete = False
        return []
    try:
        return _read(run, condition, meaning, within)
    finally:
        SCANS.release()


def _read(run: _Run, condition: Condition, meaning: Meaning, within: tuple[int, int] | None) -> list[Found]:
    found: list[Found] = []
    scanned = backend().scan(
        run.corpus,
        condition,
        like=like_prefilter(run.root, meaning),
        newest_first=run.sort != "oldest",
        within=within,
    )
    for one, row in scanned:
        if one.id not in run.found and matches(run.root, PreparedText(run.corpus.text_of(row)), meaning):
            found.append(one)
        if time.monotonic() > run.deadline:
            run.complete, run.scanned_to = False, one.time
            break
    return found


def _order(run: _Run, found: list[Found], *, ranked: bool, best: Mapping[int, float] | None = None) -> list[int]:
    """Return the ids in the order asked for. ``best`` come first, where they are known already."""
    if run.sort != "relevance" or not ranked:
        ordered = sorted(found, key=lambda one: (one.time, one.id), reverse=run.sort != "oldest")
        return [one.id for one in ordered]
    newest_first = sorted({one.id for one in found} | set(best or ()), reverse=True)
    first = list(best) if best else _best_of_all(run, newest_first[:WINDOW])
    if len(first) < len(newest_first):
        run.ranking_window = len(first)
    placed = set(first)
    return [*first, *(id_ for id_ in newest_first if id_ not in placed)]


def _best_of_all(run: _Run, window: list[int]) -> list[int]:
    """Return the ids of the window that were ranked, best first: all, or the newest where a word is too common."""
    if len(window) < 2:
        return window
    ranker = _ranker(run)
    if len(window) <= RESCORED or ranker.is_common():
        return list(ranker.scored(window[:RESCORED], question=run.match == "any"))
    best = backend().best(ranker.generation, ranker.root, window, most=len(window))
    if run.match == "any":
        # Where symbols are asked for too: the words decide, as far as they go.
        best = [*ranker.scored(best[:RESCORED], question=True), *best[RESCORED:]]
    placed = set(best)
    # What only a transcription in another column has is not ranked by the index.
    return [*best, *(id_ for id_ in window if id_ not in placed)]


def _ranker(run: _Run) -> Ranker:
    generation = maintenance.generation_of(run.states["words"])
    root = _rankable(run.root)
    assert root is not None
    return Ranker(run.corpus, run.principal, generation, root, run.condition)


def _rankable(root: Node) -> Node | None:
    """Return the part of a query that its words can be ranked by, without symbols; None where there is none."""
    if isinstance(root, Term):
        return root if root.tokens else None
    if isinstance(root, Not):
        part = _rankable(root.part)
        return None if part is None else Not(part)
    parts = tuple(part for part in map(_rankable, root.parts) if part is not None)
    positive = [part for part in parts if not isinstance(part, Not)]
    if not positive:
        return None
    return parts[0] if len(parts) == 1 else type(root)(parts)


def _by_time(run: _Run, ids: Sequence[int]) -> list[int]:
    """Return ids of several steps in one order of time."""
    model, column = run.corpus.model, run.corpus.time
    times: dict[int, datetime] = {}
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        times |= dict(model._default_manager.filter(pk__in=some).values_list("pk", column))
    return sorted(ids, key=lambda id_: (times[id_], id_), reverse=run.sort != "oldest")
