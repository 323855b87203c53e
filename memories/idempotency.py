"""Requests that may be sent twice: an Idempotency-Key makes the second one get the first one's answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.http import HttpRequest, HttpResponse

from memories import storage
from memories.access import Principal
from memories.errors import Invalid
from memories.models import NAME_MAX, IdempotencyKey

KEPT = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Answer:
    """A written answer, and the memories whose text it repeats."""

    status: int
    body: bytes
    memory_ids: Sequence[int] = field(default_factory=tuple)

    def as_response(self) -> HttpResponse:
        return HttpResponse(self.body, status=self.status, content_type="application/json; charset=utf-8")


def request_hash(request: HttpRequest) -> str:
    """Return the SHA-256 (hex) of what makes two requests the same: method, address and body."""
    parts = [request.method or "", request.get_full_path(), ""]
    return hashlib.sha256("\n".join(parts).encode() + request.body).hexdigest()


def answer_once(
    request: HttpRequest, principal: Principal, run: Callable[[], Answer], *, now: datetime
) -> HttpResponse:
    """Return the answer of ``run``, or the kept one for a key seen before; key and writes share one transaction.

    Raises Invalid for a key that came with another request. A refused request keeps no key, so it may be mended and
    sent again.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None or principal.token_id is None:
        return run().as_response()
    if not 1 <= len(key) <= NAME_MAX or not key.isascii() or not key.isprintable():
        raise Invalid(f"Idempotency-Key must have 1 to {NAME_MAX} printable ASCII characters", field="Idempotency-Key")
    return _answer_once(request, principal.token_id, key, run, now=now)


@storage.write
def _answer_once(
    request: HttpRequest, token_id: int, key: str, run: Callable[[], Answer], *, now: datetime
) -> HttpResponse:
    hashed = request_hash(request)
    kept = IdempotencyKey.objects.filter(token_id=token_id, key=key).first()
    if kept is not None and kept.created_at > now - KEPT:
        if kept.request_hash != hashed:
            raise Invalid(
                "this Idempotency-Key was used for another request",
                field="Idempotency-Key",
                code="idempotency_key_reused",
            )
        response = Answer(kept.status, kept.answer.encode()).as_response()
        response["Idempotency-Replayed"] = "true"
        return response
    if kept is not None:
        kept.delete()
    answer = run()
    row = IdempotencyKey.objects.create(
        token_id=token_id,
        key=key,
        request_hash=hashed,
        status=answer.status,
        answer=answer.body.decode(),
        created_at=now,
    )
    row.memories.add(*answer.memory_ids)
    return answer.as_response()


@storage.write
def forget_old_keys(*, now: datetime) -> int:
    """Return how many keys older than 24 hours were deleted."""
    deleted, _ = IdempotencyKey.objects.filter(created_at__lte=now - KEPT).delete()
    return deleted
