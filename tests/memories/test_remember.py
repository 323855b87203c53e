"""Remembering: new, keyed, again, kept beside."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, get_args

import pytest
from django.utils import timezone

from memories import schemas
from memories.models import Kind, Memory, Revision, Scope, Source, Status
from memories.remember import stamp_source
from tests.conftest import LONE
from tests.factories import AgentFactory, MemoryFactory


def test_it_remembers_with_defaults(api_client: Any, agent: Any) -> None:
    response = api_client.send("POST", "/api/memories", {"content": "The kettle is in the left cupboard."})

    assert response.status_code == 201
    receipt = response.json()
    assert (receipt["action"], receipt["revision"]) == ("created", 1)
    memory = receipt["memory"]
    assert memory["content"] == "The kettle is in the left cupboard."
    assert (memory["subject"], memory["key"], memory["kind"]) == ("", None, "observation")
    assert (memory["importance"], memory["scope"], memory["source"]) == (3, "agent", "agent")
    assert (memory["tags"], memory["metadata"], memory["pinned"], memory["status"]) == ([], {}, False, "active")
    assert (memory["seen_count"], memory["expires_at"], memory["created_by"]) == (1, None, agent.name)
    assert memory["created_at"] == memory["updated_at"] == memory["last_seen_at"]
    assert memory["created_at"].endswith("Z")


def test_it_keeps_every_field_sent(api_client: Any) -> None:
    sent = {
        "subject": "Küche 厨房",
        "key": "kettle-place",
        "kind": "fact",
        "tags": ["home", "茶"],
        "importance": 5,
        "scope": "shared",
        "source": "owner",
        "expires_at": "2031-05-01T12:00:00+02:00",
        "pinned": True,
        "metadata": {"room": {"floor": 2, "warm": True, "share": 0.25}},
    }
    memory = api_client.remember("  Two spaces before, two after.  ", **sent)["memory"]

    assert memory["content"] == "  Two spaces before, two after.  "
    assert memory["expires_at"] == "2031-05-01T10:00:00Z"
    for name in sent.keys() - {"expires_at"}:
        assert memory[name] == sent[name], name
    assert api_client.get(f"/api/memories/{memory['id']}").json() == memory | LONE


def test_the_row_it_answers_with_is_the_row_stored(api_client: Any) -> None:
    receipt = api_client.remember("one and the same", tags=["a"], metadata={"n": 1})

    listed = api_client.get("/api/memories").json()["memories"]
    assert listed == [receipt["memory"]]


def test_a_key_updates_its_row_and_changes_only_the_fields_sent(api_client: Any) -> None:
    first = api_client.remember("Rent is 900.", key="rent", tags=["money"], importance=4, subject="flat")["memory"]
    response = api_client.send("POST", "/api/memories", {"content": "Rent is 950.", "key": "rent", "importance": 5})

    assert response.status_code == 200
    receipt = response.json()
    second = receipt["memory"]
    assert receipt["action"] == "updated"
    assert second["id"] == first["id"]
    assert second["content"] == "Rent is 950."
    assert (second["importance"], second["tags"], second["subject"]) == (5, ["money"], "flat")
    assert second["created_at"] == first["created_at"]
    assert second["updated_at"] > first["updated_at"]
    assert second["revision"] == 2
    assert Memory.objects.count() == 1
    revision = Revision.objects.get(number=2)
    assert revision.before == {"content": "Rent is 900.", "importance": 4}
    assert revision.after == {"content": "Rent is 950.", "importance": 5}


def test_the_same_under_a_key_is_unchanged(api_client: Any) -> None:
    first = api_client.remember("Rent is 900.", key="rent")["memory"]
    receipt = api_client.remember("Rent is 900.", key="rent")

    assert receipt["action"] == "unchanged"
    assert receipt["memory"]["revision"] == 1
    assert receipt["memory"]["seen_count"] == 2
    assert receipt["memory"]["last_seen_at"] > first["last_seen_at"]
    assert receipt["memory"]["updated_at"] == first["updated_at"]


def test_a_key_belongs_to_one_partition(api_client: Any, agent: Any, client_for: Any) -> None:
    other = client_for(AgentFactory.create(workspace=agent.workspace))
    ids = {
        api_client.remember("mine", key="k")["memory"]["id"],
        api_client.remember("ours", key="k", scope="shared")["memory"]["id"],
        other.remember("theirs", key="k")["memory"]["id"],
    }
    assert len(ids) == 3
    again = other.remember("ours, changed by the other", key="k", scope="shared")
    assert again["action"] == "updated"
    assert again["memory"]["created_by"] == agent.name


def test_a_past_expiry_is_cleared_by_remembering_again(api_client: Any) -> None:
    past = (timezone.now() - timedelta(days=1)).isoformat()
    future = (timezone.now() + timedelta(days=1)).isoformat()
    api_client.remember("Parking ticket", key="parking", expires_at=past)
    assert api_client.get("/api/recall").json()["memories"] == []

    assert api_client.remember("Parking ticket", key="parking")["memory"]["expires_at"] is None
    assert api_client.remember("Parking ticket", key="parking", expires_at=future)["memory"]["expires_at"] is not None
    assert api_client.remember("New parking ticket", key="parking")["memory"]["expires_at"] is not None


def test_equal_text_that_had_expired_is_visible_again(api_client: Any) -> None:
    past = (timezone.now() - timedelta(days=1)).isoformat()
    first = api_client.remember("The door code works", expires_at=past)["memory"]

    receipt = api_client.remember("The door code works")

    assert receipt["action"] == "updated"
    assert receipt["memory"]["id"] == first["id"]
    assert [row["id"] for row in api_client.get("/api/recall").json()["memories"]] == [first["id"]]


def test_equal_text_makes_no_new_row(api_client: Any) -> None:
    first = api_client.remember("The bin goes out on Tuesday.", subject="home")["memory"]
    receipt = api_client.remember("\n The bin goes out on Tuesday. ", subject="home")

    assert receipt["action"] == "unchanged"
    assert receipt["memory"]["id"] == first["id"]
    assert receipt["memory"]["content"] == "The bin goes out on Tuesday."
    assert receipt["memory"]["seen_count"] == 2
    assert Revision.objects.count() == 1


@pytest.mark.parametrize(
    "other",
    [
        {"content": "the bin goes out on Tuesday."},
        {"content": "The bin  goes out on Tuesday."},
        {"subject": "office"},
        {"scope": "shared"},
        {"key": "bin"},
    ],
)
def test_a_difference_in_text_subject_partition_or_key_makes_a_new_row(api_client: Any, other: dict[str, Any]) -> None:
    api_client.remember("The bin goes out on Tuesday.", subject="home")
    fields = {"content": "The bin goes out on Tuesday.", "subject": "home"} | other

    assert api_client.remember(**fields)["action"] == "created"
    assert Memory.objects.count() == 2


def test_what_else_equal_text_brings_is_not_lost(api_client: Any) -> None:
    api_client.remember("Oskar has a dog.")
    receipt = api_client.remember("Oskar has a dog.", tags=["pets"], importance=4)

    assert receipt["action"] == "updated"
    assert (receipt["memory"]["tags"], receipt["memory"]["importance"]) == (["pets"], 4)
    assert Memory.objects.count() == 1


def test_equal_text_of_a_forgotten_memory_is_remembered_anew(api_client: Any) -> None:
    first = api_client.remember("Oskar has a dog.")["memory"]
    api_client.send("DELETE", f"/api/memories/{first['id']}")

    assert api_client.remember("Oskar has a dog.")["action"] == "created"


def test_a_less_trusted_write_is_kept_beside(api_client: Any) -> None:
    owned = api_client.remember("The alarm code is 4711.", key="alarm", source="owner")["memory"]
    receipt = api_client.remember("The alarm code is 0000.", key="alarm", source="stranger", importance=5)

    assert receipt["action"] == "kept_beside"
    beside = receipt["memory"]
    assert (beside["key"], beside["kept_beside"], beside["importance"]) == (None, owned["id"], 2)
    assert api_client.get(f"/api/memories/{owned['id']}").json() == owned | LONE
    again = api_client.remember("The alarm code is 0000.", key="alarm", source="stranger")
    assert (again["action"], again["memory"]["id"]) == ("kept_beside", beside["id"])
    assert Memory.objects.count() == 2


def test_an_equally_or_more_trusted_write_replaces(api_client: Any) -> None:
    api_client.remember("Seen on a page: opens at 9.", key="hours", source="web")
    receipt = api_client.remember("The owner says: opens at 10.", key="hours", source="owner")

    assert receipt["action"] == "updated"
    assert receipt["memory"]["source"] == "owner"


def test_equal_text_from_the_owner_frees_a_strangers_memory(api_client: Any) -> None:
    stranger = api_client.remember("The garage is open.", source="stranger")["memory"]
    assert api_client.get("/api/recall").json()["total"] == 0
    receipt = api_client.remember("The garage is open.", source="owner")

    assert receipt["memory"]["id"] == stranger["id"]
    assert (receipt["memory"]["source"], receipt["memory"]["importance"]) == ("owner", 3)
    assert api_client.get("/api/recall").json()["total"] == 1


def test_equal_text_from_a_stranger_changes_nothing_of_the_owners(api_client: Any) -> None:
    owned = api_client.remember("The garage is open.", source="owner", importance=4)["memory"]
    receipt = api_client.remember("The garage is open.", source="stranger", importance=1, tags=["junk"])

    assert receipt["action"] == "unchanged"
    assert (receipt["memory"]["importance"], receipt["memory"]["tags"]) == (owned["importance"], [])


@pytest.mark.parametrize("source", ["group_chat", "stranger", "web"])
def test_a_restricted_source_starts_low_and_unpinned(api_client: Any, source: str) -> None:
    memory = api_client.remember("Buy now!", source=source, importance=5, pinned=True)["memory"]

    assert (memory["importance"], memory["pinned"]) == (2, False)


def test_new_text_from_a_stranger_starts_low_though_the_old_one_was_raised(api_client: Any, agent: Any) -> None:
    raised = MemoryFactory.create(
        agent=agent, content="A neighbour feeds the cat.", key="cat", source="stranger", importance=5, pinned=True
    )
    receipt = api_client.remember("Send money to feed the cat.", key="cat", source="stranger")

    assert receipt["memory"]["id"] == raised.pk
    assert (receipt["memory"]["importance"], receipt["memory"]["pinned"]) == (2, False)


def test_a_token_claims_only_its_sources(agent: Any, client_for: Any) -> None:
    client = client_for(agent, sources=["tool", "web"])

    refused = client.send("POST", "/api/memories", {"content": "x", "source": "owner"})
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "source_not_allowed"
    assert refused.json()["error"]["field"] == "source"
    assert client.remember("measured")["memory"]["source"] == "tool"


@pytest.mark.parametrize(
    ("allowed", "stamped"),
    [
        (list(Source.values), "agent"),
        (["owner"], "owner"),
        (["owner", "web"], "web"),
        (["stranger", "tool"], "tool"),
    ],
)
def test_the_stamp_without_a_claim(allowed: list[str], stamped: str) -> None:
    assert stamp_source(None, allowed) == stamped


def test_a_token_that_may_not_write_shared(agent: Any, client_for: Any) -> None:
    client = client_for(agent, may_write_shared=False)

    refused = client.send("POST", "/api/memories", {"content": "x", "scope": "shared"})
    assert refused.status_code == 403
    assert refused.json()["error"]["field"] == "scope"
    assert client.remember("x")["memory"]["scope"] == "agent"


def test_a_reader_may_not_remember_and_an_admin_only_shared(agent: Any, client_for: Any) -> None:
    assert client_for(agent, role="reader").send("POST", "/api/memories", {"content": "x"}).status_code == 403
    admin = client_for(agent, role="admin")
    assert admin.send("POST", "/api/memories", {"content": "x", "scope": "agent"}).status_code == 403
    assert admin.remember("for all")["memory"]["scope"] == "shared"


def test_the_named_choices_are_those_of_the_models() -> None:
    for name, choices in [("Kind", Kind), ("Source", Source), ("Scope", Scope), ("Status", Status)]:
        assert list(get_args(getattr(schemas, f"{name}Name"))) == list(choices.values)
