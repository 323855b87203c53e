"""Copies of the store: made while it is in use, checked before they count, and put back."""

from __future__ import annotations

import glob
import os
import shutil
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from tqdm import tqdm

from memoryweb.sqlite import snapshots
from memoryweb.sqlite.snapshots import SIDE_FILES, Contents, Progress, beside

BACKUPS_KEPT = 5
"""Copies made before migrations that are kept."""
COUNTED = {
    "memories_memory": "memories",
    "memories_revision": "revisions",
    "memories_session": "sessions",
    "memories_message": "messages",
    "memories_auditentry": "audit entries",
}
"""Tables whose rows are counted in a copy, and what they are called."""
FILES = ("", *SIDE_FILES)
"""The ends of the names of a store's files."""
STAMP = "%Y%m%dT%H%M%S.%fZ"


class BackupError(CommandError):
    """The copy was not made or not put back, and the store is as it was. Commands show the sentence alone."""


@dataclass(frozen=True)
class Restored:
    """What the new store holds, and the file that the old one is kept in (None where there was none)."""

    contents: Contents
    kept: Path | None


def store_path() -> Path:
    """Return the file of the store. Raises BackupError where the database is no file of SQLite."""
    if connection.vendor != "sqlite":
        raise BackupError(
            f"the store is in {connection.display_name}, which brings its own tools: pg_dump makes a backup, "
            "pg_restore puts it back"
        )
    return Path(connection.settings_dict["NAME"])


def back_up(
    target: Path, *, overwrite: bool = False, quick: bool = False, progress: Progress | None = None
) -> Contents:
    """Return what the backup holds that was written to ``target``: the store as it is now, also while it is written to.

    It is flushed and checked before it takes its name, so that nothing unfinished ever has it. ``quick`` checks the
    structure alone.
    """
    store = store_path()
    if not _has_content(store):
        raise BackupError(f"there is no store at {store}: nothing to back up")
    if not target.parent.is_dir():
        raise BackupError(f"there is no directory {target.parent}")
    if target.is_dir():
        raise BackupError(f"{target} is a directory: name a file in it")
    if any(_is_same(target, beside(store, end)) for end in FILES):
        raise BackupError(f"{target} is the store itself: name another file")
    if target.exists() and not overwrite:
        raise BackupError(f"{target} exists: choose another name, or use --force to replace it")
    with _clear_errors(store, target.parent), _copy_beside(target, store, live=True, progress=progress) as copy:
        contents = _sound_contents(copy, "the copy is damaged, and so most likely the store", quick=quick)
        os.replace(copy, target)
        snapshots.flush(target.parent)
    return contents


def put_back(source: Path, *, replace: bool = False, progress: Progress | None = None) -> Restored:
    """Return what became of putting a backup in the store's place. The old store is kept beside it under another name.

    Everything is checked before anything is touched, and one rename decides: a kill at any point leaves the old store
    or the new one. Raises BackupError while any process has the store open.
    """
    store = store_path()
    if not source.is_file():
        raise BackupError(f"there is no file {source}")
    if _is_same(source, store):
        raise BackupError(f"{source} is the store itself: name a backup of it")
    if _has_content(store) and not replace:
        raise BackupError(f"there is a store at {store}: use --force to replace it; it is kept under another name")
    with _clear_errors(source, store.parent):
        if not snapshots.is_database(source):
            raise BackupError(f"{source} is no memoryweb backup: it is no SQLite database")
        connections.close_all()
        with _refused_in_use(store), snapshots.kept_closed(store):
            pass
        store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_leftovers(store)
        with _copy_beside(store, source, live=False, progress=progress) as copy:
            contents = _sound_contents(copy, f"{source} is damaged")
            _check_origin(source, contents)
            _take_owner(copy, store if store.exists() else store.parent)
            return Restored(contents, _swap(copy, store))


def backup_before_migration() -> Path | None:
    """Return the copy made of a store that is about to be migrated, None where there is nothing to save or to migrate.

    It goes to ``DATA_DIR/backups``, where the last BACKUPS_KEPT of them stay. Raises BackupError; do not migrate then.
    """
    if connection.vendor != "sqlite" or not _has_content(store_path()):
        return None
    executor = MigrationExecutor(connection)
    if not executor.loader.applied_migrations or not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return None
    directory = Path(settings.DATA_DIR) / "backups"
    directory.mkdir(mode=0o700, exist_ok=True)
    target = directory / f"before-migration-{datetime.now(UTC):{STAMP}}.sqlite3"
    back_up(target, quick=True)
    for old in sorted(directory.glob("before-migration-*.sqlite3"))[:-BACKUPS_KEPT]:
        old.unlink()
    return target


def unknown_migrations(applied: Collection[tuple[str, str]]) -> list[str]:
    """Return the migrations of our own apps among those applied that this version does not have, as ``app.name``."""
    on_disk = MigrationLoader(None, ignore_no_migrations=True).disk_migrations or {}
    known = set(on_disk) | {replaced for migration in on_disk.values() for replaced in migration.replaces}
    ours = {app.label for app in apps.get_app_configs() if Path(app.path).is_relative_to(settings.BASE_DIR)}
    return sorted(f"{app}.{name}" for app, name in set(applied) - known if app in ours)


