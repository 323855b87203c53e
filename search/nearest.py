"""Which memories are nearest to a text by the words they share, looked up in the words index alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from search import maintenance
from search.backends import backend
from search.backends.base import Generation
from search.corpora import Corpus
from search.models import IndexState
from search.text import is_cjk, tokens

RARE = 100
"""A word that is in more memories of a partition than this tells nothing of what is near."""
ENOUGH = 4
"""Texts with fewer rare words than this are looked up by words that stand side by side too."""
WORDS_MAX, PAIRS_MAX = 40, 12
"""Words and pairs of words of one text that are looked up, of a long one from its beginning."""


@dataclass(slots=True)
class Neighbourhood:
    """One partition's words index, with the words that it has turned out to have too often."""

    generation: Generation
    workspace_id: int
    partition: str
    common: set[tuple[str, ...]] = field(default_factory=set)

    def nearest(self, text: str, *, beside: int, most: int) -> list[int]:
        """Return ids of memories that share the most rare words with a text, best first, ``beside`` not among them.

        A word counts the more the fewer memories have it. Raises IndexDamaged.
        """
        words = _words(text)
        weights: Counter[int] = Counter()
        rare = self._add([(word,) for word in dict.fromkeys(words)], weights, WORDS_MAX)
        if rare < ENOUGH:
            self._add(list(dict.fromkeys(pairwise(words))), weights, PAIRS_MAX)
        del weights[beside]
        ordered = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
        return [id_ for id_, _ in ordered[:most]]

    def _add(self, runs: Sequence[tuple[str, ...]], weights: Counter[int], most: int) -> int:
        """Return how many of the runs of words are rare, after adding their weights to the memories that have them."""
        rare = looked = 0
        for run in runs:
            if run in self.common:
                continue
            if looked == most:
                break
            looked += 1
            ids = self._ids(run)
            if len(ids) > RARE:
                self.common.add(run)
                continue
            rare += 1
            # Whole numbers, so that the order of adding does not matter.
            weight = 10_000 // (10 + len(ids))
            for id_ in ids:
                weights[id_] += weight
        return rare

    def _ids(self, run: tuple[str, ...]) -> list[int]:
        return backend().entries(
            self.generation, run, workspace_id=self.workspace_id, partition=self.partition, most=RARE + 1
        )


def neighbourhood(corpus: Corpus, *, workspace_id: int, partition: str) -> Neighbourhood | None:
    """Return what answers for one partition; None while the index is being built or is damaged."""
    state = maintenance.states(corpus).get("words")
    if state is None or state.state != IndexState.State.READY:
        return None
    return Neighbourhood(maintenance.generation_of(state), workspace_id, partition)


def _words(text: str) -> list[str]:
    """Return the words of a text; of CJK its pairs of characters, as a single one is in too many memories."""
    found = tokens(text[: 200 * WORDS_MAX])
    return [token for token in found if len(token) > 1 or not is_cjk(token)]
