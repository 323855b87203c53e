"""What the background worker does for the indexes. Tasks may run twice and return one line."""

from __future__ import annotations

from django_q.models import OrmQ
from django_q.tasks import async_task

from search import maintenance, upkeep

SECONDS, SECONDS_AFTER = 14.0, 4.0
"""How long one task fills, and removes what is out of service; another task goes on with what is left."""

KEEP = "search.tasks.keep_indexes"
QUEUED = 100
"""Waiting tasks that are looked through."""
DUTY = 0.2
"""The share of time in which filling has the write lock; agents have the rest."""


def keep_indexes() -> str:
    """Mend, fill, tear down and merge the indexes: missing ones are made, damaged ones built anew."""
    mended = maintenance.ensure()
    if upkeep.probe_all():
        mended += maintenance.ensure()
    mended += upkeep.renew_worn()
    filled = maintenance.fill(seconds=SECONDS, duty=DUTY)
    # What was just replaced goes at once; its room is wanted for what comes.
    cleared = upkeep.tear_down(seconds=SECONDS_AFTER, duty=DUTY)
    merges = upkeep.merge_all(duty=DUTY) if filled and cleared else 0
    if not (filled and cleared):
        go_on()
    return f"ok mended={len(mended)} filled={str(filled).lower()} cleared={str(cleared).lower()} merges={merges}"


def go_on() -> None:
    """Have the worker look after the indexes now, and not only at the next minute. One waiting task is enough."""
    waiting = {task.func() for task in OrmQ.objects.all()[:QUEUED]}
    if KEEP not in waiting:
        async_task(KEEP, q_options={"save": False})
