"""Keeping the indexes: made, filled in chunks, repaired, detached when damaged and built anew.

Every step is one short transaction that may be killed and run again: state and progress are one row, and filling a
chunk a second time changes nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db import DatabaseError, transaction
from django.db.models import Max, Q
from django.utils import timezone

from memories import storage
from memories.access import everything
from search.backends import backend
from search.backends.base import KINDS, Generation, IndexDamaged, Kind
from search.corpora import CORPORA, Corpus
from search.models import IndexRun, IndexState
from search.text import function_name

logger = logging.getLogger(__name__)

CHUNK = 200
"""Rows indexed in one transaction: about a tenth of a second of the write lock."""
SHOWN = 500
SAMPLED = 50
"""Rows that a build must find by their own text before it serves."""
R = TypeVar("R")


def generation_of(state: IndexState) -> Generation:
    """Return the build that the state tells of."""
    kind: Kind = "words" if state.kind == "words" else "trigram"
    return Generation(CORPORA[state.corpus], kind, state.generation, state.function)


def states(corpus: Corpus) -> dict[Kind, IndexState]:
    """Return the corpus's states by kind of index."""
    found: dict[Kind, IndexState] = {}
    for state in IndexState.objects.filter(corpus=corpus.name):
        found["words" if state.kind == "words" else "trigram"] = state
    return found


def ensure() -> list[str]:
    """Return what had to be mended so that every index is there, whole, and kept by its triggers.

    Run after each migration, which may remake a table and so drop its triggers, at start and before maintenance. What
    was taken out of service is left for ``tear_down``.
    """
    pairs = [(corpus, kind) for corpus in CORPORA.values() for kind in KINDS]
    return [said for corpus, kind in pairs if (said := _ensure(corpus, kind)) is not None]


@storage.write
def _ensure(corpus: Corpus, kind: Kind) -> str | None:
    engine = backend()
    state = IndexState.objects.select_for_update().filter(corpus=corpus.name, kind=kind).first()
    for generation in left_of(corpus, kind, state):
        engine.detach(generation)
    if state is None:
        _begin(corpus, kind, _next(corpus, kind, None), reason="there was none")
        return f"{corpus.name} {kind}: made"
    generation = generation_of(state)
    if state.state == IndexState.State.STALE or not engine.is_whole(generation):
        engine.detach(generation)
        if _promote(state):
            return f"{corpus.name} {kind}: damaged, the one that is being built takes its place"
        _begin(corpus, kind, _next(corpus, kind, state), reason="damaged", error=state.last_error)
        return f"{corpus.name} {kind}: damaged, made anew"
    if state.function != function_name():
        for number in _known(state):
            engine.detach(Generation(corpus, kind, number, state.function))
        _begin(corpus, kind, _next(corpus, kind, state), reason="another text function")
        return f"{corpus.name} {kind}: another text function, made anew"
    said = _mend_build(state)
    if engine.repair(generation):
        # Which rows were changed without the triggers nobody knows: all of them are read again.
        _refill(state)
        return f"{corpus.name} {kind}: triggers made anew"
    return said


def left_of(corpus: Corpus, kind: Kind, state: IndexState | None) -> list[Generation]:
    """Return the generations that have tables and are of no use any more."""
    numbers = set(backend().generations(corpus, kind)) - _known(state)
    return [Generation(corpus, kind, number, function_name()) for number in sorted(numbers)]


def left_over() -> list[Generation]:
    """Return the generations that are still to be torn down."""
    known = {(state.corpus, state.kind): state for state in IndexState.objects.all()}
    return [
        generation
        for corpus in CORPORA.values()
        for kind in KINDS
        for generation in left_of(corpus, kind, known.get((corpus.name, kind)))
    ]


def _known(state: IndexState | None) -> set[int]:
    """Return the generations that the state tells of."""
    return (
        {number for number in (state.generation, state.building) if number is not None} if state is not None else set()
    )


def _next(corpus: Corpus, kind: Kind, state: IndexState | None) -> int:
    """Return a number that no generation has had."""
    return 1 + max([0, *backend().generations(corpus, kind), *_known(state)])


def build_of(state: IndexState) -> Generation | None:
    """Return the generation that is built beside the one that serves, None where none is."""
    if state.building is None:
        return None
    serving = generation_of(state)
    return Generation(serving.corpus, serving.kind, state.building, state.function)


