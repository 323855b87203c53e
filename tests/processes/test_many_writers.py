"""Sixty clients, an admin and the background worker write at once: none fails, and none is lost."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

import pytest

from tests.processes.clients import Client, Clients
from tests.processes.conftest import Store
from tests.processes.server import Server, check_store, program, until
from tests.stores import ask

pytestmark = pytest.mark.processes

LONG = bool(os.environ.get("MEMORYWEB_LONG"))
ROUNDS = 40 if LONG else 4


def live_a_day(client: Client) -> dict[int, list[str]]:
    """Write, change, forget and read by turns; return what each memory said, one text after the other."""
    told: dict[int, list[str]] = {}
    for number in range(ROUNDS):
        own = f"{client.place}-{number}"
        receipt = client.remember(f"observation {own}", tags=["seen"], importance=number % 5 + 1)
        assert receipt is not None
        assert receipt["action"] == "created"
        observation = receipt["memory"]["id"]
        told[observation] = [f"observation {own}"]
        keyed = client.remember(f"state {own}", key=f"state of {client.place}")
        assert keyed is not None
        told.setdefault(keyed["memory"]["id"], []).append(f"state {own}")
        changed = client.send("PATCH", f"/api/memories/{observation}", {"content": f"better {own}"})
        assert changed is not None
        assert changed.status_code == 200, changed.text
        told[observation].append(f"better {own}")
        if number % 3 == 0:
            gone = client.send("DELETE", f"/api/memories/{observation}")
            assert gone is not None
            assert gone.status_code == 200, gone.text
        assert 1 <= client.get("/api/recall?limit=5")["returned"] <= 5
        history = client.get(f"/api/memories/{observation}/history")["revisions"]
        assert [revision["revision"] for revision in history] == list(range(1, len(history) + 1))
    return told


def test_sixty_clients_an_admin_and_the_worker_lose_nothing(store: Store) -> None:
    people = ROUNDS * 5
    with (
        Server(store.data) as server,
        program(store.data, "manage.py", "cluster"),
        program(store.data, "-m", "tests.processes.people", str(people)) as admin,
    ):
        days = Clients([server.url], store.token).run(live_a_day)
        saved, _ = admin.communicate(timeout=120)
        assert saved == f"{people}\n"
        by_tasks = "SELECT COUNT(*) FROM memories_memory WHERE content LIKE 'by task %'"
        until(lambda: ask(store.path, by_tasks) == [(people,)], patience=120)

    told = {memory: contents for day in days for memory, contents in day.items()}
    assert len(told) == 60 * (ROUNDS + 1)
    rows = dict(ask(store.path, "SELECT id, content FROM memories_memory WHERE content NOT LIKE 'by task %'"))
    assert rows == {memory: contents[-1] for memory, contents in told.items()}
    for memory, contents in told.items():
        assert contents == contents_of(store, memory)
    assert ask(store.path, "SELECT COUNT(*) FROM memories_memory WHERE status = 'archived'") == [
        (60 * len(range(0, ROUNDS, 3)),)
    ]
    for table, condition in {
        "memories_workspace": "name LIKE 'renamed %'",
        "memories_agent": "name = 'an agent'",
        "memories_membership": "1",
        "auth_user": "username LIKE 'person %'",
        "django_session": "1",
    }.items():
        assert ask(store.path, f"SELECT COUNT(*) FROM {table} WHERE {condition}") == [(people,)], table
    check_store(store.path)


def contents_of(store: Store, memory: int) -> list[str]:
    """Return what the memory said after each revision that changed its content."""
    said = "SELECT json_extract(after, '$.content') FROM memories_revision WHERE memory_id = ? ORDER BY number"
    return [content for (content,) in ask(store.path, said, memory) if content is not None]


@pytest.mark.parametrize("servers", [1, 2])
def test_sixty_writes_at_once_under_one_key_are_one_memory_and_sixty_revisions(store: Store, servers: int) -> None:
    with ExitStack() as running:
        urls = [running.enter_context(Server(store.data)).url for _ in range(servers)]
        receipts = Clients(urls, store.token).run(
            lambda client: client.remember(f"version {client.place}", key="the one key")
        )

    assert sorted(receipt["revision"] for receipt in receipts) == list(range(1, 61))
    assert [receipt["action"] for receipt in receipts].count("created") == 1
    assert len({receipt["memory"]["created_at"] for receipt in receipts}) == 1
    ((memory, created_at, first),) = ask(
        store.path,
        "SELECT memory.id, memory.created_at, revision.created_at FROM memories_memory AS memory "
        "JOIN memories_revision AS revision ON memory_id = memory.id AND number = 1",
    )
    assert created_at == first
    by_revision = {receipt["revision"]: receipt["memory"]["content"] for receipt in receipts}
    assert contents_of(store, memory) == [by_revision[number] for number in range(1, 61)]
    befores = "SELECT json_extract(before, '$.content') FROM memories_revision WHERE number > 1 ORDER BY number"
    assert [content for (content,) in ask(store.path, befores)] == [by_revision[number] for number in range(1, 60)]
    check_store(store.path)


def test_two_servers_on_one_store_lose_nothing(store: Store) -> None:
    with Server(store.data) as one, Server(store.data) as other:
        days = Clients([one.url, other.url], store.token, number=30).run(live_a_day)

    told: dict[Any, list[str]] = {memory: contents for day in days for memory, contents in day.items()}
    rows = dict(ask(store.path, "SELECT id, content FROM memories_memory"))
    assert rows == {memory: contents[-1] for memory, contents in told.items()}
    assert len(rows) == 30 * (ROUNDS + 1)
    check_store(store.path)
