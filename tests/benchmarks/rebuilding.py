"""Appending to a large store, and searching and appending while its indexes are built anew beside those that serve."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from django.db import connection, transaction

from memories import transcripts
from memories.access import Principal, visible_to
from memories.models import Message, Session
from search import maintenance
from search.backends.base import KINDS
from search.corpora import MESSAGES
from search.engine import search
from search.hits import LIVE
from search.models import IndexState
from search.query import parse
from tests.benchmarks import messages, stores
from tests.benchmarks.figures import Limit, Row, median, percentile
from tests.benchmarks.searching import kinds_of

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench

BATCH = 200
PAGE = 20
APPENDED_A_SECOND = 2000
FILLER = """
import django
django.setup()
from search import maintenance, tasks
while not maintenance.fill(seconds=60, duty=tasks.DUTY):
    pass
"""
_numbers = count()


def measure(bench: Bench) -> None:
    """Add rows for appends at rest, beside the bare insert, and for searches and appends during a rebuild."""
    store = messages.filled(bench.directory, bench.largest)
    copy = stores.copy_of(store.path, bench.scratch)
    stores.use(copy)
    try:
        bench.say("appending")
        bench.add(_appends(bench, store.big, store.messages))
        bench.say("searching and appending while all is built anew")
        for row in _during_a_rebuild(bench, store.big, store.messages, copy):
            bench.add(row)
    finally:
        stores.remove(copy)


def _append(session: Session, write: messages.Speaker, number: int) -> None:
    said = [transcripts.Said("user", write.text(), external_id=f"late {next(_numbers)}") for _ in range(number)]
    with transaction.atomic():
        transcripts.load(session, said, now=datetime.now(UTC))


def _late_session(principal: Principal) -> Session:
    return Session.objects.filter(workspace_id=principal.workspace_id).latest("pk")


def _appends(bench: Bench, principal: Principal, number: int) -> Row:
    session, write = _late_session(principal), messages.Speaker(7)
    ours, bare = 0.0, 0.0
    batches = 2 if bench.quick else 25
    for _ in range(batches):
        ours += _timed(lambda: _append(session, write, BATCH))
        bare += _timed(lambda: _insert_bare(write))
    rate, bare_rate = batches * BATCH / ours, batches * BATCH / bare
    return Row(
        "rebuild",
        number,
        f"append in batches of {BATCH}, both indexes",
        {"messages/s": rate},
        Limit("bare insert of the same texts into a table without index", bare_rate, "messages/s"),
        rate / bare_rate,
        f"{APPENDED_A_SECOND:,} a second",
        rate >= APPENDED_A_SECOND,
    )


def _insert_bare(write: messages.Speaker) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, content TEXT)")
        cursor.executemany("INSERT INTO bare (content) VALUES (%s)", [(write.text(),) for _ in range(BATCH)])


def _during_a_rebuild(bench: Bench, principal: Principal, number: int, path: Path) -> list[Row]:
    queries = [query for kind in kinds_of(principal) if kind.mode == "auto" for query in kind.queries[:4]]
    rows = visible_to(principal, Message).filter(LIVE)
    incomplete = 0

    def ask(query: str) -> None:
        nonlocal incomplete
        incomplete += not search(MESSAGES, parse(query), rows, principal, limit=PAGE).complete

    session, write = _late_session(principal), messages.Speaker(8)

    def took(seconds: float) -> tuple[list[float], list[float]]:
        searches: list[float] = []
        appends: list[float] = []
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            searches += [1000 * _timed(lambda query=query: ask(query)) for query in queries[len(searches) % 7 :: 7]]  # type: ignore[misc]
            appends.append(1000 * _timed(lambda: _append(session, write, PAGE)))
        return searches, appends

    at_rest = took(bench.seconds * 3)
    incomplete = 0
    for kind in KINDS:
        maintenance.rebuild(MESSAGES, kind)
    filler = subprocess.Popen([sys.executable, "-c", FILLER], env=os.environ | {"DATABASE_URL": f"sqlite:///{path}"})
    try:
        before, started = _built(), time.perf_counter()
        during = took(bench.seconds * 30)
        rate = (_built() - before) / (time.perf_counter() - started)
    finally:
        filler.kill()
        filler.wait()
    cases = (("searches", 100.0, 0.95, "p95"), ("appends of 20", 500.0, 0.99, "p99"))
    return [
        Row(
            "rebuild",
            number,
            f"{name} while indexes are built anew",
            {
                "p50 ms": median(meanwhile),
                "p95 ms": percentile(meanwhile, 0.95),
                "p99 ms": percentile(meanwhile, 0.99),
                "longest ms": max(meanwhile),
                "measured": len(meanwhile),
                "incomplete": incomplete if name == "searches" else 0,
                "rows built/s": rate,
            },
            Limit(f"{figure} of the same at rest", percentile(rest, share), "ms"),
            percentile(meanwhile, share) / percentile(rest, share),
            f"{figure} {aim:g} ms",
            percentile(meanwhile, share) <= aim,
        )
        for (name, aim, share, figure), rest, meanwhile in zip(cases, at_rest, during, strict=True)
    ]


def _built() -> int:
    return sum(state.build_progress for state in IndexState.objects.all())


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started
