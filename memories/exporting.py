"""Memories going out: JSON Lines with everything that is known of each, which importers/jsonl.py reads back exactly."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from memories import audit
from memories.access import Actor, everything
from memories.errors import Conflict, NotFound
from memories.json_lines import FORMAT, LEFT_OUT, LINE_MAX, ORIGIN, REFERENCES, ROW, VERSION, origin_of, plain, to_line
from memories.models import SHARED_PARTITION, Agent, ImportedItem, Memory, Revision, Workspace

T = TypeVar("T")
CHUNK, HISTORY = 100, 20
"""Memories, and revisions of them, that are read at a time."""


@dataclass
class Exported:
    """What went out.

    ``left_out`` counts references to memories outside the export, ``too_long`` has ids whose line cannot be read back.
    """

    memories: int = 0
    revisions: int = 0
    left_out: int = 0
    too_long: list[int] = field(default_factory=list)


def find_scope(workspace: str, agent: str | None) -> tuple[Workspace, Agent | None]:
    """Return the workspace and agent of these names. Raises NotFound."""
    tenant = Workspace.objects.filter(name=workspace).first()
    if tenant is None:
        raise NotFound(f"there is no workspace {workspace!r}")
    if agent is None:
        return tenant, None
    found = Agent.objects.filter(workspace=tenant, name=agent).first()
    if found is None:
        raise NotFound(f"there is no agent {agent!r} in the workspace {workspace!r}")
    return tenant, found


def export_memories(
    out: BinaryIO,
    workspace: Workspace,
    *,
    agent: Agent | None = None,
    actor: Actor,
    on_start: Callable[[int], object] = lambda total: None,
    on_memory: Callable[[], object] = lambda: None,
) -> Exported:
    """Return what was written to ``out``: all memories of the workspace, or those that one agent remembered."""
    rows = everything(Memory).filter(workspace=workspace).order_by("pk")
    if agent is not None:
        rows = rows.filter(agent=agent)
    # As long as this statement has rows to give, SQLite shows one state of the store to all statements beside it.
    with _closed(rows.values_list("pk").iterator(chunk_size=1)) as anchor:
        next(anchor, None)
        # An id's place in this list is its number in the file: 8 bytes a memory, and all that is held of them.
        ids = array("q", rows.values_list("pk", flat=True).iterator(chunk_size=2000))
        writer = _Writer(ids)
        on_start(len(ids))
        out.write(to_line({"format": FORMAT, "version": VERSION, "memories": len(ids)}))
        for start in range(0, len(ids), CHUNK):
            with _closed(writer.lines(ids[start : start + CHUNK])) as lines:
                for line in lines:
                    out.write(line)
                    on_memory()
    out.flush()
    done = writer.done
    audit.record(
        "memory.export",
        actor=actor.name,
        workspace_id=workspace.pk,
        target=f"agent {agent.pk}" if agent else "",
        result=f"memories={done.memories} revisions={done.revisions}",
        counts={"memories": done.memories, "revisions": done.revisions},
        request_id=actor.request_id,
    )
    return done


class _Writer:
    """Turns rows into lines. ``ids`` are the ids of all memories that go out, in the order of the file."""

    def __init__(self, ids: array[int]) -> None:
        self.ids = ids
        self.done = Exported()

    def number(self, memory_id: int) -> int | None:
        """Return the memory's number in the file, or None where it does not go out."""
        place = bisect_left(self.ids, memory_id)
        return place + 1 if place < len(self.ids) and self.ids[place] == memory_id else None

    def lines(self, ids: Sequence[int]) -> Iterator[bytes]:
        """Yield the line of each memory."""
        rows = list(everything(Memory).filter(pk__in=ids).order_by("pk").values("pk", *ROW.values()))
        imported = _imported_items(ids)
        revisions = Revision.objects.filter(memory_id__in=ids).order_by("memory_id", "number")
        with _closed(revisions.iterator(chunk_size=HISTORY)) as ordered:
            histories = groupby(ordered, key=lambda revision: revision.memory_id)
            owner, history = next(histories, (None, iter(())))
            for row in rows:
                mine = history if owner == row["pk"] else iter(())
                line = to_line(self._memory(row, imported[row["pk"]], mine))
                if owner == row["pk"]:
                    owner, history = next(histories, (None, iter(())))
                if len(line) > LINE_MAX:
                    self.done.too_long.append(row["pk"])
                self.done.memories += 1
                yield line

    def _memory(self, row: dict[str, Any], items: list[ImportedItem], history: Iterator[Revision]) -> dict[str, Any]:
        origin = next((item for item in items if item.source == ORIGIN), None)
        line: dict[str, Any] = {
            "ref": self.number(row["pk"]),
            "origin": origin.external_id if origin else origin_of(row["pk"], row["created_at"]),
        }
        for name, column in ROW.items():
            line[name] = self._reference(row[column]) if column in REFERENCES else plain(row[column])
        line["imported_from"] = sorted(
            (
                {
                    "format": item.source,
                    "scope": "shared" if item.partition == SHARED_PARTITION else "agent",
                    "id": item.external_id,
                    "hash": item.content_hash,
                }
                for item in items
                if item is not origin
            ),
            key=lambda item: tuple(item.values()),
        )
        # A revision that was written after the row was read belongs to the next export.
        line["revisions"] = [self._revision(one) for one in history if one.number <= row["revision"]]
        self.done.revisions += len(line["revisions"])
        return line

    def _revision(self, revision: Revision) -> dict[str, Any]:
        return {
            "number": revision.number,
            "verb": revision.verb,
            "before": self._values(revision.before),
            "after": self._values(revision.after),
            "actor": revision.actor,
            "reason": revision.reason,
            "request_id": revision.request_id,
            "at": plain(revision.created_at),
        }

    def _values(self, values: dict[str, Any]) -> dict[str, Any]:
        return {
            REFERENCES.get(name, name): self._reference(value) if name in REFERENCES else plain(value)
            for name, value in sorted(values.items())
            if name not in LEFT_OUT
        }

    def _reference(self, memory_id: int | None) -> int | None:
        if memory_id is None:
            return None
        number = self.number(memory_id)
        self.done.left_out += number is None
        return number


@contextlib.contextmanager
def _closed(rows: Iterator[T]) -> Iterator[Iterator[T]]:
    """Close the statement under the iterator even where the reading is broken off."""
    try:
        yield rows
    finally:
        close = getattr(rows, "close", None)
        if close is not None:
            close()


def _imported_items(memory_ids: Sequence[int]) -> dict[int, list[ImportedItem]]:
    items: dict[int, list[ImportedItem]] = defaultdict(list)
    for item in ImportedItem.objects.filter(memory_id__in=memory_ids).order_by("pk"):
        items[item.memory_id].append(item)
    return items


@contextlib.contextmanager
def written_aside(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """Open a file beside ``path``, readable by its owner alone, that takes its place once it is whole.

    Raises Conflict where something is there already, unless ``force`` lets a file be replaced.
    """
    path = path.resolve()
    _check_place(path, force=force)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        _check_place(path, force=force)
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def _check_place(path: Path, *, force: bool) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise Conflict(f"{path} is no regular file; use - for standard output", code="exists")
    if not force:
        raise Conflict(f"{path} exists; --force replaces it", code="exists")
