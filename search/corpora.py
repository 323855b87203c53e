"""What is searched: two corpora, one machinery."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Model, Q

from memories.models import Memory, Message

GAP = "\n\ue000\n"
"""Stands between two columns of a row: a token of the index but of no query, so that no phrase reaches across."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A table whose rows are searched by the text of ``columns``, joined by GAP where they are not empty.

    Its rows carry ``workspace_id`` and ``partition``; ``time`` is what newest and oldest mean. Rows for which
    ``unindexed`` (a condition on its columns) holds are left out of the trigram index. Rows of one ``thread`` follow
    each other in time, and of those that are ``live`` each says something about the ones beside it.
    """

    name: str
    model: type[Model]
    columns: tuple[str, ...]
    time: str
    unindexed: tuple[str, str] | None = None
    thread: str | None = None
    live: Q | None = None
    # There is an index of (workspace, partition, time, id).
    has_time_index: bool = False

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    def text_of(self, row: dict[str, object]) -> str:
        """Return the text that a row is found by."""
        return GAP.join(str(row[column]) for column in self.columns if row[column])


MESSAGES = Corpus(
    "messages",
    Message,
    ("content", "tool_name", "tool_text"),
    "timestamp",
    unindexed=("role", "tool"),
    thread="session_id",
    live=Q(active=True) | Q(compacted=True),
    has_time_index=True,
)
MEMORIES = Corpus("memories", Memory, ("content", "subject"), "updated_at")
CORPORA = {corpus.name: corpus for corpus in (MESSAGES, MEMORIES)}
