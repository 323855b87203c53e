"""The command backup: one sound file, made while the store is in use."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import subprocess
import sys
from collections import namedtuple
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from memories.remember import remember
from memories.schemas import MemoryIn
from memoryweb.backups import BACKUPS_KEPT, backup_before_migration
from tests.stores import ROOT, ask, default_store, environment, make_store, make_token, manage, tell


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any) -> Path:
    with django_db_blocker.unblock():
        return make_store(tmp_path_factory.mktemp("template"))


@pytest.fixture
def store(template: Path, tmp_path: Path, django_db_blocker: Any) -> Iterator[Path]:
    """A store of three memories that is Django's default database."""
    path = tmp_path / "data" / template.name
    path.parent.mkdir()
    shutil.copy(template, path)
    with django_db_blocker.unblock(), default_store(path):
        principal, _ = make_token()
        for text in ("The kettle is blue.", "The lamp is old.", "The door sticks."):
            remember(principal, MemoryIn(content=text), now=timezone.now())
        yield path


def backup(*arguments: Any, **options: Any) -> str:
    out = StringIO()
    call_command("backup", *[str(argument) for argument in arguments], stdout=out, stderr=out, **options)
    return out.getvalue()


def test_the_backup_is_one_sound_private_file_with_every_row(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "backup.sqlite3"

    printed = backup(file)

    assert printed.startswith("memories: 3\nrevisions: 3\nsessions: 0\nmessages: 0\naudit entries: 1\n")
    assert f"backup written to {file}" in printed
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.sqlite3", "data"]
    with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert copy.execute("SELECT COUNT(*) FROM memories_memory").fetchone() == (3,)


def test_what_is_in_the_write_ahead_log_alone_is_in_the_backup(store: Path, tmp_path: Path) -> None:
    assert Path(f"{store}-wal").stat().st_size > 0

    backup(tmp_path / "backup.sqlite3")

    assert ("The door sticks.",) in ask(tmp_path / "backup.sqlite3", "SELECT content FROM memories_memory")


def test_the_secret_key_is_not_in_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert manage(data, "migrate", "-v0", SECRET_KEY="").returncode == 0
    key = (data / "secret-key").read_bytes()

    done = manage(data, "backup", str(tmp_path / "backup.sqlite3"), SECRET_KEY="")

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no progress bar where there is no terminal
    assert len(key) > 40
    assert key not in (tmp_path / "backup.sqlite3").read_bytes()


def test_it_replaces_a_file_only_by_force(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "backup.sqlite3"
    file.write_text("last week's")

    with pytest.raises(CommandError, match=r"exists: .* --force"):
        backup(file)
    assert file.read_text() == "last week's"

    backup(file, "--force")
    assert ask(file, "SELECT COUNT(*) FROM memories_memory") == [(3,)]


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("nowhere/backup.sqlite3", "there is no directory"),
        (".", "is a directory"),
        ("data/memoryweb.sqlite3", "is the store itself"),
        ("data/memoryweb.sqlite3-wal", "is the store itself"),
    ],
)
def test_it_refuses_a_place_where_no_backup_can_be(store: Path, tmp_path: Path, place: str, sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        backup(tmp_path / place, "--force")

    assert ask(store, "SELECT COUNT(*) FROM memories_memory") == [(3,)]


def test_a_link_to_the_store_is_the_store(store: Path, tmp_path: Path) -> None:
    (tmp_path / "link.sqlite3").symlink_to(store)

    with pytest.raises(CommandError, match="is the store itself"):
        backup(tmp_path / "link.sqlite3", "--force")


def test_it_says_that_there_is_no_store_yet(tmp_path: Path) -> None:
    done = manage(tmp_path / "data", "backup", str(tmp_path / "backup.sqlite3"))

    assert done.returncode == 1
    assert "there is no store at" in done.stderr
    assert not (tmp_path / "data" / "memoryweb.sqlite3").exists()


def test_it_names_the_tool_where_the_store_is_not_sqlite(store: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(connection, "vendor", "postgresql")

    with pytest.raises(CommandError, match="pg_dump"):
        backup(tmp_path / "backup.sqlite3")


def test_it_says_how_much_room_is_missing(store: Path, tmp_path: Path, monkeypatch: Any) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 1000, 1000))

    with pytest.raises(CommandError, match=r"not enough room in .*: the copy takes \d\.\d MB, 0\.0 MB are free"):
        backup(tmp_path / "backup.sqlite3")


