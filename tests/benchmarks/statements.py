"""The SQL that a call executes: captured as it goes to SQLite, run again bare, and explained."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.backends.sqlite3.base import SQLiteCursorWrapper

STRIDE = 10
"""Instructions between two looks at SQLite's machine."""


@dataclass(slots=True)
class Statement:
    """One statement with its parameters, and how many rows were read of its answer."""

    sql: str
    params: tuple[Any, ...]
    rows: int = 0


@contextmanager
def captured() -> Iterator[list[Statement]]:
    """Give the list that fills with every statement executed inside the block on this thread's connection."""
    seen: list[Statement] = []

    class Watching(SQLiteCursorWrapper):
        def execute(self, query: str, params: Any = None) -> Any:
            sql = query if params is None else self.convert_query(query, param_names=None)
            self.statement = Statement(sql, tuple(params or ()))
            seen.append(self.statement)
            return super().execute(query, params)

        def fetchone(self) -> Any:
            row = super().fetchone()
            self.statement.rows += row is not None
            return row

        def fetchmany(self, *args: Any) -> Any:
            rows = super().fetchmany(*args)
            self.statement.rows += len(rows)
            return rows

        def fetchall(self) -> Any:
            rows = super().fetchall()
            self.statement.rows += len(rows)
            return rows

    connection.ensure_connection()
    make = connection.create_cursor
    connection.create_cursor = lambda name=None: connection.connection.cursor(factory=Watching)
    try:
        yield seen
    finally:
        connection.create_cursor = make


def statements_of(call: Callable[[], Any]) -> list[Statement]:
    """Return what the call executes."""
    with captured() as seen:
        call()
    return seen


def run_again(statements: list[Statement]) -> None:
    """Execute reading statements through the same connection without Django, and read as many rows as were read."""
    raw = connection.connection
    for statement in statements:
        raw.execute(statement.sql, statement.params).fetchmany(statement.rows or 1)


def work_of(call: Callable[[], Any]) -> int:
    """Return how many instructions SQLite's machine executes in the call, rounded to STRIDE.

    No clock is involved: equal data gives equal numbers, so growth shows on a busy machine too.
    """
    ticks = itertools.count()
    connection.ensure_connection()
    raw = connection.connection
    # The handler must answer 0, or the statement ends.
    raw.set_progress_handler(lambda: next(ticks) and 0, STRIDE)
    try:
        call()
    finally:
        raw.set_progress_handler(None, STRIDE)
    return next(ticks) * STRIDE


def plan_of(statement: Statement) -> list[str]:
    """Return SQLite's plan, a line a step. https://sqlite.org/eqp.html"""
    explained = connection.connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", statement.params)
    return [str(step[3]) for step in explained.fetchall()]


def faults_of(plan: list[str], *, tables: set[str]) -> list[str]:
    """Return the steps that grow with the store: sorting in a temporary tree, and walking a whole table or index."""
    sorts = [step for step in plan if "TEMP B-TREE" in step and "ORDER BY" in step]
    scans = [step for step in plan if step.startswith("SCAN ") and step.split()[1] in tables]
    return sorts + scans