def _promote(state: IndexState) -> bool:
    """Return whether the generation being built was put in the place of the one that served, as far as it is filled."""
    build = build_of(state)
    if build is None or not backend().is_whole(build):
        return False
    state.generation, state.building = build.number, None
    state.progress, state.high_water = state.build_progress, state.build_high_water
    state.build_progress = state.build_high_water = 0
    state.state, state.last_error, state.paused = IndexState.State.BUILDING, "", False
    _forget_extent(state)
    state.save()
    return True


def _forget_extent(state: IndexState) -> None:
    """Another generation serves: what was noted of the one before it says nothing any more."""
    state.bytes = state.parts = state.entries = None


def _mend_build(state: IndexState) -> str | None:
    """Return what was mended of a generation that is being built: what is half written is begun anew."""
    build = build_of(state)
    if build is None:
        return None
    if not backend().is_whole(build):
        _give_up(state, "half written")
        _begin_beside(state, reason="half written, begun anew", by="")
        return f"{state}: half written, begun anew beside"
    if backend().repair(build):
        state.build_progress = 0
        state.build_high_water = everything(build.corpus.model).aggregate(last=Max("pk"))["last"] or 0
        state.save(update_fields=["build_progress", "build_high_water"])
        return f"{state}: triggers of the one being built made anew"
    return None


def _refill(state: IndexState) -> None:
    """Fill the build anew over what it has."""
    state.progress, state.high_water = 0, everything(CORPORA[state.corpus].model).aggregate(last=Max("pk"))["last"] or 0
    state.state = IndexState.State.BUILDING
    state.save(update_fields=["progress", "high_water", "state"])


def _begin(corpus: Corpus, kind: Kind, number: int, *, reason: str, error: str = "", by: str = "") -> None:
    """Make an empty build that serves at once. Its triggers take in every write from now on; the rest is to be filled.

    Until then searches read the rows that are not in it yet.
    """
    generation = Generation(corpus, kind, number, function_name())
    backend().create(generation)
    last = everything(corpus.model).aggregate(last=Max("pk"))["last"] or 0
    IndexState.objects.update_or_create(
        corpus=corpus.name,
        kind=kind,
        defaults={
            "generation": number,
            "function": generation.function,
            "state": IndexState.State.BUILDING if last else IndexState.State.READY,
            "progress": 0,
            "high_water": last,
            "built_at": None if last else timezone.now(),
            "last_error": error,
            "building": None,
            "build_progress": 0,
            "build_high_water": 0,
            "paused": False,
            "bytes": None,
            "parts": None,
            "entries": None,
        },
    )
    if last:
        _note_run(corpus.name, kind, number, reason=reason, by=by)


def _begin_beside(state: IndexState, *, reason: str, by: str) -> None:
    """Make an empty build beside the one that serves; writes go to both from now on."""
    serving = generation_of(state)
    number = _next(serving.corpus, serving.kind, state)
    backend().create(Generation(serving.corpus, serving.kind, number, state.function))
    state.building, state.build_progress, state.paused = number, 0, False
    state.build_high_water = everything(serving.corpus.model).aggregate(last=Max("pk"))["last"] or 0
    state.save()
    _note_run(state.corpus, state.kind, number, reason=reason, by=by)


def _note_run(corpus: str, kind: str, generation: int, *, reason: str, by: str) -> None:
    _end_runs(corpus, kind, IndexRun.State.CANCELLED, "another one was begun")
    IndexRun.objects.create(
        corpus=corpus, kind=kind, generation=generation, reason=reason[:SHOWN], started_by=by, started_at=timezone.now()
    )


def _end_runs(corpus: str, kind: str, state: str, said: str, rows: int = 0) -> None:
    running = IndexRun.objects.filter(corpus=corpus, kind=kind, state=IndexRun.State.RUNNING)
    running.update(state=state, ended_at=timezone.now(), said=said[:SHOWN], rows=rows)


def _give_up(state: IndexState, why: str) -> None:
    """Forget the generation being built; its tables are left for ``tear_down``."""
    build = build_of(state)
    if build is not None:
        backend().detach(build)
    state.building, state.build_progress, state.build_high_water = None, 0, 0
    state.save(update_fields=["building", "build_progress", "build_high_water"])
    _end_runs(state.corpus, state.kind, IndexRun.State.CANCELLED, why)


