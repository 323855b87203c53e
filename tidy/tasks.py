"""What the background worker does to keep memories clean. Tasks may run twice and return one line."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone
from django_q.tasks import async_task

from memories.access import Actor
from tidy import config, rounds
from tidy.models import Round

SECONDS = 15.0
"""How long one task works; a round that is longer goes on in the next one."""
DAILY = timedelta(hours=23, minutes=30)
SCHEDULE = Actor("schedule")


def tidy() -> str:
    """Begin a round if one is due, or go on with one that was left, and work on it."""
    now = timezone.now()
    round = rounds.under_way()
    if round is None:
        schedule = config.read().config.schedule
        if schedule == "off" or (schedule == "daily" and _ran_since(now - DAILY)):
            return f"ok nothing is due, schedule={schedule}"
        round = rounds.start(by=SCHEDULE, now=now)
    return "ok another process began a round" if round is None else go_on(round.pk)


def _ran_since(moment: datetime) -> bool:
    return Round.objects.filter(started_at__gt=moment).exists()


def go_on(round_id: int) -> str:
    """Work on a round, and queue the next task if it is not done."""
    done = rounds.work(round_id, seconds=SECONDS)
    round = Round.objects.get(pk=round_id)
    if not done and round.lease_until is None:
        async_task("tidy.tasks.go_on", round_id)
    said = round.receipt or f"scanned={round.scanned} proposed={round.proposed}"
    return f"ok round={round_id} done={str(done).lower()} {said}"


def continue_abandoned() -> str:
    """Go on with a round whose process was killed."""
    round = rounds.under_way()
    if round is None or (round.lease_until is not None and round.lease_until > timezone.now()):
        return "ok no round was left"
    return go_on(round.pk)
