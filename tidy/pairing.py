"""Which memories are worth comparing with one: those of its subject that share a key with it.

Keys are hashes of what texts have in common that may be merged, contradict each other or be found alike. They stand in
a table with an index, so that a round looks at what has changed alone, whatever else there is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from memories import prepared
from memories.access import everything
from memories.models import Memory, Status
from tidy.models import KEY_MAX, KeptApart, PairingKey
from tidy.rules import contradiction_keys, equivalence_key, near_keys

BUCKET = 20
"""Memories of one key that are compared, the ones that others would be merged into first."""
NEAREST = 5
"""Memories that are compared for how they begin or end: many may begin alike and have nothing in common."""


def keys_of(memory: Memory) -> list[str]:
    """Return the keys that the memory shares with what it may be merged with or contradict, of its own subject."""
    text = memory.content
    keys = [f"e:{equivalence_key(text)}"]
    keys += [f"c:{key}" for key in contradiction_keys(text)] + [f"n:{key}" for key in near_keys(text)]
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


@dataclass(frozen=True, slots=True)
class Partners:
    """Finds partners inside one partition."""

    workspace_id: int
    partition: str

    def of_memories(
        self, keys: Mapping[Memory, Sequence[str]], *, also: Mapping[Memory, Iterable[int]] | None = None
    ) -> dict[Memory, list[Memory]]:
        """Return for each memory the active ones of its subject to compare it with, in the order they would stay.

        ``also`` names further ones.
        """
        sharing = self._sharing({key for its in keys.values() for key in its})
        wanted: dict[Memory, dict[int, None]] = {}
        for memory, its in keys.items():
            ids = dict.fromkeys(also.get(memory, ()) if also else ())
            ids |= dict.fromkeys(other for key in its for other in sharing.get(key, ()) if other != memory.pk)
            wanted[memory] = ids
        rows = everything(Memory).filter(
            pk__in={pk for ids in wanted.values() for pk in ids},
            status=Status.ACTIVE,
            workspace_id=self.workspace_id,
            partition=self.partition,
        )
        found = {row.pk: row for row in rows.defer("metadata")}
        apart = _kept_apart([memory.pk for memory in wanted])
        of_subject = {
            memory: [
                row
                for pk in ids
                if (row := found.get(pk)) is not None
                and row.subject == memory.subject
                and (min(pk, memory.pk), max(pk, memory.pk)) not in apart
            ]
            for memory, ids in wanted.items()
        }
        return {memory: sorted(others, key=precedence) for memory, others in of_subject.items()}

    def _sharing(self, keys: Collection[str]) -> dict[str, list[int]]:
        """Return the first active memories that have each key, a few more than are compared."""
        return {key: list(self._having(key)) for key in sorted(keys)}

    def _having(self, key: str) -> Iterator[int]:
        most = (NEAREST if key.startswith("n:") else BUCKET) + 1

        def build(values: dict[str, Any]) -> QuerySet[Any]:
            rows = PairingKey.objects.filter(
                workspace_id=values["workspace"],
                partition=values["partition"],
                key=values["key"],
                memory__status=values["status"],
            )
            found: QuerySet[Any] = rows.order_by("memory_id").values("memory_id")[:most]
            return found

        asked: dict[str, prepared.Value] = {
            "workspace": self.workspace_id,
            "partition": self.partition,
            "key": key,
            "status": Status.ACTIVE.value,
        }
        for row in prepared.rows(("sharing", most), asked, build):
            yield row["memory_id"]


def _kept_apart(ids: Collection[int]) -> set[tuple[int, int]]:
    """Return the pairs with any of these memories that somebody said are never to be merged, the lower id first."""
    rows = KeptApart.objects.filter(first__in=ids).values_list("first_id", "second_id")
    return set(rows.union(KeptApart.objects.filter(second__in=ids).values_list("first_id", "second_id")))
