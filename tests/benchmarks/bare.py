"""The peer that the API is held against: one indexed read and one insert through the ORM, and nothing else."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone

from memories.models import Memory, content_hash
from memories.wire import parse_json, to_json


def read(request: HttpRequest, memory_id: int) -> HttpResponse:
    """Return one memory by its id."""
    row = Memory.objects.filter(pk=memory_id).values().first()
    return HttpResponse(to_json(row), content_type="application/json")


def write(request: HttpRequest, workspace_id: int, agent_id: int) -> HttpResponse:
    """Insert one memory and nothing that belongs to it."""
    content, now = parse_json(request.body)["content"], timezone.now()
    memory = Memory(
        workspace_id=workspace_id,
        agent_id=agent_id,
        partition=f"agent:{agent_id}",
        content=content,
        content_hash=content_hash(content),
        created_at=now,
        updated_at=now,
        last_seen_at=now,
    )
    memory.save(force_insert=True)
    return HttpResponse(to_json({"id": memory.pk}), status=201, content_type="application/json")


def live(request: HttpRequest) -> HttpResponse:
    """Return that the process answers."""
    return HttpResponse(b"{}", content_type="application/json")


urlpatterns = [
    path("health/live", live),
    path("read/<int:memory_id>", read),
    path("write/<int:workspace_id>/<int:agent_id>", write),
]
