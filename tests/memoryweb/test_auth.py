"""Tokens: made once, kept as a hash, noted when used."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

from django.utils import timezone

from memories.access import Actor, create_token, token_for
from memories.models import AuditEntry, Token
from memoryweb import auth
from tests.conftest import ApiClient
from tests.factories import AgentFactory


def test_only_the_hash_is_kept(agent: Any) -> None:
    token, secret = create_token(agent, actor=Actor("test"))
    token.refresh_from_db()

    assert secret.startswith(f"mw_{token.prefix}_")
    assert len(secret.split("_", 2)[2]) == 43  # 256 bits
    assert token.digest == hashlib.sha256(secret.encode()).hexdigest()
    stored = " ".join(str(value) for row in Token.objects.values_list() for value in row)
    assert secret.split("_", 2)[2] not in stored
    entry = AuditEntry.objects.get(verb="token.create")
    assert secret.split("_", 2)[2] not in str(vars(entry))


def test_two_tokens_differ(agent: Any) -> None:
    secrets = {create_token(agent, actor=Actor("test"))[1] for _ in range(20)}

    assert len({secret.split("_", 2)[1] for secret in secrets}) == 20


def test_one_wrong_character_opens_nothing(agent: Any) -> None:
    _, secret = create_token(agent, actor=Actor("test"))
    now = timezone.now()

    assert token_for(secret, now=now) is not None
    for place in range(3, len(secret)):
        changed = secret[:place] + ("x" if secret[place] != "x" else "y") + secret[place + 1 :]
        assert token_for(changed, now=now) is None


def test_a_token_knows_its_agent_without_another_query(agent: Any, django_assert_num_queries: Any) -> None:
    _, secret = create_token(agent, actor=Actor("test"), sources=["tool"], may_write_shared=False)
    with django_assert_num_queries(1):
        token = token_for(secret, now=timezone.now())
        assert token is not None
        assert (token.agent.name, token.agent.workspace_id) == (agent.name, agent.workspace_id)
    assert (token.sources, token.may_write_shared, token.role) == (["tool"], False, "agent")


def test_both_headers_open_and_a_cookie_does_not(agent: Any) -> None:
    _, secret = create_token(agent, actor=Actor("test"))
    client = ApiClient(None)
    for headers in (
        {"Authorization": f"Bearer {secret}"},
        {"Authorization": f"bearer  {secret}"},
        {"X-API-Key": secret},
    ):
        assert client.get("/api/stats", headers=headers).status_code == 200
    for headers in ({"Authorization": f"Basic {secret}"}, {"Cookie": f"token={secret}"}, {"Authorization": secret}):
        assert client.get("/api/stats", headers=headers).status_code == 401


def test_use_is_noted_once_a_minute(api_client: Any) -> None:
    api_client.get("/api/stats")
    token = Token.objects.get()
    first = token.last_used_at
    assert first is not None
    api_client.get("/api/stats")
    token.refresh_from_db()
    assert token.last_used_at == first
    Token.objects.update(last_used_at=first - timedelta(seconds=61))
    api_client.get("/api/stats")
    token.refresh_from_db()
    assert token.last_used_at >= first


def test_a_disk_nearly_full_stops_writes_and_not_reads(api_client: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(auth, "DISK_RESERVE", 2**62)
    monkeypatch.setattr(auth, "_disk", (0.0, False))
    response = api_client.send("POST", "/api/memories", {"content": "x"})

    assert response.status_code == 507
    assert response.json()["error"]["code"] == "disk_full"
    assert api_client.get("/api/recall").status_code == 200
    monkeypatch.setattr(auth, "_disk", (0.0, False))
    monkeypatch.setattr(auth, "DISK_RESERVE", 0)
    assert api_client.send("POST", "/api/memories", {"content": "x"}).status_code == 201


def test_an_agent_of_another_workspace_has_its_own_name(db: None, client_for: Any) -> None:
    one, two = AgentFactory.create(name="same"), AgentFactory.create(name="same")
    client_for(one).remember("in one", scope="shared")

    assert client_for(two).get("/api/recall").json()["total"] == 0
