"""The background tasks: one round at a time, in short steps, gone on with after a kill."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django_q.models import OrmQ

from memories.access import Actor
from tests.factories import MemoryFactory
from tests.tidy.rounds import settings_file
from tidy import rounds, tasks
from tidy.models import Round

pytestmark = pytest.mark.django_db


def test_a_round_is_begun_and_finished(agent: Any) -> None:
    for _ in range(2):
        MemoryFactory.create(agent=agent, content="The kettle is red.")
    assert "done=true ok auto=true applied=1" in tasks.tidy()
    assert Round.objects.get().started_by == "schedule"


@pytest.mark.parametrize(("schedule", "count"), [("hourly", 2), ("daily", 1), ("off", 0)])
def test_the_schedule_is_the_operators(schedule: str, count: int) -> None:
    settings_file(f'{{"schedule": "{schedule}"}}')
    said = [tasks.tidy() for _ in range(2)]
    assert Round.objects.count() == count
    assert sum("nothing is due" in one for one in said) == 2 - count


def test_what_does_not_fit_goes_on_in_another_task(agent: Any, monkeypatch: Any) -> None:
    for number in range(120):
        MemoryFactory.create(agent=agent, content=f"Shelf {number} is full.")
    monkeypatch.setattr(tasks, "SECONDS", 0.0)
    assert "done=false" in tasks.tidy()
    assert OrmQ.objects.count() == 1
    monkeypatch.undo()
    assert "done=true" in tasks.go_on(Round.objects.get().pk)


def test_a_left_round_is_gone_on_with_and_a_held_one_is_not() -> None:
    assert tasks.continue_abandoned() == "ok no round was left"
    now = timezone.now()
    round = rounds.start(by=Actor("test"), now=now)
    assert round is not None
    rounds._take(round.pk, "another", now)
    assert tasks.continue_abandoned() == "ok no round was left"
    Round.objects.update(lease_until=now - timedelta(seconds=1))
    assert "done=true" in tasks.continue_abandoned()