def fill(*, seconds: float, progress: Callable[[IndexState], None] | None = None, duty: float = 1.0) -> bool:
    """Return whether every index is filled, after working on them for about so many seconds.

    Those that are paused are left alone. With ``duty`` below 1 others have the write lock for the rest of the time.
    """
    until = time.monotonic() + seconds
    unpaused = IndexState.objects.filter(paused=False)
    for state in unpaused.filter(Q(state=IndexState.State.BUILDING) | Q(building__isnull=False)):
        while time.monotonic() < until:
            started = time.monotonic()
            done = _fill_chunk(state.corpus, state.kind) and _build_chunk(state.corpus, state.kind)
            if progress is not None:
                state.refresh_from_db()
                progress(state)
            if done:
                break
            let_others_write(started, duty)
    left = unpaused.exclude(state=IndexState.State.READY, building=None)
    return not left.exists()


def let_others_write(started: float, duty: float) -> None:
    time.sleep(max(0.001, (time.monotonic() - started) * (1 / duty - 1)))


@storage.write
def _fill_chunk(corpus: str, kind: str) -> bool:
    state = IndexState.objects.select_for_update().get(corpus=corpus, kind=kind)
    if state.state != IndexState.State.BUILDING:
        return True
    generation, engine = generation_of(state), backend()
    if state.progress < state.high_water:
        state.progress = engine.fill(generation, after=state.progress, until=state.high_water, most=CHUNK)
        state.save(update_fields=["progress"])
        return False
    try:
        missing, orphans = engine.missing(generation, most=CHUNK), engine.orphans(generation, most=CHUNK)
    except IndexDamaged as error:
        detach(generation.corpus, generation.kind, error.detail, number=generation.number)
        return True
    if missing or orphans:
        engine.index_rows(generation, [*missing, *orphans])
        return False
    state.state, state.built_at = IndexState.State.READY, timezone.now()
    state.save(update_fields=["state", "built_at"])
    rows = everything(generation.corpus.model).count()
    _end_runs(corpus, kind, IndexRun.State.DONE, "it has all rows", rows)
    return True


@storage.write
def _build_chunk(corpus: str, kind: str) -> bool:
    """Return whether nothing is built beside any more, after indexing some rows, or putting the build in its place."""
    state = IndexState.objects.select_for_update().get(corpus=corpus, kind=kind)
    build, engine = build_of(state), backend()
    if build is None or state.paused or state.state != IndexState.State.READY:
        return True
    if state.build_progress < state.build_high_water:
        state.build_progress = engine.fill(build, after=state.build_progress, until=state.build_high_water, most=CHUNK)
        state.save(update_fields=["build_progress"])
        return False
    try:
        missing, orphans = engine.missing(build, most=CHUNK), engine.orphans(build, most=CHUNK)
        lost = engine.lost(build, engine.samples(build, gap=None, most=SAMPLED)) if not (missing or orphans) else []
    except IndexDamaged as error:
        _give_up(state, error.detail)
        return True
    if missing or orphans:
        engine.index_rows(build, [*missing, *orphans])
        return False
    if lost:
        _give_up(state, f"row {lost[0]} is not found by its own text")
        return True
    _swap(state, build)
    return True


def _swap(state: IndexState, build: Generation) -> None:
    """Let the build serve, in one transaction; the one before it is detached, and dropped afterwards."""
    backend().detach(generation_of(state))
    state.generation, state.building = build.number, None
    state.progress = state.high_water = state.build_high_water
    state.build_progress = state.build_high_water = 0
    state.built_at, state.last_error = timezone.now(), ""
    _forget_extent(state)
    state.save()
    rows = everything(build.corpus.model).count()
    _end_runs(state.corpus, state.kind, IndexRun.State.DONE, "verified, and serving", rows)


@storage.write
def detach(corpus: Corpus, kind: Kind, error: str, *, number: int | None = None) -> None:
    """Take a damaged index out of service: writes no longer touch it, searches scan, and it is built anew.

    Does nothing where another generation than ``number`` serves by now.
    """
    state = IndexState.objects.select_for_update().filter(corpus=corpus.name, kind=kind).first()
    if state is not None and number is not None and number == state.building:
        _give_up(state, error)
        return
    if state is None or state.state == IndexState.State.STALE or number not in (None, state.generation):
        return
    backend().detach(generation_of(state))
    if number is None and state.building is not None:
        # Which one the write failed at nobody knows.
        _give_up(state, error)
    state.state, state.last_error = IndexState.State.STALE, error[:SHOWN]
    state.save(update_fields=["state", "last_error"])
    said = f"the {kind} index of {corpus.name} is damaged and was detached: {error}"
    transaction.on_commit(lambda: logger.error(said))


