"""Forgetting archives, restoring goes back to any revision, history shows each step."""

from __future__ import annotations

from typing import Any

from memories import audit
from memories.models import AuditEntry, Memory
from tests.conftest import LONE
from tests.factories import AgentFactory


def test_forgetting_archives_and_recall_no_longer_brings_it(api_client: Any) -> None:
    memory = api_client.remember("Old phone number")["memory"]
    response = api_client.send("DELETE", f"/api/memories/{memory['id']}?reason=it changed")

    receipt = response.json()
    assert (response.status_code, receipt["action"], receipt["revision"]) == (200, "archived", 2)
    forgotten = receipt["memory"]
    assert (forgotten["status"], forgotten["archive_reason"]) == ("archived", "it changed")
    assert forgotten["archived_at"] is not None
    assert forgotten["updated_at"] == memory["updated_at"]
    assert api_client.get("/api/recall").json()["memories"] == []
    assert api_client.get("/api/brief").content == b""
    assert api_client.get(f"/api/memories/{memory['id']}").json() == forgotten | LONE
    assert api_client.send("DELETE", f"/api/memories/{memory['id']}").json()["action"] == "unchanged"


def test_restoring_without_a_revision_undoes_forgetting(api_client: Any) -> None:
    memory = api_client.remember("Phone number", key="phone")["memory"]
    api_client.send("DELETE", f"/api/memories/{memory['id']}")
    response = api_client.send("POST", f"/api/memories/{memory['id']}/restore")

    restored = response.json()["memory"]
    assert response.json()["action"] == "restored"
    same = {name: value for name, value in memory.items() if name != "revision"}
    assert {name: restored[name] for name in same} == same
    assert api_client.get("/api/recall").json()["total"] == 1


def test_restoring_goes_back_to_any_revision(api_client: Any) -> None:
    memory = api_client.remember("version 1", key="v", tags=["one"])["memory"]
    path = f"/api/memories/{memory['id']}"
    api_client.remember("version 2", key="v", tags=["two"], importance=5)
    api_client.send("PATCH", path, {"subject": "third", "metadata": {"n": 3}})
    api_client.send("DELETE", path)

    wanted = {
        1: ("version 1", ["one"], 3, "", "active"),
        2: ("version 2", ["two"], 5, "", "active"),
        3: ("version 2", ["two"], 5, "third", "active"),
        4: ("version 2", ["two"], 5, "third", "archived"),
        5: ("version 1", ["one"], 3, "", "active"),
    }
    for revision, state in wanted.items():
        memory = api_client.send("POST", f"{path}/restore", {"revision": revision}).json()["memory"]
        found = tuple(memory[name] for name in ("content", "tags", "importance", "subject", "status"))
        assert found == state, revision


def test_an_unknown_revision_is_not_found(api_client: Any) -> None:
    memory = api_client.remember("x")["memory"]
    response = api_client.send("POST", f"/api/memories/{memory['id']}/restore", {"revision": 2})

    assert response.status_code == 404
    assert response.json()["error"]["field"] == "revision"


def test_restoring_is_a_conflict_where_the_key_was_taken(api_client: Any) -> None:
    memory = api_client.remember("old", key="k")["memory"]
    api_client.send("DELETE", f"/api/memories/{memory['id']}")
    api_client.remember("new", key="k")
    response = api_client.send("POST", f"/api/memories/{memory['id']}/restore")

    assert response.status_code == 409
    assert response.json()["error"]["code"] == "key_taken"
    assert Memory.objects.get(pk=memory["id"]).status == "archived"


def test_a_restore_cannot_raise_what_only_a_person_may_raise(api_client: Any, agent: Any, client_for: Any) -> None:
    owner = client_for(agent)
    memory = owner.remember("the owner's word", key="k", source="owner", importance=5)["memory"]
    low = client_for(agent, sources=["web"])
    response = low.send("POST", f"/api/memories/{memory['id']}/restore", {"revision": 1})

    assert response.status_code == 403


def test_history_tells_each_step_in_order(api_client: Any, agent: Any) -> None:
    created = api_client.send("POST", "/api/memories", {"content": "one", "key": "k"}, X_Request_Id="first-request")
    memory = created.json()["memory"]
    path = f"/api/memories/{memory['id']}"
    api_client.remember("two", key="k")
    api_client.send("DELETE", f"{path}?reason=done")
    revisions = api_client.get(f"{path}/history").json()["revisions"]

    assert [(row["revision"], row["verb"]) for row in revisions] == [(1, "remember"), (2, "remember"), (3, "forget")]
    assert revisions[0]["before"] == {}
    assert revisions[0]["after"]["content"] == "one"
    assert revisions[0]["request_id"] == "first-request"
    assert revisions[0]["at"] == memory["created_at"]
    assert (revisions[1]["before"], revisions[1]["after"]) == ({"content": "one"}, {"content": "two"})
    assert revisions[2]["reason"] == "done"
    assert {row["actor"] for row in revisions} == {f"agent {agent.name}"}


def test_history_comes_in_pages(api_client: Any) -> None:
    for number in range(7):
        memory = api_client.remember(f"version {number}", key="k")["memory"]
    path = f"/api/memories/{memory['id']}/history?limit=3"
    seen, cursor = [], ""
    while cursor is not None:
        page = api_client.get(path + (f"&cursor={cursor}" if cursor else "")).json()
        seen += [row["revision"] for row in page["revisions"]]
        cursor = page["next_cursor"]

    assert seen == [1, 2, 3, 4, 5, 6, 7]


def test_forgetting_and_restoring_stand_in_the_audit_log_without_text(api_client: Any, agent: Any) -> None:
    memory = api_client.remember("a very private sentence")["memory"]
    api_client.send("DELETE", f"/api/memories/{memory['id']}", None, X_Request_Id="r-1")
    api_client.send("POST", f"/api/memories/{memory['id']}/restore")

    entries = list(AuditEntry.objects.filter(verb__startswith="memory.").order_by("id"))
    assert [(entry.verb, entry.target) for entry in entries] == [
        ("memory.forget", f"memory {memory['id']}"),
        ("memory.restore", f"memory {memory['id']}"),
    ]
    assert entries[0].request_id == "r-1"
    assert entries[0].actor == f"agent {agent.name}"
    assert audit.verify().broken_at is None
    for entry in entries:
        assert "private" not in " ".join(str(value) for value in vars(entry).values())


def test_another_agents_shared_memory_can_be_forgotten_but_not_its_private_one(
    api_client: Any, agent: Any, client_for: Any
) -> None:
    shared = api_client.remember("ours", scope="shared")["memory"]
    private = api_client.remember("mine")["memory"]
    other = client_for(AgentFactory.create(workspace=agent.workspace))

    assert other.send("DELETE", f"/api/memories/{private['id']}").status_code == 404
    assert other.send("DELETE", f"/api/memories/{shared['id']}").status_code == 200