def test_a_copy_that_cannot_be_written_leaves_nothing(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "backup.sqlite3"
    file.write_text("last week's")

    done = subprocess.run(
        [sys.executable, "manage.py", "backup", str(file), "--force"],
        cwd=ROOT,
        env=environment(store.parent),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
    )

    assert done.returncode == 1
    assert f"could not copy {store} to {tmp_path}: " in done.stderr
    assert "Traceback" not in done.stderr
    assert file.read_text() == "last week's"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.sqlite3", "data"]


def test_a_damaged_store_makes_no_backup(store: Path, tmp_path: Path) -> None:
    connection.close()
    (root,) = ask(store, "SELECT rootpage FROM sqlite_schema WHERE name = 'memories_revision'")[0]
    with store.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)

    with pytest.raises(CommandError, match="the copy is damaged, and so most likely the store"):
        backup(tmp_path / "backup.sqlite3")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_a_row_that_refers_to_nothing_is_damage(store: Path, tmp_path: Path) -> None:
    tell(store, "PRAGMA foreign_keys = OFF", "DELETE FROM memories_memory WHERE id = 2")

    with pytest.raises(CommandError, match="names a missing row of memories_memory"):
        backup(tmp_path / "backup.sqlite3")


def test_a_damaged_search_index_is_told_and_no_reason_to_have_no_backup(store: Path, tmp_path: Path) -> None:
    words = ", ".join(f"('word{number}')" for number in range(3000))
    tell(
        store,
        "CREATE VIRTUAL TABLE found USING fts5(body)",
        f"INSERT INTO found VALUES {words}",
        "DELETE FROM found_data WHERE id > 10",
    )

    printed = backup(tmp_path / "backup.sqlite3")

    assert "a search index is damaged and will be built again: " in printed
    assert "memories: 3\n" in printed
    assert (tmp_path / "backup.sqlite3").exists()


WRITE_ON = """
import sys, memoryweb, sqlite3
writer = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
while True:
    writer.execute("INSERT INTO written(text) VALUES (hex(randomblob(300)))")
"""


def test_it_ends_while_other_processes_write_and_holds_what_was_there_at_the_start(store: Path, tmp_path: Path) -> None:
    tell(store, "CREATE TABLE written(id INTEGER PRIMARY KEY, text TEXT)")
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)"
    tell(store, f"{numbers} INSERT INTO written(text) SELECT hex(randomblob(2000)) FROM n")
    there = ask(store, "SELECT MAX(id) FROM written")[0][0]
    writers = [subprocess.Popen([sys.executable, "-c", WRITE_ON, store], cwd=ROOT) for _ in range(2)]
    try:
        while ask(store, "SELECT MAX(id) FROM written")[0][0] < there + 20:
            assert all(writer.poll() is None for writer in writers)
        for number in range(3):
            before = ask(store, "SELECT MAX(id) FROM written")[0][0]
            backup(tmp_path / f"{number}.sqlite3")
            after = ask(store, "SELECT MAX(id) FROM written")[0][0]
            ids = [row[0] for row in ask(tmp_path / f"{number}.sqlite3", "SELECT id FROM written ORDER BY id")]
            assert before <= len(ids) < after
            assert ids == list(range(1, len(ids) + 1))
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()


def test_a_migration_is_preceded_by_a_copy(store: Path) -> None:
    data = store.parent
    with override_settings(DATA_DIR=data):
        assert backup_before_migration() is None

        call_command("migrate", "sessions", "zero", verbosity=0)
        file = backup_before_migration()

    assert file is not None
    assert file.parent == data / "backups"
    assert file.name.startswith(f"before-migration-{datetime.now(UTC):%Y%m}")
    assert ask(file, "SELECT COUNT(*) FROM memories_memory") == [(3,)]
    assert (data / "backups").stat().st_mode & 0o777 == 0o700


def test_the_last_copies_before_migrations_are_kept(store: Path) -> None:
    call_command("migrate", "sessions", "zero", verbosity=0)
    kept = store.parent / "backups"
    kept.mkdir()
    (kept / "my-own.sqlite3").write_text("kept")
    with override_settings(DATA_DIR=store.parent):
        made = [backup_before_migration() for _ in range(BACKUPS_KEPT + 2)]

    assert sorted(kept.iterdir()) == sorted([*made[-BACKUPS_KEPT:], kept / "my-own.sqlite3"])


def test_nothing_is_copied_before_the_first_migration(tmp_path: Path, django_db_blocker: Any) -> None:
    with (
        django_db_blocker.unblock(),
        default_store(tmp_path / "memoryweb.sqlite3") as path,
        override_settings(DATA_DIR=tmp_path),
    ):
        assert backup_before_migration() is None
        assert not path.exists()
        connection.ensure_connection()
        assert backup_before_migration() is None
    assert not (tmp_path / "backups").exists()
