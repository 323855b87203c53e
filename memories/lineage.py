"""Where merged memories went, and what a memory took in."""

from __future__ import annotations

from typing import Any

from memories.access import Principal, visible_to
from memories.models import Memory, Status

HOPS_MAX = 100
TAKEN_IN_MAX = 100


def went_to(principal: Principal, memory: Memory) -> list[int]:
    """Return the ids of the memories that a merged one went into, one after the other, as far as they are visible."""
    chain: list[int] = []
    here: Memory | None = memory
    while here is not None and here.merged_into_id is not None and len(chain) < HOPS_MAX:
        here = visible_to(principal, Memory).filter(pk=here.merged_into_id).first()
        if here is None or here.pk in chain or here.pk == memory.pk:
            break
        chain.append(here.pk)
    return chain


def taken_in(principal: Principal, memory: Memory) -> list[dict[str, Any]]:
    """Return id and message of the memories merged into this one, those merged into them too, TAKEN_IN_MAX at most."""
    found: dict[int, dict[str, Any]] = {}
    targets = [memory.pk]
    while targets and len(found) < TAKEN_IN_MAX:
        rows = visible_to(principal, Memory).filter(merged_into__in=targets, status=Status.MERGED).order_by("pk")
        new = {pk: message for pk, message in rows.values_list("id", "message_id")[:TAKEN_IN_MAX] if pk not in found}
        found |= {pk: {"id": pk, "message_id": message} for pk, message in new.items()}
        targets = [pk for pk in new if pk != memory.pk]
    return list(found.values())[:TAKEN_IN_MAX]
