"""Health: the process lives, the database answers, the worker works."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memoryweb.health import WORKER_LATE
from memoryweb.models import Heartbeat
from search import maintenance
from search.corpora import MEMORIES


def test_live_needs_no_database(client: Any) -> None:
    assert client.get("/health/live").json() == {"status": "live"}
    assert client.post("/health/live").status_code == 405


def test_ready_names_the_database_in_use(client: Any, db: None) -> None:
    found = client.get("/health/ready").json()

    assert found["database"] == {"vendor": "sqlite", "version": sqlite3.sqlite_version}
    with connection.cursor() as cursor:
        cursor.execute("SELECT sqlite_version()")
        assert cursor.fetchone() == (sqlite3.sqlite_version,)


@pytest.mark.parametrize(
    ("age", "state", "status"),
    [(None, "never", "degraded"), (timedelta(seconds=5), "working", "ready"), (WORKER_LATE * 2, "late", "degraded")],
)
def test_ready_tells_how_the_worker_is(client: Any, db: None, age: timedelta | None, state: str, status: str) -> None:
    if age is not None:
        Heartbeat.objects.create(name="worker", at=timezone.now() - age)
    response = client.get("/health/ready")

    assert response.status_code == 200
    assert (response.json()["worker"]["state"], response.json()["status"]) == (state, status)
    assert "no-cache" in response["Cache-Control"]


@pytest.mark.django_db(transaction=True)
def test_ready_waits_for_no_writer(client: Any) -> None:
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        assert client.get("/health/ready").status_code == 200
    finally:
        other.execute("ROLLBACK")
        other.close()


@pytest.mark.django_db(transaction=True)
def test_ready_is_503_where_memories_cannot_be_read(client: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE memoryweb_heartbeat RENAME TO away")
    try:
        response = client.get("/health/ready")
        assert response.status_code == 503
        assert response.json()["status"] == "unavailable"
        assert response["Retry-After"]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE away RENAME TO memoryweb_heartbeat")


def test_ready_tells_how_the_indexes_are(client: Any, db: None) -> None:
    Heartbeat.objects.create(name="worker", at=timezone.now())
    whole = client.get("/health/ready").json()
    assert (whole["status"], whole["indexes"]) == ("ready", {"messages": "ready", "memories": "ready"})

    maintenance.detach(MEMORIES, "words", "seen")
    broken = client.get("/health/ready")
    assert broken.status_code == 200
    assert (broken.json()["status"], broken.json()["indexes"]["memories"]) == ("degraded", "damaged")
