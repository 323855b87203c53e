"""Changing a memory's fields."""

from __future__ import annotations

from typing import Any

import pytest

from memories.models import MemoryTag, Revision
from tests.factories import AgentFactory, MemoryFactory


def patch(client: Any, memory: dict[str, Any], fields: dict[str, Any], **headers: str) -> Any:
    return client.send("PATCH", f"/api/memories/{memory['id']}", fields, **headers)


def test_it_changes_the_fields_sent_and_tells_the_revision(api_client: Any) -> None:
    memory = api_client.remember("Ana likes tea.", tags=["ana"], importance=4)["memory"]
    response = patch(api_client, memory, {"content": "Ana likes green tea.", "tags": ["ana", "tea"], "reason": "asked"})

    assert response.status_code == 200
    assert response["ETag"] == '"2"'
    receipt = response.json()
    assert (receipt["action"], receipt["revision"]) == ("updated", 2)
    assert receipt["memory"]["content"] == "Ana likes green tea."
    assert receipt["memory"]["importance"] == 4
    assert receipt["memory"]["created_at"] == memory["created_at"]
    assert receipt["memory"]["updated_at"] > memory["updated_at"]
    revision = Revision.objects.get(number=2)
    assert revision.before == {"content": "Ana likes tea.", "tags": ["ana"]}
    assert (revision.verb, revision.reason) == ("revise", "asked")
    assert set(MemoryTag.objects.values_list("tag", flat=True)) == {"ana", "tea"}


def test_nothing_new_makes_no_revision(api_client: Any) -> None:
    memory = api_client.remember("Ana likes tea.")["memory"]
    receipt = patch(api_client, memory, {"content": "Ana likes tea.", "importance": 3}).json()

    assert (receipt["action"], receipt["revision"]) == ("unchanged", 1)
    assert Revision.objects.count() == 1


def test_key_and_expiry_can_be_taken_away(api_client: Any) -> None:
    memory = api_client.remember("x", key="k", expires_at="2040-01-01T00:00:00Z")["memory"]
    receipt = patch(api_client, memory, {"key": None, "expires_at": None}).json()

    assert (receipt["memory"]["key"], receipt["memory"]["expires_at"]) == (None, None)


@pytest.mark.parametrize("field", ["content", "subject", "kind", "tags", "importance", "scope", "pinned", "metadata"])
def test_null_is_refused_where_it_means_nothing(api_client: Any, field: str) -> None:
    memory = api_client.remember("x")["memory"]
    response = patch(api_client, memory, {field: None})

    assert response.status_code == 422
    assert field in response.json()["error"]["message"]


def test_if_match_lets_only_the_current_revision_through(api_client: Any) -> None:
    memory = api_client.remember("x")["memory"]
    assert patch(api_client, memory, {"content": "y"}, If_Match='"1"').status_code == 200

    stale = patch(api_client, memory, {"content": "z"}, If_Match='"1"')
    assert stale.status_code == 412
    assert stale.json()["error"]["code"] == "stale"
    assert api_client.get(f"/api/memories/{memory['id']}").json()["content"] == "y"
    assert patch(api_client, memory, {"content": "z"}, If_Match='W/"2"').status_code == 200
    assert patch(api_client, memory, {"content": "zz"}, If_Match="3").status_code == 200
    assert patch(api_client, memory, {"content": "zzz"}, If_Match="*").status_code == 200
    assert patch(api_client, memory, {"content": "zzzz"}, If_Match="rev 5").status_code == 412


def test_a_taken_key_is_a_conflict(api_client: Any) -> None:
    api_client.remember("one", key="k")
    other = api_client.remember("two")["memory"]
    response = patch(api_client, other, {"key": "k", "content": "three"})

    assert response.status_code == 409
    assert (response.json()["error"]["code"], response.json()["error"]["field"]) == ("key_taken", "key")
    assert api_client.get(f"/api/memories/{other['id']}").json()["content"] == "two"


def test_an_archived_memory_must_be_restored_first(api_client: Any) -> None:
    memory = api_client.remember("one")["memory"]
    api_client.send("DELETE", f"/api/memories/{memory['id']}")

    assert patch(api_client, memory, {"content": "two"}).status_code == 409


def test_only_its_agent_moves_a_memory_between_scopes(agent: Any, api_client: Any, client_for: Any) -> None:
    memory = api_client.remember("ours", scope="shared")["memory"]
    other = client_for(AgentFactory.create(workspace=agent.workspace))

    assert patch(other, memory, {"scope": "agent"}).status_code == 403
    assert patch(api_client, memory, {"scope": "agent"}).json()["memory"]["scope"] == "agent"
    assert other.get(f"/api/memories/{memory['id']}").status_code == 404
    assert patch(api_client, memory, {"scope": "shared"}).json()["memory"]["scope"] == "shared"
    assert other.get(f"/api/memories/{memory['id']}").status_code == 200


def test_moving_onto_a_key_of_the_other_scope_is_a_conflict(api_client: Any) -> None:
    api_client.remember("shared one", key="k", scope="shared")
    mine = api_client.remember("mine", key="k")["memory"]

    assert patch(api_client, mine, {"scope": "shared"}).status_code == 409


@pytest.mark.parametrize("fields", [{"importance": 3}, {"pinned": True}])
def test_only_a_person_raises_what_a_stranger_said(api_client: Any, fields: dict[str, Any]) -> None:
    memory = api_client.remember("x", source="stranger")["memory"]
    response = patch(api_client, memory, fields)

    assert response.status_code == 403
    assert response.json()["error"]["code"] == "restricted"
    assert patch(api_client, memory, {"importance": 1}).status_code == 200


def test_a_less_trusted_token_changes_nothing_of_the_owners(agent: Any, client_for: Any) -> None:
    owned = MemoryFactory.create(agent=agent, content="The owner's word.", source="owner", scope="shared")
    client = client_for(agent, sources=["agent", "web"])

    for method, path in [("PATCH", ""), ("DELETE", ""), ("POST", "/restore")]:
        body = {"content": "changed"} if method == "PATCH" else None
        assert client.send(method, f"/api/memories/{owned.pk}{path}", body).status_code == 403, (method, path)
    owned.refresh_from_db()
    assert (owned.content, owned.revision) == ("The owner's word.", 1)
