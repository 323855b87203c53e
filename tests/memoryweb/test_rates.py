"""The rate limit: never more than the limit over all processes, and a wait that is told."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from memories.models import Agent, Token
from memoryweb import rates
from memoryweb.models import RateWindow
from tests.factories import AgentFactory, make_token


def token_of(agent: Agent) -> int:
    make_token(agent)
    return Token.objects.latest("id").pk


def test_exactly_the_limit_passes_in_a_minute(agent: Any) -> None:
    token_id = token_of(agent)
    now = 60_000_000.0
    passed = [rates.take(token_id, limit=40, now=now + second / 2) for second in range(60)]

    assert passed.count(0) == 40
    assert all(wait == 0 for wait in passed[:40])
    assert passed[40] == 40  # asked in second 20
    assert rates.take(token_id, limit=40, now=now + 60) == 0


def test_most_requests_write_nothing(agent: Any, django_assert_num_queries: Any) -> None:
    token_id = token_of(agent)
    rates.take(token_id, limit=600, now=60_000_000.0)
    with django_assert_num_queries(0):
        for _ in range(36):
            rates.take(token_id, limit=600, now=60_000_000.0)


def test_processes_share_the_limit(agent: Any) -> None:
    token_id = token_of(agent)
    passed = 0
    for _ in range(8):
        rates.forget()  # what a new process knows
        passed += [rates.take(token_id, limit=100, now=60_000_000.0) for _ in range(30)].count(0)

    assert passed <= 100


def test_no_limit_takes_no_notice(agent: Any) -> None:
    assert [rates.take(token_of(agent), limit=0, now=1.0) for _ in range(1000)].count(0) == 1000
    assert RateWindow.objects.count() == 0


def test_the_api_answers_429_with_the_seconds_to_wait(api_client: Any, settings: Any) -> None:
    settings.RATE_LIMIT = 3
    statuses = []
    for _ in range(8):
        response = api_client.get("/api/stats")
        statuses.append(response.status_code)
        if response.status_code == 429:
            assert 1 <= int(response["Retry-After"]) <= 60
            assert response.json()["error"]["code"] == "rate_limited"
    assert 429 in statuses
    assert statuses.count(200) in (3, 4, 5, 6)  # the minute may turn in between
    other = make_token(AgentFactory.create())
    assert api_client.get("/api/stats", headers={"Authorization": f"Bearer {other}"}).status_code == 200


CHILD = """
import django; django.setup()
from memoryweb import rates
print([rates.take({token}, limit=200, now=60_000_000.0) for _ in range(150)].count(0))
"""


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_real_threads_and_processes_never_pass_the_limit() -> None:
    token_id = token_of(AgentFactory.create())
    name = connection.settings_dict["NAME"]
    environment = {
        "DATABASE_URL": f"sqlite:///{name}",
        "DATA_DIR": str(settings.DATA_DIR),
        "DJANGO_SETTINGS_MODULE": "tests.settings",
    }
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD.format(token=token_id)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            cwd=settings.BASE_DIR,
        )
        for _ in range(3)
    ]
    passed: list[int] = []

    def take_many() -> None:
        found = [rates.take(token_id, limit=200, now=60_000_000.0) for _ in range(60)].count(0)
        passed.append(found)
        connection.close()

    threads = [threading.Thread(target=take_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for child in children:
        output, _ = child.communicate(timeout=60)
        passed.append(int(output))

    assert 0 < sum(passed) <= 200
    assert RateWindow.objects.get(pk=token_id).leased <= 200
