"""Queries that Django compiles once and runs many times.

Django turns a queryset into SQL anew at every use. For recall that takes thirty times as long as the SQL itself,
so the few queries of the hot paths keep their SQL here and only get other values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connections
from django.db.models import QuerySet

Value = int | str | datetime
Build = Callable[[dict[str, Any]], QuerySet]

CHUNK = 25
SHAPES_MAX = 256
"""Shapes a connection keeps; further ones are compiled at each use."""
# Stand-ins for values while a query is compiled; no constant of a query looks like them.
_INTEGER, _TEXT, _TIME = 8_607_005_104_310_000_000, "\x02prepared value %d\x03", datetime(1907, 3, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Statement:
    sql: str
    slots: list[tuple[str | None, Any]]
    """For each parameter the value's name, or None and a constant."""
    columns: list[str]
    converters: Mapping[int, tuple[list[Any], Any]]


def rows(shape: Hashable, values: Mapping[str, Value], build: Build) -> Iterator[dict[str, Any]]:
    """Return the rows of ``build(values)``, a queryset of ``values(...)``, read as they are asked for.

    ``shape`` names everything that the SQL depends on except ``values``; for one shape ``build`` must use each value as
    a plain parameter (``=``, ``<``, a single-item ``IN``) and nothing else may differ. A LIMIT belongs to the shape.
    """
    connection: Any = connections["default"]
    # On the connection, since converters belong to it and must go with it.
    statements: dict[Hashable, _Statement] = connection.__dict__.setdefault("prepared_statements", {})
    statement = statements.get(shape)
    if statement is None:
        statement = _compile(connection, values, build)
        if len(statements) < SHAPES_MAX:
            statements[shape] = statement
    adapt = connection.ops.adapt_datetimefield_value
    parameters = [
        constant if name is None else adapt(value) if isinstance(value := values[name], datetime) else value
        for name, constant in statement.slots
    ]
    return _read(connection, statement, parameters)


def _read(connection: Any, statement: _Statement, parameters: list[Any]) -> Iterator[dict[str, Any]]:
    columns, converters = statement.columns, statement.converters
    with connection.cursor() as cursor:
        cursor.execute(statement.sql, parameters)
        while chunk := cursor.fetchmany(CHUNK):
            for found in chunk:
                row = dict(zip(columns, found, strict=True))
                for place, (convert, expression) in converters.items():
                    value = found[place]
                    for function in convert:
                        value = function(value, expression, connection)
                    row[columns[place]] = value
                yield row


def _compile(connection: Any, values: Mapping[str, Value], build: Build) -> _Statement:
    stand_ins = {name: _stand_in(value, place) for place, (name, value) in enumerate(values.items())}
    query = build(stand_ins).query
    compiler = query.get_compiler(connection=connection)
    sql, parameters = compiler.as_sql()
    adapt = connection.ops.adapt_datetimefield_value
    names = {adapt(value) if isinstance(value, datetime) else value: name for name, value in stand_ins.items()}
    slots = [(names.get(parameter), parameter) for parameter in parameters]
    _refuse_lost_values(names, slots)
    columns = list(query.selected or [*query.values_select, *query.annotation_select])
    converters = compiler.get_converters([column[0] for column in compiler.select])
    return _Statement(sql, slots, columns, converters)


def _refuse_lost_values(names: dict[Any, str], slots: list[tuple[str | None, Any]]) -> None:
    """Raise where a value would stay what it was at the first use: a filter frozen like that shows others' rows."""
    used = {name for name, _ in slots}
    constants = " ".join(str(constant) for name, constant in slots if name is None)
    for stand_in, name in names.items():
        if name not in used or str(stand_in) in constants:
            raise ValueError(f"the value {name!r} is no plain parameter of the prepared query")


def _stand_in(value: Value, place: int) -> Value:
    if isinstance(value, datetime):
        return _TIME + timedelta(seconds=place, microseconds=place + 1)
    return _INTEGER + place if isinstance(value, int) else _TEXT % place
