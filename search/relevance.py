"""The order of what a search found, by relevance: few rows are ranked with care, and the answer says how many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery

from memories.access import Principal, visible_among, visible_to
from search.backends import backend
from search.backends.base import LARGE, Condition, Generation
from search.corpora import Corpus
from search.query import And, Node, Or, Term, positive_terms
from search.ranking import (
    FUNCTION_WEIGHT,
    JOINED_WEIGHT,
    K1,
    Asked,
    B,
    Part,
    RankedText,
    forms_of,
    idf,
    is_function_word,
    language_of,
    part_of,
    scores,
    times,
    with_neighbours,
)
from search.text import index_text, is_cjk

RESCORED = 100
"""Rows whose text is scored."""
RARE_SUM = 5000
"""Of a question's words the rarest are looked up, until so many rows have any of them."""
NEWEST = 1000
"""Where each of a question's words is in more rows than that, so many are looked at, the newest."""
IN_ALL = 0.1
"""What a word weighs in a quick look that all of the rows have."""
FORMS_COUNTED = 6
"""Other forms of a word that are counted, those that most of the scored texts have."""
WITH_NEIGHBOURS = 50
"""Of the scored rows so many, the best, are looked at together with what stands beside them."""
LONGEST = 20_000
"""Characters of a text that are scored."""


