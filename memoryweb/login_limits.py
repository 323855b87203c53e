"""How often a login may fail, and the page that says when to try again.

Two limits stand side by side. AXES_FAILURE_LIMIT counts one name from one address: it stops guessing at a password,
and nobody can lock a person out from elsewhere. LOGIN_FAILURES_PER_ADDRESS counts one address over all names: it stops
trying a few common passwords on many names. It is higher, since an office or a household shares an address.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_cool_off
from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from memories.pages import CONTENT_SECURITY_POLICY

Failures = Iterable[tuple[datetime, int]]
"""The time of the last failure and how many there were, for each record of attempts."""


def locked_until(failures: Failures, *, limit: int, cool_off: timedelta) -> datetime | None:
    """Return when enough failures are forgotten that fewer than ``limit`` remain, or None if they are fewer now."""
    total = 0
    for last, count in sorted(failures, reverse=True):
        total += count
        if total >= limit:
            return last + cool_off
    return None


class LoginLimits(AxesDatabaseHandler):
    """django-axes' records of failed logins, judged by two limits. AXES_LOCKOUT_PARAMETERS names pair and address."""

    def attempts_of(self, request: HttpRequest, credentials: dict[str, Any] | None) -> tuple[QuerySet, QuerySet]:
        """Return the failures that still count: those of the name at this address, and those of the address."""
        of_pair, of_address = self.get_user_attempts(request, credentials)
        return of_pair, of_address

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Return the failures of the pair, or as many as lock it where its address has used up its own."""
        of_pair, of_address = (
            int(sum(attempts.values_list("failures_since_start", flat=True)))
            for attempts in self.attempts_of(request, credentials)
        )
        if of_address >= settings.LOGIN_FAILURES_PER_ADDRESS:
            return max(of_pair, settings.AXES_FAILURE_LIMIT)
        return of_pair

    def reset_user_attempts(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Return how many records the success of a login wiped: those of its own name.

        The address keeps its failures on other names, or whoever has one account could guess at the others without end.
        """
        of_pair, _ = self.filter_user_attempts(request, credentials)
        count: int = of_pair.delete()[0]
        return count

    def locked_until(self, request: HttpRequest, credentials: dict[str, Any] | None) -> datetime | None:
        """Return when both limits let the next attempt pass, or None if they do now."""
        limits = (settings.AXES_FAILURE_LIMIT, settings.LOGIN_FAILURES_PER_ADDRESS)
        cool_off = get_cool_off(request)
        ends = []
        for attempts, limit in zip(self.attempts_of(request, credentials), limits, strict=True):
            failures = attempts.values_list("attempt_time", "failures_since_start")
            ends.append(locked_until(failures, limit=limit, cool_off=cool_off))
        return max((end for end in ends if end is not None), default=None)


def locked_out(request: HttpRequest, response: HttpResponse, credentials: dict[str, Any] | None) -> HttpResponse:
    """Return the page for somebody who is locked out. It does not tell whether the name exists."""
    until = AxesProxyHandler.get_implementation().locked_until(request, credentials)
    now = timezone.now()
    seconds = max(1, math.ceil((until - now).total_seconds())) if until is not None else 1
    context = admin.site.each_context(request) | {
        "title": "Too many failed logins",
        "minutes": math.ceil(seconds / 60),
        "until": now + timedelta(seconds=seconds),
    }
    in_admin = request.path_info.startswith(reverse("admin:index"))
    template = "admin/locked_out.html" if in_admin else "registration/locked_out.html"
    page = render(request, template, context, status=429)
    if not in_admin:
        page["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    page["Retry-After"] = str(seconds)
    page["Cache-Control"] = "no-store"
    return page
