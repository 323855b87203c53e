"""What differs between two texts, word by word; in Chinese, Japanese and Korean character by character. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

import regex

from search.text import CJK

COMPARISONS_MAX = 1_000_000
"""Pairs of tokens that are looked at for two texts, a fraction of a second at worst. What is left over differs."""
# A word with its marks, one character of a script without spaces, white space, or what a reader sees as one character.
_TOKEN = regex.compile(rf"[{CJK}]\p{{M}}*|(?:(?![{CJK}])[\w\p{{M}}\u200c\u200d])++|\s++|\X")
_PASSAGE = regex.compile(r"[^\n.!?。！？]*+[\n.!?。！？]++\s*+|[^\n.!?。！？]++")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one text; ``differs`` if the other text does not have it there."""

    text: str
    differs: bool


Hunk = tuple[Sequence[str], Sequence[str], bool]
"""What stands in the one and the other text at the same place, and whether it is the same."""


def word_diff(one: str, other: str) -> tuple[list[Piece], list[Piece]]:
    """Return both texts in pieces, those that differ marked.

    Where they differ over a long stretch, whole sentences are compared first, then the words of those that differ.
    """
    hunks = list(_hunks(_TOKEN.findall(one), _TOKEN.findall(other)))
    left = ((text, is_same) for text, _, is_same in hunks)
    right = ((text, is_same) for _, text, is_same in hunks)
    return _pieces(left), _pieces(right)


def _hunks(first: Sequence[str], second: Sequence[str]) -> Iterator[Hunk]:
    begin = _alike(first, second)
    end = _alike(first[begin:][::-1], second[begin:][::-1])
    yield first[:begin], second[:begin], True
    yield from _between(first[begin : len(first) - end], second[begin : len(second) - end])
    yield first[len(first) - end :], second[len(second) - end :], True


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many tokens both begin with."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _between(first: Sequence[str], second: Sequence[str]) -> Iterator[Hunk]:
    if len(first) * len(second) <= COMPARISONS_MAX:
        yield from _compared(first, second)
        return
    passages, others = _PASSAGE.findall("".join(first)), _PASSAGE.findall("".join(second))
    if len(passages) * len(others) > COMPARISONS_MAX:
        yield first, second, False
        return
    left = COMPARISONS_MAX
    for some, theirs, is_same in _compared(passages, others):
        words, their_words = _TOKEN.findall("".join(some)), _TOKEN.findall("".join(theirs))
        if is_same or len(words) * len(their_words) > left:
            yield some, theirs, is_same
        else:
            left -= len(words) * len(their_words)
            yield from _compared(words, their_words)


def _compared(first: Sequence[str], second: Sequence[str]) -> Iterator[Hunk]:
    for tag, i, j, k, m in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        yield first[i:j], second[k:m], tag == "equal"


def _pieces(stretches: Iterable[tuple[Sequence[str], bool]]) -> list[Piece]:
    """Return the stretches as pieces of text, neighbours of one kind together, none empty."""
    there = ((text, is_same) for text, is_same in stretches if text)
    return [
        Piece("".join(token for text, _ in together for token in text), not is_same)
        for is_same, together in groupby(there, key=lambda stretch: stretch[1])
    ]
