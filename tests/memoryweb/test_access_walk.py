"""A walk over every endpoint with the tokens of others: of another workspace, of another agent, of each role.

The endpoints come from the OpenAPI document, so that a new one cannot be left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from memories.access import Actor, create_token, revoke_token
from memories.models import Memory, Message, Revision, Scope, Session
from memoryweb.api import api
from tests.conftest import ApiClient
from tests.factories import AgentFactory, CandidateFactory, MemoryFactory, MessageFactory, SessionFactory
from tidy.models import Batch, Candidate

WORDS = "a sentence that nobody else may see"
SOUGHT = "nobody OR obod"
LEAKED = "sentence that"  # a snippet has marks around what was sought
BODIES: dict[str, Any] = {
    "POST /api/memories": {"content": "walked in"},
    "POST /api/memories/batch": {"memories": [{"content": "walked in"}]},
    "PATCH /api/memories/{memory_id}": {"content": "changed by the walk"},
    "POST /api/memories/{memory_id}/restore": {"revision": 1},
    "POST /api/memories/{memory_id}/erase": {"reason": "walk"},
    "PUT /api/sessions/{session}": {"source": "walk", "title": "changed by the walk"},
    "POST /api/sessions/{session}/messages": {"messages": [{"role": "user", "content": "walked in"}]},
    "POST /api/sessions/{session}/rewind": {"after_message": "first"},
    "POST /api/tidy/candidates/{candidate_id}/approve": {"reason": "walk"},
    "POST /api/tidy/candidates/{candidate_id}/dismiss": {"reason": "walk"},
    "POST /api/tidy/candidates/{candidate_id}/revert": {"reason": "walk"},
    "POST /api/tidy/batches/{batch_id}/revert": {"reason": "walk"},
    "POST /api/sessions/{session}/compact": {"through_message": "first", "summary": "walked through"},
}
WRITES = {"POST", "PATCH", "PUT", "DELETE"}
# Acts on the instance: no body, and a token of its own kind, whatever its workspace.
INSTANCE = {
    "GET /api/indexes",
    "GET /api/indexes/runs",
    "POST /api/indexes/{corpus}/rebuild",
    "POST /api/indexes/{corpus}/verify",
    "POST /api/indexes/{corpus}/pause",
    "POST /api/indexes/{corpus}/resume",
    "POST /api/indexes/{corpus}/optimize",
    "POST /api/tidy/rounds",
    "GET /api/tidy/rounds",
}
# Read by admins alone.
ADMINS = {"GET /api/audit"}


@dataclass(frozen=True)
class Endpoint:
    method: str
    path: str

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def endpoints() -> list[Endpoint]:
    document = api.get_openapi_schema(path_prefix="/api/")
    return [Endpoint(method.upper(), path) for path, methods in document["paths"].items() for method in methods]


@pytest.fixture(params=endpoints(), ids=lambda endpoint: endpoint.name)
def endpoint(request: Any) -> Endpoint:
    return request.param


@dataclass(frozen=True)
class Things:
    """What is somebody's: a memory with a candidate in a batch, and a session of two messages."""

    memory: Memory
    session: Session
    message: Message
    candidate: Candidate


def things_of(agent: Any, scope: str) -> Things:
    memory = MemoryFactory.create(agent=agent, content=WORDS, scope=scope, subject=WORDS, tags=[WORDS])
    session = SessionFactory.create(agent=agent, scope=scope, external_id="walk", title=WORDS, model=WORDS)
    message = MessageFactory.create(session=session, external_id="first", content=WORDS)
    MessageFactory.create(session=session, external_id="second", content=WORDS)
    batch = Batch.objects.create(auto=False, actor=WORDS, at=timezone.now(), workspace=agent.workspace)
    candidate = CandidateFactory.create(memory=memory, batch=batch)
    return Things(memory, session, message, candidate)


def address(endpoint: Endpoint, things: Things) -> str:
    path = endpoint.path.replace("{memory_id}", str(things.memory.pk))
    path = path.replace("{session}", things.session.external_id).replace("{message}", str(things.message.pk))
    path = path.replace("{corpus}", "messages").replace("{candidate_id}", str(things.candidate.pk))
    path = path.replace("{batch_id}", str(things.candidate.batch_id))
    # The very words, and letters out of the middle of them, which take other ways.
    return f"{path}?{urlencode({'q': SOUGHT})}" if path.startswith("/api/search/") else path


def call(client: Any, endpoint: Endpoint, things: Things) -> Any:
    return client.send(endpoint.method, address(endpoint, things), BODIES.get(endpoint.name))


def assert_refused_to_all_but_the_instance(endpoint: Endpoint, response: Any) -> None:
    assert endpoint.name in INSTANCE
    assert response.status_code == 403
    assert response.json()["error"]["code"] == "not_instance"


def state(things: Things) -> Any:
    """Return all that the walk must not change."""
    memory, session = things.memory, things.session
    memory.refresh_from_db()
    session.refresh_from_db()
    things.candidate.refresh_from_db()
    messages = session.messages.order_by("id").values_list("content", "active", "compacted")
    return (
        memory.content,
        memory.revision,
        session.title,
        session.message_count,
        list(messages),
        things.candidate.status,
    )


