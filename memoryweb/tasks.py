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
from memoryweb.models import Heartbeat

KEPT_DAYS = 90
"""Days that the records of logins and of failed tasks are kept."""


@storage.write
def heartbeat() -> str:
    """Note that background work gets done; /health/ready looks for it."""
    detail = {"host": socket.gethostname(), "process": os.getpid()}
    beat, _ = Heartbeat.objects.update_or_create(name="worker", defaults={"at": timezone.now(), "detail": detail})
    return f"ok {beat}"


def upkeep() -> str:
    """Delete what is no longer needed: answered request keys, expired sessions, old logins and failures."""
    now = timezone.now()
    old = now - timedelta(days=KEPT_DAYS)
    keys = forget_old_keys(now=now)
    sessions, _ = Session.objects.filter(expire_date__lt=now).delete()
    logins = _forget_logins(now=now, kept_since=old)
    failures, _ = Failure.objects.filter(stopped__lt=old).delete()
    return f"ok keys={keys} sessions={sessions} logins={logins} failures={failures}"


def _forget_logins(*, now: datetime, kept_since: datetime) -> int:
    # A failed attempt counts until its time is over, the records of logins are kept longer.
    deleted: int = AccessAttempt.objects.filter(attempt_time__lte=now - get_cool_off()).delete()[0]
    for records in (AccessLog, AccessFailureLog):
        deleted += records.objects.filter(attempt_time__lt=kept_since).delete()[0]
    return deleted
