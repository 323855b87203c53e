"""Where merged memories went, and what a memory took in."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from memories.access import Principal, visible_to
from memories.models import Memory, Status

HOPS_MAX = 100
LISTED_MAX = 100
COUNTED_MAX = 10_000
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class TakenIn:
    """Id and message of what a memory took in, the first LISTED_MAX, and how many there are, up to COUNTED_MAX."""

    listed: list[dict[str, Any]]
    total: int


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


def taken_in(principal: Principal, memory: Memory) -> TakenIn:
    """Return which memories were merged into this one, and into those, as far as they are visible."""
    found: dict[int, int | None] = {}
    targets = [memory.pk]
    while targets and len(found) < COUNTED_MAX:
        here, targets = targets[:AT_ONCE], targets[AT_ONCE:]
        rows = visible_to(principal, Memory).filter(merged_into__in=here, status=Status.MERGED).order_by("pk")
        new = {
            pk: message
            for pk, message in rows.values_list("id", "message_id")[:COUNTED_MAX]
            if pk not in found and pk != memory.pk
        }
        found |= new
        targets += new
    listed = list(islice(found.items(), LISTED_MAX))
    return TakenIn([{"id": pk, "message_id": message} for pk, message in listed], min(len(found), COUNTED_MAX))
