"""Whether the process lives, and whether it can serve. Neither takes the write lock."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories.wire import to_json
from memoryweb.models import Heartbeat
from search.corpora import CORPORA
from search.engine import state_in_words
from search.maintenance import states

WORKER_LATE = timedelta(seconds=150)
"""The worker beats once a minute; later than this it is not working."""


@require_safe
@never_cache
def live(request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return _answer({"status": "live"})


@require_safe
@never_cache
def ready(request: HttpRequest) -> HttpResponse:
    """200 where the database answers; ``degraded`` where the worker does not, or an index is damaged.

    503 where memories cannot be read.
    """
    try:
        beat = Heartbeat.objects.filter(name="worker").first()
        indexes = {name: state_in_words(states(corpus)) for name, corpus in CORPORA.items()}
        database = {"vendor": connection.vendor, "version": database_version()}
    except DatabaseError as error:
        return _answer({"status": "unavailable", "database": {"error": type(error).__name__}}, status=503)
    worker = worker_state(beat)
    is_well = worker["state"] == "working" and "damaged" not in indexes.values()
    status = "ready" if is_well else "degraded"
    return _answer({"status": status, "database": database, "worker": worker, "indexes": indexes})


def worker_state(beat: Heartbeat | None) -> dict[str, Any]:
    """Return whether the worker is ``working``, ``late`` or was ``never`` seen, and when it last showed itself."""
    if beat is None:
        return {"state": "never", "last_beat": None}
    late = timezone.now() - beat.at > WORKER_LATE
    return {"state": "late" if late else "working", "last_beat": beat.at}


def database_version() -> str:
    """Return the version of the database engine in use."""
    version = connection.get_database_version()
    return ".".join(str(part) for part in version)


def _answer(data: dict[str, Any], status: int = 200) -> HttpResponse:
    response = HttpResponse(to_json(data), status=status, content_type="application/json; charset=utf-8")
    if status == 503:
        response["Retry-After"] = "5"
    return response
