"""What the background worker does regularly."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connections
from django.db.models.signals import post_migrate
from django.dispatch import receiver
from django.utils import timezone
from django_q.models import Schedule

from memories import storage


@dataclass(frozen=True, slots=True)
class Regular:
    """A task that runs every so many minutes. The result of one that went well is kept only if it says something."""

    name: str
    func: str
    minutes: int
    keep_results: bool = True


SCHEDULES = (
    Regular("heartbeat", "memoryweb.tasks.heartbeat", minutes=1, keep_results=False),
    Regular("upkeep", "memoryweb.tasks.upkeep", minutes=60),
    Regular("indexes", "search.tasks.keep_indexes", minutes=1, keep_results=False),
    Regular("clean up", "memoryweb.tasks.clean_up", minutes=1, keep_results=False),
    Regular("tidy", "tidy.tasks.tidy", minutes=60),
    Regular("tidy, left rounds", "tidy.tasks.continue_abandoned", minutes=5, keep_results=False),
)
OVERDUE = timedelta(hours=1)
"""Later than this a schedule starts afresh: django-q2 walks through every missed run, for seconds after a year."""


@receiver(post_migrate)
def make_schedules(sender: Any, using: str, **kwargs: Any) -> None:
    """Make every schedule that is missing, once the table is there."""
    if getattr(sender, "name", None) != "memoryweb":
        return
    if Schedule._meta.db_table in connections[using].introspection.table_names():
        for regular in SCHEDULES:
            make_schedule(regular)


@storage.write
def make_schedule(regular: Regular) -> Schedule:
    """Return the one schedule of this name. What it runs is ours to say; how often is the admin's, once it is there."""
    now = timezone.now()
    options = {} if regular.keep_results else {"save": False}
    found = list(Schedule.objects.select_for_update().filter(name=regular.name).order_by("id"))
    schedule = found[0] if found else Schedule(name=regular.name, minutes=regular.minutes, next_run=now)
    if not found:
        schedule.schedule_type = Schedule.MINUTES
    schedule.func = regular.func
    schedule.kwargs = repr({"q_options": options}) if options else None
    if schedule.next_run is not None and schedule.next_run < now - OVERDUE:
        schedule.next_run = now
    schedule.save()
    Schedule.objects.filter(pk__in=[double.pk for double in found[1:]]).delete()
    return schedule
