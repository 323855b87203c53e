"""Whether a text matches a query, and where: what every path to the rows must come to, index or scan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Literal

from search.folded import FoldedText, whole_graphemes
from search.query import And, Node, Not, Or, Term, positive_terms, superset, words_of
from search.text import (
    alt_text,
    character_class,
    fold,
    index_folded,
    is_cjk,
    is_symbol,
    runs,
    symbol_text,
    transcriptions,
)

Meaning = Literal["words", "substring"]

# Characters that only themselves fold to, case aside, as long as every other character of the text is harmless.
PLAIN_RUN = re.compile("[a-z0-9\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+")
# Characters that neither vanish when folded nor become plain ones: for most scripts a text need not be folded to see
# that a plain run is not in it. Not for accents, ligatures, fullwidth letters, invisible characters.
HARMLESS_RANGES = (
    (0x01, 0x7F),
    (0xA1, 0xA7),
    (0xAB, 0xAC),
    (0xB0, 0xB1),
    (0xB6, 0xB7),
    (0x0386, 0x03FF),
    (0x0400, 0x0482),
    (0x048A, 0x052F),
    (0x05D0, 0x05EA),
    (0x0621, 0x063F),
    (0x0641, 0x064A),
    (0x0900, 0x0E5B),
    (0x2010, 0x2027),
    (0x2030, 0x205E),
    (0x20A9, 0x20C0),
    (0x2190, 0x245F),
    (0x2500, 0x27BF),
    (0x3001, 0x3029),
    (0x3041, 0x3096),
    (0x30A0, 0x30FE),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xE000, 0xE000),
    (0xFF01, 0xFF0F),
    (0xFF1A, 0xFF20),
    (0xFF3B, 0xFF40),
    (0xFF5B, 0xFF65),
)
_HARMFUL = re.compile(f"[^{character_class(HARMLESS_RANGES)}]")
# What letters such as ä and é are folded to, each by itself: with a mark behind it a text is harmful all the same.
_PLAIN_LATIN = {
    point: folded for point in range(0xC0, 0x180) if (folded := fold(chr(point))).isascii() and folded.isalpha()
}
# Of the words of alt_text, only what has one of these is not in the text itself as well.
_WRITTEN_OUT = ("ae", "oe", "ue", "aa")


class PreparedText:
    """A text with what matching needs of it, each worked out when first asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def folded(self) -> str:
        """The text as substrings are looked for in it."""
        return fold(self.text)

    @cached_property
    def words(self) -> str:
        """The body column of the words index, with a space at either end."""
        return f" {index_folded(self.folded)} "

    @cached_property
    def alt(self) -> str:
        """The alt column of the words index likewise; empty for most texts."""
        written = alt_text(self.text)
        return f" {written} " if written else ""

    @cached_property
    def words_and_symbols(self) -> str:
        """As words, each symbol a token of its own."""
        return f" {symbol_text(self.folded)} "


def matches(root: Node, prepared: PreparedText, meaning: Meaning) -> bool:
    """Return whether the text matches the query."""
    return matcher(root, meaning)(prepared)


def matcher(root: Node, meaning: Meaning) -> Callable[[PreparedText], bool]:
    """Return ``matches`` for one query and many texts."""
    decide = _matcher(root, meaning)
    parts = root.parts if isinstance(root, Or) else (root,)
    runs = [like_prefilter(part, meaning) for part in parts]
    known = [run for run in runs if run is not None]
    if len(known) < len(runs):
        return decide
    return lambda prepared: _may_hold(known, prepared.text, meaning) and decide(prepared)


def says(root: Node, prepared: PreparedText) -> bool:
    """Return whether the terms stand in the text as they were typed, marks included.

    ``C++`` finds the word C, and the texts that say C++ come first.
    """
    positive = superset(root, lambda term: True)
    return positive is not None and matches(positive, prepared, "substring")


def like_prefilter(root: Node, meaning: Meaning) -> str | None:
    """Return the longest run of characters that every match holds whose text is ASCII; None if no run is.

    It is of a to z, 0 to 9, Han, kana and Hangul, so it needs no escaping. A text that is not ASCII may match without
    it: é and e, ﬁ and fi are the same to a search. So ask for ``text LIKE '%run%' OR octet_length(text) <>
    length(text)``, LIKE ignoring the case of ASCII.
    """
    match root:
        case Term():
            pieces = [root.folded] if meaning == "substring" else words_of(root.folded)
            found = [run for piece in pieces for run in PLAIN_RUN.findall(piece)]
            return max(found, key=_weight, default=None)
        case And(parts):
            found = [run for run in (like_prefilter(part, meaning) for part in parts) if run]
            return max(found, key=_weight, default=None)
        case Or(parts):
            alternatives = [like_prefilter(part, meaning) for part in parts]
            runs_of_all = [run for run in alternatives if run]
            shortest = min(runs_of_all, key=len, default="")
            in_all = len(runs_of_all) == len(parts) and all(shortest in run for run in runs_of_all)
            return shortest if in_all else None
        case Not():
            return None


