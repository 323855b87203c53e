"""A store with a memory in every state, for exports and imports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from memories import access, remember, revisions
from memories.access import Actor, Principal
from memories.models import Agent, Memory, Workspace
from memories.schemas import MemoryIn
from tests.factories import AgentFactory, WorkspaceFactory

START = datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=UTC)
TIDY = Actor("tidy", "round-1")


class Clock:
    """A minute passes at each look."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1, microseconds=7)
        return self.now


def principal_of(agent: Agent, **options: Any) -> Principal:
    """Return who the agent is with a new token."""
    token, _ = access.create_token(agent, actor=Actor("test"), **options)
    return access.principal_of_token(token, request_id="request-7")


def fill(workspace: str = "home") -> Workspace:
    """Return a workspace whose memories have been through every verb, by two agents, in several scripts."""
    home = WorkspaceFactory.create(name=workspace)
    clock = Clock()
    cook, gardener = (AgentFactory.create(workspace=home, name=name) for name in ("cook", "Gärtnerin 🌱"))

    def say(agent: Agent, content: str, **fields: Any) -> Memory:
        return remember.remember(principal_of(agent), MemoryIn(content=content, **fields), now=clock()).memory

    def merge(source: Memory, target: Memory) -> None:
        fields = {"status": "merged", "merged_into_id": target.pk, "merged_at": clock()}
        revisions.change(source, fields, by=TIDY, now=clock(), verb="merge", reason="both say it", touch=False)

    early = say(gardener, "The plums are ripe in August.", tags=["garden", "水果"], importance=4)
    say(cook, "Salt is in the blue jar.", scope="shared", subject="kitchen", kind="fact", pinned=True)
    rent = say(cook, "The flat costs 900 a month.", key="rent", metadata={"b": 1, "a": {"z": None, "y": [1.5, True]}})
    say(cook, "The flat costs 950 a month.", key="rent", tags=["money"])
    say(gardener, "冬天要给玫瑰盖上稻草。", scope="shared", expires_at="2026-04-01T00:00:00Z")
    say(cook, "Сосед кормит кошку по вторникам.", source="stranger")
    say(cook, "鍵は郵便受けの中です。", source="web", subject="鍵", tags=["住まい", "鍵"])
    say(cook, "Someone claims the flat is free.", key="rent", source="group_chat")
    seen = say(cook, "We are out of rice.")
    say(cook, "We are out of rice.")
    gone = say(gardener, "The old shed has a red door.")
    remember.forget(principal_of(gardener), gone.pk, now=clock(), reason="it was torn down")
    back = say(gardener, "Compost is emptied in March.")
    remember.forget(principal_of(gardener), back.pk, now=clock())
    remember.restore(principal_of(gardener), back.pk, now=clock())
    remember.revise(
        principal_of(gardener), back.pk, {"content": "Compost is emptied in April.", "scope": "shared"}, now=clock()
    )
    secret = say(cook, "The alarm code is 7731.", key="alarm", tags=["secret"], metadata={"code": "7731"})
    remember.revise(principal_of(cook), secret.pk, {"content": "The alarm code is 7732."}, now=clock())
    admin = principal_of(cook, role="admin")
    remember.erase(admin, secret.pk, reason="a code", now=clock())
    late = say(gardener, "Plums ripen in August.")
    merge(early, late)
    later = say(gardener, "In August the plums are ripe and the wasps come.")
    merge(late, later)
    old_key = say(cook, "The shop opens at nine.", key="shop")
    remember.forget(principal_of(cook), old_key.pk, now=clock())
    say(cook, "The shop opens at eight.", key="shop")
    assert Memory.objects.get(pk=seen.pk).seen_count == 2
    assert rent.pk
    return home
