"""Keeping the indexes: made, filled in chunks, repaired, detached when damaged and built anew.

Every step is one short transaction that may be killed and run again: state and progress are one row, and filling a
chunk a second time changes nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
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
    return [said for corpus in CORPORA.values() for kind in KINDS if (said := _ensure(corpus, kind)) is not None]


@storage.write
def _ensure(corpus: Corpus, kind: Kind) -> str | None:
    engine = backend()
    state = IndexState.objects.select_for_update().filter(corpus=corpus.name, kind=kind).first()
    known = {state.generation} if state is not None else set()
    for number in set(engine.generations(corpus, kind)) - known:
        engine.drop(Generation(corpus, kind, number, function_name()))
    if state is None:
        _begin(corpus, kind, 1)
        return f"{corpus.name} {kind}: made"
    generation = generation_of(state)
    if state.state == IndexState.State.STALE or not engine.is_whole(generation):
        engine.drop(generation)
        _begin(corpus, kind, state.generation + 1, error=state.last_error)
        return f"{corpus.name} {kind}: damaged, made anew"
    if state.function != function_name():
        engine.drop(generation)
        _begin(corpus, kind, state.generation + 1)
        return f"{corpus.name} {kind}: another text function, made anew"
    if engine.repair(generation):
        # What was written without the triggers is found by the last step of filling.
        IndexState.objects.filter(pk=state.pk).update(state=IndexState.State.BUILDING)
        return f"{corpus.name} {kind}: triggers made anew"
    return None


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
    missing = engine.missing(generation, most=CHUNK)
    orphans = engine.orphans(generation, most=CHUNK)
    if missing or orphans:
        engine.index_rows(generation, [*missing, *orphans])
        return False
    state.state, state.built_at = IndexState.State.READY, timezone.now()
    state.save(update_fields=["state", "built_at"])
    return True


@storage.write
def detach(corpus: Corpus, kind: Kind, error: str) -> None:
    """Take a damaged index out of service: writes no longer touch it, searches scan, and it is built anew."""
    state = IndexState.objects.select_for_update().filter(corpus=corpus.name, kind=kind).first()
    if state is None or state.state == IndexState.State.STALE:
        return
    backend().detach(generation_of(state))
    state.state, state.last_error = IndexState.State.STALE, error[:SHOWN]
    state.save(update_fields=["state", "last_error"])
    logger.error("the %s index of %s is damaged and was detached: %s", kind, corpus.name, error)


def write_without_damaged(error: DatabaseError, write: Callable[[], R]) -> R:
    """Return what the write gives once the index that it failed at is detached, all in one transaction.

    Which index it was the error does not say, so each is taken away in turn and the write tried again. Raises the error
    where it is no index's, or where the write fails without any index too: then the table itself is damaged, and the
    triggers stay.
    """
    if not backend().is_damage(error):
        raise error
    suspects = [(corpus, kind) for corpus in CORPORA.values() for kind in KINDS]
    for culprits in [*([suspect] for suspect in suspects), suspects]:
        try:
            with transaction.atomic():
                for corpus, kind in culprits:
                    detach(corpus, kind, str(error))
                return write()
        except DatabaseError as again:
            if not backend().is_damage(again):
                raise
    raise error


@storage.write
def rebuild(corpus: Corpus, kind: Kind) -> None:
    """Begin the index anew. Searches are answered from what is filled and a scan of the rest meanwhile."""
    state = IndexState.objects.select_for_update().filter(corpus=corpus.name, kind=kind).first()
    number = 0
    if state is not None:
        number = state.generation
        backend().drop(generation_of(state))
    _begin(corpus, kind, number + 1)


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
    """Return whether the index has each row once and the engine's own check finds nothing. Reads only."""
    state = IndexState.objects.get(corpus=corpus.name, kind=kind)
    generation, engine = generation_of(state), backend()
    rows = everything(corpus.model).count()
    if state.state == IndexState.State.STALE:
        return _note(state, Verdict(corpus.name, kind, rows, 0, 0, f"damaged: {state.last_error}"))
    try:
        missing, orphans = (
            len(engine.missing(generation, most=rows + 1)),
            len(engine.orphans(generation, most=rows + 1)),
        )
        wrong = engine.check(generation) or ""
    except IndexDamaged as error:
        missing, orphans, wrong = 0, 0, error.detail
    if wrong:
        detach(corpus, kind, wrong)
    return _note(state, Verdict(corpus.name, kind, rows, missing, orphans, wrong))


def _note(state: IndexState, verdict: Verdict) -> Verdict:
    IndexState.objects.filter(pk=state.pk).update(verified_at=timezone.now(), verified=verdict.said[:SHOWN])
    return verdict


def optimize(corpus: Corpus, kind: Kind, *, seconds: float = 10.0) -> bool:
    """Return whether the index is merged as far as it goes, after working on it for about so many seconds."""
    until = time.monotonic() + seconds
    state = IndexState.objects.get(corpus=corpus.name, kind=kind)
    while time.monotonic() < until:
        with transaction.atomic():
            if not backend().optimize(generation_of(state), pages=500):
                return True
        time.sleep(0.001)
    return False
