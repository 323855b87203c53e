"""Requests a minute for each token, over all processes.

A process leases a sixteenth of what is left in one transaction and spends it in memory, so that most requests write
nothing and the limit is never passed. What a process leased and did not spend by the end of the minute is lost.
"""

from __future__ import annotations

import os
import threading

from memories import storage
from memoryweb.models import RateWindow

_guard = threading.Lock()
_permits: dict[int, tuple[int, int]] = {}
"""By token: the minute, and the permits that this process still holds in it."""


def take(token_id: int, *, limit: int, now: float) -> int:
    """Return 0 if the request may pass, else the seconds until it may.

    ``now`` is in seconds since 1970, a limit of 0 is none.
    """
    if not limit:
        return 0
    minute = int(now // 60)
    if _spend(token_id, minute):
        return 0
    leased = _lease(token_id, minute, limit)
    if not leased:
        return max(1, int((minute + 1) * 60 - now + 0.999))
    with _guard:
        held_minute, held = _permits.get(token_id, (minute, 0))
        _permits[token_id] = (minute, leased - 1 + (held if held_minute == minute else 0))
    return 0


def _spend(token_id: int, minute: int) -> bool:
    with _guard:
        held_minute, held = _permits.get(token_id, (minute, 0))
        if held_minute != minute or not held:
            return False
        _permits[token_id] = (minute, held - 1)
        return True


@storage.write
def _lease(token_id: int, minute: int, limit: int) -> int:
    window = RateWindow.objects.select_for_update().filter(token_id=token_id).first()
    if window is None:
        window = RateWindow(token_id=token_id, minute=minute)
    if window.minute != minute:
        window.minute, window.leased = minute, 0
    left = limit - window.leased
    if left <= 0:
        return 0
    leased = max(1, left // 16)
    window.leased += leased
    window.save()
    return leased


def forget() -> None:
    """Give up all permits held in memory, after a fork and between tests."""
    global _guard
    _guard = threading.Lock()
    _permits.clear()


os.register_at_fork(after_in_child=forget)
