"""What is searched: two corpora, one machinery."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Model

from memories.models import Memory, Message

GAP = "\n\ue000\n"
"""Stands between two columns of a row: a token of the index but of no query, so that no phrase reaches across."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A table whose rows are searched by the text of ``columns``, joined by GAP where they are not empty.

    Its rows carry ``workspace_id`` and ``partition``; ``time`` is what newest and oldest mean. Rows for which
    ``unindexed`` (a condition on its columns) holds are left out of the trigram index.
    """

    name: str
    model: type[Model]
    columns: tuple[str, ...]
    time: str
    unindexed: tuple[str, str] | None = None

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    def text_of(self, row: dict[str, object]) -> str:
        """Return the text that a row is found by."""
        return GAP.join(str(row[column]) for column in self.columns if row[column])


MESSAGES = Corpus("messages", Message, ("content", "tool_name", "tool_text"), "timestamp", ("role", "tool"))
MEMORIES = Corpus("memories", Memory, ("content", "subject"), "updated_at")
CORPORA = {corpus.name: corpus for corpus in (MESSAGES, MEMORIES)}