@contextmanager
def progress_bar(description: str) -> Iterator[Progress]:
    """Give what shows the progress of a copy on a terminal, and nowhere else."""
    with tqdm(desc=description, unit=" pages", unit_scale=True, leave=False, disable=None) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)
            if done == total:
                bar.set_description("Checking")

        yield show


def summary(contents: Contents) -> list[str]:
    """Return what a copy holds, a line for each kind of row, and a line where its search indexes are damaged."""
    lines = [f"{label}: {contents.rows[table]:,}" for table, label in COUNTED.items() if table in contents.rows]
    if contents.index_damage:
        lines.append(f"a search index is damaged and will be built again: {contents.index_damage[0]}")
    return lines


def megabytes(size: int) -> str:
    """Return a number of bytes as people read it."""
    return f"{size / 1_000_000:,.1f} MB"


def _check_origin(source: Path, contents: Contents) -> None:
    if not {"django_migrations", "memories_memory"} <= contents.tables:
        raise BackupError(f"{source} is no memoryweb backup: it is the database of something else")
    unknown = unknown_migrations(contents.migrations)
    if unknown:
        raise BackupError(
            f"{source} was made by a newer memoryweb (it has {', '.join(unknown)}): install that version and try again"
        )


def _sound_contents(copy: Path, damaged: str, *, quick: bool = False) -> Contents:
    contents = snapshots.inspect(copy, count=tuple(COUNTED), quick=quick)
    if contents.damage:
        more = f" (and {len(contents.damage) - 1} more)" if len(contents.damage) > 1 else ""
        raise BackupError(f"{damaged}: {contents.damage[0]}{more}")
    return contents


@contextmanager
def _clear_errors(source: Path, directory: Path) -> Iterator[None]:
    """Say what could not be done in place of SQLite's and the system's errors."""
    try:
        yield
    except sqlite3.Error as error:
        if type(error) is sqlite3.DatabaseError:  # its subclasses are about the attempt, this one is about the file
            raise BackupError(f"{source} is damaged: {error}") from error
        raise BackupError(f"could not copy {source} to {directory}: {error}") from error
    except OSError as error:
        raise BackupError(f"could not write to {directory}: {error}") from error


@contextmanager
def _copy_beside(place: Path, source: Path, *, live: bool, progress: Progress | None) -> Iterator[Path]:
    """Give a copy of the source in the directory of ``place``, removed at the end unless it was renamed."""
    needed, free = snapshots.size_of(source), shutil.disk_usage(place.parent).free
    if free < needed:
        raise BackupError(
            f"not enough room in {place.parent}: the copy takes {megabytes(needed)}, {megabytes(free)} are free"
        )
    copy = beside(place, f".unfinished-{os.getpid()}")
    try:
        snapshots.copy(source, copy, live=live, progress=progress)
        yield copy
    finally:
        for end in FILES:
            beside(copy, end).unlink(missing_ok=True)


@contextmanager
def _refused_in_use(store: Path) -> Iterator[None]:
    try:
        yield
    except snapshots.InUse:
        raise BackupError(
            f"the store at {store} is in use: stop memoryweb (web server and worker) and whatever else has it open"
        ) from None


def _swap(copy: Path, store: Path) -> Path | None:
    """Return the name that the old store is kept under, after the copy has taken its place."""
    kept = beside(store, f".before-restore-{datetime.now(UTC):{STAMP}}")
    had_store = store.exists()
    with _refused_in_use(store):
        # One at a time: where a process holds locks on a file, closing the file anywhere in it gives them all up.
        with snapshots.kept_closed(store):
            pass
        _fold_log(store)
        with snapshots.kept_closed(store):
            found = [end for end in FILES if beside(store, end).exists()]
            for end in found:
                _give_second_name(beside(store, end), beside(kept, end))
            snapshots.flush(store.parent)
            # One store's log must never meet another store. It was folded in, or nothing can read this one.
            for end in SIDE_FILES:
                beside(store, end).unlink(missing_ok=True)
            os.replace(copy, store)
            snapshots.flush(store.parent)
    return kept if had_store else None


def _fold_log(store: Path) -> None:
    if not store.exists() or not snapshots.is_database(store):
        return
    try:
        snapshots.fold_log(store)
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:
            raise
        # The store is damaged, which is a good reason to put a backup in its place. It is kept with its log beside it.


def _give_second_name(path: Path, name: Path) -> None:
    try:
        os.link(path, name)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        shutil.copy2(path, name)
        snapshots.flush(name)


def _remove_leftovers(store: Path) -> None:
    """Remove what a killed restore left: its copy, and second names of a store that then stayed in its place."""
    for path in store.parent.glob(f"{glob.escape(store.name)}.unfinished-*"):
        path.unlink()
    for path in store.parent.glob(f"{glob.escape(store.name)}.before-restore-*"):
        if _is_same(path, store):
            for end in FILES:
                beside(path, end).unlink(missing_ok=True)


def _take_owner(copy: Path, like: Path) -> None:
    """Give the copy the owner of what it replaces: put back by root, it must stay the server's own."""
    wanted = like.stat()
    if os.geteuid() == 0:
        os.chown(copy, wanted.st_uid, wanted.st_gid)


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _is_same(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)
