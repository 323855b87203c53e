"""Running a plan: ids first, text second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Literal

from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet

from memories.access import Principal
from search import maintenance, metrics, slow_log, upkeep
from search.backends import backend
from search.backends.base import LARGE, Condition, Found, Generation, IndexDamaged, Kind, Sort
from search.corpora import Corpus
from search.matching import Meaning, PreparedText, like_prefilter, matcher
from search.models import IndexState
from search.query import Match, Node, Not, Query, Term, tails, terms
from search.relevance import RESCORED, Ranker
from search.routing import Mode, Plan, Rows, Step, plan

Resolve = Callable[[list[int]], dict[int, int | None]]

WINDOW = 500
"""Hits that are ranked by relevance, the newest; the rest follows newest first."""
CAREFUL = 50
"""Of these so many, those that a quick look puts in front, are told apart with care."""
FEW_ROWS = 2000
"""Rows of a workspace that are read as quickly as a list of trigrams of all workspaces."""
MANY_ENTRIES = 20_000
"""Entries of an index below which its lists of trigrams are short enough for everybody."""
LABELS_KEPT = 10_000
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
    # A step was not read to its end: there are more rows than those found.
    has_more: bool = False
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
        route = "none"
        note = partial(slow_log.note, query, corpus=corpus.name, workspace_id=principal.workspace_id)
        try:
            entries = _entries(states, principal) if query.root is not None else 0
            chosen = plan(
                query,
                mode,
                words=usable.get("words", False),
                trigram=usable.get("trigram", False),
                unindexed_rows=unindexed_rows and corpus.unindexed is not None,
                few_rows=_has_few_rows(states, entries),
            )
            route = chosen.route
            condition = backend().condition(
                corpus, rows, workspace_id=principal.workspace_id, partitions=principal.partitions, entries=entries
            )
            answer = _run(corpus, query, condition, principal, chosen, states, sort, limit, offset, started, resolve)
        except IndexDamaged as error:
            broken = error.generation
            maintenance.detach(broken.corpus, broken.kind, error.detail, number=broken.number)
            continue
        except DatabaseError as error:
            note(route=route, took_ms=_ms(started), error=type(error).__name__)
            raise
        note(route=route, took_ms=answer.took_ms, rows=len(answer.hits))
        metrics.SECONDS.labels(corpus.name, route).observe(answer.took_ms / 1000)
        if not answer.complete:
            metrics.INCOMPLETE.labels(corpus.name).inc()
        return answer


_large: set[tuple[str, int, tuple[str, ...] | None]] = set()
"""Labels that were seen to have more than LARGE entries; a workspace seldom shrinks, and either way finds the same."""


def _entries(states: dict[Kind, IndexState], principal: Principal) -> int:
    """Return how many entries of the words index the principal's labels have, counted up to LARGE + 1."""
    state = states.get("words")
    if state is None or state.state == IndexState.State.STALE:
        return 0
    generation = maintenance.generation_of(state)
    labels = (generation.table, principal.workspace_id, principal.partitions)
    if labels in _large:
        return LARGE + 1
    condition = Condition("TRUE", (), principal.workspace_id, principal.partitions)
    entries = backend().rows_of(generation, condition, most=LARGE + 1)
    if entries > LARGE:
        if len(_large) >= LABELS_KEPT:
            _large.clear()
        _large.add(labels)
    return entries


def _has_few_rows(states: dict[Kind, IndexState], entries: int) -> bool:
    state = states.get("words")
    if state is None or state.state != IndexState.State.READY:
        return False
    return (state.entries or 0) >= MANY_ENTRIES and entries <= FEW_ROWS


