"""Who is calling the API: a token from the header becomes a principal, within its rate."""

from __future__ import annotations

import logging
import shutil
import time
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.db.utils import OperationalError
from django.http import HttpRequest
from django.utils import timezone

from memories.access import Principal, principal_of_token, token_for
from memories.models import Token
from memoryweb import rates

logger = logging.getLogger(__name__)

DISK_RESERVE = 64 * 1024 * 1024
"""Bytes that stay free, so that the database can always finish what it has begun."""
USED_EVERY = timedelta(minutes=1)


class Unavailable(Exception):
    """The request is fine but cannot be served now."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after


def secret_of(request: HttpRequest) -> str:
    """Return the token's text from ``Authorization: Bearer`` or ``X-API-Key``, or an empty text."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    return request.headers.get("X-API-Key", "").strip()


class TokenAuth:
    """django-ninja's authentication: returns the principal, or None for no or an unknown token. Cookies are ignored."""

    openapi_name = "Token"
    openapi_type = "http"
    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> Principal | None:
        now = timezone.now()
        token = token_for(secret_of(request), now=now)
        if token is None:
            return None
        wait = rates.take(token.pk, limit=settings.RATE_LIMIT, now=time.time())
        if wait:
            raise Unavailable(
                429, "rate_limited", f"more than {settings.RATE_LIMIT} requests a minute", retry_after=wait
            )
        if request.method not in ("GET", "HEAD", "OPTIONS") and disk_is_nearly_full():
            raise Unavailable(507, "disk_full", "the disk is nearly full; nothing was written and the data is intact")
        note_use(token)
        return principal_of_token(token, request_id=getattr(request, "id", ""))


def note_use(token: Token) -> None:
    """Write when the token was last used, once a minute at most.

    Not being able to is no reason to refuse the request.
    """
    now = timezone.now()
    if token.last_used_at is not None and token.last_used_at > now - USED_EVERY:
        return
    unused = Q(last_used_at=None) | Q(last_used_at__lte=now - USED_EVERY)
    try:
        Token.objects.filter(unused, pk=token.pk).update(last_used_at=now)
    except OperationalError:
        logger.warning("could not note the use of token %s", token.prefix)


_disk: tuple[float, bool] = (0.0, False)


def disk_is_nearly_full() -> bool:
    """Return whether the data directory's disk has less than the reserve left; looked at once a second."""
    global _disk
    looked_at, full = _disk
    if time.monotonic() - looked_at > 1:
        full = shutil.disk_usage(settings.DATA_DIR).free < DISK_RESERVE
        _disk = (time.monotonic(), full)
    return full
