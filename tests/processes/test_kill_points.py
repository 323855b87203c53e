"""A request killed at every single statement: all of it is there or nothing, and sent again it is there once."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client

from memoryweb.sqlite.base import DatabaseWrapper
from tests.processes.conftest import Store
from tests.processes.server import check_store
from tests.stores import ask, default_store

pytestmark = pytest.mark.processes


def die_at(step: int, act: Callable[[], Any]) -> bool:
    """Return whether a process that acts was killed at its n-th step: a statement, a commit or the end of one."""
    connections.close_all()
    child = os.fork()
    if child == 0:
        left = step

        def count() -> None:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        def counted(execute: Any, *arguments: Any) -> Any:
            count()
            return execute(*arguments)

        commit = DatabaseWrapper._commit

        def counted_commit(self: DatabaseWrapper) -> None:
            count()
            commit(self)
            count()

        DatabaseWrapper._commit = counted_commit  # type: ignore[method-assign]
        try:
            with connection.execute_wrapper(counted):
                act()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def items_of(kind: str, number: int) -> tuple[str, dict[str, Any]]:
    """Return path and body of a request that is about things of this number alone."""
    new = {"content": f"The gate is locked. {number}", "tags": ["gate"]}
    keyed = {"content": f"The gate is open. {number}", "key": f"gate {number}", "tags": ["gate"]}
    if kind == "batch":
        return "/api/memories/batch", {"memories": [new, {"content": ""}, keyed]}
    return "/api/memories", new if kind == "new" else keyed


TABLES = (
    "memories_memory",
    "memories_revision",
    "memories_memorytag",
    "memories_auditentry",
    "memories_idempotencykey",
)


@pytest.mark.parametrize("kind", ["new", "keyed", "batch"])
def test_a_request_killed_at_any_statement_is_carried_out_once_when_sent_again(store: Store, kind: str) -> None:
    def send(number: int) -> Any:
        path, body = items_of(kind, number)
        client = Client(headers={"Authorization": f"Bearer {store.token}", "Idempotency-Key": f"request {number}"})
        response = client.post(path, body, content_type="application/json")
        assert response.status_code in (200, 201), response.content
        connections.close_all()
        return response

    def rows() -> Counter[str]:
        return Counter({table: ask(store.path, f"SELECT COUNT(*) FROM {table}")[0][0] for table in TABLES})

    with default_store(store.path):
        send(0)
        before = rows()
        send(1000)
        whole = rows() - before
        step, lost, kept, killed = 0, 0, 0, True
        while killed:
            step += 1
            before = rows()
            killed = die_at(step, partial(send, step))
            carried_out = rows() - before
            assert carried_out in (whole, Counter()), step
            lost, kept = lost + (not carried_out), kept + bool(carried_out)

            response = send(step)

            assert ("Idempotency-Replayed" in response) is bool(carried_out)
            assert rows() - before == whole
    assert lost > 10  # killed before the commit
    assert kept >= 2  # killed after it, and not killed at all
    check_store(store.path)
