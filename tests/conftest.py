"""Fixtures: an agent and clients that speak JSON with a token."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from django.test import Client

from memories.models import Agent
from memoryweb import rates
from tests.factories import AgentFactory, make_token

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell's background jobs ignore Ctrl-C, and so would everything started from here that is to be stopped by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONE = {"merged_chain": [], "merged_from": [], "merged_from_total": 0}
"""What a memory that is read says beside its fields, where nothing was merged."""


class ApiClient(Client):
    """Django's test client with a token, JSON bodies and no cookies."""

    def __init__(self, token: str | None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        super().__init__(headers=headers, raise_request_exception=True)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is None:
            return self.generic(method, path, headers=named)
        return self.generic(method, path, _encoded(body), content_type="application/json", headers=named)

    def remember(self, content: str, **fields: Any) -> dict[str, Any]:
        response = self.send("POST", "/api/memories", {"content": content, **fields})
        assert response.status_code in (200, 201), response.content
        return response.json()


def _encoded(body: Any) -> str | bytes:
    return body if isinstance(body, str | bytes) else json.dumps(body)


@pytest.fixture(autouse=True)
def _no_leased_permits() -> None:
    rates.forget()


@pytest.fixture
def agent(db: None) -> Agent:
    return AgentFactory.create()


@pytest.fixture
def client_for() -> Any:
    """Return a function that gives a client for an agent, with any token options."""

    def make(agent: Agent, **kwargs: Any) -> ApiClient:
        return ApiClient(make_token(agent, **kwargs))

    return make


@pytest.fixture
def api_client(agent: Agent, client_for: Any) -> ApiClient:
    return client_for(agent)
