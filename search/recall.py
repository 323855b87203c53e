"""Recall for a question: what fits it, within a budget."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memories.access import Principal, visible_among
from memories.models import Memory
from memories.recall import CREATED_BY, RECALLED, Filters, Recall, recallable, within_budget
from search.corpora import MEMORIES
from search.engine import WINDOW, Hit, search
from search.query import Query

GRADES = 10
"""Memories whose relevance is the same in so many grades count as equally relevant."""
LOADED = 20
"""Memories whose content is read at once: a budget ends after a few."""


def recall_for(
    principal: Principal, query: Query, filters: Filters, *, limit: int, max_chars: int, now: datetime
) -> Recall:
    """Return active, unexpired memories that have any of the query's words, those that fit it best first.

    Of equally relevant ones the more important, then the more recent comes first. Budgets are those of recall.
    """
    rows = recallable(principal, filters, now=now)
    if rows is None:
        return Recall([], 0, 0, False)
    # Parts of words are for where nothing else is found: what a prompt has room for should be to the point.
    answer = search(MEMORIES, query, rows, principal, mode="words", limit=WINDOW)
    if not answer.hits:
        answer = search(MEMORIES, query, rows, principal, limit=WINDOW)
    ids = _in_order(principal, answer.hits)
    return within_budget(_loaded(principal, ids), lambda: answer.total, limit=limit, max_chars=max_chars)


def _in_order(principal: Principal, hits: list[Hit]) -> list[int]:
    """Return the ids by grade of relevance, then importance and recency."""
    found = visible_among(principal, Memory, [hit.id for hit in hits])
    weights = {pk: rest for pk, *rest in found.values_list("pk", "importance", "recency")}
    grades = {hit.id: round(hit.relevance * GRADES) for hit in hits}
    return sorted(weights, key=lambda pk: (grades[pk], *weights[pk], pk), reverse=True)


def _loaded(principal: Principal, ids: list[int]) -> Iterator[dict[str, Any]]:
    for start in range(0, len(ids), LOADED):
        some = ids[start : start + LOADED]
        found = visible_among(principal, Memory, some).values(*RECALLED, created_by=CREATED_BY)
        rows = {row["id"]: row for row in found}
        yield from (rows[id_] for id_ in some if id_ in rows)
