"""Indexes are built anew by several processes under writers, deleters and searchers, and killed at any point."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from memories.models import Agent
from search import maintenance, upkeep, verification
from search.backends import backend
from search.backends.base import KINDS
from search.corpora import CORPORA
from tests.factories import MemoryFactory, MessageFactory, SessionFactory
from tests.processes.conftest import Store
from tests.processes.rebuilders import ANCHOR
from tests.stores import NAME, ROOT, ask, default_store, environment

pytestmark = pytest.mark.processes
LONG = bool(os.environ.get("MEMORYWEB_LONG"))
KILLS = 50 if LONG else 6
ANCHORS = 120


@pytest.fixture
def filled(store: Store, django_db_blocker: Any) -> Store:
    with django_db_blocker.unblock(), default_store(store.path):
        agent = Agent.objects.get(name="writer")
        session = SessionFactory.create(agent=agent, external_id="walk")
        for number in range(ANCHORS):
            MessageFactory.create(session=session, content=f"{ANCHOR} {number} 船锚")
            MemoryFactory.create(agent=agent, content=f"{ANCHOR} {number} 船锚")
    return store


def started(store: Store, *what: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.processes.rebuilders", *what]
    plain = environment(store.data, DJANGO_SETTINGS_MODULE="memoryweb.settings")
    return subprocess.Popen(command, cwd=ROOT, env=plain, stderr=subprocess.PIPE)


def check_copy(store: Store, directory: Path) -> None:
    """Check every word of every row, in a copy of the store in which what was begun is brought to its end."""
    directory.mkdir()
    copy = directory / NAME
    with default_store(store.path), connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(copy)])
    with default_store(copy):
        maintenance.ensure()
        while not maintenance.fill(seconds=20):
            pass
        upkeep.tear_down(seconds=20)
        for corpus in CORPORA.values():
            for kind in KINDS:
                verdict = verification.compare(corpus, kind)
                assert verdict.is_sound, f"{corpus.name} {kind}: {verdict.said}"
                assert verdict.compared
                assert len(backend().generations(corpus, kind)) == 1
    shutil.rmtree(directory)


def wait_for_work(store: Store, count: int) -> None:
    """Wait until builds have gone on, so that a kill meets one, however slow the machine is."""
    until = time.monotonic() + 90
    query = "SELECT sum(build_progress + progress), sum(generation), sum(building) FROM search_indexstate"
    changes, before = 0, ask(store.path, query)
    while changes < count:
        assert time.monotonic() < until, "nothing is built any more"
        time.sleep(0.02)
        now = ask(store.path, query)
        changes, before = changes + (now != before), now


def test_every_row_is_there_once_whoever_is_killed(filled: Store, tmp_path: Path, django_db_blocker: Any) -> None:
    whats = ("maintain", "maintain", "write", "delete", "look")
    running = [started(filled, what) for what in whats]
    pick = random.Random(11)
    try:
        for number in range(KILLS):
            wait_for_work(filled, pick.randrange(2, 12))
            # The maintainers more than others.
            place = pick.choice((0, 1, 0, 1, 2, 3))
            assert running[4].poll() is None, (running[4].communicate()[1] or b"").decode()
            running[place].kill()
            running[place].wait()
            with django_db_blocker.unblock():
                check_copy(filled, tmp_path / f"copy {number}")
            running[place] = started(filled, whats[place])
        wait_for_work(filled, 20)
    finally:
        for process in running:
            process.terminate()
    for process in running:
        _, said = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGTERM), said.decode()
    with django_db_blocker.unblock():
        check_copy(filled, tmp_path / "copy at the end")
    runs = dict(ask(filled.path, "SELECT state, count(*) FROM search_indexrun GROUP BY state"))
    assert runs.get("done", 0) >= 1, runs


@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_between_each_pair_of_steps_of_the_swap(
    filled: Store, tmp_path: Path, kind: Any, django_db_blocker: Any
) -> None:
    with django_db_blocker.unblock(), default_store(filled.path):
        maintenance.rebuild(CORPORA["messages"], kind)
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    ended, place = -signal.SIGKILL, 0
    while ended == -signal.SIGKILL:
        data = tmp_path / f"killed at {place}"
        shutil.copytree(filled.data, data)
        victim = Store(data, filled.token)
        process = started(victim, "swap", str(place))
        _, said = process.communicate(timeout=120)
        ended = process.returncode
        assert ended in (0, -signal.SIGKILL), said.decode()
        query = "SELECT state, generation FROM search_indexstate WHERE corpus = 'messages' AND kind = '{}'"
        state, generation = ask(victim.path, query.format(kind))[0]
        assert (state, generation) in (("ready", 1), ("ready", 2))
        with django_db_blocker.unblock():
            check_copy(victim, data / "copy")
        shutil.rmtree(data)
        # Each one takes as long as starting a program; the long run leaves none out.
        place += 1 if LONG else 9
    assert place > 20
