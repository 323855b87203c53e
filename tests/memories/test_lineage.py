"""Where merged memories went, and what a memory took in."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from memories import revisions
from memories.access import Actor, Principal, principal_of_token
from memories.lineage import HOPS_MAX, LISTED_MAX, taken_in, went_to
from memories.models import Memory
from tests.factories import AgentFactory, MemoryFactory, MessageFactory, SessionFactory, make_token

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def merge(source: Memory, target: Memory) -> None:
    fields = {"status": "merged", "merged_into_id": target.pk, "merged_at": NOW}
    revisions.change(source, fields, by=Actor("test"), now=NOW, verb="tidy.merge", touch=False)


def principal_of(agent: Any, role: str = "agent") -> Principal:
    make_token(agent, role=role)
    return principal_of_token(agent.tokens.select_related("agent").latest("pk"))


def test_the_whole_chain_is_told_in_order(agent: Any, api_client: Any) -> None:
    memories = [MemoryFactory.create(agent=agent) for _ in range(5)]
    for source, target in pairwise(memories):
        merge(source, target)
    answer = api_client.get(f"/api/memories/{memories[0].pk}").json()
    assert answer["merged_chain"] == [memory.pk for memory in memories[1:]]


def test_a_chain_ends_after_a_hundred_hops_and_where_it_comes_round(agent: Any) -> None:
    principal = principal_of(agent)
    memories = [MemoryFactory.create(agent=agent) for _ in range(HOPS_MAX + 3)]
    for source, target in zip(memories, [*memories[1:], memories[0]], strict=True):
        merge(source, target)
    assert went_to(principal, memories[0]) == [memory.pk for memory in memories[1 : HOPS_MAX + 1]]
    assert taken_in(principal, memories[0]).total == HOPS_MAX + 2
    memories[2].refresh_from_db()
    merge(memories[2], memories[0])
    assert went_to(principal, memories[0]) == [memories[1].pk, memories[2].pk]
    assert taken_in(principal, memories[0]).total == HOPS_MAX + 2


def test_a_chain_ends_at_what_is_not_visible(agent: Any) -> None:
    neighbour = AgentFactory.create(workspace=agent.workspace)
    stranger = MemoryFactory.create(agent=neighbour)
    mine, next_one = MemoryFactory.create(agent=agent), MemoryFactory.create(agent=agent)
    merge(mine, next_one)
    Memory.objects.filter(pk=next_one.pk).update(status="merged", merged_at=NOW, merged_into=stranger.pk)
    assert went_to(principal_of(agent), mine) == [next_one.pk]
    assert taken_in(principal_of(neighbour), stranger).total == 0


def test_what_was_taken_in_comes_with_its_messages(agent: Any, api_client: Any) -> None:
    message = MessageFactory.create(session=SessionFactory.create(agent=agent))
    target, near, far = (MemoryFactory.create(agent=agent, message_id=message.pk) for _ in range(3))
    merge(far, near)
    merge(near, target)
    answer = api_client.get(f"/api/memories/{target.pk}").json()
    assert answer["merged_from"] == [
        {"id": near.pk, "message_id": message.pk},
        {"id": far.pk, "message_id": message.pk},
    ]
    assert answer["merged_from_total"] == 2


def test_a_hundred_are_listed_and_all_are_counted(agent: Any) -> None:
    target = MemoryFactory.create(agent=agent)
    for _ in range(LISTED_MAX + 5):
        merge(MemoryFactory.create(agent=agent), target)
    found = taken_in(principal_of(agent), target)
    assert (len(found.listed), found.total) == (LISTED_MAX, LISTED_MAX + 5)
