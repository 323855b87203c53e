"""Reading in process: recall, brief and lists, beside the bare SQL that they execute."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.utils import timezone

from memories import access
from memories.access import Principal
from memories.models import Kind, Membership
from memories.recall import Filters, brief, list_memories, recall
from memories.remember import remember
from memories.schemas import MemoryIn
from tests.benchmarks import stores
from tests.benchmarks.bench import Bench
from tests.benchmarks.figures import Limit, Row, median, percentile
from tests.benchmarks.statements import faults_of, plan_of, run_again, statements_of, work_of
from tests.benchmarks.stores import COMMON_SUBJECT, COMMON_TAG, Store

GROWTH_AIM = 1.5
"""How much slower the largest store may be than the smallest."""
WORK_AIM = 100_000
"""Instructions of SQLite's machine, a few milliseconds, below which growth does no harm."""
SMALL_WORKSPACE = "recall, small workspace"
"""Its own size grows with the store, from five memories on: growth is told, not aimed at."""
VARIANTS = 40
"""Different questions of one class, asked in turn."""
CHUNK = 10
"""Calls on one side before the other's turn."""
SLOW = 200.0
"""Milliseconds from which a class is asked a few times only."""


@dataclass(frozen=True, slots=True)
class Case:
    """A class of reads: its name, and the n-th question of it."""

    name: str
    ask: Callable[[int], Any]


def cases_of(store: Store) -> list[Case]:
    """Return every class of reads, as the big workspace's main agent asks where the name does not tell another."""
    agent, small = store.principal(), store.small_principal()
    reviewer = access.principal_of_member(
        Membership(user=get_user_model()(username="reviewer"), workspace_id=store.workspace_id)
    )
    kinds = Kind.values
    middle = int(median(store.ids))

    def reads(
        name: str,
        filters: Callable[[int], Filters],
        *,
        who: Principal = agent,
        limit: int = 20,
        max_chars: int = 8000,
    ) -> Case:
        return Case(
            name,
            lambda n: recall(who, filters(n), limit=limit, max_chars=max_chars, now=timezone.now()),
        )

    def lists(name: str, filters: Callable[[int], Filters], *, who: Principal = agent, deep: bool = False) -> Case:
        return Case(
            name,
            lambda n: list_memories(who, filters(n), cursor=middle if deep else None, limit=50),
        )

    def plain(**kwargs: Any) -> Callable[[int], Filters]:
        # An agent's recall without a query leaves restricted memories out.
        return lambda n: Filters(**({"include_restricted": False} | kwargs))

    def turning(field: str, values: list[Any]) -> Callable[[int], Filters]:
        return lambda n: Filters(include_restricted=False, **{field: values[n % len(values)]})

    return [
        reads("recall", plain()),
        reads("recall, limit 100", plain(), limit=100, max_chars=100_000),
        reads("recall, subject", turning("subject", store.subjects or [COMMON_SUBJECT])),
        reads("recall, common subject", plain(subject=COMMON_SUBJECT)),
        reads("recall, kind", turning("kinds", [(kind,) for kind in kinds])),
        reads("recall, two kinds", plain(kinds=("fact", "decision"))),
        reads("recall, rare tag", turning("tags", [(tag,) for tag in store.rare_tags or ["none"]])),
        reads("recall, common tag", plain(tags=(COMMON_TAG,))),
        reads("recall, min_importance 5", plain(min_importance=5)),
        reads("recall, include_restricted", plain(include_restricted=True)),
        reads("recall, scope shared", plain(scope="shared")),
        reads(SMALL_WORKSPACE, plain(), who=small),
        reads("recall, reviewer", plain(include_restricted=True), who=reviewer),
        Case("brief", lambda n: brief(agent, subject=None, max_chars=4000, now=timezone.now())),
        lists("list", lambda n: Filters()),
        lists("list, deep page", lambda n: Filters(), deep=True),
        lists("list, kind", lambda n: Filters(kinds=(kinds[n % len(kinds)],))),
        lists(
            "list, rare tag", lambda n: Filters(tags=((store.rare_tags or ["none"])[n % len(store.rare_tags or [1])],))
        ),
        lists("list, common tag", lambda n: Filters(tags=(COMMON_TAG,))),
        lists("list, reviewer", lambda n: Filters(), who=reviewer),
    ]


def measure(bench: Bench) -> None:
    """Add a row for each class and size, and how much a class slows from the smallest store to the largest."""
    typical: dict[str, dict[int, tuple[float, float]]] = {}
    for size in sorted(bench.sizes):
        store = bench.store(size)
        for case in cases_of(store):
            bench.say(f"recall, {size:,}: {case.name}")
            row, app_typical, sql_typical = _measure_case(bench, store, case)
            bench.add(row)
            typical.setdefault(case.name, {})[size] = app_typical, sql_typical
    small, large = min(bench.sizes), max(bench.sizes)
    if small == large:
        return
    for name, by_size in typical.items():
        growth = by_size[large][0] / by_size[small][0]
        sql_growth = by_size[large][1] / by_size[small][1]
        bench.add(
            Row(
                part="growth",
                memories=large,
                case=name,
                figures={"cpu ms": by_size[large][0], f"cpu ms at {small:,}": by_size[small][0], "growth": growth},
                limit=Limit("growth of the bare SQL", sql_growth, "times"),
                ratio=growth / sql_growth,
                aim=f"growth <= {GROWTH_AIM}" if name != SMALL_WORKSPACE else "",
                met=growth <= GROWTH_AIM if name != SMALL_WORKSPACE else None,
            )
        )