@dataclass(frozen=True)
class Ranker:
    """Ranks rows of one corpus for one query, as its words index and their texts say."""

    corpus: Corpus
    principal: Principal
    generation: Generation
    root: Node
    condition: Condition

    def best_of_any(self, gap: tuple[int, int] | None) -> dict[int, float]:
        """Return the best rows for a question, ids to scores, best first, RESCORED at most.

        The rows come from its rarest words, their order from all of them: what is common tells rows apart, but finds
        too many.
        """
        joined = {term: term.tokens for term in _alternatives(self.root) if isinstance(term, Term) and is_joined(term)}
        pieces = [_word(Asked((token,))) for tokens in joined.values() for token in tokens]
        alternatives = list(dict.fromkeys([*_alternatives(self.root), *pieces]))
        numbers = self._frequencies(alternatives)
        picked: list[Node] = []
        total = 0
        # Of words that are all too common to be counted the longest is likely the rarest.
        rarest = sorted(zip(numbers, alternatives, strict=True), key=lambda pair: (pair[0], -_length(pair[1])))
        for number, alternative in rarest:
            if number and (not picked or total + number <= RARE_SUM):
                picked.append(alternative)
                total += number
        if not picked:
            return {}
        narrowed = self._narrowed(picked)
        too_common = total > RARE_SUM
        ids = None
        if self.condition.is_large and not too_common and total > 2 * RESCORED:
            ids = backend().best_visible(self.generation, narrowed, self.condition, gap=gap, most=RESCORED)
        if ids is None:
            most = NEWEST if too_common else RARE_SUM
            ids = [one.id for one in backend().search(self.generation, narrowed, self.condition, gap=gap, most=most)]
            if too_common:
                ids = self.quick(ids)[:RESCORED]
            elif len(ids) > RESCORED:
                ids = backend().best(self.generation, narrowed, ids, most=RESCORED)
        known = {node: number for node, number in zip(alternatives, numbers, strict=True) if isinstance(node, Term)}
        return self.scored(ids, known, question=True)

    def _narrowed(self, picked: list[Node]) -> Node:
        """Return the query with these of its alternatives alone; words out of one that is joined find no more."""
        either = picked[0] if len(picked) == 1 else Or(tuple(picked))
        if set(picked) <= set(_alternatives(self.root)):
            return _with_alternatives(self.root, either)
        return And((either, self.root))

    def _frequencies(self, nodes: Sequence[Node]) -> list[int]:
        """Return how many rows have each node, up to RARE_SUM + 1: of the workspace's, or of all where it is large."""
        condition = None if self.condition.is_large else self.condition
        return backend().frequencies(self.generation, nodes, condition, most=RARE_SUM + 1)

    def _rows(self) -> int:
        """Return how many rows the frequencies are counted among."""
        if self.condition.is_large:
            extent = backend().extent(self.generation)
            return extent.entries if extent is not None else LARGE
        return self.condition.entries

    def quick(self, ids: Sequence[int]) -> list[int]:
        """Return the ids best first by a look at how often the words as typed stand in the text, and its length."""
        rows = backend().texts(self.corpus, ids)
        # Not folded, which takes as long as all else: this only says what is looked at with care.
        texts = {id_: self.corpus.text_of(row)[:LONGEST].lower() for id_, row in rows.items()}
        average = sum(map(len, texts.values())) / max(len(texts), 1)
        asked = [{term.folded, term.text.lower()} for term in positive_terms(self.root) if term.folded]
        counts = {id_: [max(map(text.count, spellings)) for spellings in asked] for id_, text in texts.items()}
        having = [1 + sum(map(bool, each)) for each in zip(*counts.values(), strict=True)]
        weights = [IN_ALL + idf(number, len(texts)) for number in having]

        def score(id_: int) -> float:
            held_back = K1 * (1 - B + B * len(texts.get(id_, "")) / max(average, 1))
            parts = zip(weights, counts.get(id_, ()), strict=False)
            return sum(weight * count / (count + held_back) for weight, count in parts)

        return sorted(ids, key=lambda id_: (-score(id_), -id_))

    def scored(self, ids: Sequence[int], known: dict[Term, int] | None = None, *, question: bool) -> dict[int, float]:
        """Return ids to scores, best first, equal ones newest first.

        With ``question`` other forms of the words and neighbouring rows count too.
        """
        texts = self._texts(ids)
        asked = {Asked(term.tokens, term.prefix): term for term in positive_terms(self.root) if term.tokens}
        pieces: set[Asked] = set()
        if question:
            joined = [term for term in asked.values() if is_joined(term)]
            pieces = {Asked((token,)) for term in joined for token in term.tokens} - asked.keys()
            asked |= {piece: _word(piece) for piece in sorted(pieces, key=lambda piece: piece.tokens)}
        words = [part.word for part in asked if part.word is not None]
        language = language_of(words) if question else None
        forms = forms_of(list(asked), list(texts.values()), language)
        weighed = self._weighed(asked, forms, texts, known or {})
        if question:
            weighed = [
                times(part, FUNCTION_WEIGHT) if is_function_word(part.asked, language) else part for part in weighed
            ]
            weighed = [times(part, JOINED_WEIGHT) if part.asked in pieces else part for part in weighed]
        average = sum(text.length for text in texts.values()) / max(len(texts), 1)
        found = scores(texts, weighed, average_length=average)
        best = sorted(found, key=lambda id_: (-found[id_], -id_))
        if question and self.corpus.thread is not None:
            rings = self._beside(best[:WITH_NEIGHBOURS])
            others = {id_ for ring in rings.values() for beside in ring for id_ in beside} - found.keys()
            everything = found | scores(self._texts(sorted(others)), weighed, average_length=average)
            found = {id_: score for id_, score in with_neighbours(everything, rings).items() if id_ in found}
            best = sorted(found, key=lambda id_: (-found[id_], -id_))
        return {id_: found[id_] for id_ in best}

    def _texts(self, ids: Sequence[int]) -> dict[int, RankedText]:
        rows = backend().texts(self.corpus, ids)
        return {id_: RankedText(index_text(self.corpus.text_of(row)[:LONGEST])) for id_, row in rows.items()}

    def _weighed(
        self,
        asked: dict[Asked, Term],
        forms: dict[Asked, dict[Asked, float]],
        texts: dict[int, RankedText],
        known: dict[Term, int],
    ) -> list[Part]:
        """Return the parts of the question and how much each weighs: the fewer rows have it, the more."""
        having = {part: known[term] for part, term in asked.items() if term in known}
        wanted = [part for part in asked if part not in having]
        inflected = any(len(others) > 1 for others in forms.values())
        seen = Counter(token for text in texts.values() for token in text.counts) if inflected else Counter()
        for others in forms.values():
            alike = sorted((form for form in others if form not in asked), key=lambda form: -seen[form.tokens[0]])
            wanted += alike[:FORMS_COUNTED]
            having.update({form: seen[form.tokens[0]] for form in alike[FORMS_COUNTED:] if form not in having})
        wanted = list(dict.fromkeys(wanted))
        nodes = [asked.get(form) or _word(form) for form in wanted]
        if len(forms) == 1 and all(len(others) == 1 for others in forms.values()):
            # One word alone weighs the same in every row.
            return [part_of(part, others, having | dict.fromkeys(wanted, 0), 1) for part, others in forms.items()]
        having.update(zip(wanted, self._frequencies(nodes), strict=True))
        rows = self._rows()
        return [part_of(part, others, having, rows) for part, others in forms.items()]

    def _beside(self, ids: Sequence[int]) -> dict[int, list[list[int]]]:
        """Return for each row the next ones in its thread, then the second next; less at the ends."""
        corpus, time = self.corpus, self.corpus.time
        rows: QuerySet[Any] = visible_to(self.principal, corpus.model)
        thread = rows.filter(corpus.live or Q(), **{str(corpus.thread): OuterRef(str(corpus.thread))})
        here = OuterRef(time)
        # The first condition alone is a stretch of an index.
        earlier = thread.filter(Q(**{f"{time}__lt": here}) | Q(pk__lt=OuterRef("pk")), **{f"{time}__lte": here})
        later = thread.filter(Q(**{f"{time}__gt": here}) | Q(pk__gt=OuterRef("pk")), **{f"{time}__gte": here})
        earlier, later = earlier.order_by(f"-{time}", "-pk").values("pk"), later.order_by(time, "pk").values("pk")
        found = visible_among(self.principal, corpus.model, ids).values_list(
            "pk", Subquery(earlier[:1]), Subquery(later[:1]), Subquery(earlier[1:2]), Subquery(later[1:2])
        )
        return {
            id_: [[beside for beside in ring if beside is not None] for ring in (places[:2], places[2:])]
            for id_, *places in found
        }


def _length(node: Node) -> int:
    return max((len("".join(term.tokens)) for term in positive_terms(node)), default=0)


def _word(form: Asked) -> Term:
    return Term(text=form.tokens[0], folded=form.tokens[0], tokens=form.tokens)


def _alternatives(root: Node) -> list[Node]:
    """Return the parts of which any will do; the exclusions beside them are not among them."""
    wanted = root.parts[0] if isinstance(root, And) and isinstance(root.parts[0], Or) else root
    return list(wanted.parts) if isinstance(wanted, Or) else [wanted]


def is_joined(term: Term) -> bool:
    """Return whether a term is several words that hyphens or the like join, as in Bodhisattva-Gelübde."""
    return len(term.tokens) > 1 and not term.quoted and not any(map(is_cjk, term.tokens))


def _with_alternatives(root: Node, either: Node) -> Node:
    """Return the query with this in the place of its alternatives."""
    if isinstance(root, And) and isinstance(root.parts[0], Or):
        return And((either, *root.parts[1:]))
    return either
