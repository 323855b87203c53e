"""Filled stores: 1,000 to 1,000,000 memories as years of use leave them, built by bulk SQL and kept for the next run.

A store holds one big workspace with four fifths of the rows, a middle one and twenty small ones. In each, a main
agent with most of the private memories, a few others and a shared partition. Nothing here goes through
memories/revisions.py, so the filler writes what that module would: tags, revisions and counts.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management import call_command
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader
from tqdm import tqdm

from memories import access, revisions
from memories.access import Actor, Principal
from memories.models import Agent, Kind, Memory, MemoryTag, Revision, Source, Token, Workspace, content_hash
from search import maintenance, upkeep
from search.models import IndexState
from search.text import function_name
from tests.benchmarks.figures import Limit, Row
from tests.benchmarks.texts import Writer

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench

CHUNK = 5000
SMALL_WORKSPACES = 20
KIND_WEIGHTS = [25, 8, 40, 8, 5, 4, 5, 5]
"""Of a hundred memories: fact, decision, observation, task, contact, relationship, world_event, other."""
COMMON_TAG = "daily"
"""One memory in five has it."""
COMMON_SUBJECT = "house"
"""One memory in twenty is about it; another twentieth has no subject, the rest is spread over n/20 subjects."""
RARE_TAGGED = 200
"""One memory in so many has one of the rare tags, of which there are n/1,000: five memories a tag."""
FILLER_VERSION = 7


@dataclass(frozen=True, slots=True)
class Store:
    """A filled store and samples of what is in it, seen by the big workspace's main agent."""

    path: Path
    memories: int
    workspace_id: int
    agent_id: int
    partition: str
    small_workspace_id: int
    small_agent_id: int
    token: str
    built_in: float
    bytes: int
    tag_rows: int
    revisions: int
    visible: int
    subjects: list[str] = field(repr=False)
    rare_tags: list[str] = field(repr=False)
    ids: list[int] = field(repr=False)
    texts: list[dict[str, str]] = field(repr=False)
    """Content and subject of active memories without a key in the agent's own partition."""
    digest: str = ""

    def principal(self) -> Principal:
        """Return the big workspace's main agent, who sees its own and the shared memories."""
        return _principal_of(self.agent_id)

    def small_principal(self) -> Principal:
        """Return the main agent of a small workspace, with 1/200 of all memories."""
        return _principal_of(self.small_agent_id)


def _principal_of(agent_id: int) -> Principal:
    return access.principal_of_token(Token.objects.select_related("agent").get(agent_id=agent_id))


def use(path: Path) -> None:
    """Point this process's database connection at another file."""
    connection.close()
    connection.settings_dict["NAME"] = str(path)


def filled(directory: Path, memories: int) -> Store:
    """Return the store of so many memories, built now unless the directory has it for this schema."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"memories-{memories}.sqlite3"
    about = path.with_suffix(".json")
    digest = _digest(memories)
    if path.exists() and about.exists():
        known = json.loads(about.read_text())
        if known.get("digest") == digest:
            return Store(**(known | {"path": path}))
    # Under its own name until it is whole: another run may want the same store, or this one may be stopped.
    building = directory / f"building-{os.getpid()}-{path.name}"
    use(building)
    try:
        store = _build(building, memories, digest)
        building.replace(path)
    finally:
        remove(building)
    about.write_text(json.dumps(asdict(store) | {"path": str(path)}, ensure_ascii=False))
    return replace(store, path=path)


def copy_of(store: Path, directory: Path) -> Path:
    """Return a copy of the store that may be written to. Same file system and reflinks make it quick."""
    target = directory / f"copy-{os.urandom(4).hex()}.sqlite3"
    with store.open("rb") as source, target.open("wb") as copy:
        size, done = store.stat().st_size, 0
        while done < size:
            done += os.copy_file_range(source.fileno(), copy.fileno(), size - done)
    return target


def remove(store: Path) -> None:
    """Delete a store with the files that SQLite keeps beside it, if it is there."""
    connection.close()
    for end in ("", "-wal", "-shm", "-journal"):
        store.with_name(store.name + end).unlink(missing_ok=True)


def schema() -> str:
    """Return a short hash of our own apps' migrations."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    ours = ("memories", "memoryweb", "search", "tidy")
    names = sorted(f"{app}.{name}" for app, name in loader.disk_migrations if app in ours)
    return hashlib.sha256(json.dumps([names, function_name()]).encode()).hexdigest()[:8]


