"""The plain list and the counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from tests.factories import AgentFactory, MemoryFactory

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def listed(client: Any, query: str = "") -> list[str]:
    response = client.get(f"/api/memories?{query}")
    assert response.status_code == 200, response.content
    return [memory["content"] for memory in response.json()["memories"]]


def test_newest_first_in_pages_that_neither_repeat_nor_skip(api_client: Any, agent: Any) -> None:
    made = [MemoryFactory.create(agent=agent, shared=number % 2).pk for number in range(7)]
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        page = api_client.get(f"/api/memories?limit=3{f'&cursor={cursor}' if cursor else ''}").json()
        seen += [memory["id"] for memory in page["memories"]]
        cursor = page["next_cursor"]
        MemoryFactory.create(agent=agent, content=f"written meanwhile {len(seen)}")

    assert seen == made[::-1]


def test_every_filter(api_client: Any, agent: Any) -> None:
    other = AgentFactory.create(workspace=agent.workspace, name="other")
    MemoryFactory.create(agent=agent, content="a", subject="s", kind="fact", tags=["t"], importance=5, now=NOON)
    MemoryFactory.create(agent=agent, content="b", source="web", importance=1, now=NOON + timedelta(days=1))
    MemoryFactory.create(agent=agent, content="c", archived=True, now=NOON + timedelta(days=2))
    MemoryFactory.create(agent=other, content="d", shared=True, now=NOON + timedelta(days=3))
    MemoryFactory.create(agent=agent, content="e", expires_at=timezone.now() - timedelta(days=1), now=NOON)
    expected = {
        "": ["e", "d", "b", "a"],
        "subject=s": ["a"],
        "kind=fact": ["a"],
        "tag=t": ["a"],
        "scope=shared": ["d"],
        "status=archived": ["c"],
        "status=archived&status=active": ["e", "d", "c", "b", "a"],
        "min_importance=4": ["a"],
        "source=web": ["b"],
        "created_by=other": ["d"],
        "since=2026-05-02T12:00:00Z&status=active&status=archived": ["d", "c", "b"],
        "until=2026-05-02T12:00:00Z": ["e", "a"],
        "since=2026-05-03T14:00:00%2B02:00": ["d"],
    }
    for query, contents in expected.items():
        assert listed(api_client, query) == contents, query


def test_naive_times_are_refused(api_client: Any) -> None:
    response = api_client.get("/api/memories?since=2026-05-02T12:00:00")

    assert response.status_code == 422
    assert "time zone" in response.json()["error"]["message"]
    assert response.json()["error"]["field"] == "since"


def test_counts_by_status_and_group(api_client: Any, agent: Any) -> None:
    MemoryFactory.create(agent=agent, subject="home", kind="fact", now=NOON)
    MemoryFactory.create(agent=agent, subject="home", kind="task", now=NOON)
    MemoryFactory.create(agent=agent, subject="work", kind="fact", now=NOON + timedelta(days=1))
    MemoryFactory.create(agent=agent, archived=True)
    MemoryFactory.create(content="someone else's", shared=True)

    found = api_client.get("/api/stats").json()
    assert found["by_status"] == {"active": 3, "merged": 0, "archived": 1, "erased": 0}
    assert found["groups"] == [{"value": "fact", "count": 2}, {"value": "task", "count": 1}]
    assert found["truncated"] is False
    groups = api_client.get("/api/stats?group=subject").json()["groups"]
    assert groups == [{"value": "home", "count": 2}, {"value": "work", "count": 1}]
    groups = api_client.get("/api/stats?group=day").json()["groups"]
    assert groups == [{"value": "2026-05-02", "count": 1}, {"value": "2026-05-01", "count": 2}]
    assert api_client.get("/api/stats?group=source").json()["groups"] == [{"value": "agent", "count": 3}]
    assert api_client.get("/api/stats?group=colour").status_code == 422
