"""The command import_memories: once and never twice, whatever happens in between."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from memories import remember
from memories.importers.base import SHOWN, Report
from memories.importers.loading import CHUNK_ITEMS
from memories.models import ActiveCount, Agent, AuditEntry, ImportedItem, Memory, MemoryTag, Revision, Workspace
from memoryweb import SQLITE_MODULE
from tests.memories.importers.files import NOW, entity, load, relation, target, write_lines
from tests.memories.importers.stores import principal_of

sqlite3: Any = __import__(SQLITE_MODULE, fromlist=["connect"])
MANAGE = [sys.executable, str(Path(__file__).parents[2] / "manage.py")]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """Return a file with three observations and a relation."""
    return write_lines(
        tmp_path / "memory.jsonl",
        entity("Ilse", "Plays the viola", "Lives by the river"),
        entity("Tomas", "喜欢下棋"),
        relation("Ilse", "is_married_to", "Tomas"),
    )


def run(path: Path, **options: Any) -> str:
    """Return what the command prints."""
    out = io.StringIO()
    call_command("import_memories", str(path), stdout=out, **options)
    return out.getvalue()


def rows(text: str) -> dict[str, int]:
    """Return the counts of the printed report."""
    table = text.split("\nSkipped:")[0].split("\nTo know:")[0]
    pairs = (line.rsplit(None, 1) for line in table.splitlines()[1:])
    return {name.strip(): int(count.replace(",", "")) for name, count in pairs}


def written() -> dict[str, int]:
    """Return how many rows each table has that an import writes to."""
    models = (Workspace, Agent, Memory, MemoryTag, Revision, ImportedItem, ActiveCount, AuditEntry)
    return {model.__name__: model.objects.count() for model in models}


def test_it_reports_and_writes_where_it_says(db: None, graph: Path) -> None:
    text = run(graph)

    assert text.startswith("Format: JSON Lines of the MCP memory server")
    assert rows(text) == {
        "lines": 3,
        "entities": 2,
        "observations": 3,
        "relations": 1,
        "memories created": 4,
        "memories already there": 0,
        "skipped": 0,
    }
    assert set(Memory.objects.values_list("workspace__name", "agent__name", "scope")) == {
        ("default", "imported", "agent")
    }


def test_options_choose_the_place(db: None, graph: Path) -> None:
    run(graph, workspace=" office ", agent="curator", scope="shared")

    assert set(Memory.objects.values_list("workspace__name", "agent__name", "partition")) == {
        ("office", "curator", "shared")
    }


def test_importing_again_adds_nothing(db: None, graph: Path) -> None:
    run(graph)
    before = list(Memory.objects.order_by("pk").values())

    assert rows(run(graph))["memories already there"] == 4

    assert list(Memory.objects.order_by("pk").values()) == before
    assert Revision.objects.count() == ImportedItem.objects.count() == 4


def test_a_file_that_grew_adds_what_is_new(db: None, graph: Path, tmp_path: Path) -> None:
    run(graph)
    grown = write_lines(
        tmp_path / "grown.jsonl",
        entity("Ilse", "Plays the viola", "Teaches children", "Lives by the river", updatedAt=1768313916),
        entity("Tomas", "喜欢下棋"),
        entity("Cat"),
        relation("Ilse", "is_married_to", "Tomas"),
        relation("Cat", "belongs_to", "Tomas"),
    )

    report = rows(run(grown))

    assert (report["memories created"], report["memories already there"]) == (3, 4)
    assert list(Memory.objects.order_by("pk").values_list("content", flat=True)[4:]) == [
        "Teaches children",
        "Cat (person)",
        "Cat belongs to Tomas",
    ]


def test_what_was_forgotten_revised_merged_or_erased_does_not_come_back(db: None, graph: Path) -> None:
    run(graph)
    viola, river, chess, married = Memory.objects.order_by("pk")
    me = principal_of(viola.agent)
    remember.forget(me, viola.pk, now=NOW)
    remember.revise(me, river.pk, {"content": "Lives in town", "subject": "someone", "scope": "shared"}, now=NOW)
    remember.erase(principal_of(viola.agent, role="admin"), chess.pk, reason="asked for", now=NOW)
    before = list(Memory.objects.order_by("pk").values())

    report = rows(run(graph))

    assert (report["memories created"], report["memories already there"]) == (0, 4)
    assert list(Memory.objects.order_by("pk").values()) == before
    assert married.status == "active"


def test_each_agent_scope_and_workspace_has_its_own_imports(db: None, graph: Path) -> None:
    for options in ({}, {"agent": "other"}, {"scope": "shared"}, {"workspace": "office"}):
        assert rows(run(graph, **options))["memories created"] == 4


def test_a_dry_run_writes_nothing_and_reports_the_same(db: None, tmp_path: Path) -> None:
    many = [entity(f"Shelf {number}", "dusty", "dusty", "full") for number in range(CHUNK_ITEMS)]
    path = write_lines(tmp_path / "x", *many, b"{broken", *many[:50], entity("Shelf 0", 7))
    before = written()

    dry = run(path, dry_run=True)

    assert written() == before
    wet = run(path)
    assert dry.replace("would be created", "created         ") == wet
    assert rows(wet) | {"lines": 0} == {
        "lines": 0,
        "entities": CHUNK_ITEMS + 51,
        "observations": 3 * CHUNK_ITEMS + 151,
        "memories created": 2 * CHUNK_ITEMS,
        "memories already there": CHUNK_ITEMS + 150,
        "skipped": 2,
    }
    assert rows(run(path, dry_run=True))["memories already there"] == 3 * CHUNK_ITEMS + 150


def test_a_dry_run_of_our_own_format_sees_keys_and_texts_of_the_file_itself(db: None, tmp_path: Path) -> None:
    lines = [
        {"content": "red", "key": "door"},
        *({"content": f"n{number}"} for number in range(2 * CHUNK_ITEMS)),
        {"content": "blue", "key": "door"},
        {"content": "n3", "created_at": "2026-01-01T00:00:00Z"},
        {"origin": "5.5", "content": "n4"},
        {"origin": "5.5", "content": "n4"},
    ]
    path = write_lines(tmp_path / "x", {"format": "memoryweb", "version": 1}, *lines)

    dry, wet = run(path, dry_run=True), run(path)

    assert dry.replace("would be created", "created         ") == wet
    assert rows(wet)["memories created"] == 2 * CHUNK_ITEMS + 3
    assert rows(wet)["memories already there"] == 2
    assert "created without its key, which another memory holds" in wet


def test_the_counts_add_up_and_name_lines(db: None, tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "x", *[b"{broken"] * 30, entity("Cat", "is grey", "", 5), b"", relation("a", "b", " ")
    )

    text = run(path)

    assert "30  invalid JSON (line 1, 2, 3, 4, 5," in text
    assert f"{SHOWN}, ...)" in text
    assert f" {SHOWN + 1}," not in text
    assert "1  an observation is blank (line 31)" in text
    assert "line 1: invalid JSON: Expecting property name enclosed in double quotes at character 2" in text
    counts = rows(text)
    assert counts["lines"] == 33
    assert counts["blank lines"] == 1
    assert counts["skipped"] == 30 + 2 + 1
    assert counts["observations"] + counts["relations"] + 30 == counts["memories created"] + counts["skipped"]


def test_nothing_readable_is_a_failure(db: None, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x", entity("Cat", "", 5))

    with pytest.raises(CommandError, match="nothing could be read"):
        run(path)
    assert not Memory.objects.exists()
    assert not Agent.objects.exists()


def test_an_empty_export_is_none(db: None, tmp_path: Path) -> None:
    assert rows(run(write_lines(tmp_path / "x", {"format": "memoryweb", "version": 1, "memories": 0})))["skipped"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"agent": " "}, "--agent: "), ({"workspace": "a\nb"}, "--workspace: "), ({"agent": "x" * 201}, "--agent: ")],
)
def test_names_that_cannot_be_are_refused(db: None, graph: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run(graph, **options)
    assert not Workspace.objects.exists()


def test_a_missing_or_unknown_file_is_refused(db: None, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no file"):
        run(tmp_path / "none.jsonl")
    (tmp_path / "notes.txt").write_text("Dear diary")
    with pytest.raises(CommandError, match=r"none of its first lines is JSON\. Allowed are:\n  - memoryweb's own"):
        run(tmp_path / "notes.txt")
    (tmp_path / "newer.jsonl").write_text('{"format": "memoryweb", "version": 2}\n')
    with pytest.raises(CommandError, match="version 2 of memoryweb's format and this program reads versions up to 1"):
        run(tmp_path / "newer.jsonl")


def test_the_audit_log_has_counts_and_no_text(db: None, graph: Path) -> None:
    run(graph)

    entry = AuditEntry.objects.get(verb="memory.import")
    assert entry.actor == "command import_memories"
    assert entry.workspace == Workspace.objects.get()
    assert entry.counts == {"lines": 3, "created": 4, "present": 0, "skipped": 0, "notes": 0}
    assert entry.result == "format=mcp_memory interrupted=false lines=3 created=4 present=0 skipped=0 notes=0"
    run(graph, dry_run=True)
    assert AuditEntry.objects.filter(verb="memory.import").count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_imports_at_once_bring_each_memory_once(tmp_path: Path) -> None:
    from django.db import connections

    path = write_lines(tmp_path / "x", *(entity(f"n{number}", "x", "y") for number in range(CHUNK_ITEMS)))
    reports: list[Report] = []

    def work() -> None:
        try:
            reports.append(load(path))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert Memory.objects.count() == ImportedItem.objects.count() == 2 * CHUNK_ITEMS
    assert sum(report.created for report in reports) == 2 * CHUNK_ITEMS
    assert sum(report.present for report in reports) == 2 * CHUNK_ITEMS
    assert target().agent == Agent.objects.get().name


def a_graph(path: Path) -> Path:
    """Return a file of 2,100 memories whose times are all known, so that two runs can be compared."""
    lines: list[Any] = []
    for number in range(350):
        words = [f"Satz {number}.{place} über 第{place}章" for place in range(5)]
        lines.append(entity(f"Thing {number}", *words, createdAt=1700000000 + number))
        lines.append(relation(f"Thing {number}", "leads_to", f"Thing {number + 1}", createdAt=1700000000 + number))
    return write_lines(path, *lines)


def an_export(path: Path) -> Path:
    """Return a file of 2,000 memories in our own format, most of them merged into one further down."""
    lines: list[Any] = [{"format": "memoryweb", "version": 1, "memories": 2000}]
    at = "2026-01-05T07:00:00Z"
    for number in range(1, 2001):
        into = min(2000, number + 700)
        past = {"actor": "agent cook", "at": at}
        lines.append(
            {
                "ref": number,
                "origin": f"{number}.1767596400{number:06}",
                "agent": f"cook {number % 3}",
                "content": f"Satz {number}",
                "tags": [f"t{number % 7}"],
                "status": "active" if into == number else "merged",
                "merged_at": None if into == number else at,
                "merged_into": None if into == number else into,
                "created_at": at,
                "revision": 2,
                "revisions": [
                    {"number": 1, "verb": "remember", "before": {}, "after": {"content": f"Satz {number}"}, **past},
                    {
                        "number": 2,
                        "verb": "merge",
                        "before": {"merged_into": None},
                        "after": {"merged_into": None if into == number else into},
                        **past,
                    },
                ],
            }
        )
    return write_lines(path, *lines)


def dump(store: Path) -> dict[str, list[Any]]:
    """Return all rows that an import writes, as they stand in the database file."""
    connection = sqlite3.connect(store / "memoryweb.sqlite3")
    tables = ("workspace", "agent", "memory", "memorytag", "revision", "importeditem", "activecount")
    # When workspace and agents were made is the one thing that two runs do not share.
    times = {"workspace", "agent"}
    found = {}
    for table in tables:
        names = [row[1] for row in connection.execute(f"PRAGMA table_info(memories_{table})")]
        names = [name for name in names if not (table in times and name == "created_at")]
        found[table] = connection.execute(f"SELECT {', '.join(names)} FROM memories_{table} ORDER BY id").fetchall()
    connection.close()
    return found


def count_items(store: Path) -> int:
    connection = sqlite3.connect(store / "memoryweb.sqlite3")
    (count,) = connection.execute("SELECT count(*) FROM memories_importeditem").fetchone()
    connection.close()
    return int(count)


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a migrated store."""
    store = tmp_path_factory.mktemp("empty")
    subprocess.run([*MANAGE, "migrate", "-v0"], env=environment(store), check=True, timeout=120)
    return store


