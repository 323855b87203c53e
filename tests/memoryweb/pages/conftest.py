"""People and what they look at."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import AbstractUser
from django.core.cache import cache
from django.test import Client

from memories.pages import CONTENT_SECURITY_POLICY
from tests.factories import AgentFactory, MembershipFactory, UserFactory

HTMX = {"HX-Request": "true"}
HOSTILE = (
    "<script>alert('x')</script> <img src=x onerror=alert(1)> ![x](http://evil.example/p.png) "
    "\u202eevil\u200b \u0430cme"
)


@pytest.fixture(autouse=True)
def _fresh_counts() -> None:
    cache.clear()


def member(agent: Any, role: str = "reviewer") -> Client:
    """Return a browser of a person with this role in the agent's workspace."""
    client = Client()
    client.force_login(MembershipFactory.create(workspace=agent.workspace, role=role).user)
    return client


def superuser() -> Client:
    client = Client()
    user: AbstractUser = UserFactory.create(superuser=True)
    client.force_login(user)
    return client


def shown(client: Client, path: str, status: int = 200, **headers: str) -> str:
    """Return the page's HTML with its entities read."""
    response = client.get(path, headers=headers)
    assert response.status_code == status, (path, response.status_code)
    assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    return unescape(response.content.decode())


@pytest.fixture
def reviewer(agent: Any) -> Client:
    return member(agent)


@pytest.fixture
def reader(agent: Any) -> Client:
    return member(agent, "reader")


@pytest.fixture
def admin(agent: Any) -> Client:
    return member(agent, "admin")


@pytest.fixture
def stranger(db: None) -> Client:
    return member(AgentFactory.create(), "admin")