def write_without_damaged(error: DatabaseError, write: Callable[[], R]) -> R:
    """Return what the write gives once the index that it failed at is detached, all in one transaction.

    Which index it was the error does not say, so each is taken away in turn and the write tried again; then those of a
    corpus together, then all. Raises the error where it is no index's, or where the write fails without any index too:
    then the table itself is damaged, and the triggers stay.
    """
    if not backend().is_damage(error):
        raise error
    given_up = _write_without_builds(error, write)
    if given_up is not None:
        return given_up.result
    by_corpus = [[(corpus, kind) for kind in KINDS] for corpus in CORPORA.values()]
    singles = [[suspect] for suspects in by_corpus for suspect in suspects]
    for culprits in [*singles, *by_corpus, [suspect for suspects in by_corpus for suspect in suspects]]:
        try:
            with transaction.atomic():
                for corpus, kind in culprits:
                    detach(corpus, kind, str(error))
                return write()
        except DatabaseError as again:
            if not backend().is_damage(again):
                raise
    raise error


@dataclass(frozen=True, slots=True)
class _Written(Generic[R]):
    result: R


def _write_without_builds(error: DatabaseError, write: Callable[[], R]) -> _Written[R] | None:
    """Return what the write gives once builds that do not serve yet are given up, None where it fails all the same."""
    builds = list(IndexState.objects.filter(building__isnull=False))
    if not builds:
        return None
    try:
        with transaction.atomic():
            for state in IndexState.objects.select_for_update().filter(building__isnull=False):
                _give_up(state, str(error))
            return _Written(write())
    except DatabaseError as again:
        if not backend().is_damage(again):
            raise
    return None


def gap_of(state: IndexState) -> tuple[int, int] | None:
    """Return the ids ``(after, until]`` whose rows the index does not have yet; None where it has all."""
    filled = state.state == IndexState.State.READY or state.progress >= state.high_water
    return None if filled else (state.progress, state.high_water)


def rebuild(corpus: Corpus, kind: Kind, *, by: str = "") -> None:
    """Begin the index anew beside the one that serves, which goes on until the new one has all rows.

    Where none serves, searches are answered from what is filled and a scan of the rest meanwhile.
    """
    if not rebuild_beside(corpus, kind, by=by, reason="asked for"):
        start_over(corpus, kind, by=by)


@storage.write
def rebuild_beside(corpus: Corpus, kind: Kind, *, by: str, reason: str) -> bool:
    state = IndexState.objects.select_for_update().filter(corpus=corpus.name, kind=kind).first()
    if state is None or state.state != IndexState.State.READY or not backend().is_whole(generation_of(state)):
        return False
    if state.building is None:
        _begin_beside(state, reason=reason, by=by)
    elif state.paused:
        state.paused = False
        state.save(update_fields=["paused"])
    return True


@storage.write
def start_over(corpus: Corpus, kind: Kind, *, by: str = "") -> None:
    """Take the index out of service and begin it anew. Searches read the rows that are not in it yet."""
    state = IndexState.objects.select_for_update().filter(corpus=corpus.name, kind=kind).first()
    number = _next(corpus, kind, state)
    for generation in left_of(corpus, kind, None):
        backend().detach(generation)
    _begin(corpus, kind, number, reason="asked for", by=by)


@storage.write
def pause(corpus: Corpus, kind: Kind) -> bool:
    """Return whether there was something to pause. What is being built waits; searches and writes go on."""
    return _set_paused(corpus, kind, paused=True)


@storage.write
def resume(corpus: Corpus, kind: Kind) -> bool:
    """Return whether there was something to go on with."""
    return _set_paused(corpus, kind, paused=False)


def _set_paused(corpus: Corpus, kind: Kind, *, paused: bool) -> bool:
    under_way = Q(state=IndexState.State.BUILDING) | Q(building__isnull=False)
    found = IndexState.objects.filter(under_way, corpus=corpus.name, kind=kind, paused=not paused)
    return bool(found.update(paused=paused))


@storage.write
def fill_again(corpus: Corpus, kind: Kind, number: int) -> None:
    state = IndexState.objects.select_for_update().get(corpus=corpus.name, kind=kind)
    if state.state == IndexState.State.READY and state.generation == number:
        _refill(state)
