"""What the background worker does for the indexes. Tasks may run twice and return one line."""

from __future__ import annotations

from django_q.models import OrmQ
from django_q.tasks import async_task

from search import maintenance

SECONDS = 15.0
"""How long one task works; what is left waits for the next minute's."""

KEEP = "search.tasks.keep_indexes"
QUEUED = 100
"""Waiting tasks that are looked through."""
DUTY = 0.2
"""The share of time in which filling has the write lock; agents have the rest."""


def keep_indexes() -> str:
    """Mend and fill the indexes: made where missing, damaged ones, also those that do not show it, built anew."""
    mended = maintenance.ensure()
    if maintenance.probe_all():
        mended += maintenance.ensure()
    filled = maintenance.fill(seconds=SECONDS, duty=DUTY)
    if not filled:
        go_on()
    return f"ok mended={len(mended)} filled={str(filled).lower()}"


def go_on() -> None:
    """Have the worker look after the indexes now, and not only at the next minute. One waiting task is enough."""
    waiting = {task.func() for task in OrmQ.objects.all()[:QUEUED]}
    if KEEP not in waiting:
        async_task(KEEP, q_options={"save": False})
