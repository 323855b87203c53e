"""Which memories are worth comparing with one: those that share a key with it, and the nearest few by their words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memories.access import everything
from memories.models import Memory, Status
from search.backends.base import IndexDamaged
from search.corpora import MEMORIES
from search.nearest import Neighbourhood, neighbourhood
from tidy.models import KEY_MAX, PairingKey
from tidy.rules import contradiction_keys, equivalence_key

BUCKET = 20
"""Memories of one key that are compared, the ones that others would be merged into first."""
NEAREST = 5
"""Memories that are compared for the words they share."""


def keys_of(memory: Memory) -> list[str]:
    """Return the keys that the memory shares with what it may be merged with or contradict, of its own subject."""
    keys = [f"e:{equivalence_key(memory.content)}", *(f"c:{key}" for key in contradiction_keys(memory.content))]
    return list(dict.fromkeys(_digest(memory.subject, key) for key in keys))


def _digest(subject: str, key: str) -> str:
    said = f"{subject}\0{key}".encode("utf-8", "surrogatepass")
    return key[:2] + hashlib.blake2b(said, digest_size=(KEY_MAX - 2) // 2 - 4).hexdigest()


def write_keys(keys: Mapping[Memory, Sequence[str]]) -> None:
    """Put these in the place of the memories' keys."""
    PairingKey.objects.filter(memory__in=list(keys)).delete()
    PairingKey.objects.bulk_create(
        PairingKey(memory=memory, workspace_id=memory.workspace_id, partition=memory.partition, key=key)
        for memory, its in keys.items()
        for key in its
    )


def precedence(memory: Memory) -> tuple[object, ...]:
    """Return what memories are sorted by: of two, the one that sorts first stays, and the other goes into it.

    One that anybody may have written never takes in what is trusted more; then pinned, keyed, more important, longer,
    newer, lower id.
    """
    return (
        memory.restricted,
        not memory.pinned,
        memory.key is None,
        -memory.importance,
        -len(memory.content),
        -memory.created_at.timestamp(),
        memory.pk,
    )


@dataclass(slots=True)
class Partners:
    """Finds partners inside one partition."""

    workspace_id: int
    partition: str
    words: Neighbourhood | None

    @classmethod
    def of(cls, workspace_id: int, partition: str) -> Partners:
        return cls(workspace_id, partition, neighbourhood(MEMORIES, workspace_id=workspace_id, partition=partition))

    def of_memory(self, memory: Memory, keys: Sequence[str], *, also: Iterable[int] = ()) -> list[Memory]:
        """Return active memories of the same subject to compare with, in the order in which they would stay."""
        ids: dict[int, None] = dict.fromkeys(also)
        for key in keys:
            found = PairingKey.objects.filter(workspace_id=self.workspace_id, partition=self.partition, key=key)
            active = found.filter(memory__status=Status.ACTIVE).exclude(memory=memory)
            # The oldest first: they are what later ones were proposed to go into.
            ids |= dict.fromkeys(active.order_by("memory_id").values_list("memory_id", flat=True)[:BUCKET])
        ids |= dict.fromkeys(self._nearest(memory))
        found_memories = everything(Memory).filter(
            pk__in=ids, status=Status.ACTIVE, workspace_id=self.workspace_id, partition=self.partition
        )
        return sorted(found_memories.filter(subject=memory.subject), key=precedence)

    def _nearest(self, memory: Memory) -> list[int]:
        if self.words is None:
            return []
        try:
            return self.words.nearest(memory.content, beside=memory.pk, most=NEAREST)
        except IndexDamaged:
            # The search index is mended by others; what it would have found waits until the memory is looked at again.
            self.words = None
            return []
