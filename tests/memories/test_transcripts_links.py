"""Memories that were taken from a message: the link, and whose word it is."""

from __future__ import annotations

from typing import Any

import pytest

from memories.models import Memory, Source
from memories.transcripts import Said, load
from tests.factories import AgentFactory, MessageFactory, SessionFactory


def remember(client: Any, **fields: Any) -> Any:
    return client.send("POST", "/api/memories", {"content": "The oven is slow."} | fields)


def test_a_memory_shows_its_message(api_client: Any, agent: Any) -> None:
    message = MessageFactory.create(session=SessionFactory.create(agent=agent))
    memory = remember(api_client, message_id=message.pk).json()["memory"]

    assert memory["message_id"] == message.pk
    assert api_client.get(f"/api/memories/{memory['id']}").json()["message_id"] == message.pk
    assert api_client.get("/api/recall").json()["memories"][0]["message_id"] == message.pk
    assert api_client.get("/api/memories").json()["memories"][0]["message_id"] == message.pk
    history = api_client.get(f"/api/memories/{memory['id']}/history").json()["revisions"]
    assert history[0]["after"]["message_id"] == message.pk
    assert remember(api_client, content="without").json()["memory"]["message_id"] is None
    assert list(message.memories.values_list("pk", flat=True)) == [memory["id"]]


def test_a_message_that_is_not_to_be_seen_is_none(api_client: Any, agent: Any, client_for: Any) -> None:
    colleague = AgentFactory.create(workspace=agent.workspace)
    private = MessageFactory.create(session=SessionFactory.create(agent=colleague))
    shared = MessageFactory.create(session=SessionFactory.create(agent=colleague, shared=True))
    foreign = MessageFactory.create(session=SessionFactory.create(shared=True))
    for message_id in (private.pk, foreign.pk, 10**12):
        response = remember(api_client, message_id=message_id)
        assert response.status_code == 422
        error = response.json()["error"]
        assert (error["field"], error["message"]) == ("message_id", f"there is no message {message_id}")
    assert remember(api_client, message_id=shared.pk).status_code == 201
    assert Memory.objects.count() == 1


@pytest.mark.parametrize(
    ("said", "claimed", "stamped"),
    [
        ("owner", "owner", "owner"),
        ("owner", None, "agent"),
        ("tool", "owner", "tool"),
        ("tool", None, "tool"),
        ("web", "owner", "web"),
        ("owner", "web", "web"),
        ("stranger", "group_chat", "stranger"),
        ("import", "import", "import"),
    ],
)
def test_the_source_is_the_less_trusted_of_claim_and_message(
    api_client: Any, agent: Any, said: str, claimed: str | None, stamped: str
) -> None:
    message = MessageFactory.create(session=SessionFactory.create(agent=agent), trust=said)
    memory = remember(
        api_client, message_id=message.pk, importance=5, pinned=True, **({"source": claimed} if claimed else {})
    )

    assert memory.json()["memory"]["source"] == stamped
    restricted = Source(stamped) in (Source.WEB, Source.STRANGER)
    assert memory.json()["memory"]["importance"] == (2 if restricted else 5)
    assert memory.json()["memory"]["pinned"] is not restricted


def test_a_stranger_does_not_replace_what_the_owner_said(api_client: Any, agent: Any) -> None:
    session = SessionFactory.create(agent=agent)
    stranger = MessageFactory.create(session=session, trust="stranger")
    owner = MessageFactory.create(session=session)
    first = remember(api_client, key="oven", source="owner", message_id=owner.pk).json()["memory"]
    beside = remember(
        api_client, key="oven", source="owner", content="The oven is fast.", message_id=stranger.pk
    ).json()

    assert beside["action"] == "kept_beside"
    assert (beside["memory"]["source"], beside["memory"]["kept_beside"]) == ("stranger", first["id"])


def test_a_later_write_changes_the_link_only_if_it_says_so(api_client: Any, agent: Any) -> None:
    session = SessionFactory.create(agent=agent)
    first, second = (MessageFactory.create(session=session) for _ in range(2))
    memory = remember(api_client, key="oven", message_id=first.pk).json()["memory"]
    assert remember(api_client, key="oven", content="Slower.").json()["memory"]["message_id"] == first.pk
    assert (
        remember(api_client, key="oven", content="Slowest.", message_id=second.pk).json()["memory"]["message_id"]
        == second.pk
    )
    assert remember(api_client, key="oven", content="Slow.", message_id=None).json()["memory"]["message_id"] is None

    restored = api_client.send("POST", f"/api/memories/{memory['id']}/restore", {"revision": 1})
    assert restored.json()["memory"]["message_id"] == first.pk


def test_a_message_that_is_gone_leaves_the_memory(api_client: Any, agent: Any) -> None:
    session = SessionFactory.create(agent=agent)
    message = load(session, [Said("user", "x")], now=session.started_at)[0].message
    memory = remember(api_client, message_id=message.pk).json()["memory"]
    session.delete()

    assert api_client.get(f"/api/memories/{memory['id']}").json()["message_id"] is None
    restored = api_client.send("POST", f"/api/memories/{memory['id']}/restore", {"revision": 1})
    assert (restored.status_code, restored.json()["memory"]["message_id"]) == (200, None)


def test_each_item_of_a_batch_has_its_own_link(api_client: Any, agent: Any) -> None:
    message = MessageFactory.create(session=SessionFactory.create(agent=agent), trust="tool")
    items = [
        {"content": "a", "message_id": message.pk},
        {"content": "b", "message_id": message.pk + 1},
        {"content": "c"},
    ]
    receipts = api_client.send("POST", "/api/memories/batch", {"memories": items}).json()["receipts"]

    assert receipts[0]["memory"]["source"] == "tool"
    assert receipts[1]["error"]["field"] == "message_id"
    assert receipts[2]["memory"]["message_id"] is None


def test_a_workspace_goes_with_its_transcripts(agent: Any, api_client: Any) -> None:
    message = MessageFactory.create(session=SessionFactory.create(agent=agent))
    remember(api_client, message_id=message.pk)
    agent.workspace.delete()

    assert not Memory.objects.exists()