def _digest(memories: int) -> str:
    """Return a hash of what the store's content depends on: the filler and every migration of our own apps."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    ours = ("memories", "memoryweb", "search", "tidy")
    names = sorted(f"{app}.{name}" for app, name in loader.disk_migrations if app in ours)
    columns = [column.column for model in (Memory, MemoryTag, Revision) for column in model._meta.local_concrete_fields]
    indexes = [str(index.deconstruct()) for model in (Memory, MemoryTag) for index in model._meta.indexes]
    text = json.dumps([FILLER_VERSION, memories, names, columns, indexes])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _build(path: Path, memories: int, digest: str) -> Store:
    call_command("migrate", verbosity=0)
    started = time.perf_counter()
    houses = _houses()
    raw = quick_connection()
    # Chunk by chunk the search indexes are filled twice as fast as row by row, by their triggers.
    drop_triggers(raw)
    tag_rows, revision_rows = 0, 0
    with tqdm(total=memories, desc=f"filling {memories:,}", unit="rows", disable=None) as bar:
        rows = _rows(memories, houses)
        inserts = [_insert(model) for model in (Memory, MemoryTag, Revision)]
        while chunk := list(itertools.islice(rows, CHUNK)):
            memory_rows = [memory for memory, _, _ in chunk]
            tags = [tag for _, tags, _ in chunk for tag in tags]
            changes = [change for _, _, changes in chunk for change in changes]
            raw.execute("BEGIN")
            for insert, values in zip(inserts, (memory_rows, tags, changes), strict=True):
                insert.run(raw, values)
            raw.execute("COMMIT")
            tag_rows, revision_rows = tag_rows + len(tags), revision_rows + len(changes)
            bar.update(len(chunk))
    revisions.recount()
    index()
    raw.execute("PRAGMA journal_mode = WAL")
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    built_in = time.perf_counter() - started
    return _about(path, memories, houses, digest=digest, built_in=built_in, tag_rows=tag_rows, changes=revision_rows)


def drop_triggers(raw: Any) -> None:
    """Have rows written without their search indexes, which ``index`` fills afterwards."""
    for (trigger,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        raw.execute(f'DROP TRIGGER "{trigger}"')


def index() -> None:
    """Have the search indexes find that their triggers are gone, and fill themselves."""
    maintenance.ensure()
    with tqdm(total=100, desc="indexing", unit="%", disable=None) as bar:
        while not maintenance.fill(seconds=2.0):
            bar.n = int(sum(state.percent for state in IndexState.objects.all()) / IndexState.objects.count())
            bar.refresh()
    upkeep.probe_all()


def quick_connection() -> Any:
    """Return the raw connection, set for filling: nobody else uses the file, and a broken one is built again."""
    connection.ensure_connection()
    raw = connection.connection
    for pragma in ("journal_mode = MEMORY", "synchronous = OFF", "foreign_keys = OFF", "cache_size = -1000000"):
        raw.execute(f"PRAGMA {pragma}").fetchall()
    return raw


@dataclass(frozen=True, slots=True)
class _House:
    """A workspace, its agents (the first is the main one) and its share of all memories."""

    workspace: Workspace
    agents: list[Agent]
    weight: float


def _houses() -> list[_House]:
    shares = [("big", 10, 0.8), ("middle", 4, 0.1)]
    shares += [(f"small {number}", 2, 0.1 / SMALL_WORKSPACES) for number in range(1, SMALL_WORKSPACES + 1)]
    houses = []
    for name, agents, weight in shares:
        workspace = Workspace.objects.create(name=name)
        members = [Agent.objects.create(workspace=workspace, name=f"agent {number}") for number in range(1, agents + 1)]
        houses.append(_House(workspace, members, weight))
    return houses


class _insert:
    """An INSERT of every column of a model; columns that a row does not name get the model's default."""

    def __init__(self, model: type[models.Model]) -> None:
        self._columns = [
            column
            for column in model._meta.local_concrete_fields
            if not column.generated and not (column.primary_key and model is not Memory)
        ]
        self._defaults = {
            column.column: None if column.null else column.get_db_prep_save(column.get_default(), connection)
            for column in self._columns
        }
        names = ", ".join(f'"{column.column}"' for column in self._columns)
        marks = ", ".join("?" for _ in self._columns)
        self._sql = f'INSERT INTO "{model._meta.db_table}" ({names}) VALUES ({marks})'

    def run(self, raw: Any, rows: list[dict[str, Any]]) -> None:
        defaults = self._defaults
        raw.executemany(self._sql, [[row.get(name, default) for name, default in defaults.items()] for row in rows])


