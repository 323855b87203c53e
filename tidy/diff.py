"""What differs between two texts, word by word; in Chinese, Japanese and Korean character by character. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from search.text import CJK

TOKENS_MAX = 1500
"""Of longer texts only what both begin and end with is compared."""
_TOKEN = re.compile(rf"[{CJK}]|(?:(?![{CJK}])\w)+|\s+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one text; ``differs`` if the other text does not have it there."""

    text: str
    differs: bool


def word_diff(one: str, other: str) -> tuple[list[Piece], list[Piece]]:
    """Return both texts in pieces, those that differ marked."""
    first, second = _TOKEN.findall(one), _TOKEN.findall(other)
    begin = _alike(first, second)
    end = _alike(first[begin:][::-1], second[begin:][::-1])
    middle, other_middle = first[begin : len(first) - end], second[begin : len(second) - end]
    left, right = [Piece("".join(first[:begin]), False)], [Piece("".join(first[:begin]), False)]
    if max(len(middle), len(other_middle)) > TOKENS_MAX:
        left.append(Piece("".join(middle), True))
        right.append(Piece("".join(other_middle), True))
    else:
        for tag, i, j, k, m in SequenceMatcher(None, middle, other_middle, autojunk=False).get_opcodes():
            left.append(Piece("".join(middle[i:j]), tag != "equal"))
            right.append(Piece("".join(other_middle[k:m]), tag != "equal"))
    tail = "".join(first[len(first) - end :])
    return _kept([*left, Piece(tail, False)]), _kept([*right, Piece(tail, False)])


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many tokens both begin with."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _kept(pieces: list[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece.text]
