"""Statements that Django compiles once and runs many times.

Django turns a queryset into SQL anew at every use. For recall that takes thirty times as long as the SQL itself,
so the few statements of the hot paths keep their SQL here and only get other values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connections
from django.db.models import GeneratedField, Model, QuerySet
from django.db.models.sql import InsertQuery, UpdateQuery

Value = int | str | datetime
Build = Callable[[dict[str, Any]], QuerySet]

CHUNK = 25
SHAPES_MAX = 256
"""Shapes a connection keeps; further ones are compiled at each use."""
# Stand-ins for values while a statement is compiled; no constant of a statement looks like them.
_INTEGER, _TEXT, _TIME = 8_607_005_104_310_000_000, "\x02prepared value %d\x03", datetime(1907, 3, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Statement:
    sql: str
    slots: list[tuple[str | None, Any]]
    """For each parameter the value's name, or None and a constant."""
    columns: list[str]
    converters: list[tuple[int, list[Any], Any]]

    def parameters(self, connection: Any, values: Mapping[str, Value]) -> list[Any]:
        adapt = connection.ops.adapt_datetimefield_value
        return [
            constant if name is None else adapt(value) if isinstance(value := values[name], datetime) else value
            for name, constant in self.slots
        ]


def rows(shape: Hashable, values: Mapping[str, Value], build: Build) -> Iterator[dict[str, Any]]:
    """Return the rows of ``build(values)``, a queryset of ``values(...)``, read as they are asked for.

    ``shape`` names everything that the SQL depends on except ``values``; for one shape ``build`` must use each value as
    a plain parameter (``=``, ``<``, a single-item ``IN``) and nothing else may differ. A LIMIT belongs to the shape.
    """
    connection: Any = connections["default"]
    statement = _statement(connection, ("rows", shape), values, lambda stand_ins: build(stand_ins).query)
    return _read(connection, statement, statement.parameters(connection, values))


def update(
    shape: Hashable, values: Mapping[str, Value], build: Callable[[dict[str, Any]], tuple[QuerySet, dict[str, Any]]]
) -> int:
    """Return how many rows were updated; ``build(values)`` gives the queryset and the changes. See ``rows``."""

    def query(stand_ins: dict[str, Any]) -> Any:
        chosen, changes = build(stand_ins)
        compiled: Any = chosen.query.chain(UpdateQuery)
        compiled.add_update_values(changes)
        return compiled

    connection: Any = connections["default"]
    statement = _statement(connection, ("update", shape), values, query)
    with connection.cursor() as cursor:
        cursor.execute(statement.sql, statement.parameters(connection, values))
        return int(cursor.rowcount)


def insert(row: Model) -> None:
    """Insert the row and set its primary key, as ``save(force_insert=True)`` does, without signals.

    Fields that the database computes are not read back.
    """
    connection: Any = connections["default"]
    statements: dict[Hashable, Any] = connection.__dict__.setdefault("prepared_statements", {})
    key = ("insert", type(row))
    if key not in statements:
        fields = [
            field
            for field in row._meta.concrete_fields
            if not isinstance(field, GeneratedField) and not field.primary_key
        ]
        query = InsertQuery(type(row))
        query.insert_values(fields, [row])
        compiler: Any = query.get_compiler(connection=connection)
        compiler.returning_fields = [row._meta.pk]
        ((sql, _),) = compiler.as_sql()
        statements[key] = sql, fields
    sql, fields = statements[key]
    with connection.cursor() as cursor:
        cursor.execute(sql, [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields])
        row.pk = cursor.fetchone()[0]
    row._state.adding = False
    row._state.db = connection.alias


def _read(connection: Any, statement: _Statement, parameters: list[Any]) -> Iterator[dict[str, Any]]:
    columns, converters = statement.columns, statement.converters
    with connection.cursor() as cursor:
        cursor.execute(statement.sql, parameters)
        while chunk := cursor.fetchmany(CHUNK):
            for found in chunk:
                row = list(found)
                for place, convert, expression in converters:
                    for function in convert:
                        row[place] = function(row[place], expression, connection)
                yield dict(zip(columns, row, strict=True))


def _statement(
    connection: Any, key: Hashable, values: Mapping[str, Value], query: Callable[[dict[str, Any]], Any]
) -> _Statement:
    # On the connection, since converters belong to it and must go with it.
    statements: dict[Hashable, _Statement] = connection.__dict__.setdefault("prepared_statements", {})
    statement = statements.get(key)
    if statement is None:
        statement = _compile(connection, values, query)
        if len(statements) < SHAPES_MAX:
            statements[key] = statement
    return statement


def _compile(connection: Any, values: Mapping[str, Value], build: Callable[[dict[str, Any]], Any]) -> _Statement:
    stand_ins = {name: _stand_in(value, place) for place, (name, value) in enumerate(values.items())}
    query = build(stand_ins)
    compiler = query.get_compiler(connection=connection)
    sql, parameters = compiler.as_sql()
    adapt = connection.ops.adapt_datetimefield_value
    names = {adapt(value) if isinstance(value, datetime) else value: name for name, value in stand_ins.items()}
    slots = [(names.get(parameter), parameter) for parameter in parameters]
    _refuse_lost_values(names, slots)
    columns = list(query.selected or [*query.values_select, *query.annotation_select])
    converters = compiler.get_converters([column[0] for column in compiler.select or ()])
    return _Statement(sql, slots, columns, [(place, *converter) for place, converter in converters.items()])


def _refuse_lost_values(names: dict[Any, str], slots: list[tuple[str | None, Any]]) -> None:
    """Raise where a value would stay what it was at the first use: a filter frozen like that shows others' rows."""
    used = {name for name, _ in slots}
    constants = " ".join(str(constant) for name, constant in slots if name is None)
    for stand_in, name in names.items():
        if name not in used or str(stand_in) in constants:
            raise ValueError(f"the value {name!r} is no plain parameter of the prepared statement")


def _stand_in(value: Value, place: int) -> Value:
    if isinstance(value, datetime):
        return _TIME + timedelta(seconds=place, microseconds=place + 1)
    return _INTEGER + place if isinstance(value, int) else _TEXT % place
