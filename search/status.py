"""How the indexes are, in words and numbers that people watch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext

from memories.plain_text import one_line
from search.models import IndexRun, IndexState

RATE_AFTER = 2.0
"""Seconds that a run must have lasted before its rate says anything."""


@dataclass(frozen=True, slots=True)
class Status:
    """One index: what it is at, how far, how fast, and what it needs."""

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
    needs: str
    verified: str
    verified_at: datetime | None
    error: str
    is_building: bool
    is_paused: bool


def statuses(*, now: datetime) -> list[Status]:
    """Return the status of every index, by corpus and kind."""
    running = {(run.corpus, run.kind): run for run in IndexRun.objects.filter(state=IndexRun.State.RUNNING)}
    return [_status(state, running.get((state.corpus, state.kind)), now) for state in IndexState.objects.all()]


def _status(state: IndexState, run: IndexRun | None, now: datetime) -> Status:
    is_beside = state.building is not None
    is_building = is_beside or state.state == IndexState.State.BUILDING
    filled, wanted = (state.build_progress, state.build_high_water) if is_beside else (state.progress, state.high_water)
    rate = None
    if is_building and not state.paused and run is not None:
        lasted = (now - run.started_at).total_seconds()
        rate = filled / lasted if lasted >= RATE_AFTER and filled else None
    left = timedelta(seconds=round((wanted - filled) / rate)) if rate else None
    return Status(
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
        needs=_needs(state),
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


def _needs(state: IndexState) -> str:
    if state.state == IndexState.State.STALE:
        return gettext("rebuild")
    return gettext("nothing")
