"""Recall with a question: what fits it first, then importance and recency, within recall's filters and budgets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from memories.models import Memory
from tests.factories import AgentFactory, MemoryFactory

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def asked(client: Any, query: str, **parameters: Any) -> dict[str, Any]:
    response = client.get(f"/api/recall?{urlencode({'query': query, **parameters}, doseq=True)}")
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


def contents(client: Any, query: str, **parameters: Any) -> list[str]:
    return [memory["content"] for memory in asked(client, query, **parameters)["memories"]]


def remember_all(agent: Any, *texts: str, **fields: Any) -> None:
    for text in texts:
        MemoryFactory.create(agent=agent, content=text, **fields)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Where does the gardener keep the spare key?", "The gardener keeps a spare key under the blue pot."),
        ("When was Tom painting the boats?", "Tom painted his boat in April."),
        ("Wo ist der Ersatzschlüssel für die Garage?", "Der Ersatzschlüssel liegt neben der Garage."),
        ("备用钥匙放在哪里？", "备用钥匙在蓝色的花盆下面。"),
        ("船はいつ塗りましたか", "四月に船を塗りました。"),
    ],
)
def test_a_question_finds_its_answer(api_client: Any, agent: Any, question: str, first: str) -> None:
    remember_all(
        agent,
        "The gardener keeps a spare key under the blue pot.",
        "The neighbour is a gardener too, where the road ends.",
        "Tom painted his boat in April.",
        "Tom met the others at the harbour in May.",
        "Maria sold the piano.",
        "Der Ersatzschlüssel liegt neben der Garage.",
        "Die Garage wird im Winter vermietet.",
        "备用钥匙在蓝色的花盆下面。",
        "蓝色的自行车在哪里都能用。",
        "四月に船を塗りました。",
        "いつも駅で待っています。",
    )
    assert contents(api_client, question)[0] == first


def test_without_a_word_in_common_there_is_nothing(api_client: Any, agent: Any) -> None:
    remember_all(agent, "Tea is in the left cupboard.")
    assert asked(api_client, "helicopter") == {
        "memories": [],
        "total": 0,
        "returned": 0,
        "chars": 0,
        "truncated": False,
    }


@pytest.mark.parametrize("query", ["", "  ", "?", "…"])
def test_a_query_without_words_is_as_none(api_client: Any, agent: Any, query: str) -> None:
    remember_all(agent, "Usual.")
    remember_all(agent, "Pinned.", pinned=True)
    assert contents(api_client, query) == ["Pinned.", "Usual."]


def test_equally_relevant_ones_come_by_importance_then_recency(api_client: Any, agent: Any) -> None:
    for name, importance, days in (("a", 2, 0), ("b", 4, 0), ("c", 2, 3), ("d", 4, 1)):
        remember_all(agent, f"Kettle {name}", importance=importance, now=NOON + timedelta(days=days))
    remember_all(agent, "Nothing of it", importance=5, pinned=True)
    assert contents(api_client, "kettle") == ["Kettle d", "Kettle b", "Kettle c", "Kettle a"]


def test_relevance_comes_before_importance(api_client: Any, agent: Any) -> None:
    remember_all(agent, "The kettle leaks.", importance=1)
    remember_all(agent, "The roof leaks.", "The tap leaks.", "The hose leaks.", importance=5)
    assert contents(api_client, "kettle leaks")[0] == "The kettle leaks."


def test_parts_of_words_are_for_where_no_word_is_found(api_client: Any, agent: Any) -> None:
    remember_all(agent, "A teakettle.")
    assert contents(api_client, "kettle") == ["A teakettle."]
    remember_all(agent, "The kettle.")
    assert contents(api_client, "kettle") == ["The kettle."]


def test_filters_narrow_it(api_client: Any, agent: Any, client_for: Any) -> None:
    now = timezone.now()
    remember_all(agent, "kettle of Ana", subject="Ana", kind="fact", tags=["kitchen"], importance=4)
    remember_all(agent, "kettle of Ben", subject="Ben", kind="task", importance=2, scope="shared")
    remember_all(agent, "kettle, archived", archived=True)
    remember_all(agent, "kettle, expired", expires_at=now - timedelta(seconds=1))
    remember_all(agent, "kettle of a stranger", source="stranger", importance=1)
    remember_all(AgentFactory.create(workspace=agent.workspace), "kettle of another agent")
    remember_all(AgentFactory.create(), "kettle of another workspace", scope="shared")

    ana, ben = "kettle of Ana", "kettle of Ben"
    assert contents(api_client, "kettle") == [ana, ben]
    assert contents(api_client, "kettle", subject="Ana") == [ana]
    assert contents(api_client, "kettle", kind=["task", "contact"]) == [ben]
    assert contents(api_client, "kettle", tag="kitchen") == [ana]
    assert contents(api_client, "kettle", scope="shared") == [ben]
    assert contents(api_client, "kettle", min_importance=3) == [ana]
    assert "kettle of a stranger" in contents(api_client, "kettle", include_restricted=1)


def test_budgets_cut_as_in_recall(api_client: Any, agent: Any) -> None:
    remember_all(agent, "kettle " * 3, importance=4)
    remember_all(agent, "kettle " * 3, importance=2, subject="other")
    found = asked(api_client, "kettle", limit=1)
    assert (found["returned"], found["total"], found["truncated"]) == (1, 2, True)
    found = asked(api_client, "kettle", max_chars=30)
    assert (found["returned"], found["total"], found["truncated"]) == (1, 2, True)
    found = asked(api_client, "kettle", max_chars=6)
    assert found["memories"][0]["cut"]
    assert (found["memories"][0]["content"], found["memories"][0]["content_chars"]) == ("kettle", 21)


def test_a_memory_has_the_fields_of_recall(api_client: Any, agent: Any) -> None:
    remember_all(agent, "The kettle leaks.")
    plain = api_client.get("/api/recall").json()["memories"]
    assert asked(api_client, "kettle")["memories"] == plain


def test_who_may_see_nothing_is_told_nothing(api_client: Any, agent: Any) -> None:
    remember_all(agent, "The kettle leaks.")
    assert contents(api_client, '"kettle') == ["The kettle leaks."]
    assert contents(api_client, "NOT kettle") == []
    assert Memory.objects.count() == 1
