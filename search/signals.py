"""Where search hooks into Django: new connections, migrations, and writes that fail at a damaged index."""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate
from django.dispatch import receiver

from memories import revisions, storage
from search import maintenance, upkeep
from search.backends.sqlite import register_functions
from search.corpora import CORPORA
from search.models import IndexState

FILLED_AT_ONCE = 5.0
"""Seconds that a migration spends on filling indexes; the worker does the rest."""


@receiver(connection_created)
def give_functions(connection: Any, **kwargs: Any) -> None:
    """Triggers call functions of ours: a connection without them cannot write."""
    if connection.vendor == "sqlite":
        register_functions(connection.connection)


@receiver(post_migrate)
def keep_indexes(sender: Any, **kwargs: Any) -> None:
    """A migration may have remade a table and so dropped its triggers, or brought rows that were there before."""
    if getattr(sender, "name", None) != "search":
        return
    tables = set(connection.introspection.table_names())
    if {IndexState._meta.db_table, *(corpus.table for corpus in CORPORA.values())} <= tables:
        maintenance.ensure()
        maintenance.fill(seconds=FILLED_AT_ONCE)


storage.add_recovery(maintenance.write_without_damaged)
revisions.add_eraser(upkeep.forget_deleted)