def spans(root: Node, text: str, meaning: Meaning, *, limit: int | None = None) -> list[tuple[int, int]]:
    """Return start and end of each hit in the text itself: in order, on grapheme boundaries, never overlapping.

    A word found by its beginning is one hit as a whole. ``limit`` is how many hits of each term are looked for.
    """
    merged: list[tuple[int, int]] = []
    for start, end, _ in term_spans(root, text, meaning, limit=limit):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def term_spans(root: Node, text: str, meaning: Meaning, *, limit: int | None = None) -> list[tuple[int, int, int]]:
    """Return start, end and number of the term (in ``positive_terms``) of each hit, in order; they may overlap."""
    folded = FoldedText(text)
    stream = list(runs(folded.folded)) if meaning == "words" else []
    words = _Stream([run for run in stream if not is_symbol(run[0])])
    symbols = _Stream(stream)
    found: set[tuple[int, int, int]] = set()
    for number, term in enumerate(positive_terms(root)):
        if meaning == "substring":
            hits = _occurrences(term.folded, folded.folded)
        else:
            hits = (symbols if term.symbols else words).hits(term)
        for count, (start, end) in enumerate(hits):
            if count == limit:
                break
            found.add((*folded.in_text(start, end), number))
        if meaning == "words" and not term.symbols and _is_written_out(term):
            found.update((start, end, number) for start, end in _alt_spans(term, text))
    return sorted((*whole_graphemes(text, start, end), number) for start, end, number in found)


def _matcher(root: Node, meaning: Meaning) -> Callable[[PreparedText], bool]:
    match root:
        case Term():
            return _in_substring_meaning(root) if meaning == "substring" else _in_words_meaning(root)
        case And(parts):
            wanted = [_matcher(part, meaning) for part in parts]
            return lambda prepared: all(part(prepared) for part in wanted)
        case Or(parts):
            either = [_matcher(part, meaning) for part in parts]
            return lambda prepared: any(part(prepared) for part in either)
        case Not(part):
            unwanted = _matcher(part, meaning)
            return lambda prepared: not unwanted(prepared)


def _may_hold(runs: Sequence[str], text: str, meaning: Meaning) -> bool:
    """Return whether there is any use in folding the text, to look for what holds any of the runs."""
    lowered = text.lower()
    if any(run in lowered for run in runs):
        return True
    if _HARMFUL.search(lowered) is None:
        return False
    if meaning == "words":
        # Müller is Mueller as well, which takes the words to tell.
        return True
    plain = lowered.translate(_PLAIN_LATIN)
    return any(run in plain for run in runs) or _HARMFUL.search(plain) is not None


def _in_substring_meaning(term: Term) -> Callable[[PreparedText], bool]:
    needle = term.folded
    return lambda prepared: needle in prepared.folded


def _in_words_meaning(term: Term) -> Callable[[PreparedText], bool]:
    if term.anywhere:
        return _in_substring_meaning(term)
    tokens = term.symbols or term.tokens
    needle = f" {' '.join(tokens)}{'' if term.prefix else ' '}"
    if term.symbols:
        return lambda prepared: _holds_all(tokens, prepared.folded) and needle in prepared.words_and_symbols
    return lambda prepared: (_holds_all(tokens, prepared.folded) and needle in prepared.words) or needle in prepared.alt


def _is_written_out(term: Term) -> bool:
    return any(pair in token for token in term.tokens for pair in _WRITTEN_OUT)


def _holds_all(tokens: tuple[str, ...], folded: str) -> bool:
    """Return whether there is any use in cutting the folded text into words."""
    return all(token in folded for token in tokens)


def _weight(run: str) -> int:
    return len(run.encode())


# Where the hits are


def _occurrences(needle: str, text: str) -> Iterator[tuple[int, int]]:
    position = text.find(needle)
    while position >= 0:
        yield position, position + len(needle)
        position = text.find(needle, position + 1)


class _Stream:
    """The words of a folded text, to find phrases among them."""

    def __init__(self, found: list[re.Match[str]]) -> None:
        self.found = found
        self.words = [run[0] for run in found]

    def hits(self, term: Term) -> Iterator[tuple[int, int]]:
        """Return start and end of each place in the folded text where the term stands as words."""
        wanted = words_of(term.folded)
        if len(wanted) == 1:
            yield from self._single(wanted[0], term.prefix)
            return
        for first, last in self._phrases(wanted, term.prefix):
            begin, end = self.found[first], self.found[last]
            yield (
                begin.end() - len(wanted[0]) if is_cjk(wanted[0]) else begin.start(),
                end.start() + len(wanted[-1]) if is_cjk(wanted[-1]) else end.end(),
            )

    def _single(self, wanted: str, prefix: bool) -> Iterator[tuple[int, int]]:
        inside = is_cjk(wanted)
        for run, word in zip(self.found, self.words, strict=True):
            if inside:
                for start, end in _occurrences(wanted, word):
                    yield run.start() + start, run.start() + end
            elif word == wanted or (prefix and word.startswith(wanted)):
                yield run.span()

    def _phrases(self, wanted: list[str], prefix: bool) -> Iterator[tuple[int, int]]:
        """Return the numbers of the first and the last word of each place where the words stand side by side."""
        first, *middle, last = wanted
        for number in range(len(self.words) - len(wanted) + 1):
            word = self.words[number]
            if word != first and not (is_cjk(first) and word.endswith(first)):
                continue
            end = number + len(wanted) - 1
            word = self.words[end]
            if self.words[number + 1 : end] == middle and (
                word == last or ((prefix or is_cjk(last)) and word.startswith(last))
            ):
                yield number, end


def _alt_spans(term: Term, text: str) -> Iterator[tuple[int, int]]:
    """Return the hits on words with ä ö ü å ø that the term writes out."""
    for start, end, written in transcriptions(text):
        folded = fold(written)
        if term.tokens[0] not in folded:
            continue
        alt, word = list(runs(folded)), FoldedText(text[start:end])
        body = list(runs(word.folded))
        begins = {run.start(): same.start() for run, same in zip(alt, body, strict=False)}
        ends = {run.end(): same.end() for run, same in zip(alt, body, strict=False)}
        for hit_start, hit_end in _Stream(alt).hits(term):
            if hit_start in begins and hit_end in ends:
                hit_start, hit_end = word.in_text(begins[hit_start], ends[hit_end])
                yield start + hit_start, start + hit_end
