"""Requests sent twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories.idempotency import forget_old_keys
from memories.models import IdempotencyKey, Memory


def remember(client: Any, body: dict[str, Any], key: str, path: str = "/api/memories") -> Any:
    return client.send("POST", path, body, Idempotency_Key=key)


def test_the_same_request_gets_the_same_answer_and_writes_once(api_client: Any) -> None:
    first = remember(api_client, {"content": "once"}, "k-1")
    api_client.send("PATCH", f"/api/memories/{first.json()['memory']['id']}", {"content": "changed since"})
    second = remember(api_client, {"content": "once"}, "k-1")

    assert (second.status_code, second.content) == (201, first.content)
    assert second["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    assert Memory.objects.count() == 1


def test_another_request_under_the_same_key_is_refused(api_client: Any) -> None:
    remember(api_client, {"content": "once"}, "k-1")
    response = remember(api_client, {"content": "twice"}, "k-1")

    assert response.status_code == 422
    assert response.json()["error"]["code"] == "idempotency_key_reused"
    batch = remember(api_client, {"memories": [{"content": "once"}]}, "k-1", "/api/memories/batch")
    assert batch.status_code == 422
    assert Memory.objects.count() == 1


def test_keys_of_two_tokens_do_not_meet(agent: Any, client_for: Any) -> None:
    statuses = [remember(client_for(agent), {"content": f"from {n}"}, "k-1").status_code for n in range(2)]

    assert statuses == [201, 201]


def test_a_refused_request_may_be_mended_under_its_key(api_client: Any) -> None:
    assert remember(api_client, {"content": "x", "importance": 7}, "k-1").status_code == 422
    assert remember(api_client, {"content": "x", "importance": 5}, "k-1").status_code == 201


def test_a_batch_is_replayed_whole(api_client: Any) -> None:
    body = {"memories": [{"content": "a"}, {"content": ""}, {"content": "b"}]}
    first = remember(api_client, body, "k-1", "/api/memories/batch")
    second = remember(api_client, body, "k-1", "/api/memories/batch")

    assert first.content == second.content
    assert Memory.objects.count() == 2
    assert IdempotencyKey.objects.get().memories.count() == 2


def test_a_key_is_kept_for_24_hours(api_client: Any) -> None:
    remember(api_client, {"content": "once"}, "k-1")
    now = timezone.now()
    IdempotencyKey.objects.update(created_at=now - timedelta(hours=23, minutes=59))
    assert forget_old_keys(now=now) == 0
    assert remember(api_client, {"content": "once"}, "k-1")["Idempotency-Replayed"] == "true"
    IdempotencyKey.objects.update(created_at=now - timedelta(hours=24, seconds=1))
    assert remember(api_client, {"content": "another"}, "k-1").status_code == 201
    IdempotencyKey.objects.update(created_at=now - timedelta(hours=24))
    assert forget_old_keys(now=now) > 0
    assert IdempotencyKey.objects.count() == 0


@pytest.mark.parametrize("key", ["", "x" * 201, "ümlaut", "tab\tinside"])
def test_a_key_must_be_plain(api_client: Any, key: str) -> None:
    response = remember(api_client, {"content": "x"}, key)

    assert response.status_code == 422
    assert response.json()["error"]["field"] == "Idempotency-Key"
    assert Memory.objects.count() == 0
