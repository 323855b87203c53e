"""A folded text that knows where each part of it stands in the text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import regex

from search.text import UNSTABLE_WITH_BASE, WIDE_SPACE, fold_characters

_CLUSTER = regex.compile(r"\X")
# A grapheme cluster always begins here.
_CLUSTER_START = regex.compile(r"(?V1)(?<!\p{GCB=Prepend})[[\p{L}\ ]&&\p{GCB=Other}--\p{InCB=Consonant}]")
# How far back the beginning of a cluster is looked for.
_LOOK_BACK = 256


class FoldedText:
    """``fold(text)``, with the way back to the text."""

    def __init__(self, text: str) -> None:
        self._characters = _Changes()
        self._spaces = _Changes()
        self.folded = self._fold_spaces(self._fold_characters(text))

    def in_text(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the text a part of the folded text, not an empty one, comes from."""
        spaced_start, spaced_end = self._spaces.start(start), self._spaces.end(end)
        return self._characters.start(spaced_start), self._characters.end(spaced_end)

    def _fold_characters(self, text: str) -> str:
        pieces: list[str] = []
        length = done = 0
        for match in UNSTABLE_WITH_BASE.finditer(text):
            stable = text[done : match.start()].casefold()
            pieces.append(stable)
            length += len(stable)
            for start, end, folded in _in_clusters(match[0]):
                if len(folded) != 1 or end - start != 1:
                    self._characters.add(length, length + len(folded), match.start() + start, match.start() + end)
                pieces.append(folded)
                length += len(folded)
            done = match.end()
        pieces.append(text[done:].casefold())
        return "".join(pieces)

    def _fold_spaces(self, text: str) -> str:
        text = text.rstrip()
        done = len(text) - len(text.lstrip())
        pieces: list[str] = []
        length = 0
        self._spaces.add(0, 0, 0, done)
        for match in WIDE_SPACE.finditer(text, done):
            pieces += [text[done : match.start()], " "]
            length += match.start() - done + 1
            self._spaces.add(length - 1, length, match.start(), match.end())
            done = match.end()
        pieces.append(text[done:])
        return "".join(pieces)


class _Changes:
    """The places where a new text differs from the old one in length."""

    def __init__(self) -> None:
        self._new: list[tuple[int, int]] = []
        self._old: list[tuple[int, int]] = []
        self._starts: list[int] = []

    def add(self, new_start: int, new_end: int, old_start: int, old_end: int) -> None:
        self._new.append((new_start, new_end))
        self._old.append((old_start, old_end))
        self._starts.append(new_start)

    def start(self, position: int) -> int:
        """Return where in the old text the character at this position of the new one begins."""
        number = bisect_right(self._starts, position) - 1
        if number < 0:
            return position
        if position < self._new[number][1]:
            return self._old[number][0]
        return self._old[number][1] + position - self._new[number][1]

    def end(self, position: int) -> int:
        """Return where in the old text the character before this position of the new one ends."""
        number = bisect_left(self._starts, position) - 1
        if number < 0:
            return position
        if position <= self._new[number][1]:
            return self._old[number][1]
        return self._old[number][1] + position - self._new[number][1]


def whole_graphemes(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the part of the text that takes in the grapheme clusters which start and end cut into."""
    return _cluster_start(text, start), _cluster_end(text, end)


def _cluster_start(text: str, position: int) -> int:
    start = _certain_start(text, position)
    while start < position:
        cluster = _CLUSTER.match(text, start)
        if cluster is None or cluster.end() > position:
            break
        start = cluster.end()
    return start


def _cluster_end(text: str, position: int) -> int:
    start = _cluster_start(text, position)
    if start == position:
        return position
    cluster = _CLUSTER.match(text, start)
    return cluster.end() if cluster else position


def _certain_start(text: str, position: int) -> int:
    """Return a place at or before this one where no cluster is cut."""
    if position >= len(text):
        return len(text)
    first = max(0, position - _LOOK_BACK)
    while position > first and not _CLUSTER_START.match(text, position):
        position -= 1
    return position


def _in_clusters(piece: str) -> list[tuple[int, int, str]]:
    """Return start, end and folded form of each cluster of the piece; of the whole where clusters fold together."""
    clusters = [(match.start(), match.end(), fold_characters(match[0])) for match in _CLUSTER.finditer(piece)]
    whole = fold_characters(piece)
    if "".join([folded for _, _, folded in clusters]) != whole:
        return [(0, len(piece), whole)]
    return clusters