def _measure_case(bench: Bench, store: Store, case: Case) -> tuple[Row, float, float]:
    once, _ = timed(partial(case.ask, 0))
    variants = [statements_of(partial(case.ask, n)) for n in range(VARIANTS if once < SLOW else 2)]
    app: list[tuple[float, float]] = []
    sql: list[tuple[float, float]] = []
    deadline = time.perf_counter() + bench.seconds
    at = 0
    while time.perf_counter() < deadline or len(app) < (2 * CHUNK if once < SLOW else 2):
        turns = [(at + n) % len(variants) for n in range(CHUNK if once < SLOW else 1)]
        app += [timed(partial(case.ask, n)) for n in turns]
        sql += [timed(partial(run_again, variants[n])) for n in turns]
        at += len(turns)
    waits = [wall for wall, _ in app]
    ours, bare = median([cpu for _, cpu in app]), median([cpu for _, cpu in sql])
    row = Row(
        part="recall",
        memories=store.memories,
        case=case.name,
        figures={
            "p50 ms": median(waits),
            "p95 ms": percentile(waits, 0.95),
            "cpu ms": ours,
            "queries": max(len(statements) for statements in variants),
        },
        limit=Limit("bare SQL of the same statements, CPU", bare, "ms"),
        ratio=ours / bare,
    )
    return row, ours, bare


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Return the milliseconds that passed, and those of this thread on a processor: other work cannot slow these."""
    started, used = time.perf_counter_ns(), time.thread_time_ns()
    call()
    return (time.perf_counter_ns() - started) / 1e6, (time.thread_time_ns() - used) / 1e6


def explain(bench: Bench) -> None:
    """Add a row for each class of reads and writes: sorts and full scans in its plans, and how its work grows.

    A plan may look well and still walk a whole partition; what SQLite's machine executes tells.
    """
    tables = {model._meta.db_table for model in apps.get_models()}
    work: dict[str, dict[int, int]] = {}
    for size in sorted(bench.sizes):
        store = bench.store(size)
        copy = stores.copy_of(store.path, bench.scratch)
        try:
            stores.use(copy)
            for case in [*cases_of(store), *writes_of(store)]:
                bench.say(f"plans, {size:,}: {case.name}")
                one_each = {one.sql: one for n in (0, 1) for one in statements_of(partial(case.ask, n))}
                works = [work_of(partial(case.ask, n)) for n in range(2, 7)]
                work.setdefault(case.name, {})[size] = int(median(works))
                if size != bench.largest:
                    continue
                faults = [
                    (fault, sql) for sql, one in one_each.items() for fault in faults_of(plan_of(one), tables=tables)
                ]
                bench.add(_plan_row(store, case, faults, work[case.name]))
                bench.report.findings += [f"plans, {case.name}: {fault} in {_short(sql)}" for fault, sql in faults]
        finally:
            stores.remove(copy)


def _plan_row(store: Store, case: Case, faults: list[tuple[str, str]], work: dict[int, int]) -> Row:
    small, large = min(work), max(work)
    growth = work[large] / work[small]
    return Row(
        part="plans",
        memories=store.memories,
        case=case.name,
        figures={
            "sorts": sum("TEMP" in fault for fault, _ in faults),
            "scans": sum("SCAN" in fault for fault, _ in faults),
            "instructions": work[large],
        },
        limit=Limit(f"instructions with {small:,} memories", work[small], ""),
        ratio=growth,
        aim=f"ratio <= {GROWTH_AIM} or at most {WORK_AIM:,}, no sorts, no scans",
        met=not faults and (growth <= GROWTH_AIM or work[large] <= WORK_AIM),
    )


def writes_of(store: Store) -> list[Case]:
    """Return every way of remembering, by the big workspace's main agent. They write: use a copy."""
    agent = store.principal()

    def remembers(name: str, fields: Callable[[int, dict[str, str]], dict[str, Any]]) -> Case:
        return Case(
            name,
            lambda n: remember(agent, MemoryIn(**fields(n, store.texts[n % len(store.texts)])), now=timezone.now()),
        )

    return [
        remembers("remember, new text", lambda n, text: text | {"content": f"{time.time_ns()}", "tags": ["bench"]}),
        remembers("remember, new key", lambda n, text: {"content": text["content"], "key": f"{time.time_ns()}"}),
        remembers("remember, keyed update", lambda n, text: {"content": f"{time.time_ns()}", "key": "bench"}),
        remembers("remember, unchanged text", lambda n, text: dict(text)),
    ]


def _short(sql: str) -> str:
    """Return the statement without its lists of columns."""
    return re.sub(r'SELECT .*? FROM|"', lambda found: "" if found[0] == '"' else "SELECT ... FROM", sql)[:600]
