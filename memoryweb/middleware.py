"""What every request passes: an id, both spellings of a slash, and errors of the API in its own shape."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.locale import LocaleMiddleware
from django.urls import is_valid_path
from django.utils import timezone
from django_htmx.middleware import HtmxMiddleware

logger = logging.getLogger(__name__)

GetResponse = Callable[[HttpRequest], HttpResponseBase]
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
ZONE = "zone"
"""The cookie with the name of the reader's time zone."""
MESSAGES = {
    400: ("malformed", "the request cannot be read"),
    404: ("not_found", "there is nothing at this address"),
    405: ("method_not_allowed", "this address does not take that method"),
    413: ("too_large", "the body is larger than 1 MiB"),
    500: ("internal", "something went wrong here; the log has the details under this request id"),
}


def is_api(request: HttpRequest) -> bool:
    """Return whether a program asked: its errors are JSON."""
    return request.path_info.startswith(("/api/", "/health/")) or request.path_info.rstrip("/") == "/metrics"


def request_id(get_response: GetResponse) -> GetResponse:
    """Give each request an id, the caller's own if it sent a plain one.

    It stands in revisions, the audit log and the answer.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        sent = request.headers.get("X-Request-Id", "")
        request.id = sent if REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex  # type: ignore[attr-defined]
        response = get_response(request)
        response["X-Request-Id"] = request.id  # type: ignore[attr-defined]
        if response.status_code >= 500:
            logger.error("request %s was answered with %d", request.id, response.status_code)  # type: ignore[attr-defined]
        return response

    return middleware


def optional_slash(get_response: GetResponse) -> GetResponse:
    """Serve an address with and without its last slash, without a redirect, which would lose the body of a POST."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if is_api(request):
            request.path_info = path.rstrip("/") or "/"
            if request.path_info == "/api":
                request.path_info = "/api/"
        elif _needs_slash(path):
            request.path_info = path + "/"
        return get_response(request)

    return middleware


def _needs_slash(path: str) -> bool:
    if path.endswith("/") or path.startswith(settings.STATIC_URL):
        return False
    return not is_valid_path(path) and bool(is_valid_path(path + "/"))


def api_errors(get_response: GetResponse) -> GetResponse:
    """Turn errors that the API did not answer itself (unknown address, method, too large a body) into its shape."""
    from memoryweb.api import error_response

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not is_api(request):
            return get_response(request)
        refusal = _unreadable(request)
        if refusal is not None:
            return error_response(*refusal)
        response = get_response(request)
        if response.status_code < 400 or "json" in response.get("Content-Type", ""):
            return response
        code, message = _unknown_host(request) or MESSAGES.get(response.status_code, ("error", response.reason_phrase))
        shaped: HttpResponse = error_response(response.status_code, code, message)
        if "Allow" in response:
            shaped["Allow"] = response["Allow"]
        return shaped

    return middleware


def _unknown_host(request: HttpRequest) -> tuple[str, str] | None:
    """Return code and message where Django refused the request for the name in its Host header."""
    try:
        request.get_host()
    except DisallowedHost:
        return "unknown_host", "this server does not answer to this Host name; ALLOWED_HOSTS lists those that it does"
    return None


def _unreadable(request: HttpRequest) -> tuple[int, str, str] | None:
    """Return the refusal of a body that is too large, before it is read, or of unknown length."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if length.isascii() and length.isdigit() and int(length[:20]) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        return (413, *MESSAGES[413])
    if not length and "HTTP_TRANSFER_ENCODING" in request.META:
        return (411, "length_required", "send the body with a Content-Length")
    return None


class PagesOnly:
    """Mixed into a middleware that serves browsers: a program's request, which has no cookies to look at, passes by."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> Any:
        return self.get_response(request) if is_api(request) else super().__call__(request)  # type: ignore[misc]


class Sessions(PagesOnly, SessionMiddleware):
    """Django's sessions, for pages."""


class Csrf(PagesOnly, CsrfViewMiddleware):
    """Django's CSRF protection, for pages; the API takes no cookies and needs none."""


class Language(PagesOnly, LocaleMiddleware):
    """The reader's language, for pages: what was chosen, else what the browser asks for."""


def time_zone(get_response: GetResponse) -> GetResponse:
    """Write times in the reader's zone, which a script notes in a cookie; without one, in the server's."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        name = request.COOKIES.get(ZONE, "")
        with timezone.override(ZoneInfo(name) if name in _zones() else None):
            return get_response(request)

    return middleware


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


class Users(PagesOnly, AuthenticationMiddleware):
    """The logged-in person, for pages."""


class Messages(PagesOnly, MessageMiddleware):
    """Django's one-time messages, for pages."""


class Htmx(PagesOnly, HtmxMiddleware):
    """What htmx asks, for pages."""
