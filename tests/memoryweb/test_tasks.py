"""What the background worker does, and its schedules."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.utils import timezone
from django_q.models import OrmQ, Schedule, Task
from django_q.scheduler import scheduler

from memories.models import IdempotencyKey, Token
from memoryweb import tasks
from memoryweb.models import Heartbeat
from memoryweb.schedules import SCHEDULES, Regular, make_schedule
from tests.conftest import ApiClient
from tests.factories import make_token

pytestmark = pytest.mark.django_db


def ready(token: str | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = ApiClient(token).get("/health/ready").json()
    return answer


def test_a_heartbeat_makes_the_house_ready() -> None:
    assert ready()["worker"] == {"state": "never", "last_beat": None}

    assert tasks.heartbeat().startswith("ok ")
    tasks.heartbeat()

    assert ready()["status"] == "ready"
    assert ready()["worker"]["state"] == "working"
    assert Heartbeat.objects.count() == 1


def test_an_old_heartbeat_is_late() -> None:
    tasks.heartbeat()
    Heartbeat.objects.update(at=timezone.now() - timedelta(seconds=151))

    assert ready()["status"] == "degraded"
    assert ready()["worker"]["state"] == "late"

    tasks.heartbeat()
    assert ready()["status"] == "ready"


def test_upkeep_deletes_what_is_over_and_keeps_the_rest() -> None:
    now = timezone.now()
    make_token()
    for hours in (1, 25):
        IdempotencyKey.objects.create(
            token=Token.objects.get(), key=f"{hours}", request_hash="", status=200, answer="", created_at=now
        )
        IdempotencyKey.objects.filter(key=f"{hours}").update(created_at=now - timedelta(hours=hours))
        Session.objects.create(session_key=f"{hours}", session_data="", expire_date=now + timedelta(hours=13 - hours))
    for days in (0, 89, 91):
        then = now - timedelta(days=days)
        for record in (AccessLog, AccessFailureLog, AccessAttempt):
            made = record(username=f"{days}", ip_address="192.0.2.1", user_agent="", path_info="/")
            if record is AccessAttempt:
                made.failures_since_start = 1
            made.save()
            record.objects.filter(username=f"{days}").update(attempt_time=then)
        for success in (True, False):
            name = f"{days} {success}"
            Task.objects.create(id=name, name=name, func="f", started=then, stopped=then, success=success)

    assert tasks.upkeep() == "ok expired=0 keys=1 sessions=1 logins=4 failures=1"

    assert IdempotencyKey.objects.get().key == "1"
    assert Session.objects.get().session_key == "1"
    assert AccessAttempt.objects.get().username == "0"
    assert set(AccessLog.objects.values_list("username", flat=True)) == {"0", "89"}
    assert set(AccessFailureLog.objects.values_list("username", flat=True)) == {"0", "89"}
    assert set(Task.objects.filter(success=False).values_list("name", flat=True)) == {"0 False", "89 False"}
    assert tasks.upkeep() == "ok expired=0 keys=0 sessions=0 logins=0 failures=0"


def test_migrating_makes_every_schedule_once() -> None:
    call_command("migrate", verbosity=0)
    call_command("migrate", verbosity=0)

    assert sorted(Schedule.objects.values_list("name", flat=True)) == sorted(regular.name for regular in SCHEDULES)


def test_a_lost_schedule_comes_back_and_a_double_goes() -> None:
    Schedule.objects.filter(name="upkeep").delete()
    Schedule.objects.create(
        name="heartbeat", func="memoryweb.tasks.heartbeat", schedule_type=Schedule.MINUTES, minutes=1
    )

    call_command("migrate", verbosity=0)

    assert Schedule.objects.filter(name="heartbeat").count() == 1
    assert Schedule.objects.filter(name="upkeep").count() == 1


def test_the_function_is_ours_and_the_time_is_the_admins() -> None:
    later = timezone.now() + timedelta(hours=5)
    Schedule.objects.filter(name="upkeep").update(func="gone.away", minutes=240, next_run=later)

    call_command("migrate", verbosity=0)

    schedule = Schedule.objects.get(name="upkeep")
    assert (schedule.func, schedule.minutes, schedule.next_run) == ("memoryweb.tasks.upkeep", 240, later)


def test_a_schedule_that_missed_a_year_starts_afresh() -> None:
    Schedule.objects.filter(name="heartbeat").update(next_run=timezone.now() - timedelta(days=365))

    call_command("migrate", verbosity=0)

    next_run = Schedule.objects.get(name="heartbeat").next_run
    assert next_run is not None
    assert timezone.now() - next_run < timedelta(minutes=1)


@pytest.mark.django_db(transaction=True)  # the scheduler opens connections of its own
@pytest.mark.parametrize("regular", SCHEDULES, ids=lambda regular: regular.name)
def test_every_schedule_runs_a_function_that_says_one_line(regular: Regular) -> None:
    Schedule.objects.all().delete()
    make_schedule(regular)

    scheduler()

    queued = OrmQ.objects.get().task
    assert queued["func"] == regular.func
    assert queued.get("save", True) is regular.keep_results
    module, _, name = regular.func.rpartition(".")
    said = getattr(__import__(module, fromlist=[name]), name)()
    assert said.startswith("ok")
    assert "\n" not in said
    next_run = Schedule.objects.get().next_run
    assert next_run is not None
    assert next_run > timezone.now()
