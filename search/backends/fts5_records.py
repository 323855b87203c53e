"""What FTS5 notes of an index in two records of its data table: read here, never written.

The format is that of fts5_index.c, https://sqlite.org/src/file/ext/fts5/fts5_index.c ("STRUCTURE RECORD" and
"AVERAGES RECORD").
"""

from __future__ import annotations

from dataclasses import dataclass

AVERAGES, STRUCTURE = 1, 10
"""Row ids of the records."""
_COOKIE = 4
_WITH_DELETES = b"\xff\x00\x00\x01"
"""Marks the structure record of a table with contentless_delete, which counts deleted entries too."""


@dataclass(frozen=True, slots=True)
class Structure:
    """How many segments an index has, their leaf pages, entries written to them and entries deleted from them since.

    Entries are counted for tables with contentless_delete alone.
    """

    segments: int
    leaves: int
    entries: int
    deleted: int


class _Numbers:
    """Variable-length integers one after the other: seven bits a byte, most significant first, the ninth byte whole."""

    def __init__(self, record: bytes, start: int = 0) -> None:
        self.record, self.place = record, start

    def next(self) -> int:
        """Return the next one. Raises ValueError where the record ends before it does."""
        value = 0
        for count in range(9):
            if self.place >= len(self.record):
                raise ValueError("the record ends in the middle of a number")
            byte = self.record[self.place]
            self.place += 1
            if count == 8:
                return value << 8 | byte
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                break
        return value


def entries_counted(averages: bytes) -> int:
    """Return how many rows bm25 reckons with. Raises ValueError for a damaged record."""
    return _Numbers(averages).next() if averages else 0


def structure(record: bytes) -> Structure:
    """Return what the structure record says. Raises ValueError for a damaged one."""
    with_deletes = record[_COOKIE : _COOKIE + 4] == _WITH_DELETES
    numbers = _Numbers(record, _COOKIE + 4 if with_deletes else _COOKIE)
    levels, told, _ = numbers.next(), numbers.next(), numbers.next()
    segments = leaves = entries = deleted = 0
    for _ in range(levels):
        _, in_level = numbers.next(), numbers.next()
        for _ in range(in_level):
            _, first, last = numbers.next(), numbers.next(), numbers.next()
            if last < first:
                raise ValueError("a segment ends before it begins")
            segments, leaves = segments + 1, leaves + last - first + 1
            if with_deletes:
                _, _, _, gone, there = (numbers.next() for _ in range(5))
                entries, deleted = entries + there, deleted + gone
    if segments != told:
        raise ValueError(f"the record tells of {told} segments and has {segments}")
    return Structure(segments, leaves, entries, deleted)
