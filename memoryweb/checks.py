"""System checks: what is amiss with this installation, each with an id and a hint."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Critical, Tags, register
from django.db import connection

from memoryweb import SQLITE_MODULE
from memoryweb.sqlite.versions import has_wal_reset_fix


@register(Tags.database)
def sqlite_keeps_commits(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """memoryweb.C001: the SQLite in use can lose committed transactions."""
    if connection.vendor == "sqlite" and not has_wal_reset_fix(sqlite3.sqlite_version_info):
        return [
            Critical(
                f"SQLite {sqlite3.sqlite_version} (module {SQLITE_MODULE}) can lose committed data in WAL mode.",
                hint="Install pysqlite3, or a Python with SQLite 3.51.3 or newer.",
                id="memoryweb.C001",
            )
        ]
    return []
