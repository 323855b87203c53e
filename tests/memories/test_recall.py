"""Recall: its order, its budgets at their edges, its filters and totals."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.access import principal_of_token
from memories.models import Agent, Kind, Memory, Scope, Token
from memories.recall import Filters, recall
from memories.revisions import recount
from tests.factories import AgentFactory, MemoryFactory, make_token

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def recalled(client: Any, query: str = "") -> list[str]:
    response = client.get(f"/api/recall?{query}")
    assert response.status_code == 200, response.content
    return [memory["content"] for memory in response.json()["memories"]]


def test_pinned_first_then_importance_recency_and_id(api_client: Any, agent: Any) -> None:
    MemoryFactory.create(agent=agent, content="old, important", importance=5, now=NOON)
    MemoryFactory.create(agent=agent, content="new, usual", now=NOON + timedelta(days=2))
    MemoryFactory.create(agent=agent, content="tie, lower id", now=NOON)
    MemoryFactory.create(agent=agent, content="tie, higher id", now=NOON, scope="shared")
    MemoryFactory.create(agent=agent, content="pinned, unimportant", importance=1, pinned=True, now=NOON)

    assert recalled(api_client) == [
        "pinned, unimportant",
        "old, important",
        "new, usual",
        "tie, higher id",
        "tie, lower id",
    ]


def test_being_seen_again_makes_recent(api_client: Any, agent: Any) -> None:
    MemoryFactory.create(agent=agent, content="first", now=NOON)
    MemoryFactory.create(agent=agent, content="second", now=NOON + timedelta(hours=1))
    assert recalled(api_client) == ["second", "first"]
    api_client.remember("first")
    assert recalled(api_client) == ["first", "second"]


def test_expired_archived_and_restricted_rows_are_left_out(api_client: Any, agent: Any) -> None:
    now = timezone.now()
    MemoryFactory.create(agent=agent, content="stays", expires_at=now + timedelta(hours=1))
    MemoryFactory.create(agent=agent, content="expired", expires_at=now - timedelta(seconds=1))
    MemoryFactory.create(agent=agent, content="archived", archived=True)
    MemoryFactory.create(agent=agent, content="from a stranger", source="stranger", importance=2)

    found = api_client.get("/api/recall").json()
    assert ([row["content"] for row in found["memories"]], found["total"]) == (["stays"], 1)
    found = api_client.get("/api/recall?include_restricted=1").json()
    assert [row["content"] for row in found["memories"]] == ["stays", "from a stranger"]
    assert found["total"] == 2


def test_a_memory_expires_at_its_moment(agent: Any) -> None:
    principal = principal_of_token(Token.objects.select_related("agent").get(pk=_token_id(agent)))
    MemoryFactory.create(agent=agent, content="brief", expires_at=NOON, now=NOON - timedelta(days=1))

    def at(now: datetime) -> int:
        return recall(principal, Filters(), limit=5, max_chars=100, now=now).total

    assert at(NOON - timedelta(microseconds=1)) == 1
    assert at(NOON) == 0


def _token_id(agent: Agent, **kwargs: Any) -> int:
    make_token(agent, **kwargs)
    return Token.objects.latest("id").pk


def test_it_stops_at_the_first_that_does_not_fit(api_client: Any, agent: Any) -> None:
    for importance, content in [(5, "a" * 10), (4, "b" * 10), (3, "c")]:
        MemoryFactory.create(agent=agent, content=content, importance=importance)

    for max_chars, returned, chars in [(21, 3, 21), (20, 2, 20), (19, 1, 10), (10, 1, 10)]:
        found = api_client.get(f"/api/recall?max_chars={max_chars}").json()
        assert (found["returned"], found["chars"], found["total"]) == (returned, chars, 3), max_chars
        assert found["truncated"] is (returned < 3)
        assert not any(memory["cut"] for memory in found["memories"])


def test_limit_bounds_the_rows_and_total_tells_the_rest(api_client: Any, agent: Any) -> None:
    MemoryFactory.create_batch(5, agent=agent)

    found = api_client.get("/api/recall?limit=2").json()
    assert (found["returned"], found["total"], found["truncated"]) == (2, 5, True)
    found = api_client.get("/api/recall?limit=5").json()
    assert (found["returned"], found["total"], found["truncated"]) == (5, 5, False)


FAMILY = "👨‍👩‍👧‍👦"


@pytest.mark.parametrize(
    ("content", "max_chars", "cut"),
    [
        ("abcdef", 3, "abc"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301"),  # combining accents
        ("ab" + FAMILY + "c", 5, "ab"),  # an emoji family is one character of seven code points
        ("ab" + FAMILY + "c", 9, "ab" + FAMILY),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", 4, "\u1112\u1161\u11ab"),  # Hangul syllables from jamo
        ("🇩🇪🇨🇳", 3, "🇩🇪"),  # flags
        ("a\r\nb", 2, "a"),
        (FAMILY, 3, ""),
        ("नमस्ते", 3, "नम"),
    ],
)
def test_a_first_row_too_long_is_cut_between_grapheme_clusters(
    api_client: Any, content: str, max_chars: int, cut: str
) -> None:
    api_client.remember(content)
    found = api_client.get(f"/api/recall?max_chars={max_chars}").json()

    memory = found["memories"][0]
    assert memory["content"] == cut
    assert (memory["cut"], memory["content_chars"], found["chars"]) == (True, len(content), len(cut))
    assert (found["total"], found["returned"], found["truncated"]) == (1, 1, True)


def test_filters(api_client: Any, agent: Any) -> None:
    rows = [
        {"content": "a", "subject": "home", "kind": "fact", "tags": ["x", "y"], "importance": 5},
        {"content": "b", "subject": "home", "kind": "task", "tags": ["x"], "importance": 4, "scope": "shared"},
        {"content": "c", "subject": "work", "kind": "fact", "tags": [], "importance": 3},
        {"content": "d", "subject": "", "kind": "decision", "tags": ["y"], "importance": 2, "pinned": True},
    ]
    for row in rows:
        MemoryFactory.create(agent=agent, **row)
    expected = {
        "subject=home": ["a", "b"],
        "subject=%20home%20": ["a", "b"],
        "subject=": ["d"],
        "kind=fact": ["a", "c"],
        "kind=fact&kind=decision": ["d", "a", "c"],
        "tag=x": ["a", "b"],
        "tag=x&tag=y": ["a"],
        "tag=none": [],
        "scope=shared": ["b"],
        "scope=agent": ["d", "a", "c"],
        "min_importance=4": ["a", "b"],
        "min_importance=2": ["d", "a", "b", "c"],
        "subject=home&kind=task&tag=x&scope=shared&min_importance=4": ["b"],
    }
    for query, contents in expected.items():
        assert recalled(api_client, query) == contents, query
        assert api_client.get(f"/api/recall?limit=1&{query}").json()["total"] == len(contents), query


def test_agents_readers_and_admins_see_their_own_part(agent: Any, client_for: Any) -> None:
    other = AgentFactory.create(workspace=agent.workspace)
    MemoryFactory.create(agent=agent, content="mine")
    MemoryFactory.create(agent=other, content="theirs")
    MemoryFactory.create(agent=other, content="ours", shared=True)
    MemoryFactory.create(content="of another workspace", shared=True)

    assert set(recalled(client_for(agent))) == {"mine", "ours"}
    assert set(recalled(client_for(other))) == {"theirs", "ours"}
    assert recalled(client_for(agent, role="reader")) == ["ours"]
    assert recalled(client_for(agent, role="admin")) == ["ours"]
    for role in ("agent", "reader", "admin"):
        total = api_total(client_for(agent, role=role), "limit=1")
        assert total == (2 if role == "agent" else 1)


def api_total(client: Any, query: str) -> int:
    return int(client.get(f"/api/recall?{query}").json()["total"])


ROW = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(Kind.values),
        "importance": st.integers(1, 5),
        "scope": st.sampled_from(Scope.values),
        "source": st.sampled_from(["owner", "agent", "web"]),
        "subject": st.sampled_from(["", "a", "b"]),
        "tags": st.lists(st.sampled_from(["t", "u"]), unique=True),
        "pinned": st.booleans(),
        "hours": st.integers(0, 3),
        "expires": st.sampled_from([None, -1, 1]),
    }
)
QUERY = st.fixed_dictionaries(
    {
        "subject": st.sampled_from([None, "", "a"]),
        "kinds": st.lists(st.sampled_from(Kind.values[:3]), unique=True, max_size=3).map(tuple),
        "tags": st.lists(st.sampled_from(["t", "u"]), unique=True, max_size=1).map(tuple),
        "scope": st.sampled_from([None, *Scope.values]),
        "min_importance": st.integers(1, 5),
        "include_restricted": st.booleans(),
    }
)


@pytest.mark.django_db
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, max_size=12), query=QUERY, limit=st.integers(1, 8), role=st.sampled_from(["agent", "reader"]))
def test_recall_equals_sorting_and_filtering_by_hand(
    rows: list[dict[str, Any]], query: dict[str, Any], limit: int, role: str
) -> None:
    Memory.objects.all().delete()
    agent = Agent.objects.first() or AgentFactory.create()
    recount()
    now = NOON + timedelta(days=1)
    wanted = []
    for row in rows:
        fields = {name: value for name, value in row.items() if name not in ("hours", "expires")}
        expires_at = row["expires"] and now + timedelta(hours=row["expires"])
        memory = MemoryFactory.create(
            agent=agent, now=NOON + timedelta(hours=row["hours"]), expires_at=expires_at, **fields
        )
        fits = (
            (role == "agent" or row["scope"] == "shared")
            and (expires_at is None or expires_at > now)
            and (query["subject"] is None or row["subject"] == query["subject"])
            and (not query["kinds"] or row["kind"] in query["kinds"])
            and set(query["tags"]) <= set(row["tags"])
            and (query["scope"] is None or row["scope"] == query["scope"])
            and row["importance"] >= query["min_importance"]
            and (query["include_restricted"] or row["source"] != "web")
        )
        if fits:
            wanted.append((row["pinned"], row["importance"], memory.updated_at, memory.pk))
    principal = principal_of_token(Token.objects.select_related("agent").get(pk=_token_id(agent, role=role)))
    found = recall(principal, Filters(**query), limit=limit, max_chars=10_000, now=now)

    assert [row["id"] for row in found.memories] == [key[-1] for key in sorted(wanted, reverse=True)][:limit]
    assert found.total == len(wanted)
    assert found.truncated is (len(wanted) > limit)
