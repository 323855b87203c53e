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
from tests.benchmarks.bench import Bench
from tests.benchmarks.figures import Limit, Row, median, percentile
from tests.benchmarks.statements import faults_of, plan_of, run_again, statements_of
from tests.benchmarks.stores import COMMON_SUBJECT, COMMON_TAG, Store

GROWTH_AIM = 1.5
"""How much slower the largest store may be than the smallest."""
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
            lambda n: list_memories(who, filters(n), cursor=store.ids[n % len(store.ids)] if deep else None, limit=50),
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
        reads("recall, small workspace", plain(), who=small),
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
                aim=f"growth <= {GROWTH_AIM}",
                met=growth <= GROWTH_AIM,
            )
        )


def _measure_case(bench: Bench, store: Store, case: Case) -> tuple[Row, float, float]:
    once, _ = _timed(partial(case.ask, 0))
    variants = [statements_of(partial(case.ask, n)) for n in range(VARIANTS if once < SLOW else 2)]
    app: list[tuple[float, float]] = []
    sql: list[tuple[float, float]] = []
    deadline = time.perf_counter() + bench.seconds
    at = 0
    while time.perf_counter() < deadline or len(app) < (2 * CHUNK if once < SLOW else 2):
        turns = [(at + n) % len(variants) for n in range(CHUNK if once < SLOW else 1)]
        app += [_timed(partial(case.ask, n)) for n in turns]
        sql += [_timed(partial(run_again, variants[n])) for n in turns]
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


def _timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Return the milliseconds that passed, and those of this thread on a processor: other work cannot slow these."""
    started, used = time.perf_counter_ns(), time.thread_time_ns()
    call()
    return (time.perf_counter_ns() - started) / 1e6, (time.thread_time_ns() - used) / 1e6


def explain(bench: Bench) -> None:
    """Add a row for each class: how many steps of its plans sort or walk everything. None may."""
    tables = {model._meta.db_table for model in apps.get_models()}
    store = bench.store(bench.largest)
    for case in cases_of(store):
        one_each = {one.sql: one for n in (0, 1) for one in statements_of(partial(case.ask, n))}
        faults = [(fault, sql) for sql, one in one_each.items() for fault in faults_of(plan_of(one), tables=tables)]
        bench.add(
            Row(
                part="plans",
                memories=store.memories,
                case=case.name,
                figures={
                    "sorts": sum("TEMP" in fault for fault, _ in faults),
                    "scans": sum("SCAN" in fault for fault, _ in faults),
                },
                limit=Limit("steps that grow with the store", 0, ""),
                aim="none",
                met=not faults,
            )
        )
        bench.report.findings += [f"plans, {case.name}: {fault} in {_short(sql)}" for fault, sql in faults]


def _short(sql: str) -> str:
    """Return the statement without its lists of columns."""
    return re.sub(r'SELECT .*? FROM|"', lambda found: "" if found[0] == '"' else "SELECT ... FROM", sql)[:600]
