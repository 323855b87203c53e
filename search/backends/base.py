"""The contract of a search backend.

Indexes are made, filled, asked and detached here, and nowhere else is their SQL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db import DatabaseError

from search.corpora import Corpus
from search.query import Node

Kind = Literal["words", "trigram"]
KINDS: tuple[Kind, ...] = ("words", "trigram")
Sort = Literal["relevance", "newest", "oldest"]


class IndexDamaged(Exception):
    """An index cannot be read. The rows themselves are not to blame."""

    def __init__(self, generation: Generation, detail: str) -> None:
        super().__init__(f"the {generation.kind} index of {generation.corpus.name} is damaged: {detail}")
        self.generation, self.detail = generation, detail


@dataclass(frozen=True, slots=True)
class Generation:
    """One build of one index, by name of its tables and of the text function it was built with."""

    corpus: Corpus
    kind: Kind
    number: int
    function: str

    @property
    def table(self) -> str:
        return f"search_{self.corpus.name}_{self.kind}_g{self.number}"


LARGE = 20_000
"""Entries of a workspace above which its rows are told from others' one by one, and words are counted among all."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Which rows may be found at all: SQL on the corpus table as ``t`` with its parameters, and the workspace's labels.

    ``workspace_id`` and ``partitions`` (None: all) are what the condition says of labels, for indexes that hold them;
    ``entries`` is how many entries the words index has with these labels, counted up to ``LARGE`` + 1.
    """

    sql: str
    parameters: tuple[Any, ...]
    workspace_id: int
    partitions: tuple[str, ...] | None
    entries: int = 0

    @property
    def is_large(self) -> bool:
        """Return whether walking the list of the labels' entries takes longer than trying a word's newest ones."""
        return self.entries > LARGE


@dataclass(frozen=True, slots=True)
class Extent:
    """How large a generation is: bytes on the disk (about), the parts it is spread over, and what its ranking counts.

    ``deleted`` is the share of entries (0 to 1) that were deleted and not yet merged away, ``entries`` the number of
    rows that the engine's ranking reckons with, which only grows.
    """

    bytes: int
    parts: int
    entries: int
    deleted: float


@dataclass(frozen=True, slots=True)
class Found:
    """A row found, before its text is loaded: id and the time it is sorted by, as the database keeps it."""

    id: int
    time: str


class SearchBackend(ABC):
    """What a vendor has to do."""

    vendor: str

    @abstractmethod
    def is_damage(self, error: DatabaseError) -> bool:
        """Return whether an error of a statement that touched an index may be the index's."""

    @abstractmethod
    def condition(
        self, corpus: Corpus, rows: Any, *, workspace_id: int, partitions: tuple[str, ...] | None, entries: int
    ) -> Condition:
        """Return the condition that ``rows``, a queryset of the corpus without order or joins, puts on its table."""

    @abstractmethod
    def create(self, generation: Generation) -> None:
        """Make the generation's empty tables and its triggers, so that every write from now on is in it."""

    @abstractmethod
    def is_whole(self, generation: Generation) -> bool:
        """Return whether its tables are there."""

    @abstractmethod
    def repair(self, generation: Generation) -> bool:
        """Return whether triggers were missing or other than they should be; they are made anew."""

    @abstractmethod
    def detach(self, generation: Generation) -> None:
        """Drop its triggers, so that writes no longer touch it."""

    @abstractmethod
    def is_readable(self, generation: Generation) -> bool:
        """Return whether all its tables can be read. Not to be asked inside a transaction, which damage ends."""

    @abstractmethod
    def thin(self, generation: Generation, *, most: int) -> bool:
        """Delete at most ``most`` entries of what it consists of; return whether there are more.

        It serves nothing any more. Dropped at once, a large one would hold the write lock for long.
        """

    @abstractmethod
    def drop(self, generation: Generation, *, readable: bool = True) -> None:
        """Remove its triggers and tables; what is not readable can only be forgotten."""

    @abstractmethod
    def give_back(self, *, pages: int, kept: float) -> bool:
        """Return at most ``pages`` free pages to the file system; return whether there are more of them.

        A share of ``kept`` of all pages stays, for what is written next.
        """

    @abstractmethod
    def extent(self, generation: Generation) -> Extent | None:
        """Return how large it is, None where that cannot be read."""

    @abstractmethod
    def counts(self, generation: Generation) -> tuple[int, int | None]:
        """Return how many entries it has and how many rows it should have, read at one moment.

        No number of rows where counting them takes reading them. Raises IndexDamaged.
        """

    @abstractmethod
    def generations(self, corpus: Corpus, kind: Kind) -> list[int]:
        """Return the numbers of the generations that have tables."""

    @abstractmethod
    def fill(self, generation: Generation, *, after: int, until: int, most: int) -> int:
        """Index at most ``most`` rows with ids over ``after`` up to ``until``; return the last id that is in.

        Repeatable.
        """

    @abstractmethod
    def missing(self, generation: Generation, *, most: int) -> list[int]:
        """Return ids of rows that should be in the index and are not."""

    @abstractmethod
    def orphans(self, generation: Generation, *, most: int) -> list[int]:
        """Return ids in the index that have no row."""

    @abstractmethod
    def index_rows(self, generation: Generation, ids: Sequence[int]) -> None:
        """Index the rows of these ids anew; ids without a row are taken out."""

    @abstractmethod
    def check(self, generation: Generation) -> str | None:
        """Return what the engine's own check of the index finds wrong, or None."""

    @abstractmethod
    def differing_words(self, generation: Generation, *, progress: Callable[[int], object]) -> int:
        """Return how many words stand elsewhere in it than in a copy built afresh from the rows of one moment.

        ``progress`` is told how many more rows were gone through. Takes as long as building it, reads alone, and keeps
        the copy apart from the store.
        """

    @abstractmethod
    def optimize(self, generation: Generation, *, pages: int, anew: bool = False) -> bool:
        """Merge a bounded part of the index; return whether there is more to do.

        ``anew`` begins to merge all of it into one, whatever is merged already; further calls go on with that.
        """

    @abstractmethod
    def search(
        self,
        generation: Generation,
        root: Node,
        condition: Condition,
        *,
        gap: tuple[int, int] | None,
        by_time: Literal["newest", "oldest"] | None = None,
        oldest_first: bool = False,
        most: int | None = None,
    ) -> Iterator[Found]:
        """Return the rows whose index entry fits, newest id first, without ids in the gap ``(after, until]``.

        Read as they are asked for, or with ``by_time`` in the order of time; ``most`` is how many are wanted.
        For words without symbols that is exact; else a superset, to be verified on the text. Raises IndexDamaged.
        """

    @abstractmethod
    def is_in_time_order(
        self,
        corpus: Corpus,
        condition: Condition,
        found: Sequence[Found],
        *,
        by_time: Literal["newest", "oldest"],
        most: int | None = None,
    ) -> bool:
        """Return whether no row beyond those found, by id, belongs before the last of them, by time.

        ``found`` are the first rows by id in the order of time. Rows mostly come in that order, and the index gives
        them by id without sorting. With ``most`` False too where so many rows of a partition do not tell.
        """

    @abstractmethod
    def frequencies(
        self, generation: Generation, nodes: Sequence[Node], condition: Condition | None, *, most: int
    ) -> list[int]:
        """Return for each node how many entries of the workspace's labels fit (None: of all), counted up to ``most``.

        From the words index alone, so it may count rows that the condition does not allow. Raises IndexDamaged.
        """

    @abstractmethod
    def rows_of(self, generation: Generation, condition: Condition, *, most: int) -> int:
        """Return how many entries the workspace's labels have, counted up to ``most``. Raises IndexDamaged."""

    @abstractmethod
    def best_visible(
        self,
        generation: Generation,
        root: Node,
        condition: Condition,
        *,
        gap: tuple[int, int] | None,
        most: int,
    ) -> list[int] | None:
        """Return the ``most`` best rows by the index's own ranking, best first; None where that takes looking further.

        For large workspaces: most of the best of all are theirs. Raises IndexDamaged.
        """

    @abstractmethod
    def best(self, generation: Generation, root: Node, ids: Sequence[int], *, most: int) -> list[int]:
        """Return those of ``ids`` that the engine ranks first, best first, ``most`` at most. Raises IndexDamaged."""

    @abstractmethod
    def samples(self, generation: Generation, *, gap: tuple[int, int] | None, most: int) -> list[int]:
        """Return ids of rows that should be in the index: the newest, the oldest and some between, ``most`` at most."""

    @abstractmethod
    def lost(self, generation: Generation, ids: Sequence[int]) -> list[int]:
        """Return those of the ids whose rows the index does not find by their own text. Raises IndexDamaged."""

    @abstractmethod
    def texts(self, corpus: Corpus, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Return the searched columns of rows by id."""

    @abstractmethod
    def scan(
        self,
        corpus: Corpus,
        condition: Condition,
        *,
        like: str | None,
        newest_first: bool,
        within: tuple[int, int] | None,
    ) -> Iterator[tuple[Found, dict[str, Any]]]:
        """Return rows with their searched columns in order of time, only ids in ``(after, until]`` if that is given.

        ``like`` is a run of characters that every row asked for contains, unless it has a text that is not ASCII. A
        few rows without it are returned too, so that a scan that finds nothing can be ended in time.
        """
