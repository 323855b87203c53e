"""What recall returns before and after a candidate is applied: found out by doing it, and taking it back at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from memories.access import Actor, Principal
from memories.models import SHARED_PARTITION, Memory
from memories.plain_text import cut, one_line
from memories.recall import Filters, recall
from search.query import parse
from search.recall import recall_for
from tidy import apply
from tidy.models import Candidate

LIMIT, CHARS = 20, 8_000
"""The budget of a recall that asks for nothing else."""
WORDS = 100
"""Characters of a memory's text that are asked for as a question."""
SHOWN = 120


@dataclass(frozen=True, slots=True)
class Line:
    """One memory of a recall as it is listed: ``gone`` from the answer afterwards, or ``new`` in it."""

    id: int
    text: str
    gone: bool = False
    new: bool = False


@dataclass(frozen=True, slots=True)
class Recalled:
    """One recall before and after. ``subject`` is what it was about, None where it was a question in words."""

    subject: str | None
    before: list[Line]
    after: list[Line]

    @property
    def is_same(self) -> bool:
        return [line.id for line in self.before] == [line.id for line in self.after]


def effect_of(candidate: Candidate, *, now: datetime) -> list[Recalled]:
    """Return what recall gives, about the subject and for the words of each memory that would go, before and after.

    Who asks is the agent whose memories they are, or for shared ones somebody who sees nothing else.
    """
    asker = _asker(candidate)
    memories = [part.memory for part in candidate.memories.select_related("memory") if part.role == "source"]
    before = _recalls(asker, memories, now)
    with transaction.atomic():
        apply.apply(candidate.pk, by=asker.actor, now=now)
        after = _recalls(asker, memories, now)
        transaction.set_rollback(True)
    return [_compared(subject, one, other) for (subject, one), (_, other) in zip(before, after, strict=True)]


def _asker(candidate: Candidate) -> Principal:
    is_shared = candidate.partition == SHARED_PARTITION
    agent = None if is_shared else int(candidate.partition.removeprefix("agent:"))
    return Principal(
        workspace_id=candidate.workspace_id,
        agent_id=agent,
        role="agent",
        private="none" if is_shared else "own",
        actor=Actor("tidy"),
        own_partition=None if is_shared else candidate.partition,
    )


Answers = list[tuple[str | None, list[dict[str, Any]]]]


def _recalls(asker: Principal, memories: list[Memory], now: datetime) -> Answers:
    found: Answers = []
    for subject in dict.fromkeys(memory.subject for memory in memories):
        filters = Filters(subject=subject or None, include_restricted=True)
        found.append((subject, recall(asker, filters, limit=LIMIT, max_chars=CHARS, now=now).memories))
    for memory in memories[:1]:
        asked = parse(cut(memory.content, WORDS), match="any")
        answer = recall_for(asker, asked, Filters(include_restricted=True), limit=LIMIT, max_chars=CHARS, now=now)
        found.append((None, answer.memories))
    return found


def _compared(subject: str | None, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Recalled:
    had, has = {row["id"] for row in before}, {row["id"] for row in after}
    return Recalled(
        subject,
        [Line(row["id"], _short(row), gone=row["id"] not in has) for row in before],
        [Line(row["id"], _short(row), new=row["id"] not in had) for row in after],
    )


def _short(row: dict[str, Any]) -> str:
    text = one_line(cut(row["content"], SHOWN))
    return text if len(row["content"]) <= SHOWN else f"{text}…"
