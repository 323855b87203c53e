"""Every page of the house, for tests that walk them all, with something on each."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from memories import audit, revisions
from memories.access import Actor
from memories.models import Agent
from tests.factories import CandidateFactory, MemoryFactory, MessageFactory, SessionFactory
from tidy.models import Batch

ADA = Actor("user ada", is_person=True)


def furnish(agent: Agent, text: str = "A kestrel lives in the tower.") -> dict[str, str]:
    """Return name and address of each page, after putting the text wherever somebody else can put one."""
    short = text[:100]
    session = SessionFactory.create(agent=agent, title=text[:200], source=short, model=short)
    fields: dict[str, Any] = {"session": session, "content": text}
    said = MessageFactory.create(role="user", **fields)
    MessageFactory.create(role="tool", tool_name=short, **fields)
    MessageFactory.create(role="assistant", tool_calls=[{"name": short, "arguments": {"x": text}}], **fields)
    MessageFactory.create(role=short, active=False, compacted=True, display_kind=short, **fields)
    memory = MemoryFactory.create(
        agent=agent,
        content=text,
        subject=text[:200],
        key=short.strip(),
        tags=[short],
        message=said,
        metadata={short: text},
        expires_at=timezone.now() + timedelta(days=9),
    )
    now = timezone.now()
    change = {"content": f"{text} Or does it?", "importance": 5, "pinned": True}
    revisions.change(memory, change, by=ADA, now=now, verb="revise", reason=short)
    batch = Batch.objects.create(auto=False, actor=short, at=now, workspace=agent.workspace)
    other = MemoryFactory.create(agent=agent, content=f"{text} It is old.", subject=text[:200])
    applied = CandidateFactory.create(
        memory=other, status="applied", decided_by=short, decision_reason=short, decided_at=now, batch=batch
    )
    candidate = CandidateFactory.create(memory=memory)
    audit.record("memory.note", actor=short, workspace_id=agent.workspace_id, target=short, result=text)
    here = f"workspace={agent.workspace_id}"
    return {
        "overview": f"/?{here}",
        "queue": f"/review/?{here}",
        "applied": f"/review/?{here}&status=applied&subject=x",
        "candidate": f"/review/{candidate.pk}/",
        "decided": f"/review/{applied.pk}/",
        "effect": f"/review/{candidate.pk}/effect/",
        "bulk": f"/review/bulk/?{here}&verb=approve",
        "batch": f"/review/batches/{batch.pk}/",
        "memories": f"/memories/?{here}",
        "found": f"/memories/?{here}&q=kestrel",
        "memory": f"/memories/{memory.pk}/",
        "edit": f"/memories/{memory.pk}/edit/",
        "search": f"/search/?{here}&q=kestrel",
        "sessions": f"/sessions/?{here}",
        "session": f"/sessions/{session.pk}/?message={said.pk}",
        "audit": f"/audit/?{here}",
        "indexes": "/indexes/",
    }
