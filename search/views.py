"""The index room: how each index is, moving by itself, with buttons for whoever runs the house."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from memories.access import Actor
from memories.pages import page
from memories.plain_text import one_line
from search import acts
from search.corpora import CORPORA
from search.maintenance import generation_of
from search.models import IndexRun, IndexState
from search.status import oldest_task, statuses

RUNS = 20
"""Runs that the page lists, newest first."""
ACTS: dict[str, Callable[..., Any]] = {
    "rebuild": acts.rebuild,
    "pause": acts.pause,
    "resume": acts.resume,
    "verify": acts.verify,
    "optimize": acts.optimize,
}


def _check(request: HttpRequest) -> None:
    """Let the superuser pass: indexes are of the whole instance."""
    if not (request.user.is_active and getattr(request.user, "is_superuser", False)):
        raise PermissionDenied


@page
@require_GET
def room(request: HttpRequest) -> HttpResponse:
    """All indexes. The part that moves asks for itself again while something is built."""
    _check(request)
    now = timezone.now()
    shown = statuses(now=now)
    context = {
        "oldest_task": oldest_task(now=now),
        "indexes": shown,
        "is_moving": any(one.is_building and not one.is_paused for one in shown),
        "runs": IndexRun.objects.all()[:RUNS],
    }
    return render(
        request, "indexes/room.html#moving" if getattr(request, "htmx", False) else "indexes/room.html", context
    )


@page
@require_POST
def act(request: HttpRequest, pk: int, verb: str) -> HttpResponse:
    """Do to one index what a button says."""
    _check(request)
    if verb not in ACTS:
        raise Http404
    state = get_object_or_404(IndexState, pk=pk)
    actor = Actor(f"user {request.user.get_username()}", getattr(request, "id", ""), is_person=True)
    found = ACTS[verb](CORPORA[state.corpus], generation_of(state).kind, actor=actor)
    messages.success(request, _said(verb, state, found))
    return redirect("indexes")


def _said(verb: str, state: IndexState, found: Any) -> str:
    name = {"index": str(state)}
    if verb == "rebuild":
        return gettext("The index %(index)s is being built anew.") % name
    if verb == "verify":
        return one_line(gettext("The index %(index)s is %(verdict)s.") % (name | {"verdict": found.said}))
    if verb == "optimize":
        done = gettext("The index %(index)s is merged.")
        return (done if found else gettext("The index %(index)s was merged in part; there is more.")) % name
    if not found:
        return gettext("There was nothing to do for the index %(index)s.") % name
    said = (
        gettext("The building of %(index)s waits.")
        if verb == "pause"
        else gettext("The building of %(index)s goes on.")
    )
    return said % name
