"""How the indexes are, in words and numbers that people watch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Min
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_q.models import OrmQ

from memories.plain_text import one_line
from search import maintenance, upkeep
from search.models import IndexRun, IndexState
from search.upkeep import Need

RATE_AFTER = 2.0
"""Seconds that a run must have lasted before its rate says anything."""


NEEDS = {
    Need.NOTHING: _("nothing"),
    Need.REBUILD: _("rebuild"),
    Need.OPTIMIZE: _("optimize"),
    Need.TEARDOWN: _("teardown"),
}


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """One index: what it is at, how far, how fast, and what it needs."""

    row: IndexState
    pk: int
    name: str
    corpus: str
    kind: str
    generation: int
    state: str
    words: str
    percent: int
    filled: int
    wanted: int
    rate: float | None
    left: timedelta | None
    needs: Need
    bytes: int | None
    parts: int | None
    probed_at: datetime | None
    verified: str
    verified_at: datetime | None
    error: str
    is_building: bool
    is_paused: bool

    @property
    def needed(self) -> str:
        """Return what it needs, in words."""
        return str(NEEDS[self.needs])


def statuses(*, now: datetime) -> list[IndexStatus]:
    """Return the status of every index, by corpus and kind."""
    running = {(run.corpus, run.kind): run for run in IndexRun.objects.filter(state=IndexRun.State.RUNNING)}
    left = maintenance.left_over()
    return [
        _status(state, running.get((state.corpus, state.kind)), upkeep.needs(state, left), now)
        for state in IndexState.objects.all()
    ]


def oldest_task(*, now: datetime) -> timedelta | None:
    """Return how long the first of the waiting tasks has waited, None where none does."""
    waiting: datetime | None = OrmQ.objects.filter(lock__lte=now).aggregate(first=Min("lock"))["first"]
    return None if waiting is None else now - waiting


def _status(state: IndexState, run: IndexRun | None, needed: Need, now: datetime) -> IndexStatus:
    is_beside = state.building is not None
    is_building = is_beside or state.state == IndexState.State.BUILDING
    filled, wanted = (state.build_progress, state.build_high_water) if is_beside else (state.progress, state.high_water)
    rate = None
    if is_building and not state.paused and run is not None:
        lasted = (now - run.started_at).total_seconds()
        rate = filled / lasted if lasted >= RATE_AFTER and filled else None
    left = timedelta(seconds=round((wanted - filled) / rate)) if rate else None
    return IndexStatus(
        row=state,
        pk=state.pk,
        name=str(state),
        corpus=state.corpus,
        kind=state.kind,
        generation=state.generation,
        state=state.state,
        words=_in_words(state, is_beside),
        percent=state.percent if state.build_percent is None else state.build_percent,
        filled=filled if is_building else wanted,
        wanted=wanted,
        rate=rate,
        left=left,
        needs=needed,
        bytes=state.bytes,
        parts=state.parts,
        probed_at=state.probed_at,
        verified=one_line(state.verified),
        verified_at=state.verified_at,
        error=one_line(state.last_error),
        is_building=is_building,
        is_paused=state.paused,
    )


def _in_words(state: IndexState, is_beside: bool) -> str:
    if state.paused:
        return gettext("building is paused")
    if is_beside:
        return gettext("serves, a new one is built beside it")
    if state.state == IndexState.State.BUILDING:
        return gettext("is filled; searches read the rest")
    if state.state == IndexState.State.STALE:
        return gettext("damaged; searches read the rows until it is built anew")
    return gettext("serves")
