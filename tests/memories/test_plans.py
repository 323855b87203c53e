"""What recall, lists and remembering ask of the database comes from indexes: nothing is sorted, nothing walked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.access import Principal, principal_of_token
from memories.models import Token
from memories.recall import Filters, brief, list_memories, recall
from memories.remember import find, remember
from memories.schemas import MemoryIn
from tests.factories import MemoryFactory, make_token


@pytest.fixture
def principal(agent: Any) -> Principal:
    for number in range(30):
        MemoryFactory.create(agent=agent, content=f"row {number}", tags=["t"], subject="s", shared=number % 2)
    make_token(agent)
    return principal_of_token(Token.objects.select_related("agent").latest("id"))


def plans(act: Callable[[], Any]) -> list[str]:
    """Return how SQLite goes about each statement of the act."""
    with CaptureQueriesContext(connection) as captured:
        act()
    found: list[str] = []
    with connection.cursor() as cursor:
        for query in captured.captured_queries:
            if query["sql"].startswith(("SELECT", "UPDATE", "DELETE")):
                cursor.execute("EXPLAIN QUERY PLAN " + query["sql"].replace("%", "%%"))
                found += [row[3] for row in cursor.fetchall()]
    assert found
    return found


NARROWING = {
    "plain": {},
    "with restricted": {"include_restricted": True},
    "subject": {"subject": "s"},
    "kind": {"kinds": ("fact",)},
    "kinds": {"kinds": ("fact", "task")},
    "importance": {"min_importance": 4},
    "scope": {"scope": "shared"},
}


@pytest.mark.parametrize("name", NARROWING)
@pytest.mark.parametrize("limit", [5, 20])
def test_recall_neither_sorts_nor_scans(principal: Principal, name: str, limit: int) -> None:
    filters = Filters(**({"include_restricted": False} | NARROWING[name]))  # type: ignore[arg-type]
    steps = plans(lambda: recall(principal, filters, limit=limit, max_chars=10_000, now=timezone.now()))

    assert not [step for step in steps if "TEMP B-TREE" in step or step.startswith("SCAN")]


def test_what_has_expired_is_counted_from_its_own_index(principal: Principal) -> None:
    steps = plans(lambda: recall(principal, Filters(), limit=1, max_chars=10_000, now=timezone.now()))

    assert [step for step in steps if "INDEX memory_expiring" in step]


def test_brief_lists_and_reads_neither_sort_nor_scan(principal: Principal) -> None:
    now = timezone.now()
    memory_id = list_memories(principal, Filters(), cursor=None, limit=1).rows[0]["id"]
    for act in (
        lambda: brief(principal, subject=None, max_chars=300, now=now),
        lambda: list_memories(principal, Filters(), cursor=None, limit=5),
        lambda: list_memories(principal, Filters(statuses=("active", "archived")), cursor=20, limit=5),
        lambda: find(principal, memory_id),
    ):
        assert not [step for step in plans(act) if "TEMP B-TREE" in step or step.startswith("SCAN")]


@pytest.mark.parametrize(
    "item", [{"content": "new"}, {"content": "row 3", "subject": "s"}, {"content": "k", "key": "k"}]
)
def test_remembering_looks_equal_text_and_keys_up(principal: Principal, item: dict[str, Any]) -> None:
    steps = plans(lambda: remember(principal, MemoryIn(**item), now=timezone.now()))

    assert not [step for step in steps if "TEMP B-TREE" in step or step.startswith("SCAN")]
    wanted = "active_key=?" if "key" in item else "memory_equal_text (workspace_id=? AND partition=? AND content_hash=?"
    assert [step for step in steps if wanted in step], steps
