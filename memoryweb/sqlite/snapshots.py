"""Whole database files, below Django: a copy of one in use, what a file holds, whether anybody has it open."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

Progress = Callable[[int, int], None]
"""Told the pages copied so far and the pages in all."""

COPY_PAGES = 2000
"""Pages a step of the copy (8 MB): often enough for a progress bar."""
HEADER = b"SQLite format 3\0"
LOCK_START, LOCK_LENGTH = 0x40000000, 512
"""The bytes on which connections hold their locks, https://sqlite.org/fileformat2.html#the_lock_byte_page."""
SIDE_FILES = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database file, by the end of its name."""


class InUse(Exception):
    """A connection, perhaps of another process, has the database open."""


def beside(path: Path, end: str) -> Path:
    """Return the path with ``end`` added to its name."""
    return path.with_name(path.name + end)


def is_database(path: Path) -> bool:
    """Return whether the file starts as SQLite's files do."""
    with path.open("rb") as file:
        return file.read(len(HEADER)) == HEADER


def size_of(path: Path) -> int:
    """Return the bytes that a database file takes, its write-ahead log included."""
    return sum(part.stat().st_size for part in (path, beside(path, "-wal")) if part.exists())


def copy(source: Path, target: Path, *, live: bool = False, progress: Progress | None = None) -> None:
    """Write the source to a new file as one self-contained database, flushed to the disk.

    A ``live`` source may be written meanwhile, and the copy is the source as it was at the start: one read transaction
    spans all steps. Without it SQLite starts again at every commit of another process and may never end
    (https://sqlite.org/backup.html). Writers do not wait; only the write-ahead log cannot shrink before the copy ends.
    A source that is not live is left exactly as it is. Raises sqlite3.Error and OSError.
    """
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    told = None if progress is None else lambda _, left, total: progress(total - left, total)
    reader = _connect(source, "mode=rw") if live else _connect_to_read(source)
    with closing(reader), closing(_connect(target, "mode=rw")) as writer:
        # Nobody reads the copy before it is whole, so nothing in it will be undone or needs its place on the disk yet.
        writer.execute("PRAGMA journal_mode = OFF")
        writer.execute("PRAGMA synchronous = OFF")
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
        reader.backup(writer, pages=COPY_PAGES, progress=told)
        reader.execute("COMMIT")
    with closing(_connect(target, "mode=rw")) as writer:
        # The copied header says WAL, which wants a second file beside the first.
        writer.execute("PRAGMA journal_mode = DELETE")
    flush(target)


def flush(path: Path) -> None:
    """Write a file, or the names in a directory, through to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Contents:
    """What a database file holds."""

    tables: frozenset[str]
    migrations: frozenset[tuple[str, str]]
    """App and name of each migration that was applied to it."""
    rows: dict[str, int]
    """Number of rows by table, of the tables asked for that it has."""
    damage: list[str] = field(default_factory=list)
    """What is wrong with what it keeps; empty if sound."""
    index_damage: list[str] = field(default_factory=list)
    """What is wrong with full-text indexes alone, which can be built again from the rows."""


def inspect(path: Path, *, count: Sequence[str] = (), quick: bool = False) -> Contents:
    """Return what the file holds and whether it is sound, leaving it as it is.

    ``quick`` leaves out comparing each index with its table. Raises sqlite3.Error where it is no database.
    """
    with closing(_connect_to_read(path)) as connection:
        kinds: dict[str, str] = dict(
            connection.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'")
        )
        tables = frozenset(name for name, kind in kinds.items() if kind == "table")
        damage, index_damage = _damage(connection, kinds, "quick_check" if quick else "integrity_check")
        if damage:
            return Contents(tables, frozenset(), {}, damage, index_damage)
        migrations = _migrations(connection) if "django_migrations" in tables else frozenset()
        return Contents(
            tables=tables,
            migrations=migrations,
            rows={table: _row_count(connection, table) for table in count if table in tables},
            index_damage=index_damage,
        )


def _damage(connection: sqlite3.Connection, kinds: dict[str, str], check: str) -> tuple[list[str], list[str]]:
    """Return what is wrong with the tables, and what is wrong with full-text indexes alone."""
    found = _complaints(connection, f"PRAGMA {check}")
    if found:
        tables = [name for name, kind in kinds.items() if kind == "table"]
        damaged = [line for table in tables for line in _complaints(connection, f"PRAGMA {check}({_quoted(table)})")]
        only_indexes = "virtual" in kinds.values() and not any("freelist" in line.lower() for line in found)
        if damaged or not only_indexes:
            return damaged or found, []
    orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    return [f"row {rowid} of {table} names a missing row of {parent}" for table, rowid, parent, _ in orphans], found


def _complaints(connection: sqlite3.Connection, check: str) -> list[str]:
    try:
        answers = [str(row[0]) for row in connection.execute(check)]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [] if answers == ["ok"] else [line for answer in answers for line in answer.splitlines()]


def _migrations(connection: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    return frozenset(connection.execute("SELECT app, name FROM django_migrations"))


def _row_count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT COUNT(*) FROM {_quoted(table)}").fetchone()[0])  # noqa: S608  a quoted name


def fold_log(path: Path) -> None:
    """Move the write-ahead log into its database, which is then one file. Raises InUse where anybody has it open.

    A file left like this is safe from late writers: whoever opened it before another file took its name is refused.
    """
    with closing(_connect(path, "mode=rw")) as connection:
        try:
            mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise InUse(path) from error
            raise
    if mode != "delete":
        raise InUse(path)


@contextmanager
def kept_closed(path: Path) -> Iterator[None]:
    """Keep every connection out of the database. Raises InUse where one is open already.

    In WAL mode a connection holds a shared lock from its first read until it is closed, also while it is idle. The
    system is asked and not SQLite, so that a damaged file tells too. Not for a file that this process has open.
    """
    if not path.exists():
        yield
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, LOCK_LENGTH, LOCK_START)
        except (BlockingIOError, PermissionError) as error:
            raise InUse(path) from error
        yield
    finally:
        os.close(descriptor)


def _connect(path: Path, options: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?{options}", uri=True, isolation_level=None, timeout=5)


def _connect_to_read(path: Path) -> sqlite3.Connection:
    # In WAL mode even reading makes files beside it, unless told that nobody writes. Without a log nobody does.
    quiet = _is_wal(path) and not beside(path, "-wal").exists()
    return _connect(path, "mode=ro&immutable=1" if quiet else "mode=ro")


def _is_wal(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(20)[18:20] == b"\x02\x02"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