def environment(store: Path) -> dict[str, str]:
    return os.environ | {"DATA_DIR": str(store), "DJANGO_SETTINGS_MODULE": "memoryweb.settings", "DATABASE_URL": ""}


def output(command: list[str], store: Path) -> bytes:
    """Return what the command writes, run on the store."""
    return subprocess.run(command, env=environment(store), check=True, timeout=120, stdout=subprocess.PIPE).stdout


@pytest.mark.processes
@pytest.mark.parametrize("make", [a_graph, an_export])
def test_killed_at_any_moment_and_run_again_is_as_good_as_one_run(make: Any, empty_store: Path, tmp_path: Path) -> None:
    path = make(tmp_path / "file.jsonl")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for store in (whole, broken):
        shutil.copytree(empty_store, store)
    command = [*MANAGE, "import_memories", str(path)]
    output(command, whole)

    killed = 0
    for aim in (1, 3 * CHUNK_ITEMS, 6 * CHUNK_ITEMS + 1, 2000):
        process = subprocess.Popen(
            command, env=environment(broken), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and count_items(broken) < aim:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        killed += process.wait(timeout=60) == -signal.SIGKILL
    assert killed >= 2
    assert count_items(broken) > 0
    done = output(command, broken)

    assert dump(broken) == dump(whole)
    assert b"skipped                                0" in done
    raw = [output([*MANAGE, "export_memories"], store) for store in (whole, broken)]
    assert raw[0] == raw[1]
    assert json.loads(raw[0].split(b"\n", 1)[0])["memories"] >= 2000


@pytest.mark.processes
def test_from_one_process_to_another_through_a_pipe(empty_store: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for store in (first, second):
        shutil.copytree(empty_store, store)
    path = write_lines(tmp_path / "memory.jsonl", entity("Ilse", "Plays the viola 🎻", "住在河边"))
    subprocess.run(
        [*MANAGE, "import_memories", str(path)], env=environment(first), check=True, timeout=60, capture_output=True
    )
    bare = environment(first) | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    exported = subprocess.run([*MANAGE, "export_memories"], env=bare, check=True, timeout=60, capture_output=True)
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(exported.stdout)

    result = subprocess.run(
        [*MANAGE, "import_memories", str(moved)], env=environment(second), check=True, timeout=60, capture_output=True
    )
    again = subprocess.run(
        [*MANAGE, "export_memories"], env=environment(second), check=True, timeout=60, capture_output=True
    )

    assert again.stdout == exported.stdout
    assert "🎻".encode() in exported.stdout
    assert b"memories created                       2" in result.stdout
    assert b"B/s" not in result.stderr, "a progress bar belongs on a terminal"


@pytest.mark.processes
def test_ctrl_c_keeps_what_is_written_and_says_how_to_go_on(empty_store: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(empty_store, store)
    path = a_graph(tmp_path / "memory.jsonl")
    process = subprocess.Popen(
        [*MANAGE, "import_memories", str(path)],
        env=environment(store),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and count_items(store) < CHUNK_ITEMS:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "interrupted: run it again for the rest" in errors
    assert "Traceback" not in errors
    count = count_items(store)
    assert CHUNK_ITEMS <= count < 2100
    assert rows(out)["memories created"] == count
    connection = sqlite3.connect(store / "memoryweb.sqlite3")
    ((result,),) = connection.execute("SELECT result FROM memories_auditentry").fetchall()
    connection.close()
    assert f"interrupted=true lines={rows(out)['lines']} created={count}" in result
