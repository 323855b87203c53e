"""The pages where people decide what is tidied. They work without scripts; with htmx a row is swapped in place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memories.access import Principal, visible_to
from memories.errors import NotFound, Refused
from memories.models import NAME_MAX, Workspace
from memories.pages import page, principal_in, workspaces_of
from memories.plain_text import clean_text, one_line
from tidy import review
from tidy.models import Action, Batch, Candidate
from tidy.shown import ACTIONS, REASONS, STATUSES, Shown, skipped_in_words

PER_PAGE = 20
KEPT_MAX = 4_000
VERBS = {"approve": review.approve, "dismiss": review.dismiss, "revert": review.revert}


def _only_reviewers() -> PermissionDenied:
    return PermissionDenied(gettext("What is tidied is decided by members with the role reviewer or admin."))


def _reviewer(request: HttpRequest, workspace_id: int) -> Principal:
    """Return who the person is there. Raises Http404 for a workspace of others, PermissionDenied for a reader."""
    principal = principal_in(request, workspace_id)
    if principal is None:
        raise Http404
    if not review.may_decide(principal):
        raise _only_reviewers()
    return principal


def _chosen(request: HttpRequest, entered: Sequence[tuple[Workspace, Principal]]) -> tuple[Workspace, Principal]:
    """Return the workspace that is asked for, else the first one in which the person decides."""
    asked = request.GET.get("workspace", "")
    if asked:
        found = next((one for one in entered if str(one[0].pk) == asked), None)
        if found is None:
            raise Http404
    else:
        found = next((one for one in entered if review.may_decide(one[1])), entered[0])
    if not review.may_decide(found[1]):
        raise _only_reviewers()
    return found


@page
@require_GET
def queue(request: HttpRequest) -> HttpResponse:
    """The candidates of one workspace, open ones unless asked."""
    entered = workspaces_of(request)
    if not entered:
        return render(request, "review/nothing.html", status=403)
    workspace, principal = _chosen(request, entered)
    rows = visible_to(principal, Candidate).order_by("-pk")
    found, filters = _filtered(request.GET, rows)
    paginator = Paginator(found, PER_PAGE)
    on_page = paginator.get_page(request.GET.get("page"))
    filtered = urlencode({"workspace": workspace.pk, **filters})
    context = {
        "workspaces": [one for one, there in entered if review.may_decide(there)],
        "workspace": workspace,
        "page": on_page,
        "shown": Shown.all_of(on_page),
        "total": paginator.count,
        "filters": filters,
        "filtered": filtered,
        "kept": f"{filtered}&page={on_page.number}" if on_page.number > 1 else filtered,
        "place": "queue",
        "statuses": list(STATUSES.items()),
        "actions": [(action, ACTIONS[Action(action)]) for action in Action.values if action != Action.KEEP],
        "reasons": _reasons(rows.filter(status=filters["status"])),
    }
    return render(request, "review/queue.html", context)


def _filtered(asked: QueryDict, rows: QuerySet[Candidate]) -> tuple[QuerySet[Candidate], dict[str, str]]:
    """Return the rows that are asked for, and what was asked for as far as there is such a thing."""
    status = asked.get("status", "pending")
    filters = {"status": status if status in Candidate.Status.values else "pending"}
    for name, allowed in (("action", Action.values), ("reason", list(REASONS))):
        if (value := asked.get(name, "")) in allowed:
            filters[name] = value
    if subject := clean_text(asked.get("subject", "")).strip()[:NAME_MAX]:
        filters["subject"] = subject
    return rows.filter(**filters), filters


def _reasons(rows: QuerySet[Candidate]) -> list[tuple[str, str, int]]:
    counted = rows.order_by("reason").values_list("reason").annotate(Count("pk"))
    return [(reason, REASONS.get(reason, reason), count) for reason, count in counted]


def _candidate(request: HttpRequest, candidate_id: int) -> tuple[Principal, Candidate]:
    """Return the candidate and who decides it. Raises Http404 also for one of somebody else's workspace."""
    place = Candidate.objects.filter(pk=candidate_id).values_list("workspace_id", flat=True).first()
    if place is None:
        raise Http404
    principal = _reviewer(request, place)
    candidate = visible_to(principal, Candidate).filter(pk=candidate_id).first()
    if candidate is None:
        raise Http404
    return principal, candidate


