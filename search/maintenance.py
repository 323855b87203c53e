"""Keeping the indexes: made, filled in chunks, repaired, detached when damaged and built anew.

Every step is one short transaction that may be killed and run again: state and progress are one row, and filling a
chunk a second time changes nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

from django.db import DatabaseError, transaction
from django.db.models import Max
from django.utils import timezone

from memories import storage
from memories.access import everything
from search.backends import backend
from search.backends.base import KINDS, Generation, IndexDamaged, Kind
from search.corpora import CORPORA, Corpus
from search.models import IndexState
from search.text import function_name

logger = logging.getLogger(__name__)

CHUNK = 200
"""Rows indexed in one transaction: about a tenth of a second of the write lock."""
SHOWN = 500
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

    Run after each migration, which may remake a table and so drop its triggers, at start and before maintenance.
    """
    pairs = [(corpus, kind) for corpus in CORPORA.values() for kind in KINDS]
    return [said for corpus, kind in pairs if (said := _ensure(corpus, kind, _unreadable(corpus, kind))) is not None]


def _unreadable(corpus: Corpus, kind: Kind, *, served: bool = False) -> set[int]:
    """Return the generations that cannot even be dropped; the one that serves is looked at if ``served``."""
    engine = backend()
    state = IndexState.objects.filter(corpus=corpus.name, kind=kind).first()
    found = {number: Generation(corpus, kind, number, function_name()) for number in engine.generations(corpus, kind)}
    if state is not None and state.state != IndexState.State.STALE and not served:
        generation = found.get(state.generation)
        if generation is not None and engine.is_whole(generation):
            del found[state.generation]
    return {number for number, generation in found.items() if not engine.is_readable(generation)}


@storage.write
def _ensure(corpus: Corpus, kind: Kind, unreadable: Collection[int]) -> str | None:
    engine = backend()
    state = IndexState.objects.select_for_update().filter(corpus=corpus.name, kind=kind).first()
    known = {state.generation} if state is not None else set()
    for number in set(engine.generations(corpus, kind)) - known:
        engine.drop(Generation(corpus, kind, number, function_name()), readable=number not in unreadable)
    if state is None:
        _begin(corpus, kind, 1)
        return f"{corpus.name} {kind}: made"
    generation = generation_of(state)
    if state.state == IndexState.State.STALE or not engine.is_whole(generation):
        engine.drop(generation, readable=state.generation not in unreadable)
        _begin(corpus, kind, state.generation + 1, error=state.last_error)
        return f"{corpus.name} {kind}: damaged, made anew"
    if state.function != function_name():
        engine.drop(generation, readable=state.generation not in unreadable)
        _begin(corpus, kind, state.generation + 1)
        return f"{corpus.name} {kind}: another text function, made anew"
    if engine.repair(generation):
        # Which rows were changed without the triggers nobody knows: all of them are read again.
        _refill(state)
        return f"{corpus.name} {kind}: triggers made anew"
    return None


def _refill(state: IndexState) -> None:
    """Fill the build anew over what it has."""
    state.progress, state.high_water = 0, everything(CORPORA[state.corpus].model).aggregate(last=Max("pk"))["last"] or 0
    state.state = IndexState.State.BUILDING
    state.save(update_fields=["progress", "high_water", "state"])


def _begin(corpus: Corpus, kind: Kind, number: int, *, error: str = "") -> None:
    """Make an empty build. Its triggers take in every write from now on; what was there before is to be filled."""
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
        },
    )


def fill(*, seconds: float, progress: Callable[[IndexState], None] | None = None) -> bool:
    """Return whether every index is filled, after working on them for about so many seconds."""
    until = time.monotonic() + seconds
    for state in IndexState.objects.filter(state=IndexState.State.BUILDING):
        while time.monotonic() < until:
            done = _fill_chunk(state.corpus, state.kind)
            if progress is not None:
                state.refresh_from_db()
                progress(state)
            if done:
                break
            time.sleep(0.001)  # others queue for the write lock
    return not IndexState.objects.exclude(state=IndexState.State.READY).exists()


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
    return True


@storage.write
def detach(corpus: Corpus, kind: Kind, error: str, *, number: int | None = None) -> None:
    """Take a damaged index out of service: writes no longer touch it, searches scan, and it is built anew.

    Does nothing where another generation than ``number`` serves by now.
    """
    state = IndexState.objects.select_for_update().filter(corpus=corpus.name, kind=kind).first()
    if state is None or state.state == IndexState.State.STALE or number not in (None, state.generation):
        return
    backend().detach(generation_of(state))
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


def gap_of(state: IndexState) -> tuple[int, int] | None:
    """Return the ids ``(after, until]`` whose rows the index does not have yet; None where it has all."""
    filled = state.state == IndexState.State.READY or state.progress >= state.high_water
    return None if filled else (state.progress, state.high_water)


