"""The pages where people decide what is tidied. They work without scripts; with htmx a row is swapped in place."""

from __future__ import annotations

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
from memories.errors import Refused
from memories.models import NAME_MAX, Workspace
from memories.pages import page, principal_in, workspaces_of
from memories.plain_text import clean_text, one_line
from tidy import review
from tidy.models import Action, Batch, Candidate
from tidy.shown import ACTIONS, REASONS, Shown, skipped_in_words

PER_PAGE = 20
VERBS = {"approve": review.approve, "dismiss": review.dismiss, "revert": review.revert}


def _reviewer(request: HttpRequest, workspace_id: int) -> Principal:
    """Return who the person is there. Raises Http404 for a workspace of others, PermissionDenied for a reader."""
    principal = principal_in(request, workspace_id)
    if principal is None:
        raise Http404
    if not review.may_decide(principal):
        raise PermissionDenied
    return principal


def _workspace(request: HttpRequest, workspaces: list[Workspace]) -> Workspace:
    asked = request.GET.get("workspace", "")
    found = next((one for one in workspaces if str(one.pk) == asked), None)
    if found is None and asked:
        raise Http404
    return found or workspaces[0]


@page
@require_GET
def queue(request: HttpRequest) -> HttpResponse:
    """The candidates of one workspace, open ones unless asked."""
    workspaces = workspaces_of(request)
    if not workspaces:
        return render(request, "review/nothing.html", status=403)
    workspace = _workspace(request, workspaces)
    principal = _reviewer(request, workspace.pk)
    rows = visible_to(principal, Candidate).order_by("-pk")
    chosen, filters = _filtered(request, rows)
    paginator = Paginator(chosen, PER_PAGE)
    found = paginator.get_page(request.GET.get("page"))
    kept = urlencode({"workspace": workspace.pk, **filters})
    context = {
        "workspaces": workspaces,
        "workspace": workspace,
        "page": found,
        "shown": [Shown.of(candidate) for candidate in found],
        "total": paginator.count,
        "filters": filters,
        "kept": kept,
        "statuses": Candidate.Status.choices,
        "actions": [(action, ACTIONS[Action(action)]) for action in Action.values if action != Action.KEEP],
        "reasons": _reasons(rows.filter(status=filters["status"])),
    }
    return render(request, "review/queue.html", context)


def _filtered(request: HttpRequest, rows: QuerySet[Candidate]) -> tuple[QuerySet[Candidate], dict[str, str]]:
    """Return the rows that are asked for, and what was asked for as far as there is such a thing."""
    status = request.GET.get("status", "pending")
    filters = {"status": status if status in Candidate.Status.values else "pending"}
    for name, allowed in (("action", Action.values), ("reason", list(REASONS))):
        if request.GET.get(name, "") in allowed:
            filters[name] = request.GET[name]
    if subject := clean_text(request.GET.get("subject", "")).strip()[:NAME_MAX]:
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


@page
@require_POST
def decide(request: HttpRequest, candidate_id: int, verb: str) -> HttpResponse:
    """Approve, dismiss or revert one candidate. htmx gets its row, others go back to the list."""
    if verb not in VERBS:
        raise Http404
    principal, _ = _candidate(request, candidate_id)
    reason = clean_text(request.POST.get("reason", "")).strip()[:NAME_MAX]
    decided = VERBS[verb](principal, [candidate_id], now=timezone.now(), reason=reason)
    shown = Shown.of(Candidate.objects.get(pk=candidate_id))
    problem = "".join(skipped_in_words(outcome) for outcome in decided.skipped)
    if getattr(request, "htmx", False):
        context = {"one": shown, "problem": problem, "kept": request.POST.get("kept", "")}
        return render(request, "review/candidate.html#row", context)
    if problem:
        messages.error(request, problem)
    else:
        messages.success(request, shown.done)
    # Parsed and written anew, so that nothing but filters comes back.
    query = QueryDict(request.POST.get("kept", "")[:2000]).urlencode()
    return redirect(f"{reverse('review')}?{query}" if query else reverse("review"))


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
        reason = clean_text(request.POST.get("reason", "")).strip()[:NAME_MAX]
        for principal in principals:
            _revert_batch(request, principal, batch_id, reason)
        return redirect("review-batch", batch_id)
    rows = [row for principal in principals for row in visible_to(principal, Candidate).filter(batch=found)[:500]]
    context: dict[str, Any] = {
        "batch": found,
        "shown": [Shown.of(row) for row in rows],
        "applied": sum(row.status == Candidate.Status.APPLIED for row in rows),
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
