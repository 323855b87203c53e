"""Remembering many at once."""

from __future__ import annotations

from typing import Any

from memories.models import AuditEntry, Memory


def test_one_bad_item_does_not_lose_the_others(api_client: Any) -> None:
    api_client.remember("kept before", key="owned", source="owner")
    items = [
        {"content": "first", "tags": ["a"]},
        {"content": "   "},
        {"content": "x", "colour": "red"},
        {"content": "y", "importance": 9},
        {"content": "first", "tags": ["a"]},
        {"content": "less trusted", "key": "owned", "source": "web"},
        {"content": "z", "expires_at": "2026-01-01T00:00:00"},
        {},
        {"content": "last"},
    ]
    response = api_client.send("POST", "/api/memories/batch", {"memories": items})

    assert response.status_code == 200
    receipts = response.json()["receipts"]
    assert [receipt["index"] for receipt in receipts] == list(range(9))
    actions = [receipt.get("action") for receipt in receipts]
    assert actions == ["created", None, None, None, "unchanged", "kept_beside", None, None, "created"]
    fields = [receipt["error"]["field"] for receipt in receipts if "error" in receipt]
    assert fields == ["content", "colour", "importance", "expires_at", "content"]
    assert Memory.objects.count() == 4
    entry = AuditEntry.objects.get(verb="memory.batch")
    assert entry.counts == {"created": 2, "kept_beside": 1, "refused": 5, "unchanged": 1}


def test_a_refused_item_leaves_nothing_half_done(agent: Any, client_for: Any) -> None:
    client = client_for(agent, sources=["agent"])
    items = [{"content": "x", "source": "owner"}, {"content": "y", "scope": "shared"}]
    receipts = client.send("POST", "/api/memories/batch", {"memories": items}).json()["receipts"]

    assert receipts[0]["error"]["code"] == "source_not_allowed"
    assert receipts[1]["action"] == "created"
    assert Memory.objects.count() == 1


def test_size_and_shape_are_bounded(api_client: Any) -> None:
    def status(body: Any) -> tuple[int, str]:
        response = api_client.send("POST", "/api/memories/batch", body)
        return response.status_code, response.json().get("error", {}).get("field", "")

    assert status({"memories": []}) == (422, "memories")
    assert status({"memories": [{"content": "x"}] * 1001}) == (422, "memories")
    assert status({"memories": ["text"]}) == (422, "memories.0")
    assert status({"memories": [{"content": "x"}], "more": 1}) == (422, "more")
    assert status([]) == (422, "")
    assert Memory.objects.count() == 0


def test_a_thousand_items(api_client: Any) -> None:
    items = [{"content": f"item {number}", "subject": "batch"} for number in range(1000)]
    receipts = api_client.send("POST", "/api/memories/batch", {"memories": items}).json()["receipts"]

    assert {receipt["action"] for receipt in receipts} == {"created"}
    assert api_client.get("/api/recall?subject=batch").json()["total"] == 1000
