"""Erasing: the one way by which text really goes."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from memories.models import AuditEntry, IdempotencyKey, Memory, MemoryTag, Revision
from tests.factories import AgentFactory

SECRET = "correct-battery-staple-7731"


def everything_stored() -> str:
    """Return all text in all tables."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        found = []
        for table in tables:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            found.append(str(cursor.fetchall()))
    return "\n".join(found)


@pytest.fixture
def admin(agent: Any, client_for: Any) -> Any:
    return client_for(agent, role="admin")


def test_no_table_holds_the_text_afterwards(api_client: Any, admin: Any) -> None:
    memory = api_client.send(
        "POST",
        "/api/memories",
        {
            "content": f"password {SECRET}",
            "subject": SECRET,
            "key": SECRET,
            "tags": [SECRET],
            "metadata": {"s": SECRET},
        },
        Idempotency_Key="once",
    ).json()["memory"]
    path = f"/api/memories/{memory['id']}"
    api_client.send("PATCH", path, {"content": f"now {SECRET}!", "reason": SECRET})
    api_client.send("DELETE", f"{path}?reason={SECRET}")
    assert SECRET in everything_stored()

    response = admin.send("POST", f"{path}/erase", {"reason": "a password"})

    assert response.status_code == 200
    assert response.json() == {"id": memory["id"], "status": "erased", "revision": 4, "merged_from": []}
    assert SECRET not in everything_stored()
    assert MemoryTag.objects.count() == 0
    erased = api_client.get(path).json()
    assert (erased["status"], erased["content"], erased["key"]) == ("erased", "", None)
    assert [row.number for row in Revision.objects.all()] == [1, 2, 3, 4]
    entry = AuditEntry.objects.get(verb="memory.erase")
    assert entry.target == f"memory {memory['id']}"
    assert "a password" in entry.result


def test_a_repeated_request_does_not_bring_the_text_back(api_client: Any, admin: Any) -> None:
    body = {"content": f"password {SECRET}"}
    memory = api_client.send("POST", "/api/memories", body, Idempotency_Key="once").json()["memory"]
    admin.send("POST", f"/api/memories/{memory['id']}/erase", {"reason": "a password"})
    response = api_client.send("POST", "/api/memories", body, Idempotency_Key="once")

    assert response.status_code == 409
    assert response.json()["error"]["code"] == "erased"
    assert Memory.objects.count() == 1
    assert IdempotencyKey.objects.count() == 1


def test_an_admin_erases_what_it_cannot_read(api_client: Any, admin: Any) -> None:
    memory = api_client.remember(f"private {SECRET}")["memory"]

    assert admin.get(f"/api/memories/{memory['id']}").status_code == 404
    response = admin.send("POST", f"/api/memories/{memory['id']}/erase", {"reason": "asked to"})
    assert response.status_code == 200
    assert SECRET not in response.content.decode()


def test_only_an_admin_erases_and_only_with_a_reason(api_client: Any, admin: Any, agent: Any, client_for: Any) -> None:
    memory = api_client.remember("x", scope="shared")["memory"]
    path = f"/api/memories/{memory['id']}/erase"

    assert api_client.send("POST", path, {"reason": "why"}).status_code == 403
    assert client_for(agent, role="reader").send("POST", path, {"reason": "why"}).status_code == 403
    assert admin.send("POST", path, {"reason": "  "}).status_code == 422
    assert admin.send("POST", path, {}).status_code == 422
    foreign = client_for(AgentFactory.create(), role="admin")
    assert foreign.send("POST", path, {"reason": "why"}).status_code == 404
    assert Memory.objects.get().status == "active"


def test_an_erased_memory_stays_erased(api_client: Any, admin: Any) -> None:
    memory = api_client.remember("x", scope="shared")["memory"]
    path = f"/api/memories/{memory['id']}"
    admin.send("POST", f"{path}/erase", {"reason": "why"})

    assert api_client.send("PATCH", path, {"content": "back"}).status_code == 409
    assert api_client.send("POST", f"{path}/restore", {"revision": 1}).status_code == 409
    assert api_client.send("DELETE", path).status_code == 409
    assert admin.send("POST", f"{path}/erase", {"reason": "again"}).json()["revision"] == 2
    assert AuditEntry.objects.filter(verb="memory.erase").count() == 1
