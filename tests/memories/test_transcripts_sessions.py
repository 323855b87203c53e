"""Sessions: begun, changed, found by name, and to be seen by whom."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.access import principal_of_member
from memories.models import Session
from memories.transcript_reading import find_session
from memories.transcripts import change
from tests.factories import AgentFactory, MembershipFactory, MessageFactory, SessionFactory


def put(client: Any, name: str, **fields: Any) -> Any:
    return client.send("PUT", f"/api/sessions/{quote(name, safe='')}", {"source": "cli", **fields})


def test_a_session_begins_with_all_that_is_said_of_it(api_client: Any, agent: Any) -> None:
    put(api_client, "monday")
    response = put(
        api_client,
        "tuesday",
        source=" telegram ",
        model="model-x",
        title="The oven",
        parent="monday",
        started_at="2026-03-01T10:00:00+01:00",
        ended_at="2026-03-01T10:00:00Z",
        metadata={"chat": 7},
    )

    assert response.status_code == 201
    assert response.json()["action"] == "created"
    session = response.json()["session"]
    stored = Session.objects.get(external_id="tuesday")
    times = {name: session.pop(name) for name in ("created_at", "updated_at")}
    assert times["created_at"] == times["updated_at"]
    assert session == {
        "id": stored.pk,
        "external_id": "tuesday",
        "source": "telegram",
        "model": "model-x",
        "title": "The oven",
        "scope": "agent",
        "parent": "monday",
        "created_by": agent.name,
        "started_at": "2026-03-01T09:00:00Z",
        "ended_at": "2026-03-01T10:00:00Z",
        "last_active_at": "2026-03-01T09:00:00Z",
        "archived": False,
        "metadata": {"chat": 7},
        "message_count": 0,
    }
    assert stored.partition == agent.partition
    assert api_client.get("/api/sessions/tuesday").json() == session | times


def test_only_the_fields_sent_are_changed(api_client: Any) -> None:
    put(api_client, "monday")
    put(api_client, "a", model="model-x", title="One", parent="monday", metadata={"n": 1})
    changed = api_client.send("PUT", "/api/sessions/a", {"title": "Two", "ended_at": "2026-03-01T10:00:00Z"})
    assert (changed.status_code, changed.json()["action"]) == (200, "updated")
    session = changed.json()["session"]
    assert (session["title"], session["model"], session["parent"], session["metadata"]) == (
        "Two",
        "model-x",
        "monday",
        {"n": 1},
    )
    assert session["ended_at"] == "2026-03-01T10:00:00Z"

    same = api_client.send("PUT", "/api/sessions/a", {"title": "Two"})
    assert (same.status_code, same.json()["action"]) == (200, "unchanged")
    assert same.json()["session"]["updated_at"] == session["updated_at"]

    cleared = api_client.send(
        "PUT", "/api/sessions/a", {"title": None, "model": None, "parent": None, "ended_at": None}
    )
    session = cleared.json()["session"]
    assert (session["title"], session["model"], session["parent"], session["ended_at"]) == ("", "", None, None)


def test_one_and_true_in_metadata_are_two_values(api_client: Any) -> None:
    put(api_client, "a", metadata={"n": 1})

    assert put(api_client, "a", metadata={"n": True}).json()["action"] == "updated"
    assert api_client.get("/api/sessions/a").json()["metadata"] == {"n": True}


def test_a_later_start_makes_a_session_without_messages_active_then(api_client: Any) -> None:
    put(api_client, "a", started_at="2026-03-01T09:00:00Z")
    moved = put(api_client, "a", started_at="2026-02-01T09:00:00Z").json()["session"]
    assert moved["last_active_at"] == "2026-02-01T09:00:00Z"

    session = Session.objects.get()
    MessageFactory.create(session=session, timestamp=session.created_at)
    moved = put(api_client, "a", started_at="2026-01-01T09:00:00Z").json()["session"]
    assert moved["started_at"] == "2026-01-01T09:00:00Z"
    assert moved["last_active_at"].startswith(session.created_at.strftime("%Y-%m-%dT%H:%M"))


def test_a_name_means_ones_own_session_before_the_shared_one(api_client: Any, agent: Any, client_for: Any) -> None:
    other = client_for(AgentFactory.create(workspace=agent.workspace))
    shared = put(other, "main", scope="shared", title="of all").json()["session"]
    assert api_client.get("/api/sessions/main").json()["id"] == shared["id"]
    assert put(api_client, "main", model="m").json()["session"]["id"] == shared["id"]

    own = put(api_client, "main", scope="agent", title="mine")
    assert own.status_code == 201
    assert api_client.get("/api/sessions/main").json()["title"] == "mine"
    assert other.get("/api/sessions/main").json()["title"] == "of all"
    assert put(api_client, "main", scope="shared", title="still of all").json()["session"]["id"] == shared["id"]


def test_a_session_keeps_its_scope(api_client: Any) -> None:
    put(api_client, "main", scope="agent")
    response = put(api_client, "main", scope="shared")

    assert response.status_code == 409
    assert response.json()["error"]["code"] == "scope_fixed"
    assert Session.objects.count() == 1


def test_others_may_have_the_same_name(api_client: Any, agent: Any, client_for: Any) -> None:
    colleague = client_for(AgentFactory.create(workspace=agent.workspace))
    stranger = client_for(AgentFactory.create())
    for client in (api_client, colleague, stranger):
        assert put(client, "main").status_code == 201
    assert put(stranger, "all", scope="shared").status_code == 201
    assert api_client.get("/api/sessions/all").status_code == 404


@pytest.mark.parametrize("role", ["reader", "admin"])
def test_only_agents_write(agent: Any, client_for: Any, role: str) -> None:
    MessageFactory.create(session=SessionFactory.create(agent=agent, external_id="a", shared=True), external_id="m")
    client = client_for(agent, role=role)
    calls = [
        ("PUT", "/api/sessions/new", {"source": "cli", "scope": "shared"}),
        ("PUT", "/api/sessions/a", {"title": "x"}),
        ("POST", "/api/sessions/a/messages", {"messages": [{"role": "user", "content": "x"}]}),
        ("POST", "/api/sessions/a/rewind", {"after_message": "m"}),
        ("POST", "/api/sessions/a/compact", {"undo": True}),
    ]
    for method, path, body in calls:
        response = client.send(method, path, body)
        assert (response.status_code, response.json()["error"]["code"]) == (403, "forbidden"), path
    assert client.get("/api/sessions/a/messages").json()["messages"][0]["external_id"] == "m"
    assert [session["external_id"] for session in client.get("/api/sessions").json()["sessions"]] == ["a"]


def test_a_token_that_may_not_write_shared_ones(agent: Any, client_for: Any) -> None:
    SessionFactory.create(agent=agent, external_id="all", shared=True)
    client = client_for(agent, may_write_shared=False)
    for method, path, body in [
        ("PUT", "/api/sessions/new", {"source": "cli", "scope": "shared"}),
        ("PUT", "/api/sessions/all", {"title": "x"}),
        ("POST", "/api/sessions/all/messages", {"messages": [{"role": "user", "content": "x"}]}),
    ]:
        response = client.send(method, path, body)
        assert (response.status_code, response.json()["error"]["code"]) == (403, "shared_not_allowed"), path
    assert put(client, "own").status_code == 201


def test_a_parent_that_others_keep_to_themselves_is_not_named(api_client: Any, agent: Any, client_for: Any) -> None:
    put(api_client, "private plans")
    put(api_client, "meeting", scope="shared", parent="private plans")
    other = client_for(AgentFactory.create(workspace=agent.workspace))

    assert api_client.get("/api/sessions/meeting").json()["parent"] == "private plans"
    assert other.get("/api/sessions/meeting").json()["parent"] is None
    assert [session["parent"] for session in other.get("/api/sessions").json()["sessions"]] == [None]
    refused = put(other, "mine", parent="private plans")
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "parent")


def test_a_session_is_not_its_own_parent(api_client: Any) -> None:
    put(api_client, "a")

    assert put(api_client, "a", parent="a").status_code == 422


def test_a_reviewer_finds_a_session_of_any_agent(agent: Any) -> None:
    membership = MembershipFactory.create(workspace=agent.workspace)
    one = SessionFactory.create(agent=agent, external_id="main", started_at=None)
    other = AgentFactory.create(workspace=agent.workspace)
    two = SessionFactory.create(agent=other, external_id="main")
    SessionFactory.create(external_id="main")
    person = principal_of_member(membership)

    assert find_session(person, "main") == two
    assert change(one, {"started_at": two.started_at.replace(year=2100)}, now=two.created_at)
    assert find_session(person, "main") == one
    shared = SessionFactory.create(agent=other, external_id="main", shared=True)
    assert find_session(person, "main") == shared


NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/?#"), min_size=1, max_size=200
).filter(str.strip)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=NAMES)
def test_any_name_is_kept_as_it_is(api_client: Any, name: str) -> None:
    assert put(api_client, name).status_code in (200, 201)
    path = f"/api/sessions/{quote(name, safe='')}"
    appended = api_client.send("POST", f"{path}/messages", {"messages": [{"role": "user", "content": "here"}]})

    assert appended.status_code == 201
    assert api_client.get(path).json()["external_id"] == name
    found = api_client.get("/api/sessions", {"q": name[:200], "limit": 200}).json()["sessions"]
    assert name in [session["external_id"] for session in found]


def test_the_longest_name_in_any_script(api_client: Any) -> None:
    name = "ﬃ" * 200  # folded, each becomes three letters
    assert put(api_client, name).status_code == 201
    assert len(Session.objects.get().folded_id) == 600
    assert put(api_client, name + "x").status_code == 422
