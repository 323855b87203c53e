"""Which steps answer a query, in which order, and why: a pure decision, told in the answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from search.matching import Meaning
from search.query import Query, Term, positive_terms, superset, terms

Mode = Literal["auto", "words", "substring", "scan"]
Path = Literal["words", "trigram", "scan"]
When = Literal["always", "short", "empty"]
Rows = Literal["all", "indexed", "unindexed"]

# Shorter terms stand inside too many other words to be asked for, as long as the words themselves are found.
_TELLING = 4
_TRIGRAM = 3


@dataclass(frozen=True, slots=True)
class Step:
    """One way to the rows: which of them match, by which meaning, and when it is taken."""

    path: Path
    # What the rows must match. Its hits are said to be of this meaning too (words: ``match: word``).
    meaning: Meaning
    # short: where the hits so far end before the page does. empty: where no step before found anything.
    when: When = "always"
    # Those that the trigram index has, or those that it leaves out; a scan can be asked for either.
    rows: Rows = "all"


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps in order, none where there is nothing to search for, and how the answer names and explains them."""

    steps: tuple[Step, ...]
    route: str
    reason: str


def plan(
    query: Query,
    mode: Mode = "auto",
    *,
    words: bool = True,
    trigram: bool = True,
    unindexed_rows: bool = False,
    few_rows: bool = False,
) -> Plan:
    """Return the plan for a query.

    ``words`` and ``trigram`` say which indexes can serve; ``unindexed_rows`` whether the filters let rows through that
    the trigram index leaves out; ``few_rows`` that reading all of them takes no longer than that index.
    """
    if query.root is None:
        return Plan((), "none", _reason(query.reasons))
    why: list[str] = []
    steps: list[Step] = []
    indexed = mode != "scan"
    if mode != "substring":
        steps.append(_by_words(query, why, indexed=indexed, words=words))
    if mode != "words":
        steps += _by_substring(
            query,
            why,
            first=mode == "substring",
            indexed=indexed,
            words=words,
            trigram=trigram,
            unindexed_rows=unindexed_rows,
            few_rows=few_rows,
        )
    if mode != "auto":
        why.insert(0, f"mode={mode} was asked for")
    return Plan(tuple(steps), route_of(steps), _reason((*why, *query.reasons)))


def route_of(steps: Iterable[Step]) -> str:
    """Return the name of the way through these steps: ``words+trigram``."""
    return "+".join(dict.fromkeys(step.path for step in steps)) or "none"


def can_use_trigrams(query: Query) -> bool:
    """Return whether the trigram index can name candidates: every match holds a term of three characters or more."""
    return superset(query.root, has_trigrams) is not None


def has_trigrams(term: Term) -> bool:
    """Return whether a term is long enough for the trigram index."""
    return len(term.folded) >= _TRIGRAM


def _by_words(query: Query, why: list[str], *, indexed: bool, words: bool) -> Step:
    if any(term.symbols for term in terms(query.root)):
        why.append("symbols are read from the text: the index has words alone")
        return Step("scan", "words")
    if not indexed:
        return Step("scan", "words")
    if not words:
        why.append("the words index cannot serve")
        return Step("scan", "words")
    why.append("whole words, phrases and prefixes from the words index")
    return Step("words", "words")


def _by_substring(
    query: Query,
    why: list[str],
    *,
    first: bool,
    indexed: bool,
    words: bool,
    trigram: bool,
    unindexed_rows: bool,
    few_rows: bool,
) -> list[Step]:
    asked = positive_terms(query.root)
    if all(term.anywhere for term in terms(query.root)):
        # Both meanings are the same rows here, and the words index has every length of CJK text.
        if not first:
            return []
        by_index = indexed and words and not any(term.symbols for term in terms(query.root))
        why.append("CJK characters are found inside other text by the words index" if by_index else "symbols are read")
        return [Step("words" if by_index else "scan", "substring")]
    when: When = "always"
    if not first:
        # Who puts words in quotes does not ask for others that they stand inside of.
        is_phrase = any(" " in term.folded for term in asked)
        telling = all(term.anywhere or len(term.folded) >= _TELLING for term in asked)
        when = "short" if telling and not is_phrase else "empty"
        why.append(
            "then the same text inside other words, where the page has room"
            if when == "short"
            else "the same text inside other words only where no word is found: "
            + ("a phrase is asked for" if is_phrase else "a term is shorter than four characters")
        )
    path: Path = "scan"
    if indexed and not can_use_trigrams(query):
        why.append("read from the text: a term is shorter than three characters")
    elif indexed and few_rows:
        why.append("read from the text: there are few rows")
    elif indexed and not trigram:
        why.append("the trigram index cannot serve")
    elif indexed:
        path = "trigram"
    if not unindexed_rows:
        return [Step(path, "substring", when)]
    if first:
        why.append("tool output is read from the text")
        if path == "scan":
            return [Step("scan", "substring", when)]
        return [Step("trigram", "substring", when, "indexed"), Step("scan", "substring", "short", "unindexed")]
    # The same steps by index and by scan, so that the answer does not depend on what can serve.
    why.append("tool output only where nothing else is found")
    return [Step(path, "substring", when, "indexed"), Step("scan", "substring", "empty", "unindexed")]


def _reason(parts: tuple[str, ...]) -> str:
    return "; ".join(parts)
