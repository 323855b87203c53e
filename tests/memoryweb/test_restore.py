"""The command restore: a checked backup in the store's place, and the old store kept."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.utils import timezone

from memories.models import AuditEntry, Memory
from memories.remember import remember
from memories.schemas import MemoryIn
from memoryweb.backups import put_back
from memoryweb.sqlite import snapshots
from tests.stores import ROOT, ask, default_store, make_store, make_token, tell


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any) -> Path:
    with django_db_blocker.unblock():
        return make_store(tmp_path_factory.mktemp("template"))


@pytest.fixture
def data(template: Path, tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    directory.mkdir()
    return directory


@pytest.fixture
def store(template: Path, data: Path, django_db_blocker: Any) -> Iterator[Path]:
    """A store with the memory "of today" that is Django's default database, closed."""
    path = data / template.name
    shutil.copy(template, path)
    with django_db_blocker.unblock(), default_store(path):
        write_down("of today")
        connections.close_all()
        yield path


@pytest.fixture
def saved(template: Path, tmp_path: Path, django_db_blocker: Any) -> Path:
    """A backup with the memory "of last week"."""
    (tmp_path / "old").mkdir()
    file = tmp_path / "backup.sqlite3"
    with django_db_blocker.unblock(), default_store(Path(shutil.copy(template, tmp_path / "old"))):
        write_down("of last week")
        call_command("backup", str(file), stdout=StringIO())
    return file


def write_down(text: str) -> None:
    principal, _ = make_token()
    remember(principal, MemoryIn(content=text), now=timezone.now())


def restore(*arguments: Any) -> str:
    out = StringIO()
    call_command("restore", *[str(argument) for argument in arguments], stdout=out, stderr=out)
    connections.close_all()
    return out.getvalue()


def texts(path: Path) -> list[str]:
    return [row[0] for row in ask(path, "SELECT content FROM memories_memory ORDER BY id")]


def kept(data: Path) -> list[Path]:
    return [path for path in sorted(data.iterdir()) if ".before-restore-" in path.name]


def test_the_backup_becomes_the_store_and_the_old_one_is_kept(store: Path, data: Path, saved: Path) -> None:
    printed = restore(saved, "--force")

    assert texts(store) == ["of last week"]
    assert "memories: 1\n" in printed
    (old,) = kept(data)
    assert texts(old) == ["of today"]
    assert f"the store that was there is kept as {old}" in printed
    assert store.stat().st_mode & 0o777 == 0o600
    assert texts(saved) == ["of last week"]


def test_the_restored_store_works_and_its_audit_log_tells(store: Path, saved: Path) -> None:
    restore(saved, "--force")

    write_down("afterwards")
    assert sorted(Memory.objects.values_list("content", flat=True)) == ["afterwards", "of last week"]
    entry = AuditEntry.objects.get(verb="store.restore")
    assert (entry.actor, entry.result) == ("command restore", f"file={saved.name}")
    call_command("verify_audit", stdout=StringIO())
    assert connection.cursor().execute("PRAGMA auto_vacuum").fetchone() == (2,)
    assert connection.cursor().execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_it_needs_no_force_where_there_is_no_store(store: Path, data: Path, saved: Path) -> None:
    store.unlink()

    assert "kept" not in restore(saved)
    assert texts(store) == ["of last week"]
    assert kept(data) == []


def test_it_replaces_a_store_only_by_force(store: Path, saved: Path) -> None:
    with pytest.raises(CommandError, match=r"there is a store at .*: use --force"):
        restore(saved)
    assert texts(store) == ["of today"]


def test_what_the_old_store_had_in_its_log_alone_is_kept(store: Path, data: Path, saved: Path) -> None:
    leave_in_log(store, "in the log alone")
    assert Path(f"{store}-wal").stat().st_size > 0

    restore(saved, "--force")

    assert texts(store) == ["of last week"]
    (old,) = kept(data)
    assert texts(old) == ["of today", "in the log alone"]