def probe(state: IndexState, *, most: int = 5) -> None:
    """Look some rows up by their own text. Raises IndexDamaged where they are not found, which SQLite tells nobody.

    Rows that come or go meanwhile are looked for twice.
    """
    generation, engine = generation_of(state), backend()
    lost = engine.lost(generation, engine.samples(generation, gap=gap_of(state), most=most))
    if lost and engine.lost(generation, lost):
        raise IndexDamaged(generation, f"row {lost[0]} is not found by its own text")


def probe_all() -> list[str]:
    """Return the indexes that do not find rows by their own text; they are detached."""
    damaged = []
    for state in IndexState.objects.exclude(state=IndexState.State.STALE):
        try:
            probe(state)
        except IndexDamaged as error:
            detach(error.generation.corpus, error.generation.kind, error.detail, number=error.generation.number)
            damaged.append(str(state))
    return damaged


def rebuild(corpus: Corpus, kind: Kind) -> None:
    """Begin the index anew. Searches are answered from what is filled and a scan of the rest meanwhile."""
    _rebuild(corpus, kind, _unreadable(corpus, kind, served=True))


@storage.write
def _rebuild(corpus: Corpus, kind: Kind, unreadable: Collection[int]) -> None:
    engine = backend()
    state = IndexState.objects.select_for_update().filter(corpus=corpus.name, kind=kind).first()
    numbers = engine.generations(corpus, kind)
    for number in numbers:
        engine.drop(Generation(corpus, kind, number, function_name()), readable=number not in unreadable)
    _begin(corpus, kind, 1 + max([*numbers, state.generation if state is not None else 0]))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verifying an index found; ``wrong`` is empty for a sound one."""

    corpus: str
    kind: str
    rows: int
    missing: int
    orphans: int
    wrong: str

    @property
    def is_sound(self) -> bool:
        return not (self.wrong or self.missing or self.orphans)

    @property
    def said(self) -> str:
        """Return the verdict in words."""
        if self.is_sound:
            return f"sound: all {self.rows} rows are in it"
        counts = f"{self.missing} rows missing, {self.orphans} entries without a row" if not self.wrong else self.wrong
        return f"not sound: {counts}"


def verify(corpus: Corpus, kind: Kind) -> Verdict:
    """Return whether the index has each row once and the engine's own check finds nothing.

    One that is not sound is put right in the background: detached if damaged, else filled anew.
    """
    rows = everything(corpus.model).count()
    state = IndexState.objects.filter(corpus=corpus.name, kind=kind).first()
    if state is None:
        return Verdict(corpus.name, kind, rows, 0, 0, "there is none yet")
    generation, engine = generation_of(state), backend()
    if state.state == IndexState.State.STALE:
        return _note(state, Verdict(corpus.name, kind, rows, 0, 0, f"damaged: {state.last_error}"))
    try:
        missing, orphans = (
            len(engine.missing(generation, most=rows + 1)),
            len(engine.orphans(generation, most=rows + 1)),
        )
        wrong = engine.check(generation) or ""
        if not (missing or orphans or wrong):
            probe(state)
    except IndexDamaged as error:
        missing, orphans, wrong = 0, 0, error.detail
    if wrong:
        detach(corpus, kind, wrong, number=state.generation)
    elif (missing or orphans) and state.state == IndexState.State.READY:
        _fill_again(corpus, kind, state.generation)
    return _note(state, Verdict(corpus.name, kind, rows, missing, orphans, wrong))


@storage.write
def _fill_again(corpus: Corpus, kind: Kind, number: int) -> None:
    state = IndexState.objects.select_for_update().get(corpus=corpus.name, kind=kind)
    if state.state == IndexState.State.READY and state.generation == number:
        _refill(state)


def _note(state: IndexState, verdict: Verdict) -> Verdict:
    IndexState.objects.filter(pk=state.pk).update(verified_at=timezone.now(), verified=verdict.said[:SHOWN])
    return verdict


def forget_deleted(*, seconds: float = 15.0) -> bool:
    """Return whether no index holds words of deleted or overwritten memories any more.

    An index marks what is deleted and keeps its words until they are merged. Where the time (for each index)
    does not suffice, the next call begins anew.
    """
    done = [optimize(CORPORA["memories"], kind, seconds=seconds, anew=True) for kind in KINDS]
    return all(done)


def optimize(corpus: Corpus, kind: Kind, *, seconds: float = 10.0, anew: bool = False) -> bool:
    """Return whether the index is merged as far as it goes, after working on it for about so many seconds.

    With ``anew`` what is merged already is merged once more, without what was deleted since. Damage that comes to light
    is noted, and the index built anew in the background.
    """
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        state = IndexState.objects.filter(corpus=corpus.name, kind=kind).first()
        if state is None or state.state == IndexState.State.STALE:
            return True
        try:
            with transaction.atomic():
                moved = backend().optimize(generation_of(state), pages=500, anew=anew)
            if not moved and not anew:
                return True
            anew = False
        except DatabaseError as error:
            if not backend().is_damage(error):
                raise
            detach(corpus, kind, str(error), number=state.generation)
        time.sleep(0.001)
    return False
