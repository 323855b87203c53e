"""Whether an index has what it should, told in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from django.utils import timezone

from memories.access import everything
from search.backends import backend
from search.backends.base import IndexDamaged, Kind
from search.corpora import Corpus
from search.maintenance import SHOWN, detach, fill_again, generation_of
from search.models import IndexState
from search.upkeep import probe


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verifying an index found; ``wrong`` is empty for a sound one."""

    corpus: str
    kind: str
    rows: int
    missing: int
    orphans: int
    wrong: str
    compared: bool = False

    @property
    def is_sound(self) -> bool:
        return not (self.wrong or self.missing or self.orphans)

    @property
    def said(self) -> str:
        """Return the verdict in words."""
        if self.is_sound:
            word_by_word = ", every word where a copy built afresh has it" if self.compared else ""
            return f"sound: all {self.rows} rows are in it{word_by_word}"
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
        fill_again(corpus, kind, state.generation)
    return _note(state, Verdict(corpus.name, kind, rows, missing, orphans, wrong))


def compare(corpus: Corpus, kind: Kind, *, progress: Callable[[int], object] = lambda rows: None) -> Verdict:
    """Return whether the index has every word of every row where a copy built afresh has it, after ``verify``.

    Takes as long as building it; searches and writes go on. One that differs is detached and built anew. An index that
    is being filled, for which there is nothing to compare yet, is only verified.
    """
    verdict = verify(corpus, kind)
    state = IndexState.objects.filter(corpus=corpus.name, kind=kind).first()
    if not verdict.is_sound or state is None or state.state != IndexState.State.READY:
        return verdict
    try:
        words = backend().differing_words(generation_of(state), progress=progress)
        wrong = f"{words} words stand elsewhere than in a copy built afresh" if words else ""
    except IndexDamaged as error:
        wrong = error.detail
    if wrong:
        detach(corpus, kind, wrong, number=state.generation)
    return _note(state, replace(verdict, wrong=wrong, compared=True))


def _note(state: IndexState, verdict: Verdict) -> Verdict:
    IndexState.objects.filter(pk=state.pk).update(verified_at=timezone.now(), verified=verdict.said[:SHOWN])
    return verdict
