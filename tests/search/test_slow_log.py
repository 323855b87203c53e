"""What is logged of slow and failed searches, and what is not."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.db import DatabaseError

from search.backends.sqlite import SqliteBackend
from search.corpora import MEMORIES
from tests.factories import MemoryFactory
from tests.search.indexes import ask, found


def lines(caplog: Any) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "memoryweb.search.slow"]


@pytest.mark.django_db
def test_a_slow_search_is_logged_without_its_text(agent: Any, settings: Any, caplog: Any) -> None:
    MemoryFactory.create(agent=agent, content="the kestrel")
    settings.SEARCH_SLOW_MS = 0
    with caplog.at_level(logging.INFO):
        assert found(agent, MEMORIES, "kestrel NOT harbour")
    (line,) = lines(caplog)
    assert f"corpus=memories workspace={agent.workspace_id} route=words" in line
    assert "rows=1 match=all shape=AND(word, NOT(word))" in line
    assert "kestrel" not in line


@pytest.mark.django_db
def test_its_text_is_logged_where_the_operator_asks_for_it(agent: Any, settings: Any, caplog: Any) -> None:
    settings.SEARCH_SLOW_MS, settings.SEARCH_LOG_TEXT = 0, True
    ask(agent, MEMORIES, "kestrel\nERROR forged \u202e line " + "x" * 1000)
    (line,) = lines(caplog)
    assert "text='kestrel\\\\nERROR forged" in line
    assert "\n" not in line
    assert "\u202e" not in line
    assert len(line) < 1000


@pytest.mark.django_db
def test_a_quick_search_is_not_logged(agent: Any, settings: Any, caplog: Any) -> None:
    settings.SEARCH_SLOW_MS = 600_000
    ask(agent, MEMORIES, "kestrel")
    assert lines(caplog) == []


@pytest.mark.django_db
def test_a_failed_search_is_logged_however_quick(agent: Any, settings: Any, caplog: Any, monkeypatch: Any) -> None:
    settings.SEARCH_SLOW_MS = 600_000

    def fails(*args: Any, **options: Any) -> Any:
        raise DatabaseError("disk I/O error of a secret file")

    monkeypatch.setattr(SqliteBackend, "search", fails)
    with pytest.raises(DatabaseError):
        ask(agent, MEMORIES, "kestrel")
    (line,) = lines(caplog)
    assert "error=DatabaseError" in line
    assert "secret" not in line