@page
@require_GET
def candidate(request: HttpRequest, candidate_id: int) -> HttpResponse:
    """One candidate on a page of its own."""
    _, found = _candidate(request, candidate_id)
    return render(request, "review/candidate.html", {"one": Shown.of(found), "kept": request.GET.urlencode()})


def _reason(request: HttpRequest) -> str:
    return clean_text(request.POST.get("reason", "")).strip()[:NAME_MAX]


@page
@require_POST
def decide(request: HttpRequest, candidate_id: int, verb: str) -> HttpResponse:
    """Approve, dismiss or revert one candidate. htmx gets its row, others go back to where they were."""
    if verb not in VERBS:
        raise Http404
    principal, found = _candidate(request, candidate_id)
    problem = _problem(principal, found, verb, _reason(request))
    found.refresh_from_db()
    shown = Shown.of(found)
    # Parsed and written anew, so that nothing but a query comes back.
    kept = QueryDict(request.POST.get("kept", "")[:KEPT_MAX])
    place = request.POST.get("place", "")
    if getattr(request, "htmx", False):
        context = {"one": shown, "problem": problem, "kept": kept.urlencode(), "place": place}
        if place == "queue":
            context["total"] = _filtered(kept, visible_to(principal, Candidate))[0].count()
        return render(request, "review/candidate.html#decided", context)
    if problem:
        messages.error(request, problem)
    else:
        messages.success(request, shown.done)
    if place == "batch" and found.batch_id is not None:
        return redirect(_address(kept, "review-batch", found.batch_id))
    return redirect(_address(kept, "review"))


def _problem(principal: Principal, found: Candidate, verb: str, reason: str) -> str:
    """Return why the candidate was left alone, empty where it was not. Raises Http404 where it is gone by now."""
    try:
        decided = VERBS[verb](principal, [found.pk], now=timezone.now(), reason=reason)
    except NotFound as gone:
        raise Http404 from gone
    return " ".join(skipped_in_words(outcome) for outcome in decided.skipped)


def _address(query: QueryDict, name: str, *args: int) -> str:
    return f"{reverse(name, args=args)}?{query.urlencode()}" if query else reverse(name, args=args)


@page
@require_http_methods(["GET", "POST"])
def batch(request: HttpRequest, batch_id: int) -> HttpResponse:
    """What was applied together, with a button that takes all of it back."""
    found = Batch.objects.filter(pk=batch_id).first()
    # With an order of its own: the model's would make each row distinct.
    rows_of = Candidate.objects.filter(batch_id=batch_id).order_by("workspace_id")
    places = list(rows_of.values_list("workspace_id", flat=True).distinct())
    principals = [one for place in places if (one := principal_in(request, place)) and review.may_decide(one)]
    if found is None or not principals:
        raise Http404
    if request.method == "POST":
        for principal in principals:
            _revert_batch(request, principal, batch_id, _reason(request))
        return redirect("review-batch", batch_id)
    rows: QuerySet[Candidate] = reduce(or_, (visible_to(principal, Candidate) for principal in principals))
    rows = rows.filter(batch=found).order_by("-pk")
    on_page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context: dict[str, Any] = {
        "batch": found,
        "actor": one_line(found.actor),
        "page": on_page,
        "shown": Shown.all_of(on_page),
        "applied": rows.filter(status=Candidate.Status.APPLIED).count(),
        "kept": f"page={on_page.number}" if on_page.number > 1 else "",
        "place": "batch",
    }
    return render(request, "review/batch.html", context)


def _revert_batch(request: HttpRequest, principal: Principal, batch_id: int, reason: str) -> None:
    try:
        decided = review.revert_batch(principal, batch_id, now=timezone.now(), reason=reason)
    except Refused as refusal:
        messages.error(request, one_line(refusal.message))
        return
    if decided.done:
        said = ngettext("%(count)d candidate was reverted.", "%(count)d candidates were reverted.", decided.done)
        messages.success(request, said % {"count": decided.done})
    for outcome in decided.skipped:
        messages.error(request, skipped_in_words(outcome))
    if not decided.outcomes:
        messages.info(request, gettext("Nothing of it is applied any more."))
