"""Which SQLite library to use. Imported before Django, so it imports nothing but the two modules."""

import importlib
from collections.abc import MutableMapping
from types import ModuleType

Version = tuple[int, int, int]

FIXED_BRANCHES: tuple[tuple[Version, Version], ...] = (
    ((3, 44, 6), (3, 45, 0)),
    ((3, 50, 7), (3, 51, 0)),
)
FIXED_SINCE: Version = (3, 51, 3)


def has_wal_reset_fix(version: tuple[int, ...]) -> bool:
    """Return whether this SQLite version keeps every committed WAL transaction.

    Fixed in 3.51.3 and, on the older branches, in 3.50.7 and 3.44.6 (https://sqlite.org/wal.html).
    """
    return version >= FIXED_SINCE or any(low <= version < high for low, high in FIXED_BRANCHES)


def choose_sqlite(modules: MutableMapping[str, ModuleType]) -> str:
    """Return the name of the SQLite module in use, after putting it in place of ``sqlite3``.

    Raises SystemExit with what to do where neither library has the fix.
    """
    try:
        bundled = importlib.import_module("pysqlite3")
    except ImportError:
        bundled = None
    if bundled is not None and has_wal_reset_fix(bundled.sqlite_version_info):
        modules["sqlite3"] = bundled
        modules["sqlite3.dbapi2"] = importlib.import_module("pysqlite3.dbapi2")
        return "pysqlite3"
    standard = importlib.import_module("sqlite3")
    if has_wal_reset_fix(standard.sqlite_version_info):
        return "sqlite3"
    raise SystemExit(
        f"memoryweb needs SQLite 3.51.3 or newer (or 3.50.7, 3.44.6): version {standard.sqlite_version} "
        "can lose committed data in WAL mode. Install the fixed library with `pip install pysqlite3`, "
        "or use a Python built with a newer SQLite."
    )