Made = tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]


def _rows(memories: int, houses: list[_House]) -> Iterator[Made]:
    """Return memories in the order of their ids and ages, each with its tag rows and revisions."""
    chance = random.Random(memories).random
    write = Writer(memories).text
    kinds = list(itertools.accumulate(KIND_WEIGHTS))
    ends = list(itertools.accumulate(house.weight for house in houses))
    now = datetime.now(UTC).replace(tzinfo=None)
    begin, step = now - timedelta(days=730), timedelta(days=730) / memories
    subjects = max(memories // 20, 1)
    rare = max(memories // (5 * RARE_TAGGED), 1)
    last_active: dict[tuple[int, str], int] = {}
    for number in range(1, memories + 1):
        place = chance()
        house = next((house for house, end in zip(houses, ends, strict=True) if place < end), houses[-1])
        # Four of ten memories are shared, four the main agent's own, the rest the other agents'.
        kept = chance()
        agent = house.agents[0 if kept < 0.6 else int(chance() * len(house.agents))]
        shared = kept < 0.4
        partition = "shared" if shared else f"agent:{agent.pk}"
        created = begin + step * number
        updated = created if chance() < 0.9 else created + (now - created) * chance()
        source = _source(chance())
        restricted = source in ("group_chat", "stranger", "web")
        about = chance()
        subject = COMMON_SUBJECT if about < 0.05 else "" if about < 0.1 else f"subject {int(chance() * subjects)}"
        tags = [COMMON_TAG] if chance() < 0.2 else []
        if chance() < 0.3:
            tags.append(f"topic {int(chance() * 40)}")
        if number % RARE_TAGGED == 0:
            tags.append(f"rare {int(chance() * rare)}")
        importance = min(1 + sum(chance() > share for share in (0.1, 0.22, 0.55, 0.6)), 2 if restricted else 5)
        state = chance()
        expires = _expiry(chance(), chance(), now)
        status = "active" if state < 0.94 else "archived" if state < 0.99 else "merged"
        target = last_active.get((house.workspace.pk, partition)) if status == "merged" else None
        status = "archived" if status == "merged" and target is None else status
        content = write(number)
        kind_at = chance() * kinds[-1]
        kind = next(name for name, end in zip(Kind.values, kinds, strict=True) if kind_at < end)
        memory: dict[str, Any] = {
            "id": number,
            "workspace_id": house.workspace.pk,
            "agent_id": agent.pk,
            "scope": "shared" if shared else "agent",
            "partition": partition,
            "subject": subject,
            "key": f"key {number}" if chance() < 0.3 else None,
            "kind": kind,
            "content": content,
            "content_hash": content_hash(content),
            "tags": json.dumps(tags),
            "importance": importance,
            "source": source,
            "status": status,
            "merged_into_id": target,
            "merged_at": _time(updated) if status == "merged" else None,
            "archived_at": _time(updated) if status == "archived" else None,
            "archive_reason": "forgotten" if status == "archived" else "",
            "expires_at": None if expires is None else _time(expires),
            # Upkeep takes expired ones out of the counts; here it is a day behind.
            "lapsed": status == "active" and expires is not None and expires < now - timedelta(days=1),
            "pinned": not restricted and chance() < 0.01,
            "metadata": "{}" if chance() < 0.8 else json.dumps({"origin": "notebook", "page": number % 300}),
            "seen_count": 1 if chance() < 0.9 else 2 + int(chance() * 5),
            "last_seen_at": _time(updated),
            "revision": 1,
            "created_at": _time(created),
            "updated_at": _time(updated),
        }
        if status == "active":
            last_active[house.workspace.pk, partition] = number
        tag_row = {name: memory[name] for name in ("workspace_id", "partition", "expires_at")}
        tag_row |= {"memory_id": number, "active": status == "active", "restricted": restricted}
        tag_rows = [tag_row | {"tag": tag} for tag in tags]
        yield memory, tag_rows, _revisions(memory, tags, f"agent {agent.name}", changed=updated != created)


def _revisions(memory: dict[str, Any], tags: list[str], actor: str, *, changed: bool) -> list[dict[str, Any]]:
    """Return what memories/revisions.py would have recorded: the row as created and, of some, one later change."""
    after = {name: memory[name] for name in revisions.FIELDS if name in memory}
    after |= {"tags": tags, "metadata": {}, "kept_beside_id": None}
    first = {
        "memory_id": memory["id"],
        "number": 1,
        "verb": "remember",
        "before": "{}",
        "after": json.dumps(after),
        "actor": actor,
        "created_at": memory["created_at"],
    }
    if not changed:
        return [first]
    memory["revision"] = 2
    second = first | {
        "number": 2,
        "before": json.dumps({"importance": 3}),
        "after": json.dumps({"importance": memory["importance"]}),
        "created_at": memory["updated_at"],
    }
    return [first, second]


def _source(share: float) -> str:
    """Return where a memory comes from: one in twenty from a restricted source."""
    if share < 0.05:
        return (Source.GROUP_CHAT, Source.STRANGER, Source.WEB)[int(share * 60)].value
    return (Source.AGENT if share < 0.8 else Source.OWNER if share < 0.88 else Source.TOOL).value


def _expiry(share: float, place: float, now: datetime) -> datetime | None:
    """Return when a memory expires: two of a hundred have in the last month, three will."""
    if share < 0.02:
        return now - timedelta(days=30 * place)
    return now + timedelta(days=30 + 400 * place) if share < 0.05 else None


def _time(moment: datetime) -> str:
    return moment.isoformat(" ", "microseconds")


def _about(
    path: Path, memories: int, houses: list[_House], *, digest: str, built_in: float, tag_rows: int, changes: int
) -> Store:
    """Return the store with samples of what its main agent sees, after making the agent's token."""
    workspace, agent = houses[0].workspace, houses[0].agents[0]
    partition = agent.partition
    pick = random.Random(1)
    _, secret = access.create_token(agent, actor=Actor("benchmarks"))
    access.create_token(houses[2].agents[0], actor=Actor("benchmarks"))
    visible = Memory.objects.filter(workspace=workspace, partition__in=["shared", partition], status="active")
    spread = list(visible.filter(pk__in=pick.sample(range(1, memories + 1), min(memories, 2000))).order_by("id"))
    tags = MemoryTag.objects.filter(workspace=workspace, partition__in=["shared", partition], tag__startswith="rare ")
    own = [row for row in spread if row.partition == partition and row.key is None]
    store = Store(
        path=path,
        memories=memories,
        workspace_id=workspace.pk,
        agent_id=agent.pk,
        partition=partition,
        small_workspace_id=houses[2].workspace.pk,
        small_agent_id=houses[2].agents[0].pk,
        token=secret,
        built_in=built_in,
        bytes=0,
        tag_rows=tag_rows,
        revisions=changes,
        visible=visible.count(),
        subjects=sorted({row.subject for row in spread if row.subject.startswith("subject ")})[:200],
        rare_tags=sorted(set(tags.values_list("tag", flat=True)[:200]))[:50],
        ids=pick.sample([row.pk for row in spread], min(len(spread), 200)),
        texts=[{"content": row.content, "subject": row.subject} for row in pick.sample(own, min(len(own), 200))],
        digest=digest,
    )
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return replace(store, bytes=path.stat().st_size)


def measure(bench: Bench) -> None:
    """Add a row for each size: how fast the store was filled and how large it is, beside copying the file."""
    for size in sorted(bench.sizes):
        store = bench.store(size)
        started = time.perf_counter()
        copy = copy_of(store.path, bench.scratch)
        copied_in = time.perf_counter() - started
        copy.unlink()
        megabytes = store.bytes / 1e6
        bench.add(
            Row(
                part="store",
                memories=size,
                case="fill",
                figures={
                    "rows/s": round(size / store.built_in),
                    "seconds": store.built_in,
                    "MB": megabytes,
                    "bytes/memory": round(store.bytes / size),
                    "tag rows": store.tag_rows,
                    "revisions": store.revisions,
                    "visible": store.visible,
                },
                limit=Limit("copying the file", megabytes / copied_in, "MB/s"),
                ratio=copied_in / store.built_in,
            )
        )
