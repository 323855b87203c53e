"""The audit log: who did what, with counts and no text, chained so that a changed entry shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from memories import storage
from memories.models import AuditEntry

BY_ITSELF = "tidy"
"""The actor of what is done without anybody asking."""


def chain_hash(entry: AuditEntry) -> str:
    """Return the SHA-256 (hex) over the entry's fields and the hash of the entry before it."""
    fields = [
        entry.previous_hash,
        entry.workspace_id,
        entry.at.isoformat(),
        entry.actor,
        entry.verb,
        entry.target,
        entry.result,
        entry.counts,
        entry.request_id,
    ]
    return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


@storage.write
def record(
    verb: str,
    *,
    actor: str,
    workspace_id: int | None = None,
    target: str = "",
    result: str = "",
    counts: dict[str, Any] | None = None,
    request_id: str = "",
    at: datetime | None = None,
) -> AuditEntry:
    """Return the entry appended to the log. ``target`` names the row acted on (``memory 7``), never its text."""
    # The lock keeps the chain a chain where two processes may write at once.
    last = AuditEntry.objects.select_for_update().order_by("-id").first()
    entry = AuditEntry(
        workspace_id=workspace_id,
        at=at or timezone.now(),
        actor=actor,
        verb=verb,
        target=target,
        result=result,
        counts=counts or {},
        request_id=request_id,
        previous_hash=last.hash if last else "",
    )
    entry.hash = chain_hash(entry)
    entry.save(force_insert=True)
    return entry


@dataclass(frozen=True)
class Verification:
    """What walking the chain found: entries read, the last hash, and the first broken entry's id (None if sound)."""

    entries: int
    head: str
    broken_at: int | None


def verify(*, each: Callable[[], object] = lambda: None) -> Verification:
    """Return whether every entry still carries its own hash and the hash of the one before it.

    ``each`` is called for each entry, for a progress bar.
    """
    previous, count = "", 0
    for entry in _entries():
        each()
        if entry.previous_hash != previous or entry.hash != chain_hash(entry):
            return Verification(count, previous, entry.pk)
        previous, count = entry.hash, count + 1
    return Verification(count, previous, None)


def _entries() -> Iterator[AuditEntry]:
    return AuditEntry.objects.order_by("id").iterator(chunk_size=2000)
