"""The upkeep of indexes: looked at, merged in bounded steps, renewed when worn, torn down when out of service."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from enum import StrEnum

from django.db import DatabaseError, transaction
from django.utils import timezone

from memories import storage
from memories.access import everything
from search.backends import backend
from search.backends.base import KINDS, Extent, Generation, IndexDamaged, Kind
from search.corpora import CORPORA, Corpus
from search.maintenance import (
    detach,
    fill_again,
    gap_of,
    generation_of,
    left_of,
    left_over,
    let_others_write,
    rebuild_beside,
)
from search.models import IndexState

logger = logging.getLogger(__name__)

THINNED = 1000
"""Entries of an index out of service that are deleted in one transaction: 31 ms at most."""
GIVEN_BACK, KEPT_FREE = 500, 0.1
"""Pages given back to the file system in one transaction, and the share of all that stays free for what comes."""
PARTS_MANY = 12
"""Parts of an index above which searches are slower than they need to be."""
FEW = 1000
"""Rows written anew that are not worth a rebuild."""
MERGES = 4
"""Bounded merges of one index that the worker's upkeep makes at a time."""


class Need(StrEnum):
    """What an index needs."""

    NOTHING = "nothing"
    REBUILD = "rebuild"
    OPTIMIZE = "optimize"
    TEARDOWN = "teardown"


def probe(state: IndexState, *, most: int = 5) -> None:
    """Look some rows up by their own text. Raises IndexDamaged where they are not found, which SQLite tells nobody.

    Rows that come or go meanwhile are looked for twice.
    """
    generation, engine = generation_of(state), backend()
    lost = engine.lost(generation, engine.samples(generation, gap=gap_of(state), most=most))
    if lost and engine.lost(generation, lost):
        raise IndexDamaged(generation, f"row {lost[0]} is not found by its own text")


def probe_all() -> list[str]:
    """Return the indexes that are not as they should be: detached where damaged, filled anew where rows are missing."""
    return [str(state) for state in IndexState.objects.exclude(state=IndexState.State.STALE) if not _probed(state)]


def _probed(state: IndexState) -> bool:
    """Return whether rows are found by their own text, and all are in the index; note how large it is."""
    generation = generation_of(state)
    try:
        probe(state)
        there, wanted = backend().counts(generation)
        extent = _extent(generation, there)
    except IndexDamaged as error:
        detach(generation.corpus, generation.kind, error.detail, number=generation.number)
        return False
    if state.state == IndexState.State.READY and wanted not in (None, there):
        logger.error("the index %s has %d entries of %d rows: it is filled anew", state, there, wanted)
        fill_again(generation.corpus, generation.kind, generation.number)
        return False
    _note_extent(state, generation, extent)
    return True


def _extent(generation: Generation, there: int) -> Extent:
    """Return how large the index is. Raises IndexDamaged where what it notes of itself cannot be."""
    extent = backend().extent(generation)
    if extent is None:
        raise IndexDamaged(generation, "what it notes of itself cannot be read")
    if extent.entries < there:
        raise IndexDamaged(generation, f"its ranking reckons with {extent.entries} rows and it has {there}")
    return extent


@storage.write
def _note_extent(state: IndexState, generation: Generation, extent: Extent) -> None:
    rows = everything(generation.corpus.model).count()
    IndexState.objects.filter(pk=state.pk, generation=generation.number).update(
        probed_at=timezone.now(), rows=rows, bytes=extent.bytes, parts=extent.parts, entries=extent.entries
    )


def needs(state: IndexState, left: Collection[Generation]) -> Need:
    """Return what the index needs, by what it was when it was last looked at. ``left`` are those to be torn down."""
    if state.state == IndexState.State.STALE or (state.building is None and _is_worn(state)):
        return Need.REBUILD
    if state.parts is not None and state.parts > PARTS_MANY:
        return Need.OPTIMIZE
    if any((one.corpus.name, one.kind) == (state.corpus, state.kind) for one in left):
        return Need.TEARDOWN
    return Need.NOTHING


