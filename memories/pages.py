"""What every page for people keeps to: a login, and a policy under which text from others can do nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from memories.access import Principal, principal_of_member, principal_of_superuser
from memories.models import Membership, Workspace

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
View = Callable[..., HttpResponseBase]


def guarded(view: View) -> View:
    """Send the page with the content security policy, and kept by nobody on the way."""

    @functools.wraps(view)
    def sent(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        response["Cache-Control"] = "no-store"
        return response

    return sent


def page(view: View) -> View:
    """Guard the page, and show it to people who are logged in."""
    return guarded(login_required(view))


def workspaces_of(request: HttpRequest) -> list[Workspace]:
    """Return the workspaces that the person who is logged in may enter, by name."""
    rows = Workspace.objects.order_by("name", "pk")
    user = request.user
    if user.is_active and getattr(user, "is_superuser", False):
        return list(rows)
    return list(rows.filter(memberships__user__pk=user.pk or 0))


def principal_in(request: HttpRequest, workspace_id: int) -> Principal | None:
    """Return who the person is in a workspace, None where they have no business."""
    request_id = getattr(request, "id", "")
    user = request.user
    if user.is_active and getattr(user, "is_superuser", False):
        is_there = Workspace.objects.filter(pk=workspace_id).exists()
        return principal_of_superuser(user, workspace_id, request_id=request_id) if is_there else None
    membership = (
        Membership.objects.select_related("user").filter(user__pk=user.pk or 0, workspace_id=workspace_id).first()
    )
    if membership is None or not membership.user.is_active:
        return None
    return principal_of_member(membership, request_id=request_id)
