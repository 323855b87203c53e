"""What any page may tell of the house."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from memories.pages import roles_of
from memoryweb.health import worker_state
from memoryweb.models import Heartbeat


def house(request: HttpRequest) -> dict[str, Any]:
    """Return how the worker is and which roles the person has anywhere, looked up only where a page shows it."""
    return {
        "worker": SimpleLazyObject(lambda: worker_state(Heartbeat.objects.filter(name="worker").first())),
        "house_roles": SimpleLazyObject(lambda: roles_of(request)),
    }
