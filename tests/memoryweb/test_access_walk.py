"""A walk over every endpoint with the tokens of others: of another workspace, of another agent, of each role.

The endpoints come from the OpenAPI document, so that a new one cannot be left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories.access import Actor, create_token, revoke_token
from memories.models import Memory, Revision, Scope
from memoryweb.api import api
from tests.conftest import ApiClient
from tests.factories import AgentFactory, MemoryFactory

WORDS = "a sentence that nobody else may see"
BODIES: dict[str, Any] = {
    "POST /api/memories": {"content": "walked in"},
    "POST /api/memories/batch": {"memories": [{"content": "walked in"}]},
    "PATCH /api/memories/{memory_id}": {"content": "changed by the walk"},
    "POST /api/memories/{memory_id}/restore": {"revision": 1},
    "POST /api/memories/{memory_id}/erase": {"reason": "walk"},
}
WRITES = {"POST", "PATCH", "PUT", "DELETE"}


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


def call(client: Any, endpoint: Endpoint, memory: Memory) -> Any:
    path = endpoint.path.replace("{memory_id}", str(memory.pk))
    return client.send(endpoint.method, path, BODIES.get(endpoint.name))


def state() -> dict[int, tuple[str, int]]:
    return {memory.pk: (memory.content, memory.revision) for memory in Memory.objects.all()}


def test_the_walk_knows_the_body_of_every_write() -> None:
    with_body = {endpoint.name for endpoint in endpoints() if endpoint.method in ("POST", "PATCH", "PUT")}

    assert with_body == set(BODIES)
    assert len(endpoints()) >= 11


def test_without_a_token(endpoint: Endpoint, api_client: Any, agent: Any) -> None:
    memory = MemoryFactory.create(agent=agent, content=WORDS, shared=True)
    for token in (None, "mw_unknown_token", "x", "mw_" + "a" * 500, "mw_é_x"):
        response = call(ApiClient(token), endpoint, memory)
        assert response.status_code == 401
        assert response.json()["error"]["code"] == "unauthenticated"
        assert response["WWW-Authenticate"] == "Bearer"
    assert list(state().values()) == [(WORDS, 1)]


@pytest.mark.parametrize("scope", Scope.values)
@pytest.mark.parametrize("role", ["agent", "reader", "admin"])
def test_with_a_token_of_another_workspace(
    endpoint: Endpoint, agent: Any, client_for: Any, role: str, scope: str
) -> None:
    memory = MemoryFactory.create(agent=agent, content=WORDS, scope=scope, subject=WORDS, tags=[WORDS])
    foreign = client_for(AgentFactory.create(), role=role, instance=True)
    response = call(foreign, endpoint, memory)

    assert WORDS not in response.content.decode()
    if "{memory_id}" in endpoint.path:
        assert response.status_code == 404
        assert response.json()["error"]["code"] == "not_found"
    memory.refresh_from_db()
    assert (memory.content, memory.revision) == (WORDS, 1)


@pytest.mark.parametrize("role", ["agent", "reader", "admin"])
def test_private_memories_of_another_agent(endpoint: Endpoint, agent: Any, client_for: Any, role: str) -> None:
    memory = MemoryFactory.create(agent=agent, content=WORDS, subject=WORDS, tags=[WORDS])
    other = client_for(AgentFactory.create(workspace=agent.workspace), role=role)
    response = call(other, endpoint, memory)

    assert WORDS not in response.content.decode()
    memory.refresh_from_db()
    if endpoint.path.endswith("/erase") and role == "admin":
        assert memory.status == "erased"  # an admin erases what it cannot read
        return
    if "{memory_id}" in endpoint.path:
        assert response.status_code == 404
    assert (memory.content, memory.revision) == (WORDS, 1)


def test_a_reader_reads_what_is_shared_and_writes_nothing(endpoint: Endpoint, agent: Any, client_for: Any) -> None:
    memory = MemoryFactory.create(agent=agent, content=WORDS, shared=True)
    before = state()
    response = call(client_for(agent, role="reader"), endpoint, memory)

    if endpoint.method in WRITES:
        per_item = endpoint.path.endswith("/batch")
        assert response.status_code == (200 if per_item else 403)
        if per_item:
            assert response.json()["receipts"][0]["error"]["code"] == "forbidden"
    else:
        assert response.status_code == 200
    assert state() == before
    assert Revision.objects.count() == 1


def test_an_expired_or_revoked_token_is_none(endpoint: Endpoint, agent: Any) -> None:
    now = timezone.now()
    memory = MemoryFactory.create(agent=agent, content=WORDS, shared=True)
    _, expired = create_token(agent, actor=Actor("test"), expires_at=now - timedelta(seconds=1))
    token, revoked = create_token(agent, actor=Actor("test"))
    assert call(ApiClient(revoked), Endpoint("GET", "/api/recall"), memory).status_code == 200
    assert revoke_token(token, actor=Actor("test"), now=now)
    assert not revoke_token(token, actor=Actor("test"), now=now)

    assert call(ApiClient(expired), endpoint, memory).status_code == 401
    assert call(ApiClient(revoked), endpoint, memory).status_code == 401


def test_cookies_open_nothing(endpoint: Endpoint, agent: Any, admin_client: Any) -> None:
    memory = MemoryFactory.create(agent=agent, content=WORDS, shared=True)
    path = endpoint.path.replace("{memory_id}", str(memory.pk))
    response = admin_client.generic(endpoint.method, path, "{}", content_type="application/json")

    assert response.status_code == 401
