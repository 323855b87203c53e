"""How imported memories are written: in chunks, each whole or not at all, and never twice.

A chunk's memories and the ImportedItems that remember them share one transaction, so an import that was killed is
finished by running it again. What is there already is never touched, whatever became of it since.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from django.db import DataError, IntegrityError

from memories import revisions, storage
from memories.access import everything, find_or_create_agent, partition_for
from memories.importers.base import Bad, Report, Target, uninterrupted
from memories.json_lines import ORIGIN, WHOLE_WORKSPACE, read_origin
from memories.models import TRUST, Agent, ImportedItem, Memory, Revision, Scope, Status, Workspace, content_hash
from memories.revisions import FIELDS, Past, Reference, as_json

CHUNK_ITEMS = 250
CHUNK_BYTES = 8 * 2**20
"""A chunk is written when it has this many memories or, about, bytes."""
PENDING = 10_000
"""References that wait for their memory before those that can be are written."""

Mark = tuple[str, ...]


class Trace(NamedTuple):
    """What an ImportedItem remembers of a memory. ``place`` is its scope, or WHOLE_WORKSPACE for an origin."""

    place: str
    source: str
    external_id: str
    content_hash: str


class Mention(NamedTuple):
    """A place in an item that names another memory of the file by its number: the row, or a side of a revision."""

    number: int
    part: Literal["row", "before", "after"]
    field: Literal["merged_into_id", "kept_beside_id"]
    ref: int


@dataclass(slots=True)
class Item:
    """One memory of a file. ``fields`` are those of revisions.FIELDS that it has, without references.

    An ``exact`` item has its whole state and ``past``, and is a memory of its own even where another has its text.
    """

    line: int
    size: int
    agent: str
    fields: dict[str, Any]
    traces: tuple[Trace, ...]
    created_at: datetime | None = None
    updated_at: datetime | None = None
    last_seen_at: datetime | None = None
    seen_count: int = 1
    exact: bool = False
    past: list[Past] = field(default_factory=list)
    ref: int | None = None
    mentions: tuple[Mention, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """Return what stands for its partition before the agent has an id."""
        return (self.agent, Scope.AGENT) if self.fields["scope"] == Scope.AGENT else ("", Scope.SHARED)

    @property
    def trust(self) -> int:
        return TRUST[self.fields["source"]]

    @property
    def trace_marks(self) -> list[Mark]:
        """Return its traces as they are told apart within a workspace."""
        return [("item", *self.place, *trace) for trace in self.traces]

    @property
    def key_mark(self) -> Mark | None:
        """Return its key as long as it is active: no other memory may have it then."""
        key = self.fields.get("key") if self._is_active else None
        return None if key is None else ("key", *self.place, key)

    @property
    def text_mark(self) -> Mark | None:
        """Return its text where an equal memory makes another one needless."""
        if not self._is_active or self.fields.get("key"):
            return None
        return "text", *self.place, self.fields.get("subject", ""), content_hash(self.fields["content"])

    @property
    def _is_active(self) -> bool:
        return bool(self.fields.get("status", Status.ACTIVE) == Status.ACTIVE)


@dataclass(slots=True)
class Decision:
    """What becomes of an item: created, or there already as ``memory_id`` or as the memory of ``leader``."""

    item: Item
    created: bool
    memory_id: int | None = None
    leader: Decision | None = None
    remember: bool = False
    key_taken: bool = False
    key_holder: int | None = None
    open: Sequence[Mention] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def known_id(self) -> int:
        """Return the memory's id once it is written; a dry run has 0 in its place."""
        return (self.leader.known_id if self.leader else self.memory_id) or 0


