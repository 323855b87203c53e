"""memoryweb: long-term memory for AI agents, and the place where people keep it clean.

Before Django loads, this module decides which SQLite the process uses. Versions from 3.7.0 to
3.51.2 can lose committed transactions in WAL mode when two connections write and checkpoint at
once (the WAL-reset bug, https://sqlite.org/wal.html). ``pysqlite3`` brings a fixed library; where it
has no wheel, the standard library's module is used if its SQLite has the fix.
"""

import sys

from memoryweb.sqlite.versions import choose_sqlite

SQLITE_MODULE = choose_sqlite(sys.modules)
"""Name of the module that now answers to ``import sqlite3``."""
