"""What a candidate rests on: the memories as they were looked at, and what the rules said of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from memories.models import RESTRICTED_SOURCES, Memory

FACTS_SHOWN = 50
"""Facts of each sort that are kept; a long text may have thousands."""


class Seen(BaseModel):
    """A memory as it was when it was looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: int
    role: Literal["source", "target"]
    revision: int
    text: str
    kind: str
    subject: str
    key: str | None
    tags: tuple[str, ...]
    importance: int
    pinned: bool
    source: str
    expires_at: str | None
    partition: str

    @classmethod
    def of(cls, memory: Memory, role: Literal["source", "target"]) -> Seen:
        """Return the memory as it is now."""
        return cls(
            id=memory.pk,
            role=role,
            revision=memory.revision,
            text=memory.content,
            kind=memory.kind,
            subject=memory.subject,
            key=memory.key,
            tags=tuple(memory.tags),
            importance=memory.importance,
            pinned=memory.pinned,
            source=memory.source,
            expires_at=memory.expires_at.isoformat() if memory.expires_at else None,
            partition=memory.partition,
        )

    @property
    def restricted(self) -> bool:
        """Return whether it comes from where anybody may write."""
        return self.source in RESTRICTED_SOURCES


class Evidence(BaseModel):
    """Everything that a candidate's reason can be checked by again, without reading the memories."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seen: tuple[Seen, ...]
    rule: str
    rules_version: int
    # The day on which the rules were asked: what is past depends on it.
    today: str
    # Of a pair.
    containment: str = "none"
    similarity: float = 0.0
    veto: str | None = None
    contradiction: str | None = None
    shared: tuple[str, ...] = ()
    only_source: tuple[str, ...] = ()
    only_target: tuple[str, ...] = ()
    # Of a reclassification.
    kind_before: str | None = None
    kind_after: str | None = None
    # Of a one-off event: its day, and the verb that tells it is over.
    event_date: str | None = None
    event_verb: str | None = None
    # Why, in words.
    why: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[Seen, ...]:
        return tuple(seen for seen in self.seen if seen.role == "source")

    @property
    def target(self) -> Seen | None:
        return next((seen for seen in self.seen if seen.role == "target"), None)

    def as_json(self) -> dict[str, Any]:
        """Return it as it is stored."""
        return self.model_dump(mode="json")

    def without_text_of(self, memory_ids: Iterable[int]) -> Evidence:
        """Return it with every text emptied that was in one of these memories, or was compared with one."""
        gone = set(memory_ids)
        if not any(seen.id in gone for seen in self.seen):
            return self
        empty = {"text": "", "subject": "", "key": None, "tags": ()}
        seen = tuple(one.model_copy(update=empty) if one.id in gone else one for one in self.seen)
        # Shared facts and the explanation quote both sides.
        blank = {"shared": (), "only_source": (), "only_target": (), "why": (), "event_verb": None}
        return self.model_copy(update={"seen": seen, **blank})
