"""How imported transcripts are written: in chunks, each whole or not at all, and never twice.

A message is known by its external id in its session, so an import that was killed is finished by running it again. What
is there already keeps its content, whatever the file says now.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from django.db import DataError, IntegrityError

from memories import storage, transcripts
from memories.access import find_or_create_agent, partition_for
from memories.importers.base import DEPTH_MAX, Bad, Document, NotFinite, Report, Tally, Target, uninterrupted
from memories.importers.loading import digest
from memories.models import LABEL_MAX, NAME_MAX, TRUST, Agent, Message, Session, Source
from memories.plain_text import clean_text, cut, one_space
from memories.transcript_schemas import MESSAGE_MAX
from memories.transcripts import Said

CHUNK_MESSAGES = 500
CHUNK_BYTES = 8 * 2**20
"""A chunk is written when it has this many messages or, about, bytes."""
BEST = TRUST[Source.IMPORT]
"""The most trust that an imported message has: nobody saw who wrote the file."""
MARK = "imported"
"""Field of a session's metadata that keeps what imports wrote there, so that changes of others are told from it."""
WAITS = "parent"
"""Field inside it: the name of a parent that was not there yet."""
KEPT_UP = ("title", "model", "ended_at", "archived")
"""Fields of a session that follow the file as long as nobody else changed them."""
PLACES = 5
"""Places that the report names for each reason where it names files too."""
ENCODED_MAX = 1_000
"""Characters of an encoded image or file that are kept in a message's parts."""
LEFT_OUT = "the bytes of an image or a file were left out"
WAS_CUT = f"a text was cut to {MESSAGE_MAX:,} characters"
NOT_JSON = "values that JSON cannot hold were replaced"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_ROLE = re.compile(r"[a-z][a-z0-9_.-]*")


@dataclass(slots=True)
class Head:
    """What a file says of a session, as far as it was read. ``parent`` is another session's external id."""

    external_id: str
    source: str
    title: str = ""
    model: str = ""
    parent: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    archived: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    stands_alone: bool = False
    """Whether it is a session without messages too."""
    last_time: datetime | None = None
    seen: Counter[str] = field(default_factory=Counter)
    """How often each message without an id came up, for ``digest_id``."""
    written: tuple[Any, ...] | None = None

    @property
    def state(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in (*KEPT_UP, "parent"))

    def digest_id(self, *place_and_content: str) -> str:
        """Return the external id of a message that has none of its own: equal ones are told apart by their order."""
        name = digest(*place_and_content)
        self.seen[name] += 1
        return name if self.seen[name] == 1 else digest(name, str(self.seen[name]))


@dataclass(frozen=True, slots=True)
class Entry:
    """One message on its way, and where it stands."""

    head: Head
    place: int | str
    said: Said


@dataclass
class SessionReport(Report):
    """What became of transcripts. Lines are named with their file where there are several."""

    files: int = 0
    others: list[str] = field(default_factory=list)
    other_files: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    sessions_created: int = 0
    sessions_present: int = 0
    restated: int = 0
    file_name: str = ""

    def skip(self, line: int | str, bad: Bad) -> None:
        super().skip(self.place(line), bad)

    def note(self, line: int | str, text: str) -> None:
        super().note(self.place(line), text)

    def place(self, line: int | str) -> int | str:
        """Return how the line of the file at hand is named."""
        return f"{self.file_name}:{line}" if self.file_name and isinstance(line, int) else line

    @property
    def nothing_read(self) -> bool:
        return super().nothing_read and not self.sessions_created and not self.sessions_present

    @property
    def counts(self) -> dict[str, int]:
        return {
            "files": self.files,
            "sessions_created": self.sessions_created,
            "sessions_present": self.sessions_present,
            **super().counts,
        }

    def table(self, *, dry_run: bool = False) -> str:
        """Return the report as lines of text."""
        would = "would be " if dry_run else ""
        rows = [("files", self.files), ("files of other kinds", self.other_files), ("lines", self.lines)]
        rows += [*((f"  {what}", count) for what, count in sorted(self.found.items())), ("  blank lines", self.blank)]
        rows += [
            (f"sessions {would}created", self.sessions_created),
            ("sessions already there", self.sessions_present),
            (f"messages {would}created", self.created),
            ("messages already there", self.present),
            ("messages with a new state", self.restated),
            ("skipped", self.skips),
        ]
        always = ("lines", "sessions", "messages", "skipped")
        shown = [(what, count) for what, count in rows if count or what.startswith(always)]
        formats = ", ".join(self.formats) or "none"
        text = [f"Format: {formats}", *(f"{what:<32}{count:>12,}" for what, count in shown)]
        for title, tallies in (("Skipped:", self.skipped), ("To know:", self.notes)):
            text += [title] if tallies else []
            for reason, tally in sorted(tallies.items(), key=lambda pair: -pair[1].count):
                text.append(f"{tally.count:>10,}  {reason} ({_places(tally)})")
        text += [f"  {detail}" for detail in self.details]
        if self.others:
            more = self.other_files - len(self.others)
            text += ["Files of other kinds:", *(f"  {other}" for other in self.others)]
            text += [f"  ... and {more:,} more"] if more > 0 else []
        return "\n".join(text)


