"""Expiring: gone from recall at the moment, out of the counts by upkeep, back when the time is moved."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories.models import ActiveCount, Memory, Revision
from memories.revisions import recount, sweep_expired
from tests.factories import MemoryFactory


def counted() -> int:
    return sum(ActiveCount.objects.values_list("rows", flat=True))


def counted_anew() -> int:
    recount()
    return counted()


@pytest.fixture
def rows(agent: Any) -> list[Memory]:
    now = timezone.now()
    expiries = [None, now + timedelta(days=1), now - timedelta(days=1), now - timedelta(days=2)]
    return [
        MemoryFactory.create(agent=agent, content=f"row {n}", expires_at=expires_at, key=f"k{n}")
        for n, expires_at in enumerate(expiries)
    ]


def total(client: Any) -> tuple[int, int]:
    found = client.get("/api/recall?limit=1").json()
    return found["total"], len(client.get("/api/recall").json()["memories"])


def test_a_sweep_changes_no_answer_and_makes_no_revision(api_client: Any, rows: list[Memory]) -> None:
    assert total(api_client) == (2, 2)
    assert sweep_expired(now=timezone.now(), most=1) == 1
    assert total(api_client) == (2, 2)
    assert sweep_expired(now=timezone.now()) == 1
    assert sweep_expired(now=timezone.now()) == 0
    assert total(api_client) == (2, 2)
    assert counted() == 2 == counted_anew()
    assert Revision.objects.count() == 4
    assert set(Memory.objects.values_list("status", flat=True)) == {"active"}


@pytest.mark.parametrize("expires_at", [None, "2099-01-01T00:00:00Z"])
def test_moving_the_time_brings_a_swept_memory_back(
    api_client: Any, rows: list[Memory], expires_at: str | None
) -> None:
    sweep_expired(now=timezone.now())
    api_client.send("PATCH", f"/api/memories/{rows[2].pk}", {"expires_at": expires_at})

    assert total(api_client) == (3, 3)
    assert counted() == 3 == counted_anew()


def test_remembering_again_brings_a_swept_memory_back(api_client: Any, rows: list[Memory]) -> None:
    sweep_expired(now=timezone.now())
    receipt = api_client.remember("row 2, still true", key="k2")

    assert receipt["memory"]["id"] == rows[2].pk
    assert total(api_client) == (3, 3)
    assert counted() == 3 == counted_anew()


def test_a_swept_memory_may_be_forgotten_and_restored(api_client: Any, rows: list[Memory]) -> None:
    sweep_expired(now=timezone.now())
    for method, path in [("DELETE", ""), ("POST", "/restore"), ("DELETE", "")]:
        api_client.send(method, f"/api/memories/{rows[2].pk}{path}")
        assert total(api_client) == (2, 2)
        assert counted() == 2 == counted_anew()
