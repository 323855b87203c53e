"""Appending messages: all or none, never twice, in their order, with the text that can be searched."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.models import TRUST, Message, Session, Source
from memories.transcripts import Said, load, source_of
from tests.factories import MessageFactory, SessionFactory

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def session(agent: Any) -> Session:
    return SessionFactory.create(agent=agent, external_id="a")


def append(client: Any, *messages: dict[str, Any], **headers: str) -> Any:
    body = {"messages": [{"role": "user", "content": "said"} | message for message in messages]}
    return client.send("POST", "/api/sessions/a/messages", body, **headers)


def read(client: Any) -> list[dict[str, Any]]:
    return client.get("/api/sessions/a/messages").json()["messages"]


def test_what_was_appended_comes_back_as_it_was(api_client: Any, session: Session) -> None:
    calls = [{"id": "call_9", "type": "function", "function": {"name": "oven", "arguments": '{"degrees": 180}'}}]
    response = append(
        api_client,
        {"content": "Is it warm? 温かい？", "external_id": "m-1", "timestamp": "2026-05-01T14:00:00+02:00"},
        {"role": "Assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": "180", "tool_name": "oven", "display_kind": " hidden "},
    )

    assert response.status_code == 201
    receipts = response.json()["receipts"]
    messages = read(api_client)
    assert [receipt["action"] for receipt in receipts] == ["created"] * 3
    assert [(one["id"], one["external_id"], one["timestamp"]) for one in receipts] == [
        (one["id"], one["external_id"], one["timestamp"]) for one in messages
    ]
    ids = [message.pop("id") for message in messages]
    assert ids == sorted(ids)
    assert messages[0] == {
        "external_id": "m-1",
        "role": "user",
        "content": "Is it warm? 温かい？",
        "parts": None,
        "tool_name": "",
        "tool_calls": None,
        "timestamp": "2026-05-01T12:00:00Z",
        "active": True,
        "compacted": False,
        "display_kind": "",
        "trust": "owner",
    }
    assert (messages[1]["role"], messages[1]["content"], messages[1]["tool_calls"]) == ("assistant", "", calls)
    assert (messages[2]["tool_name"], messages[2]["display_kind"]) == ("oven", "hidden")
    session.refresh_from_db()
    assert session.message_count == 3
    assert session.last_active_at.isoformat().replace("+00:00", "Z") == messages[2]["timestamp"]


def test_a_message_is_where_its_session_is(api_client: Any, agent: Any, session: Session) -> None:
    shared = SessionFactory.create(agent=agent, shared=True)
    MessageFactory.create(session=shared)
    append(api_client, {})

    places = Message.objects.order_by("-id").values_list("workspace_id", "partition")
    assert list(places) == [(agent.workspace_id, agent.partition), (agent.workspace_id, "shared")]


def test_parts_are_kept_and_their_text_is_the_content(api_client: Any, session: Session) -> None:
    parts = [
        {"type": "text", "text": "Look at this dough."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        "And here.",
        {"type": "tool_use", "id": "t1", "name": "weigh", "input": {"what": "Mehl für Brötchen", "grams": 500}},
    ]
    append(api_client, {"content": parts, "tool_calls": {"name": "bake", "arguments": {"minutes": 40}}})

    message = Message.objects.get()
    assert (message.content, message.parts) == ("Look at this dough.\nAnd here.", parts)
    assert message.tool_text == "bake\n40\nweigh\nMehl für Brötchen\n500"
    assert read(api_client)[0]["parts"] == parts


def test_nul_goes_and_surrogates_become_replacement_characters(api_client: Any, session: Session) -> None:
    arguments = r"{\"q\": \"x\ud800y\u0000z\"}".replace("\\u", "\\\\u")
    body = (
        r'{"messages": [{"role": "user", "content": "a\u0000b\ud800", "external_id": "i\ud801", "tool_calls": '
        rf'[{{"name": "find", "arguments": "{arguments}"}}]}}]}}'
    )
    response = api_client.send("POST", "/api/sessions/a/messages", body)

    assert response.status_code == 201, response.content
    message = Message.objects.get()
    assert (message.content, message.external_id) == ("ab\ufffd", "i\ufffd")
    assert message.tool_text == "find\nx\ufffdyz"


def test_the_text_of_tool_calls_has_no_base64(session: Session) -> None:
    picture = base64.b64encode(bytes(range(256)) * 8).decode()
    [appended] = load(
        session, [Said("assistant", "", tool_calls=[{"name": "draw", "input": {"png": picture}}])], now=NOON
    )

    assert appended.message.tool_text == "draw"


# All or none, never twice


def test_one_bad_message_leaves_none(api_client: Any, session: Session) -> None:
    assert append(api_client, {"content": "good"}, {"role": ""}).status_code == 422
    append(api_client, {"external_id": "m-1", "content": "first"})
    response = append(api_client, {"content": "new"}, {"external_id": "m-1", "content": "other"})

    assert response.status_code == 409
    error = response.json()["error"]
    assert (error["code"], error["field"]) == ("external_id_taken", "messages.1.external_id")
    assert "'m-1'" in error["message"]
    assert [message["content"] for message in read(api_client)] == ["first"]
    session.refresh_from_db()
    assert session.message_count == 1


def test_a_repeated_message_is_the_one_that_is_there(api_client: Any, session: Session) -> None:
    said = {"external_id": "m-1", "content": [{"type": "text", "text": "x"}], "tool_calls": [{"name": "t", "n": 1}]}
    first = append(api_client, said).json()["receipts"][0]
    again = append(api_client, said | {"timestamp": "2026-01-01T00:00:00Z"}, {"external_id": "m-2"})

    assert again.status_code == 201
    assert again.json()["receipts"][0] == first | {"action": "unchanged"}
    assert append(api_client, said, {"external_id": "m-2"}).status_code == 200
    assert Message.objects.count() == 2


@pytest.mark.parametrize(
    "other",
    [
        {"content": "said "},
        {"role": "assistant"},
        {"content": [{"type": "text", "text": "said"}]},
        {"tool_name": "oven"},
        {"tool_calls": [{"name": "t", "input": {"n": True}}]},
    ],
)
def test_other_content_is_told_from_equal(api_client: Any, session: Session, other: dict[str, Any]) -> None:
    said = {"external_id": "m-1", "tool_calls": [{"name": "t", "input": {"n": 1}}]}
    append(api_client, said)

    assert append(api_client, said | other).status_code == 409
    assert append(api_client, said).status_code == 200


def test_the_same_id_twice_in_one_request(api_client: Any, session: Session) -> None:
    same = append(api_client, {"external_id": "m-1"}, {"external_id": "m-1"})
    assert [receipt["action"] for receipt in same.json()["receipts"]] == ["created", "unchanged"]
    assert len({receipt["id"] for receipt in same.json()["receipts"]}) == 1
    assert append(api_client, {"external_id": "n"}, {"external_id": "n", "content": "other"}).status_code == 409
    assert Message.objects.count() == 1


def test_an_external_id_belongs_to_its_session(api_client: Any, agent: Any, session: Session) -> None:
    MessageFactory.create(session=SessionFactory.create(agent=agent), external_id="m-1", content="elsewhere")

    assert append(api_client, {"external_id": "m-1"}).status_code == 201


def test_a_rewound_message_is_not_appended_again(api_client: Any, session: Session) -> None:
    append(api_client, {"external_id": "m-1"}, {"external_id": "m-2"})
    api_client.send("POST", "/api/sessions/a/rewind", {"after_message": "m-1"})

    assert append(api_client, {"external_id": "m-2"}).json()["receipts"][0]["action"] == "unchanged"
    assert [message["external_id"] for message in read(api_client)] == ["m-1"]


def test_an_idempotency_key_replays_the_receipts(api_client: Any, session: Session) -> None:
    first = append(api_client, {}, {}, Idempotency_Key="k-1")
    again = append(api_client, {}, {}, Idempotency_Key="k-1")

    assert (again.status_code, again.content) == (201, first.content)
    assert again["Idempotency-Replayed"] == "true"
    assert Message.objects.count() == 2
    other = append(api_client, {"content": "other"}, Idempotency_Key="k-1")
    assert other.json()["error"]["code"] == "idempotency_key_reused"


def test_a_refused_request_keeps_no_key(api_client: Any, session: Session) -> None:
    append(api_client, {"external_id": "m-1", "content": "first"})
    bad = append(api_client, {"content": "new"}, {"external_id": "m-1", "content": "other"}, Idempotency_Key="k-1")
    assert bad.status_code == 409
    assert Message.objects.count() == 1
    assert append(api_client, {"content": "new"}, Idempotency_Key="k-1").status_code == 201


# Order and times


def test_without_times_messages_follow_each_other(api_client: Any, session: Session) -> None:
    append(api_client, *({"content": str(number)} for number in range(100)))
    append(api_client, *({"content": str(number)} for number in range(100, 150)))
    messages = (
        read(api_client)
        + api_client.get(f"/api/sessions/a/messages?after={read(api_client)[-1]['id']}&limit=500").json()["messages"]
    )

    assert [message["content"] for message in messages] == [str(number) for number in range(150)]
    assert len({message["timestamp"] for message in messages}) == 150


def test_a_clock_that_is_behind_does_not_change_the_order(session: Session) -> None:
    first = load(session, [Said("user", "first")], now=NOON)[0].message
    late = load(session, [Said("user", "second")], now=NOON - timedelta(seconds=20))[0].message
    assert late.timestamp == first.timestamp + timedelta(microseconds=1)

    load(session, [Said("user", "planned", timestamp=NOON + timedelta(days=9))], now=NOON)
    now = load(session, [Said("user", "now")], now=NOON + timedelta(minutes=1))[0].message
    assert now.timestamp == NOON + timedelta(minutes=1)


def test_equal_times_are_ordered_by_id(session: Session, api_client: Any) -> None:
    for number in range(6):
        load(session, [Said("user", str(number), timestamp=NOON - timedelta(hours=number % 2))], now=NOON)

    assert [message["content"] for message in read(api_client)] == ["1", "3", "5", "0", "2", "4"]


def test_the_first_message_tells_when_a_session_was_active(session: Session) -> None:
    load(session, [Said("user", "old", timestamp=NOON - timedelta(days=9))], now=NOON)
    session.refresh_from_db()
    assert session.last_active_at == NOON - timedelta(days=9)
    load(session, [Said("user", "older", timestamp=NOON - timedelta(days=10))], now=NOON)
    session.refresh_from_db()
    assert (session.last_active_at, session.message_count) == (NOON - timedelta(days=9), 2)


# Whom to believe


def test_a_message_is_trusted_by_its_role(api_client: Any, session: Session, agent: Any, client_for: Any) -> None:
    roles = ["user", "assistant", "system", "developer", "tool", "function", "critic"]
    append(api_client, *({"role": role} for role in roles))
    assert [message["trust"] for message in read(api_client)] == ["owner", "agent", "agent", "agent", *["tool"] * 3]

    append(
        api_client, {"trust": "group_chat", "external_id": "g"}, {"role": "tool", "trust": "owner", "external_id": "t"}
    )
    modest = client_for(agent, sources=["import", "web"])
    append(modest, {"external_id": "i"}, {"role": "tool", "trust": "web", "external_id": "w"})
    trusts = dict(Message.objects.exclude(external_id=None).values_list("external_id", "trust"))
    assert trusts == {"g": "group_chat", "t": "tool", "i": "import", "w": "web"}
    nobody = append(client_for(agent, sources=[]), {})
    assert (nobody.status_code, nobody.json()["error"]["code"]) == (403, "source_not_allowed")


@pytest.mark.parametrize("role", ["user", "assistant", "tool", "anything"])
@pytest.mark.parametrize("claimed", [None, *Source.values])
@pytest.mark.parametrize("best", range(1, 8))
def test_trust_is_never_more_than_any_of_its_bounds(role: str, claimed: str | None, best: int) -> None:
    found = TRUST[source_of(role, claimed, best=best)]

    assert found <= min(best, TRUST[claimed or "owner"], TRUST[source_of(role, None, best=7)])


# Work


def statements(act: Any) -> int:
    with CaptureQueriesContext(connection) as captured:
        act()
    return len(captured)


def test_a_hundred_messages_take_few_statements(api_client: Any, session: Session) -> None:
    append(api_client, {})
    one = statements(lambda: append(api_client, {"external_id": "one"}))
    hundred = statements(lambda: append(api_client, *({"external_id": f"m-{number}"} for number in range(100))))

    assert one <= 7  # the token, the session, the id, the message, the session again; a savepoint of the test
    assert hundred <= one + 3


def test_a_thousand_messages_in_one_request(api_client: Any, session: Session) -> None:
    response = append(
        api_client, *({"content": f"line {number}", "external_id": f"m{number}"} for number in range(1000))
    )

    assert response.status_code == 201
    assert len(response.json()["receipts"]) == Message.objects.count() == 1000
    last = read(api_client)[-1]
    assert last["content"] == "line 99"
    assert (
        append(api_client, *({"content": f"line {n}", "external_id": f"m{n}"} for n in range(1000))).status_code == 200
    )


def test_a_message_inserted_alone_equals_one_of_many(session: Session) -> None:
    said = Said(
        "assistant", ["x", {"n": None}], NOON, tool_calls={"name": "t"}, tool_name="n", display_kind="k", trust="web"
    )
    load(session, [said], now=NOON)
    load(session, [said, said], now=NOON)
    rows = [row | {"id": 0} for row in Message.objects.values()]

    assert rows[0] == rows[1] == rows[2]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(calls=st.lists(JSON, max_size=3) | st.dictionaries(st.text(max_size=8), JSON, max_size=3) | st.text())
def test_any_calls_come_back_exactly(api_client: Any, agent: Any, calls: Any) -> None:
    if not Session.objects.exists():
        SessionFactory.create(agent=agent, external_id="a")
    body = json.dumps({"messages": [{"role": "assistant", "content": "", "tool_calls": calls}]})
    response = api_client.send("POST", "/api/sessions/a/messages", body)

    assert response.status_code == 201, response.content
    stored = api_client.get(f"/api/sessions/a/around/{response.json()['receipts'][0]['id']}?window=0&bookend=0")
    sent = json.dumps(calls).replace("\\u0000", "")
    assert stored.json()["window"][0]["tool_calls"] == json.loads(sent)
    Message.objects.latest("id").tool_text.encode()  # valid Unicode