class Waiting(NamedTuple):
    """A mention whose memory may stand further down. ``at`` is the time of the revision that it belongs to."""

    mention: Mention
    memory_id: int
    at: datetime | None
    line: int
    created: bool


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that is there already. ``loaded``: an import brought it."""

    memory_id: int | None
    revision: int = 0
    status: str = ""
    loaded: bool = False


def digest(*parts: str | None) -> str:
    """Return the SHA-256 (hex) of the parts: an external id that repeats nothing of what somebody wrote."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Places:
    """Which memory each number of the file became: 16 bytes a memory as long as the numbers rise."""

    def __init__(self) -> None:
        self.refs, self.ids = array("q"), array("q")
        self.strays: dict[int, int] = {}

    def add(self, ref: int, memory_id: int) -> None:
        if not self.refs or ref > self.refs[-1]:
            self.refs.append(ref)
            self.ids.append(memory_id)
        else:
            self.strays[ref] = memory_id

    def get(self, ref: int) -> int | None:
        place = bisect_left(self.refs, ref)
        if place < len(self.refs) and self.refs[place] == ref:
            return self.ids[place]
        return self.strays.get(ref)


class Loader:
    """Takes items one by one and writes them. Call ``finish`` after the last one of a file."""

    def __init__(self, target: Target, report: Report, *, now: datetime) -> None:
        self.target, self.report, self.now = target, report, now
        self.chunk: list[Item] = []
        self.bytes = 0
        self.marks: set[Mark] = set()
        # A dry run finds nothing of itself in the database: the hash of each mark stands in for that.
        self.seen: set[int] = set()
        self.places = Places()
        self.pending: list[Waiting] = []
        self.pending_most = PENDING

    def add(self, item: Item) -> None:
        """Take one more item."""
        # Who holds a key, or has an origin, is for the database to tell, so a chunk has each of them once.
        marks: set[Mark] = {("origin", trace.external_id) for trace in item.traces if trace.source == ORIGIN}
        marks |= {item.key_mark} if item.key_mark else set()
        if not self.marks.isdisjoint(marks):
            self.flush()
        self.chunk.append(item)
        self.marks |= marks
        self.bytes += item.size
        if len(self.chunk) >= CHUNK_ITEMS or self.bytes >= CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was taken."""
        chunk, self.chunk, self.bytes, self.marks = self.chunk, [], 0, set()
        if chunk:
            with uninterrupted():
                self._save(chunk)
        if len(self.pending) >= self.pending_most:
            self.pending = self._connect(self.pending)
            self.pending_most = max(PENDING, 2 * len(self.pending))

    def finish(self) -> None:
        """Write the rest, then the references to memories that stood further down. Numbers start anew afterwards."""
        self.flush()
        for waiting in self._connect(self.pending):
            if waiting.created:
                self.report.note(waiting.line, "a reference to a memory that the file does not bring was left out")
        self.pending, self.pending_most, self.places = [], PENDING, Places()

    def _save(self, items: list[Item]) -> None:
        try:
            decisions = self._decide(items, self._agents(items)) if self.target.dry_run else self._write(items)
        except (IntegrityError, DataError) as error:
            if len(items) == 1:
                self.report.skip(items[0].line, Bad("refused by the database", str(error)))
                return
            # One memory that no check foresaw must not lose the others of its chunk.
            self._save(items[: len(items) // 2])
            self._save(items[len(items) // 2 :])
            return
        for decision in decisions:
            self._count(decision)

    def _count(self, decision: Decision) -> None:
        item = decision.item
        if decision.created:
            self.report.created += 1
        else:
            self.report.present += 1
        for note in (*item.notes * decision.created, *decision.notes):
            self.report.note(item.line, note)
        if self.target.dry_run:
            marks: list[Any] = [*item.trace_marks]
            if decision.created:
                marks += [item.key_mark, (item.text_mark, item.trust)]
            self.seen.update(hash(mark) for mark in marks)
        if item.ref is not None:
            self.places.add(item.ref, decision.known_id)
        for mention in decision.open:
            at = item.past[mention.number - 1].at if item.past else None
            self.pending.append(Waiting(mention, decision.known_id, at, item.line, decision.created))

    @storage.write
    def _write(self, items: list[Item]) -> list[Decision]:
        agents = self._agents(items)
        decisions = self._decide(items, agents)
        new = [decision for decision in decisions if decision.created]
        rows = [self._memory(decision, agents[decision.item.agent]) for decision in new]
        revisions.load(rows)
        for decision, (memory, _) in zip(new, rows, strict=True):
            decision.memory_id = memory.pk
        ImportedItem.objects.bulk_create(
            ImportedItem(
                workspace_id=agents[decision.item.agent].workspace_id,
                partition=self._partition(trace, agents[decision.item.agent]),
                source=trace.source,
                external_id=trace.external_id,
                content_hash=trace.content_hash,
                memory_id=decision.known_id,
            )
            for decision in decisions
            if decision.created or decision.remember
            for trace in decision.item.traces
        )
        return decisions

    def _agents(self, items: Iterable[Item]) -> dict[str, Agent]:
        """Return the agents of the items by name. A dry run makes none: an unsaved one owns nothing."""
        names = dict.fromkeys(item.agent for item in items)
        if not self.target.dry_run:
            return {name: find_or_create_agent(name, workspace=self.target.workspace) for name in names}
        workspace_id = Workspace.objects.filter(name=self.target.workspace).values_list("pk", flat=True).first() or 0
        there = {agent.name: agent for agent in Agent.objects.filter(workspace_id=workspace_id, name__in=names)}
        return {name: there.get(name) or Agent(pk=0, workspace_id=workspace_id, name=name) for name in names}

    def _partition(self, trace: Trace, agent: Agent) -> str:
        return WHOLE_WORKSPACE if trace.place == WHOLE_WORKSPACE else partition_for(trace.place, agent.pk)

    def _decide(self, items: list[Item], agents: dict[str, Agent]) -> list[Decision]:
        workspace_id = next(iter(agents.values())).workspace_id
        known = self._known(items, agents, workspace_id)
        new = [item for item in items if id(item) not in known]
        texts = self._equal_texts(new, agents, workspace_id)
        holders = self._key_holders(new, agents, workspace_id)
        chosen: dict[Mark, Decision] = {}
        decisions = []
        for item in items:
            decision = self._decide_one(item, known.get(id(item)), texts, holders, chosen)
            decisions.append(decision)
            for mark in item.trace_marks:
                chosen.setdefault(mark, decision)
            if decision.created and item.text_mark is not None:
                chosen.setdefault(item.text_mark, decision)
        return decisions

    def _decide_one(
        self,
        item: Item,
        known: Known | None,
        texts: dict[Mark, tuple[int | None, int]],
        holders: dict[Mark, int | None],
        chosen: dict[Mark, Decision],
    ) -> Decision:
        if known is not None:
            notes = _differences(item, known)
            # An import that was killed may have left the references of what it brought open.
            mentions = item.mentions if known.loaded else ()
            return Decision(item, created=False, memory_id=known.memory_id, open=mentions, notes=notes)
        for mark in item.trace_marks:
            if mark in chosen:
                return Decision(item, created=False, leader=chosen[mark])
        if item.text_mark is not None and not item.exact:
            memory_id, trust = texts.get(item.text_mark, (None, 0))
            if trust >= item.trust:
                return Decision(item, created=False, memory_id=memory_id, remember=True)
            if item.text_mark in chosen and chosen[item.text_mark].item.trust >= item.trust:
                return Decision(item, created=False, leader=chosen[item.text_mark], remember=True)
        decision = Decision(item, created=True, open=item.mentions)
        if item.key_mark is not None and item.key_mark in holders:
            decision.key_taken, decision.key_holder = True, holders[item.key_mark]
            decision.notes.append("created without its key, which another memory holds")
        return decision

    def _known(self, items: list[Item], agents: dict[str, Agent], workspace_id: int) -> dict[int, Known]:
        """Return the items that are there already, by the identity of the item."""
        groups: dict[tuple[str, str], list[str]] = defaultdict(list)
        for item in items:
            for trace in item.traces:
                groups[self._partition(trace, agents[item.agent]), trace.source].append(trace.external_id)
        ledger: dict[tuple[str, str, str], list[tuple[str, int]]] = defaultdict(list)
        for (partition, source), external_ids in groups.items():
            rows = ImportedItem.objects.filter(
                workspace_id=workspace_id, partition=partition, source=source, external_id__in=external_ids
            )
            for external_id, its_hash, memory_id in rows.values_list("external_id", "content_hash", "memory_id"):
                ledger[partition, source, external_id].append((its_hash, memory_id))
        found: dict[int, int] = {}
        for item in items:
            for trace in item.traces:
                place = self._partition(trace, agents[item.agent]), trace.source, trace.external_id
                for its_hash, memory_id in ledger[place]:
                    if _same_item(trace, its_hash):
                        found.setdefault(id(item), memory_id)
        loaded = set(found)
        found |= self._first_written_here([item for item in items if id(item) not in found], workspace_id)
        states = everything(Memory).filter(pk__in=set(found.values())).values_list("pk", "revision", "status")
        state = {memory_id: (revision, status) for memory_id, revision, status in states}
        known = {one: Known(memory_id, *state[memory_id], loaded=one in loaded) for one, memory_id in found.items()}
        for item in items:
            if id(item) not in known and self._seen_in_dry_run(item):
                known[id(item)] = Known(None)
        return known

    def _seen_in_dry_run(self, item: Item) -> bool:
        return bool(self.seen) and any(hash(mark) in self.seen for mark in item.trace_marks)

    def _first_written_here(self, items: list[Item], workspace_id: int) -> dict[int, int]:
        """Return the items whose memory was written in this store by another way than an import."""
        wanted: dict[int, list[tuple[Item, Trace, datetime]]] = defaultdict(list)
        for item in items:
            for trace in item.traces:
                if trace.source == ORIGIN and (origin := read_origin(trace.external_id)) is not None:
                    wanted[origin[0]].append((item, trace, origin[1]))
        rows = everything(Memory).filter(workspace_id=workspace_id, pk__in=wanted)
        times = dict(rows.values_list("pk", "created_at"))
        firsts = Revision.objects.filter(memory_id__in=times, number=1).values_list("memory_id", "after")
        hashes = {pk: content_hash(after["content"]) if "content" in after else "" for pk, after in firsts}
        return {
            id(item): memory_id
            for memory_id, claims in wanted.items()
            for item, trace, at in claims
            if times.get(memory_id) == at and _same_item(trace, hashes.get(memory_id, ""))
        }

    def _equal_texts(
        self, items: list[Item], agents: dict[str, Agent], workspace_id: int
    ) -> dict[Mark, tuple[int | None, int]]:
        """Return the most trusted active memory (None in a dry run) that has a text already, with its trust."""
        groups: dict[str, dict[tuple[str, str], Mark]] = defaultdict(dict)
        found: dict[Mark, tuple[int | None, int]] = {}
        for item in items:
            if item.text_mark is not None and not item.exact:
                subject, its_hash = item.text_mark[-2:]
                groups[partition_for(item.fields["scope"], agents[item.agent].pk)][subject, its_hash] = item.text_mark
                trusts = (trust for trust in TRUST.values() if self.seen and hash((item.text_mark, trust)) in self.seen)
                found[item.text_mark] = None, max(trusts, default=0)
        for partition, wanted in groups.items():
            rows = (
                everything(Memory)
                .filter(workspace_id=workspace_id, partition=partition, status=Status.ACTIVE, key=None)
                .filter(content_hash__in={its_hash for _, its_hash in wanted})
                .order_by("pk")
            )
            for memory_id, subject, its_hash, source in rows.values_list("pk", "subject", "content_hash", "source"):
                mark = wanted.get((subject, its_hash))
                if mark is not None and TRUST[source] > found[mark][1]:
                    found[mark] = memory_id, TRUST[source]
        return found

    def _key_holders(self, items: list[Item], agents: dict[str, Agent], workspace_id: int) -> dict[Mark, int | None]:
        """Return which active memory (None in a dry run) holds a key already."""
        groups: dict[str, dict[str, Mark]] = defaultdict(dict)
        found: dict[Mark, int | None] = {}
        for item in items:
            if item.key_mark is not None:
                groups[partition_for(item.fields["scope"], agents[item.agent].pk)][item.key_mark[-1]] = item.key_mark
                if self.seen and hash(item.key_mark) in self.seen:
                    found[item.key_mark] = None
        for partition, wanted in groups.items():
            rows = everything(Memory).filter(workspace_id=workspace_id, partition=partition, active_key__in=wanted)
            for memory_id, key in rows.values_list("pk", "active_key"):
                found[wanted[key]] = memory_id
        return found

    def _memory(self, decision: Decision, agent: Agent) -> tuple[Memory, list[Past]]:
        item = decision.item
        fields: dict[str, Any] = {"key": None} | item.fields
        past = [replace(one, before=dict(one.before), after=dict(one.after)) for one in item.past]
        decision.open = [mention for mention in item.mentions if self.places.get(mention.ref) is None]
        for mention in item.mentions:
            if mention.part == "row":
                fields[mention.field] = self.places.get(mention.ref)
            elif past:
                revision = past[mention.number - 1]
                side = revision.before if mention.part == "before" else revision.after
                side[mention.field] = self.places.get(mention.ref)
        taken = {name: fields.get(name) for name in ("key", "kept_beside_id")}
        if decision.key_taken:
            fields["key"] = None
            if not any(mention.part == "row" and mention.field == "kept_beside_id" for mention in item.mentions):
                fields["kept_beside_id"] = decision.key_holder
        created_at = item.created_at or self.now
        updated_at = item.updated_at or created_at
        memory = Memory(
            workspace_id=agent.workspace_id,
            agent=agent,
            created_at=created_at,
            updated_at=updated_at,
            last_seen_at=item.last_seen_at or updated_at,
            seen_count=item.seen_count,
            **fields,
        )
        if not past:
            after = {name: as_json(getattr(memory, name)) for name in FIELDS}
            past.append(self._past(1, {}, after, at=created_at))
        elif decision.key_taken:
            before = {name: value for name, value in taken.items() if value != fields.get(name)}
            after = {name: fields.get(name) for name in before}
            why = f"memory {decision.key_holder} holds the key here"
            past.append(self._past(past[-1].number + 1, before, after, at=self.now, reason=why))
        return memory, past

    def _past(
        self, number: int, before: dict[str, Any], after: dict[str, Any], *, at: datetime, reason: str = ""
    ) -> Past:
        by = self.target.actor
        return Past(number, "import", before, after, by.name, reason, by.request_id, at)

    def _connect(self, pending: Sequence[Waiting]) -> list[Waiting]:
        """Return what still waits after the references to memories that are known by now were written."""
        ready: list[Reference] = []
        still: list[Waiting] = []
        for waiting in pending:
            mention, target_id = waiting.mention, self.places.get(waiting.mention.ref)
            if target_id is None:
                still.append(waiting)
                continue
            ready.append(
                Reference(waiting.memory_id, mention.number, waiting.at, mention.part, mention.field, target_id)
            )
        for start in range(0, len(ready), CHUNK_ITEMS):
            if not self.target.dry_run:
                storage.write(revisions.connect)(ready[start : start + CHUNK_ITEMS])
        return still


def _same_item(trace: Trace, its_hash: str) -> bool:
    """Return whether a remembered item is the trace's: an origin is, unless both first texts are known and differ."""
    return trace.content_hash == its_hash or (trace.source == ORIGIN and "" in (trace.content_hash, its_hash))


def _differences(item: Item, found: Known) -> list[str]:
    if not item.past or found.memory_id is None:
        return []
    if item.fields["status"] == Status.ERASED and found.status != Status.ERASED:
        return ["erased in the file, but still here with its text"]
    if item.past[-1].number > found.revision:
        return ["changed further in the file; the memory here was left as it is"]
    return []
