"""What the background worker does for the house. Tasks may run twice and return one line."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta

from axes.helpers import get_cool_off
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.sessions.models import Session
from django.utils import timezone
from django_q.models import Failure

from memories import storage
from memories.idempotency import forget_old_keys
from memories.models import AuditEntry
from memories.revisions import drop_deleted_content, sweep_expired
from memoryweb.models import Heartbeat
from tidy.models import Looking

KEPT_DAYS = 90
"""Days that the records of logins and of failed tasks are kept."""
REWRITTEN_UP_TO = 1024**3
"""Bytes up to which a store is written anew after an erase. SQLite does that in memory and with the write lock held."""
SWEEPS = 20
"""Transactions of 500 expired memories each that one task takes on."""


@storage.write
def heartbeat() -> str:
    """Note that background work gets done; /health/ready looks for it."""
    detail = {"host": socket.gethostname(), "process": os.getpid()}
    beat, _ = Heartbeat.objects.update_or_create(name="worker", defaults={"at": timezone.now(), "detail": detail})
    return f"ok {beat}"


def upkeep() -> str:
    """Take expired memories out of the counts, and delete answered request keys, expired sessions and old logins."""
    now = timezone.now()
    expired = _sweep_expired(now)
    old = now - timedelta(days=KEPT_DAYS)
    keys = forget_old_keys(now=now)
    sessions, _ = Session.objects.filter(expire_date__lt=now).delete()
    logins = _forget_logins(now=now, kept_since=old)
    Looking.objects.filter(at__lt=now - timedelta(days=1)).delete()
    failures, _ = Failure.objects.filter(stopped__lt=old).delete()
    return f"ok expired={expired} keys={keys} sessions={sessions} logins={logins} failures={failures}"


def _sweep_expired(now: datetime) -> int:
    """Return how many memories were swept; what does not fit into a short task waits for the next one."""
    swept = 0
    for _ in range(SWEEPS):
        found = sweep_expired(now=now)
        swept += found
        if not found:
            break
    return swept


def _forget_logins(*, now: datetime, kept_since: datetime) -> int:
    # A failed attempt counts until its time is over, the records of logins are kept longer.
    deleted: int = AccessAttempt.objects.filter(attempt_time__lte=now - get_cool_off()).delete()[0]
    for records in (AccessLog, AccessFailureLog):
        deleted += records.objects.filter(attempt_time__lt=kept_since).delete()[0]
    return deleted


def clean_up() -> str:
    """Write the store anew if something was erased since the last time, so that no copy is left between other rows."""
    done = Heartbeat.objects.filter(name="clean_up").values_list("detail", flat=True).first() or {"erased": 0}
    erased = AuditEntry.objects.filter(pk__gt=done["erased"], verb="memory.erase").order_by("-pk").first()
    if erased is None:
        return "ok nothing was erased"
    if not drop_deleted_content(rewrite_up_to=REWRITTEN_UP_TO):
        return "copies of what was erased may be left: the store is larger than 1 GB, or not all is done yet"
    _note_clean_up(erased.pk)
    return f"ok nothing is left of what was erased up to audit entry {erased.pk}"


@storage.write
def _note_clean_up(erased: int) -> None:
    Heartbeat.objects.update_or_create(name="clean_up", defaults={"at": timezone.now(), "detail": {"erased": erased}})
