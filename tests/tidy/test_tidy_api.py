"""The endpoints for candidates, batches, rounds and the audit log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memories import access, audit
from memories.access import Actor
from memories.models import Memory, Status
from tests.conftest import ApiClient
from tests.factories import AgentFactory, MemoryFactory, MessageFactory, SessionFactory
from tests.tidy.rounds import pending, run, settings_file
from tidy.models import Candidate, Round

pytestmark = pytest.mark.django_db
LIST = "/api/tidy/candidates"


def client_of(agent: Any, role: str = "admin", *, instance: bool = False) -> ApiClient:
    _, token = access.create_token(agent, actor=Actor("test"), role=role, instance=instance)
    return ApiClient(token)


@pytest.fixture
def proposed(agent: Any) -> Candidate:
    for text in ("Mara works at Acme.", "Mara works at Acme in Bonn."):
        MemoryFactory.create(agent=agent, content=text, scope="shared")
    run()
    return pending().get()


def test_candidates_are_listed_with_their_evidence(agent: Any, api_client: Any, proposed: Candidate) -> None:
    answer = api_client.get(LIST).json()
    (one,) = answer["candidates"]
    assert (answer["total"], answer["next_cursor"]) == (1, None)
    assert (one["action"], one["reason"], one["auto_reason"], one["status"]) == ("merge", "contained", None, "pending")
    assert one["evidence"]["containment"] == "a_in_b"
    assert [seen["text"] for seen in one["evidence"]["seen"]] == ["Mara works at Acme.", "Mara works at Acme in Bonn."]
    assert api_client.get(f"{LIST}/{one['id']}").json() == one
    assert api_client.get(LIST, {"action": "archive"}).json()["total"] == 0
    assert api_client.get(LIST, {"acton": "archive"}).status_code == 422


def test_lists_go_on_at_a_cursor(agent: Any, api_client: Any) -> None:
    settings_file('{"autoApply": false}')
    for number in range(5):
        MemoryFactory.create(agent=agent, content=f"TODO: water plant {number}")
    run()
    seen: list[int] = []
    cursor: int | None = None
    while True:
        answer = api_client.get(LIST, {"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        assert answer["total"] == 5
        seen += [one["id"] for one in answer["candidates"]]
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    assert seen == sorted(Candidate.objects.values_list("pk", flat=True), reverse=True)


def test_an_admin_approves_and_reverts(agent: Any, proposed: Candidate) -> None:
    client = client_of(agent)
    answer = client.send("POST", f"{LIST}/{proposed.pk}/approve", {"reason": "the same job"}).json()
    assert (answer["status"], answer["decision_reason"]) == ("applied", "the same job")
    assert Memory.objects.get(status=Status.MERGED).merged_into_id == proposed.target_id

    again = client.send("POST", f"{LIST}/{proposed.pk}/approve", {})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "already_applied")
    assert client.send("POST", f"{LIST}/{proposed.pk}/revert", {}).json()["status"] == "reverted"
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 2
    verbs = [entry["verb"] for entry in client.get("/api/audit").json()["entries"]]
    assert verbs[:2] == ["memory.tidy.revert", "memory.tidy.apply"]


def test_what_cannot_be_done_is_refused_by_its_reason(agent: Any, proposed: Candidate) -> None:
    client = client_of(agent)

    def code(verb: str) -> str:
        response = client.send("POST", f"{LIST}/{proposed.pk}/{verb}", {})
        assert response.status_code == 409
        return str(response.json()["error"]["code"])

    assert code("revert") == "not_applied"
    memory = Memory.objects.get(pk=proposed.evidence["seen"][0]["id"])
    client.send("PATCH", f"/api/memories/{memory.pk}", {"content": "Mara left Acme."})
    refused = client.send("POST", f"{LIST}/{proposed.pk}/approve", {})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "stale")
    assert f"memories {memory.pk}" in refused.json()["error"]["message"]
    assert client.send("POST", f"{LIST}/{proposed.pk}/dismiss", {"reason": "moved on"}).json()["status"] == "dismissed"
    assert code("approve") == "not_pending"
    assert client.send("POST", f"{LIST}/{proposed.pk}/revert").json()["status"] == "pending"
    assert client.get(f"{LIST}/{10**30}").status_code == 404
    assert client.get(f"{LIST}/first").status_code == 422


def test_candidates_are_filtered_by_everything_they_say(agent: Any, api_client: Any) -> None:
    settings_file('{"autoApply": false}')
    MemoryFactory.create(agent=agent, content="TODO: water plant 1", subject="garden")
    MemoryFactory.create(agent=agent, content="TODO: sweep floor 2", subject="house")
    run()

    def total(**query: Any) -> int:
        return int(api_client.get(LIST, query).json()["total"])

    assert total() == total(status=["pending", "applied"]) == total(reason="kind_mismatch") == 2
    assert total(subject="garden") == total(subject=" garden ") == total(subject="garden", action="reclassify") == 1
    assert total(subject="") == total(reason="contained") == total(status="applied") == 0
    for wrong in ({"status": "open"}, {"action": "burn"}, {"limit": 0}, {"limit": 501}, {"cursor": 0}, {"q": "x"}):
        assert api_client.get(LIST, wrong).status_code == 422, wrong


def test_a_batch_is_reverted_and_names_what_it_leaves(agent: Any, proposed: Candidate) -> None:
    client = client_of(agent)
    batch = client.send("POST", f"{LIST}/{proposed.pk}/approve", {}).json()["batch"]
    source = Memory.objects.get(status=Status.MERGED)
    from memories import revisions

    revisions.change(source, {"importance": 5}, by=Actor("test"), now=source.created_at, verb="revise")
    answer = client.send("POST", f"/api/tidy/batches/{batch}/revert", {}).json()
    left = {"candidate": proposed.pk, "reason": "changed_since", "memories": [source.pk]}
    assert answer == {"done": 0, "skipped": [left]}
    assert client.send("POST", "/api/tidy/batches/999/revert", {}).status_code == 404


def test_agents_look_and_people_decide(agent: Any, api_client: Any, proposed: Candidate) -> None:
    for verb in ("approve", "dismiss", "revert"):
        refused = api_client.send("POST", f"{LIST}/{proposed.pk}/{verb}", {})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_a_reviewer")
    assert client_of(AgentFactory.create()).send("POST", f"{LIST}/{proposed.pk}/approve", {}).status_code == 404
    assert client_of(agent).send("POST", f"{LIST}/{proposed.pk}/approve", {"because": "x"}).status_code == 422


def test_an_admin_token_sees_nothing_private(agent: Any, api_client: Any) -> None:
    for text in ("Mara works at Acme.", "Mara works at Acme in Bonn."):
        MemoryFactory.create(agent=agent, content=text)
    run()
    assert api_client.get(LIST).json()["total"] == 1
    assert client_of(agent).get(LIST).json()["total"] == 0
    assert client_of(agent).send("POST", f"{LIST}/{pending().get().pk}/approve", {}).status_code == 404


def test_rounds_are_begun_and_listed_by_the_instance(agent: Any) -> None:
    assert client_of(agent).post("/api/tidy/rounds").status_code == 403
    client = client_of(agent, instance=True)
    begun = client.post("/api/tidy/rounds")
    assert (begun.status_code, begun.json()["state"]) == (202, "running")
    again = client.post("/api/tidy/rounds")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "round_running")
    assert [one["id"] for one in client.get("/api/tidy/rounds").json()["rounds"]] == [Round.objects.get().pk]


def test_the_audit_log_tells_what_the_house_did_by_itself(agent: Any) -> None:
    for _ in range(2):
        MemoryFactory.create(agent=agent, content="The kettle is red.")
    run()
    mine = client_of(agent).get("/api/audit", {"auto": "true"}).json()["entries"]
    assert mine == []  # a batch of a round crosses workspaces
    entries = client_of(agent, instance=True).get("/api/audit", {"auto": "true"}).json()["entries"]
    assert [(entry["actor"], entry["verb"]) for entry in entries] == [("tidy", "memory.tidy.apply")]
    assert "kettle" not in str(entries)
    others = client_of(agent, instance=True).get("/api/audit", {"auto": "false"}).json()["entries"]
    assert {entry["verb"] for entry in others} == {"token.create"}
    assert client_of(agent, "agent").get("/api/audit").status_code == 403
    stranger = client_of(AgentFactory.create()).get("/api/audit").json()["entries"]
    assert len(stranger) == 1


def test_the_audit_log_is_read_by_time_verb_actor_and_page(agent: Any) -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    for day in range(5):
        verb = "memory.forget" if day % 2 else "memory.erase"
        audit.record(verb, actor=f"user {day}", workspace_id=agent.workspace_id, at=start + timedelta(days=day))
    client = client_of(agent)

    def actors(**query: Any) -> list[str]:
        entries = client.get("/api/audit", query | {"until": "2026-04-01T00:00:00Z"}).json()["entries"]
        return [entry["actor"] for entry in entries]

    assert actors() == ["user 4", "user 3", "user 2", "user 1", "user 0"]
    assert actors(since="2026-03-03T00:00:00Z", verb="memory.erase") == ["user 4", "user 2"]
    assert actors(actor="user 1") == ["user 1"]
    first = client.get("/api/audit", {"limit": 2, "until": "2026-04-01T00:00:00Z"}).json()
    assert actors(limit=3, cursor=first["next_cursor"]) == ["user 2", "user 1", "user 0"]
    for wrong in ({"auto": "perhaps"}, {"since": "yesterday"}, {"who": "ada"}, {"limit": 0}):
        assert client.get("/api/audit", wrong).status_code == 422, wrong


def test_a_merged_memory_says_where_it_went(agent: Any, api_client: Any) -> None:
    message = MessageFactory.create(session=SessionFactory.create(agent=agent))
    now = message.timestamp
    from memories import revisions

    first, second, third = (MemoryFactory.create(agent=agent, message_id=message.pk) for _ in range(3))
    for source, target in ((first, second), (second, third)):
        merged = {"status": "merged", "merged_into_id": target.pk, "merged_at": now}
        revisions.change(source, merged, by=Actor("test"), now=now, verb="tidy.merge", touch=False)
    assert api_client.get(f"/api/memories/{first.pk}").json()["merged_chain"] == [second.pk, third.pk]
    taken = api_client.get(f"/api/memories/{third.pk}").json()
    assert taken["merged_chain"] == []
    assert taken["merged_from"] == [
        {"id": second.pk, "message_id": message.pk},
        {"id": first.pk, "message_id": message.pk},
    ]


def test_a_pair_is_left_alone_for_good(agent: Any, client_for: Any) -> None:
    for content in ("Mara works at Acme.", "Mara works at Acme in Bonn."):
        MemoryFactory.create(agent=agent, content=content, scope="shared")
    run()
    candidate = pending().get()
    client = client_for(agent, role="admin")
    answer = client.send("POST", f"/api/tidy/candidates/{candidate.pk}/dismiss", {"never": "perhaps"})
    assert answer.status_code == 422
    assert client.send("POST", f"/api/tidy/candidates/{candidate.pk}/dismiss", {"never": True}).status_code == 200
    assert candidate.kept_apart.count() == 1
