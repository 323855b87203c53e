"""The database's part of search: one contract, an implementation beside it for each vendor."""

from __future__ import annotations

from functools import cache

from django.db import connection

from search.backends.base import SearchBackend


def backend() -> SearchBackend:
    """Return the backend of the database in use."""
    return _backend(connection.vendor)


@cache
def _backend(vendor: str) -> SearchBackend:
    from search.backends.sqlite import SqliteBackend

    if vendor == "sqlite":
        return SqliteBackend()
    raise NotImplementedError(f"there is no search backend for {vendor}")
