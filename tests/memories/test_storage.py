"""How verbs write: one queue a process, and nothing lost where other processes write too."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, connections, transaction
from django.db.utils import OperationalError
from django.test import Client

from memories import storage
from memories.models import Agent, Workspace
from memoryweb.sqlite import base
from memoryweb.sqlite.base import FifoLock, WriteLockTimeout, lock_for
from tests.stores import ROOT, ask, default_store, make_store, make_token


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any) -> Path:
    with django_db_blocker.unblock():
        return make_store(tmp_path_factory.mktemp("template"))


@pytest.fixture
def store(template: Path, tmp_path: Path, django_db_blocker: Any) -> Iterator[Path]:
    """An empty store that is Django's default database."""
    with django_db_blocker.unblock(), default_store(Path(shutil.copy(template, tmp_path))) as path:
        yield path


@pytest.fixture
def lock(store: Path) -> FifoLock:
    return lock_for(str(store))


@contextmanager
def in_thread(run: Callable[[], Any]) -> Iterator[threading.Thread]:
    """Run something in a thread that is joined, and its connection closed, at the end."""

    def closing_connection() -> None:
        try:
            run()
        finally:
            connections.close_all()

    thread = threading.Thread(target=closing_connection)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(30)
        assert not thread.is_alive()


def until(condition: Callable[[], Any]) -> None:
    """Wait for the condition, 30 s at most."""
    ends = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.001)


def is_free(lock: FifoLock) -> bool:
    if not lock.acquire(timeout=0):
        return False
    lock.release()
    return True


HOLD = """
import sys, memoryweb, sqlite3
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN " + sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
"""