def _is_worn(state: IndexState) -> bool:
    """Return whether the ranking reckons with twice the rows there are. It counts what is written, never what goes."""
    return state.entries is not None and state.rows is not None and state.entries > 2 * state.rows + FEW


def renew_worn() -> list[str]:
    """Return the indexes that are built anew now because too much was rewritten since they were."""
    worn = [
        state for state in IndexState.objects.filter(state=IndexState.State.READY, building=None) if _is_worn(state)
    ]
    for state in worn:
        generation = generation_of(state)
        rebuild_beside(generation.corpus, generation.kind, by="", reason="its ranking reckons with twice the rows")
    return [str(state) for state in worn]


def tear_down(*, seconds: float, duty: float = 1.0) -> bool:
    """Return whether nothing is left of generations out of service, after removing some for about so many seconds.

    Each step is short and may be killed; what they took of the disk is given back.
    """
    until = time.monotonic() + seconds
    for generation in left_over():
        _tear_down(generation, until, duty)
    while _in_turn(until, duty, lambda: backend().give_back(pages=GIVEN_BACK, kept=KEPT_FREE)):
        pass
    return time.monotonic() < until


def _tear_down(generation: Generation, until: float, duty: float) -> None:
    readable = backend().is_readable(generation)
    try:
        while _in_turn(until, duty, lambda: _tear_down_step(generation, readable=readable)):
            pass
    except DatabaseError as error:
        if not (readable and backend().is_damage(error)):
            raise
        # Only deleting from it has shown the damage.
        _in_turn(until, duty, lambda: _tear_down_step(generation, readable=False))


def _in_turn(until: float, duty: float, step: Callable[[], bool]) -> bool:
    """Return whether there is more to do and time for it, after one step and the pause that others write in."""
    started = time.monotonic()
    if started >= until:
        return False
    with transaction.atomic():
        more = step()
    let_others_write(started, duty)
    return more


def _tear_down_step(generation: Generation, *, readable: bool) -> bool:
    """Return whether more of it is left."""
    state = IndexState.objects.filter(corpus=generation.corpus.name, kind=generation.kind).first()
    if generation not in left_of(generation.corpus, generation.kind, state):
        return False
    if readable and backend().thin(generation, most=THINNED):
        return True
    backend().drop(generation, readable=readable)
    return False


def forget_deleted(*, seconds: float = 15.0) -> bool:
    """Return whether no index holds words of deleted or overwritten memories any more.

    An index marks what is deleted and keeps its words until they are merged. Where the time (for each index)
    does not suffice, the next call begins anew.
    """
    done = [optimize(CORPORA["memories"], kind, seconds=seconds, anew=True) for kind in KINDS]
    return all(done)


def merge_all(*, duty: float = 1.0) -> int:
    """Return how many bounded merges were made: a few for each index that has gathered parts, and no more."""
    return sum(_merge_some(state, duty) for state in IndexState.objects.filter(state=IndexState.State.READY))


def _merge_some(state: IndexState, duty: float) -> int:
    generation = generation_of(state)
    for made in range(MERGES):
        extent = backend().extent(generation)
        if extent is None or extent.parts <= 1:
            return made
        started = time.monotonic()
        if not _merge(generation, anew=False):
            return made
        let_others_write(started, duty)
    return MERGES


def _merge(generation: Generation, *, anew: bool) -> bool:
    """Return whether a bounded merge moved something; damage that comes to light takes the index out of service."""
    try:
        with transaction.atomic():
            return backend().optimize(generation, pages=500, anew=anew)
    except DatabaseError as error:
        if not backend().is_damage(error):
            raise
        detach(generation.corpus, generation.kind, str(error), number=generation.number)
        return False


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
        moved = _merge(generation_of(state), anew=anew)
        if not moved and not anew:
            return True
        anew = False
        time.sleep(0.001)
    return False
