"""Whatever comes in: a clear error that names the field, nothing half done, never a 500."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.models import Memory, Session
from memoryweb.api import api
from memoryweb.wsgi import application
from tests.conftest import ApiClient
from tests.factories import AgentFactory, MemoryFactory, MessageFactory, SessionFactory, make_token

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "content",
    "subject",
    "key",
    "kind",
    "tags",
    "importance",
    "scope",
    "source",
    "expires_at",
    "pinned",
    "metadata",
    "message_id",
    "revision",
    "reason",
    "memories",
]
SESSION_FIELDS = ["source", "model", "title", "scope", "parent", "started_at", "ended_at", "archived", "metadata"]
MESSAGE_FIELDS = [
    "external_id",
    "role",
    "content",
    "tool_name",
    "tool_calls",
    "timestamp",
    "display_kind",
    "trust",
]
MOVE_FIELDS = ["after_message", "through_message", "summary", "undo"]
ODD = st.one_of(
    JSON,
    st.sampled_from(
        [
            "\x00",
            "\ud800",
            "a" * 100_001,
            "x" * 1_000_000,
            float("nan"),
            float("inf"),
            -1,
            10**30,
            "2026-01-01T00:00:00",
            "0001-01-01T00:00:00+14:00",
            "9999-12-31T23:59:59-14:00",
            "2026-13-41",
            [["a"]],
            {"$ne": 1},
            "'; DROP TABLE memories_memory; --",
            "\u202e",
            " ",
            "",
            True,
        ]
    ),
)


BODIES = st.one_of(st.dictionaries(st.sampled_from(FIELDS), ODD, max_size=4), JSON).map(json.dumps)
NEARLY_MESSAGES = st.lists(
    st.dictionaries(st.sampled_from(MESSAGE_FIELDS), ODD | st.sampled_from(["user", "tool", "owner"]), max_size=5),
    max_size=3,
)
TRANSCRIPT_BODIES = {
    "PUT /api/sessions/a": st.dictionaries(st.sampled_from(SESSION_FIELDS), ODD | st.just("a"), max_size=4),
    "POST /api/sessions/a/messages": NEARLY_MESSAGES.map(lambda messages: {"messages": messages}),
    "POST /api/sessions/a/rewind": st.dictionaries(st.sampled_from(MOVE_FIELDS), ODD | st.just("m"), max_size=2),
    "POST /api/sessions/a/compact": st.dictionaries(st.sampled_from(MOVE_FIELDS), ODD | st.just("m"), max_size=2),
}


@pytest.fixture
def some_memory(agent: Any) -> Memory:
    return MemoryFactory.create(agent=agent, content="stands here before", key="k", shared=True)


@pytest.mark.parametrize("path", ["/api/memories", "/api/memories/batch", "PATCH", "restore", "erase"])
def test_no_body_makes_a_500(path: str, agent: Any, some_memory: Memory) -> None:
    method = "PATCH" if path == "PATCH" else "POST"
    named = {"PATCH": "", "restore": "/restore", "erase": "/erase"}
    address = path if path.startswith("/") else f"/api/memories/{some_memory.pk}{named[path]}"
    client = ApiClient(make_token(agent))  # an agent's token, so that nothing is really erased

    @settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(BODIES | st.text() | st.binary())
    def send(body: str | bytes) -> None:
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogatepass")
        response = client.send(method, address, body)
        assert response.status_code in (200, 201, 400, 403, 404, 409, 413, 422), response.content
        if response.status_code >= 400:
            error = response.json()["error"]
            assert error["code"]
            assert error["message"]

    send()


@pytest.mark.parametrize("name", TRANSCRIPT_BODIES)
def test_no_body_of_a_transcript_makes_a_500(name: str, agent: Any) -> None:
    method, address = name.split(" ")
    MessageFactory.create(session=SessionFactory.create(agent=agent, external_id="a"), external_id="m")
    client = ApiClient(make_token(agent))

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(TRANSCRIPT_BODIES[name].map(json.dumps) | JSON.map(json.dumps) | st.binary())
    def send(body: str | bytes) -> None:
        response = client.send(method, address, body)
        assert response.status_code in (200, 201, 400, 409, 404, 413, 422), response.content
        if response.status_code >= 400:
            assert response.json()["error"]["message"]
        messages = client.get("/api/sessions/a/messages")
        assert messages.status_code == 200, messages.content

    send()


@pytest.mark.parametrize(
    "name",
    ["a/b", "a?b", "a#b", "a\nb", "a\x00b\x07", "\x85", "x" * 201, " ", "\u2003", "%2F", "..", "a b", "日本", "\ud800"],
)
def test_odd_names_of_sessions(api_client: Any, name: str) -> None:
    for method, rest in [("PUT", ""), ("GET", ""), ("GET", "/messages"), ("GET", "/around/1"), ("POST", "/rewind")]:
        body = {"source": "cli"} if method == "PUT" else {"after_message": 1} if method == "POST" else None
        path = quote(name.encode("utf-8", "surrogatepass"), safe="")
        response = api_client.send(method, f"/api/sessions/{path}{rest}", body)
        assert response.status_code < 500, (method, rest, response.content)
        if response.status_code >= 400:
            assert response.json()["error"]["message"]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(
        [
            "",
            "/a",
            "/a/messages",
            "/a/user-messages",
            "/a/around/m",
            "/a/around/0",
            f"/a/around/{'9' * 40}",
            "/a/around/٣",
        ]
    ),
    parameters=st.dictionaries(
        st.sampled_from(
            [
                "q",
                "source",
                "exclude_source",
                "include_archived",
                "include_subagents",
                "cursor",
                "limit",
                "after",
                "window",
                "bookend",
                "keep_roles",
            ]
        ),
        st.text(max_size=20)
        | st.sampled_from(["-1", "0", "1", "m", "0.0.1", "2.999999999999999999.1", "9" * 30, "\x00"]),
        max_size=3,
    ),
)
def test_no_query_of_a_transcript_makes_a_500(agent: Any, path: str, parameters: dict[str, str]) -> None:
    if not Session.objects.exists():
        MessageFactory.create(session=SessionFactory.create(agent=agent, external_id="a"), external_id="m")
    response = ApiClient(make_token(agent)).get(f"/api/sessions{path}", parameters)

    assert response.status_code in (200, 404, 422), response.content


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(["/api/recall", "/api/memories", "/api/brief", "/api/stats"]),
    parameters=st.dictionaries(
        st.sampled_from(
            [
                "subject",
                "kind",
                "tag",
                "scope",
                "status",
                "limit",
                "max_chars",
                "cursor",
                "since",
                "group",
                "min_importance",
                "foo",
            ]
        ),
        st.text(max_size=20) | st.sampled_from(["-1", "0", "1e3", "NaN", "9" * 30, "\x00", "2026-01-01"]),
        max_size=3,
    ),
)
def test_no_query_makes_a_500(api_client: Any, path: str, parameters: dict[str, str]) -> None:
    response = api_client.get(path, parameters)

    assert response.status_code in (200, 422), response.content
    if "foo" in parameters:
        assert response.status_code == 422


@pytest.mark.parametrize(
    ("body", "status", "field", "words"),
    [
        ('{"content": "x", "importance": NaN}', 400, None, "NaN"),
        ('{"content": "x"', 400, None, "not valid JSON"),
        (b'{"content": "\xc3\x28"}', 400, None, "UTF-8"),
        ('["content"]', 422, None, "object"),
        ("", 422, None, "required"),
        ({}, 422, "content", "required"),
        ({"content": ""}, 422, "content", "at least 1"),
        ({"content": " \n\t"}, 422, "content", "blank"),
        ({"content": "\x00"}, 422, "content", "at least 1"),
        ({"content": 5}, 422, "content", "string"),
        ({"content": "x" * 100_001}, 422, "content", "100000"),
        ({"content": "x", "colour": 1}, 422, "colour", "not a known field"),
        ({"content": "x", "importance": 0}, 422, "importance", "1"),
        ({"content": "x", "importance": "3"}, 422, "importance", "integer"),
        ({"content": "x", "importance": True}, 422, "importance", "integer"),
        ({"content": "x", "pinned": 1}, 422, "pinned", "boolean"),
        ({"content": "x", "kind": "thought"}, 422, "kind", "'fact'"),
        ({"content": "x", "scope": "all"}, 422, "scope", "'shared'"),
        ({"content": "x", "source": "god"}, 422, "source", "'owner'"),
        ({"content": "x", "tags": "a"}, 422, "tags", "list"),
        ({"content": "x", "tags": [" "]}, 422, "tags.0", "at least 1"),
        ({"content": "x", "tags": ["a"] * 51}, 422, "tags", "50"),
        ({"content": "x", "key": ""}, 422, "key", "at least 1"),
        ({"content": "x", "key": "a\nb"}, 422, "key", "control"),
        ({"content": "x", "subject": "s" * 201}, 422, "subject", "200"),
        ({"content": "x", "expires_at": "2026-01-01T00:00:00"}, 422, "expires_at", "naive"),
        ({"content": "x", "expires_at": "tomorrow"}, 422, "expires_at", "ISO 8601"),
        ({"content": "x", "expires_at": 1767225600}, 422, "expires_at", "2026-03-01T09:00:00Z"),
        ({"content": "x", "expires_at": "0001-01-01T00:00:00+14:00"}, 422, "expires_at", "years 1 and 9999"),
        ({"content": "x", "metadata": []}, 422, "metadata", "dictionary"),
        ({"content": "x", "metadata": {"a": "m" * 16_384}}, 422, "metadata", "16384"),
        ({"content": "x", "message_id": "1"}, 422, "message_id", "integer"),
        ({"content": "x", "message_id": 1}, 422, "message_id", "no message 1"),
        ({"content": "x", "message_id": 10**18 * 9}, 422, "message_id", "no message"),
    ],
)
def test_the_error_names_the_field_and_what_is_allowed(
    api_client: Any, body: Any, status: int, field: str | None, words: str
) -> None:
    response = api_client.send("POST", "/api/memories", body)

    assert response.status_code == status, response.content
    error = response.json()["error"]
    assert error.get("field") == field
    assert words in error["message"]
    assert Memory.objects.count() == 0


@pytest.mark.parametrize(
    ("call", "body", "field", "words"),
    [
        ("PUT new", {}, "source", "required"),
        ("PUT new", {"source": " "}, "source", "at least 1"),
        ("PUT new", {"source": "s" * 101}, "source", "100"),
        ("PUT new", {"source": None}, "", "source must not be null"),
        ("PUT new", {"source": "cli", "titel": "x"}, "titel", "not a known field"),
        ("PUT new", {"source": "cli", "title": "t" * 201}, "title", "200"),
        ("PUT new", {"source": "cli", "model": "a\nb"}, "model", "control"),
        ("PUT new", {"source": "cli", "scope": "all"}, "scope", "'shared'"),
        ("PUT new", {"source": "cli", "started_at": "2026-01-01T00:00:00"}, "started_at", "naive"),
        ("PUT new", {"source": "cli", "metadata": []}, "metadata", "dictionary"),
        ("PUT new", {"source": "cli", "parent": "nobody"}, "parent", "no session 'nobody'"),
        ("PUT new", {"source": "cli", "parent": "a/b"}, "parent", "/ ? or #"),
        ("PUT new", {"source": "cli", "archived": 1}, "archived", "boolean"),
        ("POST a/messages", {}, "messages", "required"),
        ("POST a/messages", {"messages": []}, "messages", "at least 1"),
        ("POST a/messages", {"messages": [{"role": "user", "content": ""}] * 1001}, "messages", "1000"),
        ("POST a/messages", {"messages": [{"content": "x"}]}, "messages.0.role", "required"),
        ("POST a/messages", {"messages": [{"role": "the user", "content": "x"}]}, "messages.0.role", "user, assistant"),
        ("POST a/messages", {"messages": [{"role": "", "content": "x"}]}, "messages.0.role", "at least 1"),
        ("POST a/messages", {"messages": [{"role": "user"}]}, "messages.0", "content is required"),
        ("POST a/messages", {"messages": [{"role": "user", "content": 5}]}, "messages.0.content", "list of parts"),
        ("POST a/messages", {"messages": [{"role": "user", "content": [5]}]}, "messages.0.content", "list of parts"),
        ("POST a/messages", {"messages": [{"role": "user", "content": ["x"] * 1001}]}, "messages.0.content", "1000"),
        (
            "POST a/messages",
            {"messages": [{"role": "user", "content": "x" * 1_000_001}]},
            "messages.0.content",
            "1000000",
        ),
        (
            "POST a/messages",
            {
                "messages": [
                    {"role": "user", "content": "x"},
                    {"role": "user", "content": "x", "timestamp": "2026-01-01"},
                ]
            },
            "messages.1.timestamp",
            "time zone",
        ),
        (
            "POST a/messages",
            {"messages": [{"role": "a", "content": "", "tool_calls": 1}]},
            "messages.0.tool_calls",
            "list",
        ),
        (
            "POST a/messages",
            {"messages": [{"role": "a", "content": "", "external_id": ""}]},
            "messages.0.external_id",
            "1",
        ),
        (
            "POST a/messages",
            {"messages": [{"role": "a", "content": "", "trust": "god"}]},
            "messages.0.trust",
            "'owner'",
        ),
        ("POST a/rewind", {}, "", "after_message"),
        ("POST a/rewind", {"after_message": 1, "undo": True}, "", "after_message"),
        ("POST a/rewind", {"after_message": 1.5}, "after_message", "external_id"),
        ("POST a/rewind", {"after_message": -1}, "after_message", "external_id"),
        ("POST a/compact", {"summary": "x"}, "", "through_message"),
        ("POST a/compact", {"through_message": "m", "summary": " "}, "summary", "blank"),
        ("POST a/compact", {"undo": True, "summary": "x"}, "", "no summary"),
        ("GET a/messages?limit=0", None, "limit", "1"),
        ("GET a/messages?limit=501", None, "limit", "500"),
        ("GET a/around/m?window=101", None, "window", "100"),
        ("GET a/around/m?keep_roles=the%20user", None, "keep_roles.0", "user, assistant"),
        ("GET a/user-messages?limit=x", None, "limit", "integer"),
        ("GET ?cursor=x", None, "cursor", "next_cursor"),
        ("GET ?sourse=x", None, "sourse", "exclude_source"),
        ("GET a%2Fb/messages", None, None, "nothing at this address"),
        ("GET a%3Fb/messages", None, "session", "/ ? or #"),
    ],
)
def test_a_transcripts_error_names_the_field_and_what_is_allowed(
    api_client: Any, agent: Any, call: str, body: Any, field: str | None, words: str
) -> None:
    MessageFactory.create(session=SessionFactory.create(agent=agent, external_id="a"), external_id="m")
    method, rest = call.split(" ")
    response = api_client.send(
        method, f"/api/sessions/{rest}" if not rest.startswith("?") else f"/api/sessions{rest}", body
    )

    assert response.status_code == (404 if field is None else 422), response.content
    error = response.json()["error"]
    assert error.get("field", "") == (field or "")
    assert words in error["message"]
    assert (Session.objects.count(), Session.objects.get().messages.count()) == (1, 1)


def test_content_of_the_greatest_length_is_kept(api_client: Any) -> None:
    text = "界" * 100_000
    memory = api_client.remember(text)["memory"]

    assert api_client.get(f"/api/memories/{memory['id']}").json()["content"] == text


def test_nul_goes_and_surrogates_become_replacement_characters(api_client: Any) -> None:
    response = api_client.send("POST", "/api/memories", r'{"content": "a\u0000b\ud800", "metadata": {"k": "\udfff"}}')

    memory = response.json()["memory"]
    assert (memory["content"], memory["metadata"]) == ("ab\ufffd", {"k": "\ufffd"})


def test_a_large_body_is_refused(api_client: Any) -> None:
    response = api_client.send("POST", "/api/memories", json.dumps({"content": "x" * 1_100_000}))

    assert response.status_code == 413
    assert response.json()["error"]["code"] == "too_large"


@pytest.mark.parametrize("memory_id", ["0", "-1", "9" * 30, "abc", "1.5", "%00"])
def test_ids_that_cannot_be(api_client: Any, memory_id: str) -> None:
    for method, rest in [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/history"), ("POST", "/restore")]:
        body = {"content": "x"} if method == "PATCH" else None
        response = api_client.send(method, f"/api/memories/{memory_id}{rest}", body)
        assert response.status_code in (404, 422), (method, rest, response.content)
        assert response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/nothing", 404, "not_found"),
        ("GET", "/api/memories/1/nothing", 404, "not_found"),
        ("PUT", "/api/memories", 405, "method_not_allowed"),
        ("POST", "/api/recall", 405, "method_not_allowed"),
        ("GET", "/api/recall?subjekt=x", 422, "unknown_parameter"),
        ("GET", "/api/recall?limit=1&limit=2", 422, "invalid"),
        ("GET", "/api/memories/1?verbose=1", 422, "unknown_parameter"),
        ("POST", "/api/memories?dry=1", 422, "unknown_parameter"),
        ("DELETE", "/api/sessions/a", 405, "method_not_allowed"),
        ("PUT", "/api/sessions/a/messages", 405, "method_not_allowed"),
        ("GET", "/api/sessions/a/rewind", 405, "method_not_allowed"),
        ("GET", "/api/sessions/a/messages?before=1", 422, "unknown_parameter"),
    ],
)
def test_every_error_has_the_same_shape(api_client: Any, method: str, path: str, status: int, code: str) -> None:
    for address in (path, path.replace("?", "/?") if "?" in path else path + "/"):
        response = api_client.send(method, address, {"content": "x"} if method == "POST" else None)
        assert (response.status_code, response.json()["error"]["code"]) == (status, code), address
        assert response["Content-Type"].startswith("application/json")
    if status == 405:
        assert "GET" in response["Allow"] or "POST" in response["Allow"]
    assert Memory.objects.count() == 0


schema = schemathesis.openapi.from_dict(json.loads(json.dumps(api.get_openapi_schema(path_prefix="/api/"))))
schema.app = application


@pytest.mark.django_db
@schema.parametrize()
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_requests_made_from_the_openapi_document(case: Any) -> None:
    agent = AgentFactory.create()
    client = ApiClient(make_token(agent))
    path = case.formatted_path + (f"?{urlencode(case.query, doseq=True)}" if case.query else "")
    body = case.body if isinstance(case.body, dict | list) else None
    response = client.send(case.method.upper(), path, body)

    assert response.status_code < 500, response.content
    if response.status_code >= 400:
        assert set(response.json()) == {"error"}