def _places(tally: Tally) -> str:
    """Return where it happened first: a few places where each is long."""
    shown = tally.lines[: PLACES if any(isinstance(line, str) for line in tally.lines) else None]
    more = ", ..." if tally.count > len(shown) else ""
    return f"line {', '.join(map(str, shown))}{more}"


class SessionFormat(Protocol):
    """One format of transcripts: a module that knows it by its content and gives a file's messages to the loader."""

    NAME: str
    DESCRIPTION: str

    def recognises(self, document: Document, /) -> bool: ...

    def load(self, document: Document, loader: SessionLoader, /) -> None: ...


class SessionLoader:
    """Takes messages one by one and writes them. Call ``end_file`` after each file and ``finish`` after the last."""

    def __init__(self, target: Target, report: SessionReport, *, now: datetime) -> None:
        self.target, self.report, self.now = target, report, now
        self.format = ""
        self.fallback_time = now
        self.chunk: list[Entry] = []
        self.bytes = 0
        self.heads: dict[str, Head] = {}
        # What each external id of the file stood for, as hashes.
        self.taken: dict[int, int] = {}
        # A dry run finds nothing of itself in the database.
        self.would: set[int] = set()

    def begin_file(self, format_name: str, *, time: datetime) -> None:
        """Begin a file. ``time`` is when its messages were said at the latest, where it does not say."""
        self.format, self.fallback_time = format_name, min(time, self.now)

    def head(self, external_id: str, source: str, **fields: Any) -> Head:
        """Return the session of the file with this name, a new one with these fields where it comes up first."""
        found = self.heads.get(external_id)
        if found is None:
            found = self.heads[external_id] = Head(external_id, source, **fields)
        return found

    def add(self, head: Head, line: int, said: Said, *, size: int) -> None:
        """Take one more message. Without a time it has that of the one before it."""
        assert said.external_id is not None
        time = said.timestamp or head.last_time or head.started_at or self.fallback_time
        head.last_time = time
        name = self._free_name(head, said, line)
        said = replace(said, timestamp=time, external_id=name)
        self.chunk.append(Entry(head, self.report.place(line), said))
        self.bytes += size
        if len(self.chunk) >= CHUNK_MESSAGES or self.bytes >= CHUNK_BYTES:
            self.flush()

    def _free_name(self, head: Head, said: Said, line: int) -> str:
        """Return the message's external id, one of its own where another message of the file has it."""
        assert said.external_id is not None
        text = json.dumps([said.role, said.content, said.tool_name, said.tool_calls], sort_keys=True)
        content = hash(text)
        if self.taken.setdefault(hash((head.external_id, said.external_id)), content) == content:
            return said.external_id
        self.report.note(line, "another message has its id; kept beside that one")
        return message_name(f"{said.external_id}~{digest(text)[:12]}") or digest(said.external_id, text)

    def flush(self) -> None:
        """Write what was taken."""
        chunk, self.chunk, self.bytes = self.chunk, [], 0
        if chunk:
            with uninterrupted():
                self._save(chunk)

    def end_file(self) -> None:
        """Write the rest of the file, and what it said of its sessions at last."""
        self.flush()
        late = [
            head
            for head in self.heads.values()
            if head.state != head.written and (head.stands_alone or head.last_time is not None)
        ]
        for start in range(0, len(late), CHUNK_MESSAGES):
            with uninterrupted():
                self._put_all(late[start : start + CHUNK_MESSAGES])
        self.heads, self.taken = {}, {}

    def finish(self) -> None:
        """Let sessions have the parents that came after them, in this import or in a later one than theirs."""
        if self.target.dry_run:
            return
        waiting = Session.objects.filter(
            workspace__name=self.target.workspace, parent=None, **{f"metadata__{MARK}__{WAITS}__isnull": False}
        )
        ids = list(waiting.values_list("pk", flat=True))
        for start in range(0, len(ids), CHUNK_MESSAGES):
            self._link(ids[start : start + CHUNK_MESSAGES])

    def _save(self, entries: list[Entry]) -> None:
        try:
            self._weigh(entries) if self.target.dry_run else self._count(entries, *self._write(entries))
        except (IntegrityError, DataError) as error:
            if len(entries) == 1:
                self.report.skip(entries[0].place, Bad("refused by the database", str(error)))
                return
            # One message that no check foresaw must not lose the others of its chunk.
            self._save(entries[: len(entries) // 2])
            self._save(entries[len(entries) // 2 :])

    @storage.write
    def _write(self, entries: list[Entry]) -> tuple[dict[str, bool], list[str], int]:
        """Return which sessions are new, what became of each message, and how many have another state."""
        agent = self._agent()
        new: dict[str, bool] = {}
        actions = [""] * len(entries)
        restated = 0
        for head, places in _by_head(entries).items():
            said = [entries[place].said for place in places]
            session, new[head] = self._put(agent, self.heads[head], start=min(_times(said)))
            appended = transcripts.load(session, said, best=BEST, now=self.now)
            for place, one in zip(places, appended, strict=True):
                actions[place] = one.action
            states = {
                one.message.pk: (its.active, its.compacted)
                for its, one in zip(said, appended, strict=True)
                if one.action == "unchanged"
            }
            restated += transcripts.restate(session, states)
        return new, actions, restated

    def _count(self, entries: list[Entry], new: dict[str, bool], actions: list[str], restated: int) -> None:
        for name, created in new.items():
            self._count_session(self.heads[name], created=created)
        self.report.restated += restated
        for entry, action in zip(entries, actions, strict=True):
            if action == "created":
                self.report.created += 1
                continue
            self.report.present += 1
            if action == "differs":
                self.report.note(entry.place, "there already with other content, and left as it is")

    def _count_session(self, head: Head, *, created: bool) -> None:
        if head.written is None:
            self.report.sessions_created += created
            self.report.sessions_present += not created
        head.written = head.state

    def _put_all(self, heads: list[Head]) -> None:
        if self.target.dry_run:
            for head in heads:
                self._weigh_session(head)
            return
        for head, created in zip(heads, self._put_each(heads), strict=True):
            self._count_session(head, created=created)

    @storage.write
    def _put_each(self, heads: list[Head]) -> list[bool]:
        agent = self._agent()
        return [self._put(agent, head, start=self.fallback_time)[1] for head in heads]

    def _agent(self) -> Agent:
        return find_or_create_agent(self.target.agent, workspace=self.target.workspace)

    def _put(self, agent: Agent, head: Head, *, start: datetime) -> tuple[Session, bool]:
        """Return the session, and whether it is new."""
        partition = partition_for(self.target.scope, agent.pk)
        rows = Session.objects.filter(workspace_id=agent.workspace_id, partition=partition)
        session = rows.filter(external_id=head.external_id).first()
        wanted = {name: getattr(head, name) for name in KEPT_UP if getattr(head, name)}
        marks: dict[str, Any] = {"format": self.format} if session is None else dict(session.metadata.get(MARK) or {})
        fields: dict[str, Any] = {}
        for name, value in wanted.items():
            # What another hand wrote there stays.
            current = getattr(session, name) if session is not None else None
            if not current or _plain(current) == marks.get(name):
                fields[name], marks[name] = value, _plain(value)
        if head.parent is not None and head.parent != head.external_id and (session is None or not session.parent_id):
            parent = rows.filter(external_id=head.parent).values_list("pk", flat=True).first()
            if parent is not None:
                fields["parent_id"] = parent
                marks.pop(WAITS, None)
            else:
                marks[WAITS] = head.parent
        if session is not None:
            if MARK in session.metadata or len(marks):
                fields["metadata"] = head.metadata | session.metadata | {MARK: marks}
            transcripts.change(session, fields, now=self.now)
            return session, False
        fields |= {
            "source": head.source,
            "started_at": head.started_at or start,
            "metadata": head.metadata | {MARK: marks},
        }
        session = transcripts.begin(
            workspace_id=agent.workspace_id,
            agent_id=agent.pk,
            scope=self.target.scope,
            external_id=head.external_id,
            fields=fields,
            now=self.now,
        )
        return session, True

    @storage.write
    def _link(self, ids: list[int]) -> None:
        for session in Session.objects.filter(pk__in=ids):
            marks = dict(session.metadata[MARK])
            rows = Session.objects.filter(workspace_id=session.workspace_id, partition=session.partition)
            parent = rows.filter(external_id=marks.pop(WAITS)).values_list("pk", flat=True).first()
            if parent is not None and parent != session.pk:
                fields = {"parent_id": parent, "metadata": session.metadata | {MARK: marks}}
                transcripts.change(session, fields, now=self.now)

    # Dry runs

    def _weigh(self, entries: list[Entry]) -> None:
        for head, places in _by_head(entries).items():
            session = self._weigh_session(self.heads[head])
            names = {entries[place].said.external_id for place in places}
            rows = Message.objects.filter(session=session, external_id__in=names) if session else Message.objects.none()
            there = set(rows.values_list("external_id", flat=True))
            for place in places:
                name = entries[place].said.external_id
                mark = hash((head, name))
                if name in there or mark in self.would:
                    self.report.present += 1
                else:
                    self.report.created += 1
                self.would.add(mark)

    def _weigh_session(self, head: Head) -> Session | None:
        agent = Agent.objects.filter(workspace__name=self.target.workspace, name=self.target.agent).first()
        session = None
        if agent is not None:
            partition = partition_for(self.target.scope, agent.pk)
            rows = Session.objects.filter(workspace_id=agent.workspace_id, partition=partition)
            session = rows.filter(external_id=head.external_id).first()
        mark = hash((head.external_id,))
        self._count_session(head, created=session is None and mark not in self.would)
        self.would.add(mark)
        return session


def _by_head(entries: Sequence[Entry]) -> dict[str, list[int]]:
    """Return the places of each session's messages."""
    places: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        places.setdefault(entry.head.external_id, []).append(place)
    return places


def _times(said: Sequence[Said]) -> list[datetime]:
    return [one.timestamp for one in said if one.timestamp is not None]


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


# What other programs write, as it may be kept


def clean(value: Any, notes: set[str], *, depth: int = DEPTH_MAX) -> Any:
    """Return the JSON value without what a store cannot keep; ``notes`` gets what was left out or replaced.

    Raises Bad where it is nested too deep.
    """
    if isinstance(value, str):
        return _clean_text(value, notes)
    if isinstance(value, NotFinite) or (isinstance(value, float) and not math.isfinite(value)):
        notes.add(NOT_JSON)
        return None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        notes.add(NOT_JSON)
        return str(value) if value.bit_length() < 10_000 else None
    if isinstance(value, list | dict):
        if not depth:
            raise Bad(f"the message is nested deeper than {DEPTH_MAX} levels")
        if isinstance(value, list):
            return [clean(part, notes, depth=depth - 1) for part in value]
        encoded = value.get("data") if value.get("type") == "base64" else None
        if isinstance(encoded, str) and len(encoded) > ENCODED_MAX:
            notes.add(LEFT_OUT)
            value = value | {"data": "", "left_out": len(encoded)}
        return {_clean_text(name, notes): clean(part, notes, depth=depth - 1) for name, part in value.items()}
    return value


def _clean_text(text: str, notes: set[str]) -> str:
    if len(text) > ENCODED_MAX and text.startswith("data:") and ";base64," in text[:200]:
        notes.add(LEFT_OUT)
        return text[: text.index(";base64,") + len(";base64,")]
    if len(text) > MESSAGE_MAX:
        notes.add(WAS_CUT)
        text = cut(text, MESSAGE_MAX)
    try:
        text.encode()
    except UnicodeEncodeError:
        notes.add("bytes that are not UTF-8, or half characters, were replaced")
    return clean_text(text)


def line_of_text(value: Any, *, most: int = NAME_MAX) -> str:
    """Return the value as a title or label: one line of ``most`` characters, empty where it is no text."""
    if not isinstance(value, str):
        return ""
    return cut(one_space(_CONTROLS.sub(" ", clean_text(value[: 20 * most]))), most)


def label(value: Any, default: str) -> str:
    """Return the value as a source or kind, ``default`` where it is no text."""
    return line_of_text(value, most=LABEL_MAX) or default


def role_of(value: Any) -> str:
    """Return the role. Raises Bad."""
    role = value.strip().lower() if isinstance(value, str) else ""
    if len(role) > LABEL_MAX or _ROLE.fullmatch(role) is None:
        raise Bad("the message has no role such as user, assistant, system or tool")
    return role


def message_name(value: Any) -> str | None:
    """Return the value where it can be a message's external id, else None."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return str(value)
    if not isinstance(value, str) or not value.strip() or len(value) > NAME_MAX:
        return None
    return value if line_of_text(value) == value else None


def session_name(value: Any) -> str | None:
    """Return the session's external id: the value itself where it can be one, else made from it. None where blank."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return str(value)
    if not isinstance(value, str) or not value.strip():
        return None
    name = re.sub("[/?#]", "_", line_of_text(value))
    if name == value and name not in (".", ".."):
        return name
    return f"{cut(name, NAME_MAX - 20)}~{digest(clean_text(value))[:12]}"