@contextmanager
def held_elsewhere(store: Path, mode: str = "IMMEDIATE") -> Iterator[Callable[[], None]]:
    """Hold SQLite's lock in another process; gives what lets go of it."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, store, mode],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"

        def let_go() -> None:
            process.communicate("\n")

        yield let_go
    finally:
        process.kill()
        process.wait()


# The queue


def test_waiters_get_the_lock_in_the_order_they_asked() -> None:
    lock, order = FifoLock(), []
    assert lock.acquire(timeout=1)

    def wait(number: int) -> None:
        assert lock.acquire(timeout=30)
        order.append(number)
        lock.release()

    threads = []
    for number in range(20):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        until(lambda: len(lock._waiters) == len(threads))
    lock.release()
    for thread in threads:
        thread.join(30)

    assert order == list(range(20))
    assert is_free(lock)


def test_who_releases_and_asks_again_comes_last() -> None:
    lock, order = FifoLock(), []
    assert lock.acquire(timeout=1)

    def wait() -> None:
        assert lock.acquire(timeout=30)
        order.append("waiter")
        lock.release()

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: lock._waiters)
    lock.release()
    assert lock.acquire(timeout=30)
    order.append("again")
    thread.join(30)

    assert order == ["waiter", "again"]


def test_who_gives_up_leaves_the_queue() -> None:
    lock = FifoLock()
    assert lock.acquire(timeout=1)

    assert not lock.acquire(timeout=0.01)

    lock.release()
    assert is_free(lock)


def test_who_is_handed_the_lock_while_giving_up_has_it() -> None:
    lock, got = FifoLock(), []
    assert lock.acquire(timeout=1)
    with in_thread(lambda: got.append(lock.acquire(timeout=0.01))):
        until(lambda: lock._waiters)
        with lock._guard:  # what release() does, after the time is up and before the waiter can leave the queue
            time.sleep(0.1)
            lock._waiters.popleft().release()

    assert got == [True]
    assert not is_free(lock)


def test_one_holds_it_at_a_time_however_many_give_up() -> None:
    lock, inside, got = FifoLock(), [], []

    def try_often(seed: int) -> None:
        for turn in range(300):
            if lock.acquire(timeout=(seed + turn) % 4 * 0.0002):
                inside.append(seed)
                assert len(inside) == 1
                got.append(seed)
                inside.remove(seed)
                lock.release()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(try_often, range(8)))

    assert got
    assert is_free(lock)


# Transactions


def test_a_transaction_holds_the_lock_from_its_start_to_its_end(lock: FifoLock) -> None:
    with transaction.atomic():
        assert not is_free(lock)
        with transaction.atomic():
            Workspace.objects.create(name="inner")
        assert not is_free(lock)
    assert is_free(lock)


def fail() -> None:
    with transaction.atomic():
        Workspace.objects.create(name="gone")
        raise ZeroDivisionError


def roll_back() -> None:
    with transaction.atomic():
        Workspace.objects.create(name="gone")
        transaction.set_rollback(True)


def break_a_constraint_that_is_checked_at_the_end() -> None:
    with transaction.atomic():
        Agent.objects.create(workspace_id=404, name="of no workspace")


def lose_the_connection() -> None:
    with transaction.atomic():
        Workspace.objects.create(name="gone")
        connection.close()


@pytest.mark.parametrize("end", [fail, roll_back, break_a_constraint_that_is_checked_at_the_end, lose_the_connection])
def test_however_it_ends_the_lock_is_free_afterwards(store: Path, lock: FifoLock, end: Callable[[], None]) -> None:
    with suppress(ZeroDivisionError, DatabaseError):
        end()

    assert is_free(lock)
    assert ask(store, "SELECT COUNT(*) FROM memories_workspace") == [(0,)]
    assert ask(store, "SELECT COUNT(*) FROM memories_agent") == [(0,)]
    Workspace.objects.create(name="next")


def test_a_verb_is_one_transaction_also_inside_another(store: Path) -> None:
    @storage.write
    def inner() -> None:
        Workspace.objects.create(name="inner")

    @storage.write
    def outer() -> None:
        inner()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        outer()
    assert ask(store, "SELECT COUNT(*) FROM memories_workspace") == [(0,)]
    inner()
    assert ask(store, "SELECT name FROM memories_workspace") == [("inner",)]


@pytest.mark.parametrize(
    "write",
    [
        lambda: Workspace.objects.create(name="new"),
        lambda: Workspace.objects.filter(name="old").update(name="new"),
        lambda: Workspace.objects.filter(name="old")._raw_delete("default"),
        lambda: connection.cursor().execute("  insert into memories_workspace(name, created_at) values ('raw', 'now')"),
        lambda: connection.cursor().execute("DROP TABLE IF EXISTS gone"),
    ],
    ids=["insert", "update", "delete", "raw", "schema"],
)
def test_a_single_write_outside_a_transaction_queues_too(lock: FifoLock, write: Callable[[], Any]) -> None:
    Workspace.objects.create(name="old")
    assert lock.acquire(timeout=1)
    done = threading.Event()

    def run() -> None:
        write()
        done.set()

    with in_thread(run):
        until(lambda: lock._waiters)
        assert not done.is_set()
        lock.release()
    assert done.is_set()
    assert is_free(lock)


def test_a_single_write_that_fails_lets_go_of_the_lock(lock: FifoLock) -> None:
    Workspace.objects.create(name="one")
    with pytest.raises(IntegrityError):
        Workspace.objects.create(name="one")
    assert is_free(lock)


def test_reading_never_queues(store: Path, lock: FifoLock) -> None:
    Workspace.objects.create(name="one")
    assert lock.acquire(timeout=1)

    with held_elsewhere(store):
        connection.close()
        assert Workspace.objects.count() == 1
    lock.release()


def test_a_new_connection_waits_for_no_writer(store: Path) -> None:
    with held_elsewhere(store):
        connection.close()
        connection.ensure_connection()
        with connection.cursor() as cursor:
            assert cursor.execute("PRAGMA auto_vacuum").fetchone() == (2,)
            assert cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert cursor.execute("PRAGMA secure_delete").fetchone() == (2,)
            assert cursor.execute("PRAGMA busy_timeout").fetchone() == (1000,)


def test_many_processes_may_make_the_store_at_once(tmp_path: Path) -> None:
    program = (
        "import sys, django; django.setup(); from django.db import connection; sys.stdin.readline(); "
        "connection.cursor().execute('CREATE TABLE IF NOT EXISTS made(x)'); "
        "print(connection.cursor().execute('PRAGMA auto_vacuum').fetchone()[0])"
    )
    environment = os.environ | {"DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "memoryweb.settings"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    said = [process.communicate("\n") for process in processes]

    assert [(process.returncode, *both) for process, both in zip(processes, said, strict=True)] == [(0, "2\n", "")] * 4


# Other processes


@pytest.mark.parametrize("mode", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_write_waits_for_another_process_and_is_not_lost(store: Path, lock: FifoLock, mode: str) -> None:
    Workspace.objects.exists()
    with held_elsewhere(store, mode) as let_go, in_thread(lambda: Workspace.objects.create(name="patient")) as thread:
        until(lambda: not is_free(lock))
        assert thread.is_alive()
        let_go()
    assert ask(store, "SELECT name FROM memories_workspace") == [("patient",)]


def test_a_transaction_waits_for_another_process_and_runs_once(store: Path, lock: FifoLock) -> None:
    runs = []

    @storage.write
    def verb() -> None:
        runs.append("run")
        Workspace.objects.create(name="patient")

    with held_elsewhere(store) as let_go, in_thread(verb):
        until(lambda: not is_free(lock))
        assert runs == []
        let_go()
    assert runs == ["run"]
    assert ask(store, "SELECT name FROM memories_workspace") == [("patient",)]


@pytest.mark.parametrize("atomic", [True, False])
def test_it_gives_up_with_what_held_the_lock_and_that_nothing_was_written(
    store: Path, lock: FifoLock, atomic: bool, monkeypatch: Any, caplog: Any
) -> None:
    monkeypatch.setattr(base, "LOCK_BUDGET", 0.05)

    def write() -> None:
        if atomic:
            with transaction.atomic():
                Workspace.objects.create(name="refused")
        else:
            Workspace.objects.create(name="refused")

    with (
        held_elsewhere(store),
        pytest.raises(WriteLockTimeout, match=r"^database is locked: another process held the write lock for 0 s; "),
    ):
        write()
    assert is_free(lock)

    assert lock.acquire(timeout=1)
    with pytest.raises(WriteLockTimeout, match=r"this process held .*; nothing was written and the data is intact$"):
        write()
    lock.release()

    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    assert "a write gave up after 0." in caplog.text
    assert ask(store, "SELECT COUNT(*) FROM memories_workspace") == [(0,)]
    write()
    assert ask(store, "SELECT COUNT(*) FROM memories_workspace") == [(1,)]


def test_a_request_that_gives_up_is_told_to_come_again(store: Path, monkeypatch: Any) -> None:
    _, token = make_token()
    client = Client(headers={"Authorization": f"Bearer {token}"})
    assert client.get("/api/recall").status_code == 200
    monkeypatch.setattr(base, "LOCK_BUDGET", 0.05)

    with held_elsewhere(store):
        response = client.post("/api/memories", {"content": "The tap drips."}, content_type="application/json")
        assert client.get("/api/recall").json()["total"] == 0

    assert response.status_code == 503
    assert response["Retry-After"] == "1"
    assert response.json()["error"]["code"] == "busy"
    assert "nothing was written and the data is intact" in response.json()["error"]["message"]


def test_a_long_wait_is_logged_and_a_short_one_is_not(store: Path, monkeypatch: Any, caplog: Any) -> None:
    caplog.set_level(logging.INFO, "memoryweb.storage")
    Workspace.objects.create(name="short")
    assert caplog.text == ""

    monkeypatch.setattr(base, "SLOW_WAIT", 0)
    Workspace.objects.create(name="long")

    (record,) = caplog.records
    assert (record.levelname, record.name) == ("WARNING", "memoryweb.storage")
    assert record.getMessage() == "a write waited 0.0 s for the database lock"


def test_an_error_that_is_no_lock_is_not_tried_again(store: Path, lock: FifoLock) -> None:
    with pytest.raises(OperationalError, match="no such table"), transaction.atomic():
        connection.cursor().execute("INSERT INTO nowhere VALUES (1)")
    with pytest.raises(OperationalError, match="no such table"):
        connection.cursor().execute("INSERT INTO nowhere VALUES (1)")
    assert is_free(lock)


def test_a_process_that_is_killed_while_it_writes_takes_no_lock_along(store: Path) -> None:
    child = os.fork()
    if child == 0:
        with transaction.atomic():
            Workspace.objects.create(name="killed")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)

    Workspace.objects.create(name="next")
    assert ask(store, "SELECT name FROM memories_workspace") == [("next",)]


def test_a_fork_while_another_thread_has_the_lock_can_write(store: Path, lock: FifoLock) -> None:
    held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        assert lock.acquire(timeout=30)
        held.set()
        go_on.wait(30)
        lock.release()

    with in_thread(hold):
        assert held.wait(30)
        connections.close_all()
        child = os.fork()
        if child == 0:
            Workspace.objects.create(name="of the child")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert ask(store, "SELECT name FROM memories_workspace") == [("of the child",)]
        assert not is_free(lock)
        go_on.set()
    assert is_free(lock)


def test_threads_and_processes_together_lose_nothing(store: Path) -> None:
    children = []
    for number in range(3):
        connections.close_all()
        child = os.fork()
        if child == 0:
            try:
                write_in_threads(number)
            finally:
                os._exit(0)
        children.append(child)
    write_in_threads(9)
    for child in children:
        os.waitpid(child, 0)

    names = [row[0] for row in ask(store, "SELECT name FROM memories_workspace")]
    expected = [f"{process} {thread} {turn}" for process in (0, 1, 2, 9) for thread in range(5) for turn in range(6)]
    assert sorted(names) == sorted(expected)


def write_in_threads(process: int) -> None:
    def write(thread: int) -> None:
        for turn in range(6):
            with transaction.atomic():
                Workspace.objects.count()
                Workspace.objects.create(name=f"{process} {thread} {turn}")
        connections.close_all()

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(write, range(5)))


# What is deleted


@pytest.mark.parametrize("rewrite_up_to", [0, 10**9])
def test_what_is_deleted_is_gone_from_the_file(store: Path, rewrite_up_to: int) -> None:
    secret = "correct-battery-staple " * 2000
    Workspace.objects.create(name=secret)
    Workspace.objects.all()._raw_delete("default")
    assert secret.encode()[:200] in store.read_bytes() + Path(f"{store}-wal").read_bytes()

    assert connection.drop_deleted_content(rewrite_up_to=rewrite_up_to) is (rewrite_up_to > 0)  # type: ignore[attr-defined]

    assert b"battery-staple" not in store.read_bytes()
    assert Path(f"{store}-wal").stat().st_size == 0
    assert ask(store, "PRAGMA freelist_count") == [(0,)]
    assert ask(store, "PRAGMA integrity_check") == [("ok",)]


def test_a_reader_in_the_way_is_told(store: Path, caplog: Any) -> None:
    Workspace.objects.create(name="gone")
    with closing(sqlite3.connect(store, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM memories_workspace").fetchall()
        Workspace.objects.all()._raw_delete("default")

        assert connection.drop_deleted_content() is False  # type: ignore[attr-defined]

        assert "deleted content may be left in the write-ahead log: a reader holds it" in caplog.text
    assert connection.drop_deleted_content() is True  # type: ignore[attr-defined]


def test_inside_a_transaction_nothing_is_dropped(store: Path) -> None:
    with transaction.atomic():
        assert connection.drop_deleted_content() is False  # type: ignore[attr-defined]
