"""Rounds, people and agents at once on one store, with processes killed in the middle."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memories.models import Status
from tests.factories import AgentFactory, MemoryFactory
from tests.processes.conftest import Store
from tests.processes.server import check_store
from tests.stores import ask, default_store, environment, manage

pytestmark = pytest.mark.processes
ROOT = Path(__file__).resolve().parents[2]
KILLS = 60 if os.environ.get("MEMORYWEB_LONG") else 5


def fill(store: Store, django_db_blocker: Any) -> dict[int, str]:
    """Return the texts of memories with many copies among them, by id."""
    with django_db_blocker.unblock(), default_store(store.path):
        agent = AgentFactory.create()
        for number in range(150):
            for text in (f"Shelf {number} is red.", f"shelf {number} is red", f"Shelf {number} is red in summer."):
                MemoryFactory.create(agent=agent, content=text)
    return dict(ask(store.path, "SELECT id, content FROM memories_memory"))


def started(store: Store, what: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.processes.tidiers", what]
    plain = environment(store.data, DJANGO_SETTINGS_MODULE="memoryweb.settings")
    return subprocess.Popen(command, cwd=ROOT, env=plain, stderr=subprocess.PIPE)


def wait_for_changes(store: Store, count: int) -> None:
    """Wait until so many memories have been merged or brought back, however slow the machine is."""
    until = time.monotonic() + 60
    query = "SELECT count(*) FROM memories_revision WHERE verb IN ('tidy.merge', 'tidy.revert')"
    before = ask(store.path, query)[0][0]
    while ask(store.path, query)[0][0] < before + count:
        assert time.monotonic() < until, "nothing is tidied any more"
        time.sleep(0.05)


def test_each_is_applied_once_and_nothing_is_half_done(store: Store, django_db_blocker: Any) -> None:
    texts = fill(store, django_db_blocker)
    whats = ("tidy", "tidy", "decide", "decide", "rewrite")
    running = [started(store, what) for what in whats]
    pick = random.Random(5)
    for _ in range(KILLS):
        wait_for_changes(store, pick.randrange(2, 8))
        place = pick.randrange(4)
        running[place].kill()
        running[place].wait()
        running[place] = started(store, whats[place])
    wait_for_changes(store, 20)
    for process in running:
        process.terminate()
    for process in running:
        _, said = process.communicate(timeout=60)
        # One that was just started may not listen to the signal yet.
        assert process.returncode in (0, -signal.SIGTERM), said.decode()
    check(store, texts)
    # A round that a killed process has left is gone on with once its lease is over.
    done = manage(store.data, "tidy")
    assert done.returncode == 0 or "under way" in done.stderr, done.stderr
    check(store, texts)
    check_store(store.path)


def check(store: Store, texts: dict[int, str]) -> None:
    assert dict(ask(store.path, "SELECT id, content FROM memories_memory")) == texts
    rows = {
        row[0]: row[1:] for row in ask(store.path, "SELECT id, status, merged_into_id, revision FROM memories_memory")
    }
    history: Counter[int] = Counter()
    for memory, number in ask(store.path, "SELECT memory_id, number FROM memories_revision ORDER BY memory_id, number"):
        history[memory] += 1
        assert number == history[memory]
    assert all(history[pk] == revision for pk, (_, _, revision) in rows.items())
    applied = ask(
        store.path,
        "SELECT c.id, m.memory_id, m.applied_revision, c.target_id, c.action FROM tidy_candidate c "
        "JOIN tidy_candidatememory m ON m.candidate_id = c.id WHERE c.status = 'applied' AND m.role = 'source'",
    )
    verbs = dict(ask(store.path, "SELECT memory_id || '.' || number, verb FROM memories_revision"))
    seen: set[tuple[int, int]] = set()
    for _, memory, revision, target, action in applied:
        if action != "merge":
            continue
        assert verbs[f"{memory}.{revision}"] == "tidy.merge"
        assert (memory, revision) not in seen
        seen.add((memory, revision))
        if rows[memory][2] == revision:
            assert rows[memory][:2] == (Status.MERGED, target)
    merged = {pk for pk, (status, _, _) in rows.items() if status == Status.MERGED}
    assert merged == {memory for _, memory, revision, _, _ in applied if rows[memory][2] == revision} & merged
    reverts = [verb for verb in verbs.values() if verb == "tidy.revert"]
    merges = [verb for verb in verbs.values() if verb == "tidy.merge"]
    assert len(merges) - len(reverts) == len(merged)
    assert len(merges) > KILLS