def leave_in_log(store: Path, text: str) -> None:
    """Write a memory and end without closing, as a killed server does."""
    child = os.fork()
    if child == 0:
        write_down(text)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def test_the_log_of_a_store_that_is_gone_never_meets_the_new_one(store: Path, data: Path, saved: Path) -> None:
    leave_in_log(store, "in the log alone")
    store.unlink()

    restore(saved)

    assert texts(store) == ["of last week"]
    assert ask(store, "PRAGMA integrity_check") == [("ok",)]
    assert any(path.name.endswith("-wal") for path in kept(data))


@pytest.mark.parametrize("damage", ["header", "truncated", "page"])
def test_a_damaged_store_can_be_replaced_and_is_kept_with_its_log(
    store: Path, data: Path, saved: Path, damage: str
) -> None:
    leave_in_log(store, "in the log alone")
    log = Path(f"{store}-wal").read_bytes()
    ruin(store, damage)
    ruined = store.read_bytes()

    restore(saved, "--force")

    assert texts(store) == ["of last week"]
    old = next(path for path in kept(data) if not path.name.endswith(("-wal", "-shm")))
    if damage == "header":
        assert old.read_bytes() == ruined
        assert Path(f"{old}-wal").read_bytes() == log


def ruin(path: Path, damage: str) -> None:
    if damage == "truncated":
        os.truncate(path, path.stat().st_size // 2)
        return
    table = {"header": 1, "page": None}[damage]
    page = table or ask(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'memories_memory'")[0][0]
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)


@pytest.mark.parametrize("damage", ["header", "truncated", "page"])
def test_it_refuses_a_damaged_backup_before_touching_anything(
    store: Path, data: Path, saved: Path, damage: str
) -> None:
    ruin(saved, damage)
    before = store.read_bytes()

    with pytest.raises(CommandError, match=r"is damaged|is no SQLite database"):
        restore(saved, "--force")

    assert store.read_bytes() == before
    assert [path.name for path in data.iterdir()] == [store.name]


def test_it_refuses_what_is_no_backup_of_memoryweb(store: Path, data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite3"
    tell(other, "CREATE TABLE recipes(id INTEGER PRIMARY KEY)")
    (tmp_path / "notes.txt").write_text("no database at all, but long enough to have a header of a hundred bytes" * 3)
    (tmp_path / "empty").touch()

    for name, sentence in {
        "other.sqlite3": "is the database of something else|it is the database of something else",
        "notes.txt": "it is no SQLite database",
        "empty": "it is no SQLite database",
        "missing.sqlite3": "there is no file",
        ".": "there is no file",
        "data/memoryweb.sqlite3": "is the store itself",
    }.items():
        with pytest.raises(CommandError, match=sentence):
            restore(tmp_path / name, "--force")
    assert texts(store) == ["of today"]
    assert [path.name for path in data.iterdir()] == [store.name]


def test_it_names_what_a_newer_version_put_in_the_backup(store: Path, saved: Path) -> None:
    tell(
        saved,
        "INSERT INTO django_migrations(app, name, applied) VALUES ('memories', '0999_from_tomorrow', '2030')",
    )

    with pytest.raises(CommandError, match=r"made by a newer memoryweb \(it has memories\.0999_from_tomorrow\)"):
        restore(saved, "--force")
    assert texts(store) == ["of today"]


def test_a_backup_of_an_older_version_is_migrated(store: Path, tmp_path: Path) -> None:
    call_command("migrate", "sessions", "zero", verbosity=0)
    call_command("backup", str(tmp_path / "old.sqlite3"), stdout=StringIO())
    assert ask(tmp_path / "old.sqlite3", "SELECT name FROM sqlite_schema WHERE name = 'django_session'") == []

    printed = restore(tmp_path / "old.sqlite3", "--force")

    assert "the backup is of an older version: migrating it" in printed
    assert ask(store, "SELECT name FROM sqlite_schema WHERE name = 'django_session'") == [("django_session",)]


def test_a_copy_of_a_live_store_with_its_log_is_a_backup_too(store: Path, data: Path, tmp_path: Path) -> None:
    leave_in_log(store, "in the log alone")
    (tmp_path / "copied").mkdir()
    for path in list(data.iterdir()):
        shutil.move(path, tmp_path / "copied")

    restore(tmp_path / "copied" / store.name)

    assert texts(store) == ["of today", "in the log alone"]


def test_a_backup_with_a_damaged_search_index_is_taken(store: Path, saved: Path) -> None:
    words = ", ".join(f"('word{number}')" for number in range(3000))
    tell(
        saved,
        "CREATE VIRTUAL TABLE found USING fts5(body)",
        f"INSERT INTO found VALUES {words}",
        "DELETE FROM found_data WHERE id > 10",
    )

    assert "a search index is damaged and will be built again" in restore(saved, "--force")


@contextmanager
def opened_elsewhere(store: Path, statement: str) -> Iterator[None]:
    """Keep the store open in another process, that has run one statement and is idle."""
    program = (
        "import sys, memoryweb, sqlite3; connection = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "connection.execute(sys.argv[2]).fetchall(); print('open', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, store, statement],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield
    finally:
        process.communicate()


@pytest.mark.parametrize("statement", ["SELECT COUNT(*) FROM memories_memory", "BEGIN IMMEDIATE"])
def test_it_refuses_while_another_process_has_the_store_open(
    store: Path, data: Path, saved: Path, statement: str
) -> None:
    with (
        opened_elsewhere(store, statement),
        pytest.raises(CommandError, match=r"the store at .* is in use: stop memoryweb"),
    ):
        restore(saved, "--force")
    assert texts(store) == ["of today"]
    assert kept(data) == []

    restore(saved, "--force")
    assert texts(store) == ["of last week"]


def test_a_damaged_store_that_is_open_is_in_use_too(store: Path, saved: Path) -> None:
    with opened_elsewhere(store, "SELECT COUNT(*) FROM memories_memory"):
        ruin(store, "header")
        with pytest.raises(CommandError, match="is in use"):
            restore(saved, "--force")


def test_whoever_opened_the_old_file_just_before_the_change_cannot_write_to_it(
    store: Path, data: Path, saved: Path
) -> None:
    with closing(sqlite3.connect(store, isolation_level=None)) as late:  # opened, and nothing read yet
        restore(saved, "--force")

        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            late.execute("PRAGMA journal_mode = WAL")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            late.execute("DELETE FROM memories_memory")
    assert texts(store) == ["of last week"]
    assert texts(kept(data)[0]) == ["of today"]


STEPS = ("open", "fsync", "link", "unlink", "replace", "chown", "close")


def test_a_kill_at_any_point_leaves_the_old_store_or_the_new_one(store: Path, data: Path, saved: Path) -> None:
    leave_in_log(store, "in the log alone")
    before = {path: path.read_bytes() for path in data.iterdir()}
    old, new = ["of today", "in the log alone"], ["of last week"]
    found, step, killed = [], 0, True
    while killed:
        for path in data.iterdir():
            path.unlink()
        for path, content in before.items():
            path.write_bytes(content)
        step += 1
        killed = killed_at(step, saved)
        assert store.exists()
        found.append(texts(store))
        assert found[-1] in (old, new)
        assert ask(store, "PRAGMA integrity_check") == [("ok",)]

        restore(saved, "--force")  # the next one clears up and succeeds

        assert texts(store) == new
        assert not list(data.glob("*.unfinished-*"))
        assert all(path.stat().st_nlink == 1 for path in data.iterdir())
    assert found == sorted(found, key=new.__eq__)  # first the old one, and from one step on the new one
    assert found[0] == old
    assert found[-2:] == [new, new]


def killed_at(step: int, saved: Path) -> bool:
    """Return whether a process that puts the backup back was killed at its n-th step on files."""
    connections.close_all()
    child = os.fork()
    if child == 0:
        left = step

        def counted(call: Any) -> Any:
            def run(*args: Any, **kwargs: Any) -> Any:
                nonlocal left
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*args, **kwargs)

            return run

        for name in STEPS:
            setattr(os, name, counted(getattr(os, name)))
        snapshots.fold_log = counted(snapshots.fold_log)
        try:
            put_back(saved, replace=True)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])
