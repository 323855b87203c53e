"""Which SQLite is in use: one that keeps every committed transaction."""

from __future__ import annotations

import importlib
import sqlite3
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.core import checks
from django.db import connection

import memoryweb
from memoryweb.checks import sqlite_keeps_commits
from memoryweb.sqlite.versions import choose_sqlite, has_wal_reset_fix
from tests.stores import ROOT


@pytest.mark.parametrize(
    ("version", "fixed"),
    [
        ((3, 6, 23), False),
        ((3, 7, 0), False),
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 44, 9), True),
        ((3, 45, 0), False),
        ((3, 46, 1), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 0), False),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 53, 4), True),
        ((4, 0, 0), True),
    ],
)
def test_the_versions_that_keep_every_commit(version: tuple[int, ...], fixed: bool) -> None:
    assert has_wal_reset_fix(version) is fixed


@pytest.fixture
def libraries(monkeypatch: Any) -> Any:
    """Return a function that says which versions of the two libraries can be imported."""

    def provide(**versions: tuple[int, int, int]) -> dict[str, Any]:
        modules = {
            name: SimpleNamespace(
                __name__=name, sqlite_version_info=version, sqlite_version=".".join(str(part) for part in version)
            )
            for name, version in versions.items()
        }

        def find(name: str) -> Any:
            if name.partition(".")[0] not in modules:
                raise ImportError(name)
            return modules[name.partition(".")[0]]

        monkeypatch.setattr(importlib, "import_module", find)
        return modules

    return provide


def test_the_bundled_library_takes_the_place_of_the_standard_one(libraries: Any) -> None:
    modules = libraries(pysqlite3=(3, 53, 4), sqlite3=(3, 53, 5))
    table: dict[str, ModuleType] = {}

    assert choose_sqlite(table) == "pysqlite3"
    assert table == {"sqlite3": modules["pysqlite3"], "sqlite3.dbapi2": modules["pysqlite3"]}


@pytest.mark.parametrize("bundled", [{}, {"pysqlite3": (3, 51, 1)}])
def test_the_standard_library_serves_where_it_has_the_fix(libraries: Any, bundled: Any) -> None:
    libraries(sqlite3=(3, 51, 3), **bundled)
    table: dict[str, ModuleType] = {}

    assert choose_sqlite(table) == "sqlite3"
    assert table == {}


@pytest.mark.parametrize("bundled", [{}, {"pysqlite3": (3, 51, 1)}])
def test_it_stops_with_what_to_do_where_neither_has_the_fix(libraries: Any, bundled: Any) -> None:
    libraries(sqlite3=(3, 46, 1), **bundled)

    with pytest.raises(SystemExit) as stopped:
        choose_sqlite({})
    assert "version 3.46.1 can lose committed data" in str(stopped.value)
    assert "pip install pysqlite3" in str(stopped.value)


def test_django_runs_on_the_fixed_library(db: None) -> None:
    assert connection.Database.sqlite_version == sqlite3.sqlite_version  # type: ignore[attr-defined]
    assert connection.sqlite_version() == sqlite3.sqlite_version  # type: ignore[attr-defined]
    assert has_wal_reset_fix(sqlite3.sqlite_version_info)
    assert sys.modules["sqlite3"].__name__ == memoryweb.SQLITE_MODULE
    assert type(connection.connection).__module__.partition(".")[0] == memoryweb.SQLITE_MODULE


def test_the_health_page_names_the_version_that_runs(client: Any, db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sqlite_version()")
        (running,) = cursor.fetchone()

    assert client.get("/health/ready").json()["database"] == {"vendor": "sqlite", "version": running}


def test_the_fixed_library_is_there_however_the_program_starts() -> None:
    for first in ("import memoryweb.wsgi", "from memoryweb.sqlite import base", "import sqlite3, memoryweb.settings"):
        program = (
            "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'\n"
            f"{first}\nimport memoryweb, sys, django; django.setup()\n"
            "from django.db import connection\n"
            "print(connection.Database.__name__.partition('.')[0] == memoryweb.SQLITE_MODULE)"
        )
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.stdout == "True\n", done.stderr


def test_the_check_is_quiet_on_the_fixed_library() -> None:
    assert sqlite_keeps_commits(databases=["default"]) == []


def test_the_check_tells_of_a_library_that_loses_commits(db: None, monkeypatch: Any) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 46, 1))
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.46.1")

    found, *others = checks.run_checks(tags=[checks.Tags.database], databases=["default"])
    assert (found.id, others) == ("memoryweb.C001", [])
    assert found.level == checks.CRITICAL
    assert "SQLite 3.46.1" in found.msg
    assert "3.51.3" in str(found.hint)


def test_the_check_says_nothing_of_another_database(monkeypatch: Any) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 46, 1))
    monkeypatch.setattr(connection, "vendor", "postgresql")

    assert sqlite_keeps_commits(databases=["default"]) == []
