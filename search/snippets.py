"""The part of a text that shows why it was found."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass

from search.folded import whole_graphemes
from search.matching import Meaning, term_spans
from search.query import Node, positive_terms
from search.text import CJK, MARKS

ELLIPSIS = "…"

# A CJK character, a word, an emoji, or some of what is neither; long ones count several times, so that no snippet grows
# long.
_TOKEN = re.compile(
    f"[{CJK}][{MARKS}]*|(?:[^\\W{CJK}]|[{MARKS}]){{1,24}}|[\u2600-\u27bf\U0001f000-\U0001faff]|[^\\w]{{24}}|\\A[^\\w]+\\Z"
)
# A long text is looked through in parts of this many characters, of which a phrase across the border is in both.
_PART = 50_000
_OVERLAP = 500
_MOST_PARTS = 20
# More hits than these in one part make no better snippet.
_MOST_HITS = 200


@dataclass(frozen=True, slots=True)
class _Hit:
    start: int
    end: int
    term: int
    first_token: int
    last_token: int


def snippet(
    text: str,
    root: Node | None,
    *,
    meaning: Meaning = "words",
    before: str = ">>>",
    after: str = "<<<",
    tokens: int = 40,
) -> str:
    """Return up to so many tokens of the text around its best hits, these between ``before`` and ``after``.

    Best is where most of the terms stand together. The text is as it is in the original, with an ellipsis where it is
    cut; without a hit it is the beginning.
    """
    part, starts_text, ends_text, found = _best_part(text, root, meaning)
    bounds = [match.span() for match in _TOKEN.finditer(part)]
    if not bounds:
        return part
    starts = [start for start, _ in bounds]
    hits = [
        _Hit(start, end, term, max(0, bisect_right(starts, start) - 1), max(0, bisect_right(starts, end - 1) - 1))
        for start, end, term in found
    ]
    first, last = _window(hits, len(bounds), tokens)
    whole_start = starts_text and first == 0
    whole_end = ends_text and last == len(bounds) - 1
    start = 0 if first == 0 else bounds[first][0]
    end = len(part) if last == len(bounds) - 1 else bounds[last][1]
    start, end = whole_graphemes(part, start, end)
    return _marked(part, start, end, hits, before, after, whole_start, whole_end)


def _best_part(text: str, root: Node | None, meaning: Meaning) -> tuple[str, bool, bool, list[tuple[int, int, int]]]:
    """Return the part of a long text with most of the terms, whether it begins and ends the text, and its hits."""
    if len(text) <= _PART:
        return text, True, True, term_spans(root, text, meaning, limit=_MOST_HITS) if root else []
    wanted = len(positive_terms(root))
    best: tuple[int, str, bool, bool, list[tuple[int, int, int]]] | None = None
    for number in range(_MOST_PARTS if root else 1):
        start = number * (_PART - _OVERLAP)
        if start >= len(text):
            break
        start, end = whole_graphemes(text, start, min(start + _PART, len(text)))
        part = text[start:end]
        found = term_spans(root, part, meaning, limit=_MOST_HITS) if root else []
        terms = len({term for _, _, term in found})
        if best is None or terms > best[0]:
            best = (terms, part, start == 0, end == len(text), found)
        if terms == wanted:
            break
    assert best is not None
    return best[1:]


def _window(hits: list[_Hit], count: int, tokens: int) -> tuple[int, int]:
    """Return the first and the last token of the part that shows most terms, then most hits, then comes first."""
    best = (0, 0)
    first, last = 0, -1
    inside: Counter[int] = Counter()
    begin = 0
    for end, hit in enumerate(hits):
        inside[hit.term] += 1
        while begin < end and hit.last_token - hits[begin].first_token >= tokens:
            inside[hits[begin].term] -= 1
            begin += 1
        value = (sum(1 for number in inside.values() if number), end - begin + 1)
        if value > best:
            best = value
            first, last = hits[begin].first_token, min(hit.last_token, hits[begin].first_token + tokens - 1)
    if last < 0:
        return 0, min(count, tokens) - 1
    spare = tokens - (last - first + 1)
    first = max(0, first - spare // 2)
    last = min(count - 1, first + tokens - 1)
    return max(0, last - tokens + 1), last


def _marked(
    text: str, start: int, end: int, hits: list[_Hit], before: str, after: str, whole_start: bool, whole_end: bool
) -> str:
    pieces = [] if whole_start else [ELLIPSIS]
    done = start
    merged: list[tuple[int, int]] = []
    for hit in hits:
        hit_start, hit_end = max(hit.start, start), min(hit.end, end)
        if hit_start >= hit_end:
            continue
        if merged and hit_start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(hit_end, merged[-1][1]))
        else:
            merged.append((hit_start, hit_end))
    for hit_start, hit_end in merged:
        pieces += [text[done:hit_start], before, text[hit_start:hit_end], after]
        done = hit_end
    pieces.append(text[done:end])
    if not whole_end:
        pieces.append(ELLIPSIS)
    return "".join(pieces)
