"""What every page for people keeps to: a login, and a policy under which text from others can do nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.defaults import page_not_found, permission_denied
from django_htmx.http import HttpResponseClientRedirect

from memories.access import Principal, principal_of_member, principal_of_superuser
from memories.models import Membership, Workspace

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
View = Callable[..., HttpResponseBase]


def guarded(view: View) -> View:
    """Send the page, or the one that says why it is refused, with the content security policy, and kept by nobody."""

    @functools.wraps(view)
    def sent(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        try:
            response = view(request, *args, **kwargs)
        except PermissionDenied as refusal:
            response = permission_denied(request, refusal)
        except Http404 as absence:
            response = page_not_found(request, absence)
        response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        response["Cache-Control"] = "no-store"
        return response

    return sent


def page(view: View) -> View:
    """Guard the page, and show it to people who are logged in; others are led to the login and back again."""
    with_login = login_required(view)

    @functools.wraps(view)
    def shown(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        htmx = getattr(request, "htmx", None)
        if htmx and not request.user.is_authenticated:
            # Followed by htmx itself, a redirect would put the login page into the place of a part.
            back = redirect_to_login(htmx.current_url_abs_path or request.get_full_path())
            return HttpResponseClientRedirect(back["Location"])
        return with_login(request, *args, **kwargs)

    return guarded(shown)


def workspaces_of(request: HttpRequest) -> list[tuple[Workspace, Principal]]:
    """Return the workspaces that the person who is logged in may enter, by name, with who they are there."""
    request_id = getattr(request, "id", "")
    user = request.user
    if user.is_active and getattr(user, "is_superuser", False):
        return [
            (workspace, principal_of_superuser(user, workspace.pk, request_id=request_id))
            for workspace in Workspace.objects.order_by("name", "pk")
        ]
    memberships = Membership.objects.filter(user__pk=user.pk or 0, user__is_active=True)
    return [
        (membership.workspace, principal_of_member(membership, request_id=request_id))
        for membership in memberships.select_related("user", "workspace").order_by("workspace__name", "workspace")
    ]


CHOSEN = "workspace"
"""Where the session keeps the workspace that the person looked at last."""


def choose(request: HttpRequest, *, may: Callable[[Principal], bool] = lambda principal: True) -> Chosen | None:
    """Return the workspace that is asked for, else the one looked at last, else the first; None where there is none.

    Only those are offered in which the person ``may`` do what the page is for. Raises Http404 for any other one that is
    asked for.
    """
    entered = workspaces_of(request)
    allowed = [one for one in entered if may(one[1])]
    asked = request.GET.get("workspace", "")
    if asked:
        found = next((one for one in entered if str(one[0].pk) == asked), None)
        if found is None:
            raise Http404
        if not may(found[1]):
            return None
        if request.session.get(CHOSEN) != found[0].pk:
            request.session[CHOSEN] = found[0].pk
        return Chosen(*found, [workspace for workspace, _ in allowed])
    if not allowed:
        return None
    last = request.session.get(CHOSEN)
    found = next((one for one in allowed if one[0].pk == last), allowed[0])
    return Chosen(*found, [workspace for workspace, _ in allowed])


@dataclass(frozen=True, slots=True)
class Chosen:
    """The workspace that a page is about, who the person is there, and which others could be."""

    workspace: Workspace
    principal: Principal
    workspaces: list[Workspace]


def roles_of(request: HttpRequest) -> frozenset[str]:
    """Return the roles that the person has in any workspace: what the menu offers."""
    user = request.user
    if user.is_active and getattr(user, "is_superuser", False):
        return frozenset({str(Membership.Role.ADMIN)})
    roles = Membership.objects.filter(user__pk=user.pk or 0, user__is_active=True).values_list("role", flat=True)
    return frozenset(roles.distinct())


def is_member(request: HttpRequest) -> bool:
    """Return whether the person may enter any workspace."""
    return bool(workspaces_of(request))


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
