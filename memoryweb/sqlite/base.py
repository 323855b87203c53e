"""Django's SQLite backend with one fair write lock in front of SQLite's own.

SQLite's busy handler polls: with 60 writers the longest wait is 3 to 4 s. Here the threads of a
process queue first-in first-out for one lock and only its holder asks SQLite, which leaves one
waiter a process. Every transaction takes it (the admin's, sessions' and django-q2's too), and so does a
single writing statement outside a transaction.
"""

import logging
import os
import random
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.db.backends.sqlite3 import base, operations
from django.db.utils import DatabaseError, OperationalError

logger = logging.getLogger("memoryweb.storage")

LOCK_BUDGET = 20.0
"""Seconds a write waits for its turn before it gives up."""
SLOW_WAIT = 1.0
"""Seconds after which a write's wait is logged."""
WRITING_WORDS = frozenset(
    {"INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "REINDEX", "ANALYZE", "VACUUM"}
)
SMALL_FILE = 32 * 1024 * 1024
"""Bytes up to which a database file is written anew in a moment (0.3 s)."""
PAGES_A_STEP = 500


class WriteLockTimeout(OperationalError):
    """The write lock was not free within LOCK_BUDGET seconds. Nothing was written, the data is intact."""


class FifoLock:
    """A lock whose waiters get it in the order they asked."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._waiters: deque[threading.Lock] = deque()

    def acquire(self, *, timeout: float) -> bool:
        """Return whether the lock was got within ``timeout`` seconds."""
        with self._guard:
            if not self._held:
                self._held = True
                return True
            turn = threading.Lock()
            turn.acquire()
            self._waiters.append(turn)
        if turn.acquire(timeout=timeout):
            return True
        with self._guard:
            if turn in self._waiters:
                self._waiters.remove(turn)
                return False
        # release() handed the lock over between our time-out and the guard.
        return True

    def release(self) -> None:
        """Hand the lock to the waiter that has waited longest."""
        with self._guard:
            if self._waiters:
                self._waiters.popleft().release()
            else:
                self._held = False


_locks: dict[str, FifoLock] = {}
_locks_guard = threading.Lock()


def lock_for(database: str) -> FifoLock:
    """Return the process's write lock for one database file."""
    with _locks_guard:
        return _locks.setdefault(database, FifoLock())


def _forget_locks_after_fork() -> None:
    # A child starts with one thread and no transaction: a lock held by another thread would stay held.
    global _locks_guard
    _locks_guard = threading.Lock()
    _locks.clear()


def is_lock_error(error: BaseException) -> bool:
    """Return whether SQLite says that another connection holds the lock."""
    text = str(error)
    return isinstance(error, OperationalError | sqlite3.OperationalError) and (
        "database is locked" in text or "database table is locked" in text
    )


class DatabaseOperations(operations.DatabaseOperations):
    """Django's operations with a quicker way from stored text to a time; a recall reads a hundred of them."""

    def convert_datetimefield_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """Return the moment in UTC, which is what all times are stored in (TIME_ZONE)."""
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def _has_content(database: str) -> bool:
    try:
        return os.path.getsize(database) > 0
    except OSError:
        return False


class DatabaseWrapper(base.DatabaseWrapper):
    """SQLite connections that queue for writing."""

    ops_class = DatabaseOperations

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._write_lock: FifoLock | None = None
        self.execute_wrappers.append(self._lock_single_writes)

    def get_connection_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super().get_connection_params()
        if not self.is_in_memory_db() and not _has_content(self.settings_dict["NAME"]):
            # Part of the file's format and so before its first table: freed pages can be given back in small steps. On
            # a file in use the statement would take the write lock, for each new connection.
            self.init_commands: list[str] = ["PRAGMA auto_vacuum = INCREMENTAL", *self.init_commands]
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection. Setting it up is tried again while another process makes or recovers the file."""
        started = time.monotonic()
        while True:
            try:
                return super().get_new_connection(conn_params)
            except sqlite3.OperationalError as error:
                if not is_lock_error(error) or time.monotonic() - started > LOCK_BUDGET:
                    raise
            time.sleep(random.uniform(0.001, 0.02))  # noqa: S311  apart from other processes, no secret

    def _start_transaction_under_autocommit(self) -> None:
        self._take_write_lock(super()._start_transaction_under_autocommit)  # type: ignore[misc]

    def _commit(self) -> Any:
        try:
            return super()._commit()  # type: ignore[misc]
        finally:
            self._release_unless_in_transaction()

    def _rollback(self) -> Any:
        try:
            return super()._rollback()  # type: ignore[misc]
        finally:
            self._release_unless_in_transaction()

    def _close(self) -> Any:
        try:
            return super()._close()  # type: ignore[misc]
        finally:
            self._release_write_lock()

    def _take_write_lock(self, begin: Callable[[], Any]) -> Any:
        """Queue for the process's lock, then ``begin``, tried again while another process writes."""
        started = time.monotonic()
        lock = lock_for(str(self.settings_dict["NAME"]))
        if not lock.acquire(timeout=LOCK_BUDGET):
            raise self._gave_up(started, "this process")
        self._write_lock = lock
        try:
            # SQLite's own wait grows to 100 ms between two looks, in which a busy process writes dozens of times: 60
            # writers in four processes waited up to 2.3 s. One waiter a process can look every millisecond: 0.8 s.
            self._set_busy_timeout(0)
            while True:
                try:
                    result = begin()
                    break
                except OperationalError as error:
                    if not is_lock_error(error):
                        raise
                    if time.monotonic() - started > LOCK_BUDGET:
                        raise self._gave_up(started, "another process") from error
                time.sleep(random.uniform(0.0005, 0.002))  # noqa: S311  apart from other processes, no secret
        except BaseException:
            self._release_write_lock()
            raise
        finally:
            self._set_busy_timeout(self.settings_dict["OPTIONS"].get("timeout", 5))
        waited = time.monotonic() - started
        if waited > SLOW_WAIT:
            logger.warning("a write waited %.1f s for the database lock", waited)
        return result

    def _set_busy_timeout(self, seconds: float) -> None:
        if self.connection is not None:
            self.connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    def _gave_up(self, started: float, holder: str) -> WriteLockTimeout:
        waited = time.monotonic() - started
        logger.error("a write gave up after %.1f s: %s held the database lock", waited, holder)
        return WriteLockTimeout(
            f"database is locked: {holder} held the write lock for {waited:.0f} s; "
            "nothing was written and the data is intact"
        )

    def _release_write_lock(self) -> None:
        lock, self._write_lock = self._write_lock, None
        if lock is not None:
            lock.release()

    def _release_unless_in_transaction(self) -> None:
        # A COMMIT that failed leaves the transaction open; its ROLLBACK comes next and releases.
        if self.connection is None or not self.connection.in_transaction:
            self._release_write_lock()

    def _lock_single_writes(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        first_word = sql.lstrip()[:10].partition(" ")[0].upper()
        if self._write_lock is not None or self.in_atomic_block or first_word not in WRITING_WORDS:
            return execute(sql, params, many, context)
        try:
            return self._take_write_lock(lambda: execute(sql, params, many, context))
        finally:
            self._release_write_lock()

    def drop_deleted_content(
        self, erase_indexes: Callable[[], bool] = lambda: True, *, rewrite_up_to: int | None = None
    ) -> bool:
        """Return whether nothing that was deleted or overwritten is left in the file and its write-ahead log.

        secure_delete=FAST zeroes rows where they stand, but leaves free pages. And where SQLite spreads the rows of a
        full page over several, copies may stay between them, as of one erased memory in 200. A file of up to
        ``rewrite_up_to`` bytes (SMALL_FILE) is written anew, which leaves neither; before that ``erase_indexes`` is to
        drop what full-text indexes keep of deleted rows. A larger file loses its free pages alone.
        Does nothing inside a transaction. A reader that does not end, a full disk and the like are logged.
        """
        if self.in_atomic_block:
            return False
        try:
            limit = SMALL_FILE if rewrite_up_to is None else rewrite_up_to
            clean = self._pragma("page_count") * self._pragma("page_size") <= limit and erase_indexes()
            if clean:
                self._run_alone("VACUUM")
            else:
                self._cut_off_free_pages()
            emptied = self._empty_log()
        except DatabaseError as error:
            logger.warning("deleted content may be left in the database file: %s", error)
            return False
        if not emptied:
            logger.warning("deleted content may be left in the write-ahead log: a reader holds it")
        return clean and emptied

    def _cut_off_free_pages(self) -> None:
        """Shorten the file by its free pages, in steps of some milliseconds between which others write."""
        for _ in range(0, self._pragma("freelist_count"), PAGES_A_STEP):
            self._run_alone(f"PRAGMA incremental_vacuum({PAGES_A_STEP})")

    def _empty_log(self) -> bool:
        """Return whether the write-ahead log was moved into the file and cut to nothing."""
        for _ in range(3):
            # Readers that begin now read past the log; those that began before are waited for.
            ((busy, _, _),) = self._run_alone("PRAGMA wal_checkpoint(TRUNCATE)", patience=1)
            if not busy:
                return True
            time.sleep(0.02)  # somebody else was about to do it
        return False

    def _pragma(self, name: str) -> int:
        with self.cursor() as cursor:
            cursor.execute(f"PRAGMA {name}")
            return int(cursor.fetchone()[0])

    def _run_alone(self, statement: str, *, patience: float = 0) -> list[Any]:
        """Return the rows of a statement run with the write lock; ``patience``: seconds it waits for readers then."""

        def run() -> list[Any]:
            self._set_busy_timeout(patience)
            with self.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall())

        try:
            return self._take_write_lock(run)  # type: ignore[no-any-return]
        finally:
            self._release_write_lock()

    def sqlite_version(self) -> str:
        """Return the version of the library that this connection runs on."""
        with self.cursor() as cursor:
            cursor.execute("SELECT sqlite_version()")
            return str(cursor.fetchone()[0])


os.register_at_fork(after_in_child=_forget_locks_after_fork)