UNTOUCHED = (WORDS, 1, WORDS, 2, [(WORDS, True, False)] * 2, "pending")


def is_own_now(endpoint: Endpoint, role: str) -> bool:
    """Return whether the call makes a session of the caller's own that only shares its name with another's."""
    return endpoint.method == "PUT" and role == "agent"


def test_the_walk_knows_the_body_of_every_write() -> None:
    with_body = {endpoint.name for endpoint in endpoints() if endpoint.method in ("POST", "PATCH", "PUT")}

    assert with_body - INSTANCE == set(BODIES)
    assert {endpoint.name for endpoint in endpoints()} >= INSTANCE
    assert len(endpoints()) >= 11


def test_without_a_token(endpoint: Endpoint, api_client: Any, agent: Any) -> None:
    things = things_of(agent, Scope.SHARED)
    for token in (None, "mw_unknown_token", "x", "mw_" + "a" * 500, "mw_é_x"):
        response = call(ApiClient(token), endpoint, things)
        assert response.status_code == 401
        assert response.json()["error"]["code"] == "unauthenticated"
        assert response["WWW-Authenticate"] == "Bearer"
    assert state(things) == UNTOUCHED


@pytest.mark.parametrize("scope", Scope.values)
@pytest.mark.parametrize("role", ["agent", "reader", "admin"])
def test_with_a_token_of_another_workspace(
    endpoint: Endpoint, agent: Any, client_for: Any, role: str, scope: str
) -> None:
    things = things_of(agent, scope)
    foreign = client_for(AgentFactory.create(), role=role, instance=True)
    response = call(foreign, endpoint, things)

    assert LEAKED not in response.content.decode()
    if endpoint.name in INSTANCE:
        assert response.status_code in (200, 202)
    elif endpoint.method == "PUT":
        assert response.status_code == (201 if is_own_now(endpoint, role) else 403)
    elif "{" in endpoint.path:
        assert response.status_code == 404
        assert response.json()["error"]["code"] == "not_found"
    assert state(things) == UNTOUCHED


@pytest.mark.parametrize("role", ["agent", "reader", "admin"])
def test_what_is_private_to_another_agent(endpoint: Endpoint, agent: Any, client_for: Any, role: str) -> None:
    things = things_of(agent, Scope.AGENT)
    other = client_for(AgentFactory.create(workspace=agent.workspace), role=role)
    response = call(other, endpoint, things)

    assert LEAKED not in response.content.decode()
    if endpoint.path.endswith("/erase") and role == "admin":
        things.memory.refresh_from_db()
        assert things.memory.status == "erased"  # an admin erases what it cannot read
        return
    if endpoint.name in INSTANCE:
        assert_refused_to_all_but_the_instance(endpoint, response)
    elif endpoint.method == "PUT":
        assert response.status_code == (201 if is_own_now(endpoint, role) else 403)
    elif "{" in endpoint.path:
        assert response.status_code == 404
    assert state(things) == UNTOUCHED


def test_a_reader_reads_what_is_shared_and_writes_nothing(endpoint: Endpoint, agent: Any, client_for: Any) -> None:
    things = things_of(agent, Scope.SHARED)
    response = call(client_for(agent, role="reader"), endpoint, things)

    if endpoint.name in INSTANCE:
        assert_refused_to_all_but_the_instance(endpoint, response)
    elif endpoint.method in WRITES:
        per_item = endpoint.path.endswith("memories/batch")
        assert response.status_code == (200 if per_item else 403)
        if per_item:
            assert response.json()["receipts"][0]["error"]["code"] == "forbidden"
    elif endpoint.name in ADMINS:
        assert response.status_code == 403
    else:
        assert response.status_code == 200
        if endpoint.path.startswith("/api/search/"):
            assert LEAKED in response.content.decode()
    assert state(things) == UNTOUCHED
    assert (Memory.objects.count(), Revision.objects.count(), Session.objects.count()) == (1, 1, 1)


def test_what_is_private_is_not_even_the_readers_own(endpoint: Endpoint, agent: Any, client_for: Any) -> None:
    things = things_of(agent, Scope.AGENT)
    response = call(client_for(agent, role="reader"), endpoint, things)

    assert LEAKED not in response.content.decode()
    assert state(things) == UNTOUCHED


def test_an_expired_or_revoked_token_is_none(endpoint: Endpoint, agent: Any) -> None:
    now = timezone.now()
    things = things_of(agent, Scope.SHARED)
    _, expired = create_token(agent, actor=Actor("test"), expires_at=now - timedelta(seconds=1))
    token, revoked = create_token(agent, actor=Actor("test"))
    assert call(ApiClient(revoked), Endpoint("GET", "/api/recall"), things).status_code == 200
    assert revoke_token(token, actor=Actor("test"), now=now)
    assert not revoke_token(token, actor=Actor("test"), now=now)

    assert call(ApiClient(expired), endpoint, things).status_code == 401
    assert call(ApiClient(revoked), endpoint, things).status_code == 401


def test_cookies_open_nothing(endpoint: Endpoint, agent: Any, admin_client: Any) -> None:
    things = things_of(agent, Scope.SHARED)
    path = address(endpoint, things)
    response = admin_client.generic(endpoint.method, path, "{}", content_type="application/json")

    assert response.status_code == 401