def _run(
    corpus: Corpus,
    query: Query,
    condition: Condition,
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
    deadline = started + settings.SEARCH_SCAN_MS / 1000
    run = _Run(corpus, principal, query.root, query.match, condition, sort, offset + limit, states, deadline)
    ordered, stopped_early = _ordered(run, chosen.steps, resolve)
    page = ordered[offset : offset + limit]
    total = len(ordered)
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
    return Answer(
        hits=hits,
        query=query,
        plan=chosen,
        total=total,
        total_is_exact=run.complete and not stopped_early and not run.has_more,
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

    The hits of a step stand behind those before, in whatever order: what is on one page must not depend on how far the
    reader turns.
    """
    groups: list[list[int]] = []
    count, left_out = 0, False
    for step in steps:
        if step.when == "empty" and count:
            continue
        if step.when == "short" and count >= run.wanted:
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
        groups.append(new)
    if run.sort != "relevance" and resolve is not None:
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
    root, condition = run.root, run.condition
    after_space = _telling_tails(run) if kind == "trigram" else None
    if after_space is not None:
        kind, root, condition = "words", after_space, _with_rows(run, step.rows)
    state = run.states[kind]
    gap = maintenance.gap_of(state)
    generation, engine = maintenance.generation_of(state), backend()
    exact = step.path == "words" and not any(term.symbols for term in terms(run.root))
    best: dict[int, float] = {}
    if exact:
        if run.sort == "relevance" and run.match == "any":
            best = _ranker(run).best_of_any(gap)
            best = {id_: score for id_, score in best.items() if id_ not in run.found}
            highest = max(best.values(), default=0.0) or 1.0
            run.relevance |= {id_: score / highest for id_, score in best.items()}
        # One more than any page up to this one shows, whatever was found before.
        ranked = WINDOW if run.sort == "relevance" else 0
        most = max(ranked, run.wanted) + len(run.found) + 1
        by_time = None if run.sort == "relevance" else run.sort
        rows = list(engine.search(generation, root, condition, gap=gap, by_time=by_time, most=most))
        run.has_more |= len(rows) == most
        found = [one for one in rows if one.id not in run.found]
    else:
        found = _verified(run, generation, root, condition, gap, step)
    if not found:
        # An index may be empty for damage that SQLite does not tell of: "nothing" is only said after a look.
        upkeep.probe(state, most=3)
    if gap is not None:
        found += _scan(run, step.meaning, within=gap, rows=step.rows)
    return _order(run, found, ranked=step.path == "words" and _rankable(run.root) is not None, best=best)


def _telling_tails(run: _Run) -> Node | None:
    """Return what the words index can narrow the rows down by, where few rows have it. Many may have all trigrams."""
    state, root = run.states.get("words"), tails(run.root)
    if root is None or state is None or state.state != IndexState.State.READY:
        return None
    number = backend().frequencies(maintenance.generation_of(state), [root], None, most=FEW_ROWS + 1)[0]
    return root if number <= FEW_ROWS else None


def _verified(
    run: _Run, generation: Generation, root: Node, condition: Condition, gap: tuple[int, int] | None, step: Step
) -> list[Found]:
    """Return rows whose index entry may match and whose text really does.

    As many as are wanted, where they come in the order of time; what time does not allow is told.
    """
    engine = backend()
    by_time: Literal["newest", "oldest"] = "oldest" if run.sort == "oldest" else "newest"
    in_order = run.sort != "relevance" or step.path != "words"
    most = run.wanted + len(run.found) + 1 if in_order else None
    candidates = engine.search(generation, root, condition, gap=gap, oldest_first=by_time == "oldest")
    found = _look(run, candidates, step.meaning, most)
    if most is None or len(found) < most:
        return found
    found.sort(key=lambda one: (one.time, one.id), reverse=by_time == "newest")
    if not engine.is_in_time_order(run.corpus, condition, found, by_time=by_time):
        candidates = engine.search(generation, root, condition, gap=gap, by_time=by_time)
        found = _look(run, candidates, step.meaning, most)
    run.has_more |= len(found) == most
    return found


def _look(run: _Run, candidates: Iterator[Found], meaning: Meaning, most: int | None) -> list[Found]:
    """Return the candidates whose text matches, in their order, ``most`` at most."""
    found: list[Found] = []
    fits = matcher(run.root, meaning)
    while batch := list(islice(candidates, VERIFIED)):
        texts = backend().texts(run.corpus, [one.id for one in batch if one.id not in run.found])
        for one in batch:
            row = texts.get(one.id)
            if row is not None and fits(PreparedText(run.corpus.text_of(row))):
                found.append(one)
                if len(found) == most:
                    return found
        if time.monotonic() > run.deadline and len(batch) == VERIFIED:
            run.complete, run.scanned_to = False, batch[-1].time
            break
    return found


def _with_rows(run: _Run, rows: Rows) -> Condition:
    """Return the run's condition for those rows alone that the trigram index has, or leaves out."""
    condition = run.condition
    if rows == "all" or run.corpus.unindexed is None:
        return condition
    column, value = run.corpus.unindexed
    sql = f'{condition.sql} AND "{run.corpus.table}"."{column}" {"=" if rows == "unindexed" else "<>"} %s'
    return replace(condition, sql=sql, parameters=(*condition.parameters, value))


def _scan(run: _Run, meaning: Meaning, *, rows: Rows, within: tuple[int, int] | None = None) -> list[Found]:
    """Return matching rows by reading them, in the order of time, as many as time allows."""
    condition = _with_rows(run, rows)
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
    fits = matcher(run.root, meaning)
    scanned = backend().scan(
        run.corpus,
        condition,
        like=like_prefilter(run.root, meaning),
        newest_first=run.sort != "oldest",
        within=within,
    )
    for one, row in scanned:
        if one.id not in run.found and fits(PreparedText(run.corpus.text_of(row))):
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
    """Return the ids of the window, best first: those that a quick look puts in front are ranked with care."""
    if len(window) < 2:
        return window
    ranker = _ranker(run)
    quick = ranker.quick(window) if len(window) > CAREFUL else window
    careful = RESCORED if run.match == "any" else CAREFUL
    best = list(ranker.scored(quick[:careful], question=run.match == "any"))
    return [*best, *quick[careful:]]


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
