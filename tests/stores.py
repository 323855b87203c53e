"""Stores of a test's own: a real database file in a directory, for what whole files and several processes are about."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection, connections

from memories.access import Actor, Principal, create_token, find_or_create_agent, principal_of_token

ROOT = Path(__file__).resolve().parent.parent
NAME = "memoryweb.sqlite3"


@contextmanager
def default_store(path: Path) -> Iterator[Path]:
    """Make Django's default database this file, for the time of the context."""
    names = connection.settings_dict
    before = names["NAME"]
    connections.close_all()
    names["NAME"] = str(path)
    try:
        yield path
    finally:
        connections.close_all()
        names["NAME"] = before


def make_store(directory: Path) -> Path:
    """Return a new store in the directory, migrated and closed."""
    directory.mkdir(parents=True, exist_ok=True)
    with default_store(directory / NAME) as path:
        call_command("migrate", interactive=False, verbosity=0)
    return path


def make_token(**options: Any) -> tuple[Principal, str]:
    """Return who a new token stands for, and its text. The agent is ``writer`` in workspace ``tests``."""
    token, secret = create_token(
        find_or_create_agent(options.pop("agent", "writer"), workspace=options.pop("workspace", "tests")),
        actor=Actor("test"),
        **options,
    )
    return principal_of_token(token), secret


def ask(path: Path, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a query, read without Django."""
    with closing(sqlite3.connect(path, timeout=10)) as reader:
        return reader.execute(sql, parameters).fetchall()


def tell(path: Path, *statements: str) -> None:
    """Run statements without Django and commit them."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as writer:
        for statement in statements:
            writer.execute(statement)


def environment(directory: Path, **more: str) -> dict[str, str]:
    """Return the environment of a process that works on the store in the directory."""
    ours = ("DJANGO_SETTINGS_MODULE", "DJANGO_ALLOW_ASYNC_UNSAFE")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return kept | {"DATA_DIR": str(directory), "SECRET_KEY": "only-for-tests-" + "x" * 40, "RATE_LIMIT": "0"} | more


def manage(directory: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Return what a management command of a process of its own printed, and its exit code."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(directory, **more),
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        check=False,
    )
