"""The pages where people decide what is tidied. They work without scripts; with htmx a row is swapped in place."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memories.access import Principal, visible_to
from memories.errors import NotFound, Refused
from memories.models import NAME_MAX, Agent
from memories.pages import choose, is_member, page, principal_in
from memories.plain_text import clean_text, one_line
from tidy import review
from tidy.effect import effect_of
from tidy.models import Action, Batch, Candidate, CandidateMemory
from tidy.shown import ACTIONS, REASONS, STATUSES, Shown, skipped_in_words

PER_PAGE = 20
SAMPLED = 10
"""Candidates that are shown before many are decided at once, picked at random."""
BULK_MAX = 500
"""Candidates that are decided at once at most: some seconds."""
KEPT_MAX = 4_000
VERBS = {"approve": review.approve, "dismiss": review.dismiss, "revert": review.revert}
STATUS_OF = {
    "approve": Candidate.Status.PENDING,
    "dismiss": Candidate.Status.PENDING,
    "revert": Candidate.Status.APPLIED,
}
"""Which candidates a verb is for."""
SORTS = {"newest": ("-pk",), "impact": ("-impact", "-pk")}


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


@page
@require_GET
def queue(request: HttpRequest) -> HttpResponse:
    """The candidates of one workspace, open ones unless asked."""
    chosen = choose(request, may=review.may_decide)
    if chosen is None:
        if not is_member(request):
            return render(request, "pages/nothing.html", status=403)
        raise _only_reviewers()
    workspace, principal = chosen.workspace, chosen.principal
    rows = visible_to(principal, Candidate)
    found, filters = _filtered(request.GET, rows, principal)
    paginator = Paginator(found, PER_PAGE)
    on_page = paginator.get_page(request.GET.get("page"))
    filtered = urlencode({"workspace": workspace.pk, **filters})
    context = {
        "chosen": chosen,
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
        "is_narrowed": bool(filters.keys() - {"status", "sort"}),
        "ids": [one.pk for one in on_page],
        "lookers": _lookers(request, [one.pk for one in on_page]),
    }
    return render(request, "review/queue.html", context)


def _filtered(
    asked: Mapping[str, Any], rows: QuerySet[Candidate], principal: Principal
) -> tuple[QuerySet[Candidate], dict[str, str]]:
    """Return the rows that are asked for in their order, and what was asked for as far as there is such a thing."""
    status = asked.get("status", "pending")
    filters = {"status": status if status in Candidate.Status.values else "pending"}
    rows = rows.filter(status=filters["status"])
    for name, allowed in (("action", Action.values), ("reason", list(REASONS))):
        if (value := asked.get(name, "")) in allowed:
            filters[name] = value
            rows = rows.filter(**{name: value})
    for name, lookup in (("subject", "subject"), ("actor", "decided_by")):
        if value := clean_text(asked.get(name, "")).strip()[:NAME_MAX]:
            filters[name] = value
            rows = rows.filter(**{lookup: value})
    if agent := clean_text(asked.get("agent", "")).strip()[:NAME_MAX]:
        filters["agent"] = agent
        agents = Agent.objects.filter(workspace_id=principal.workspace_id, name=agent).values_list("pk", flat=True)
        of_agent = CandidateMemory.objects.filter(candidate=OuterRef("pk"), memory__agent__in=list(agents))
        rows = rows.filter(Exists(of_agent))
    if asked.get("auto") in ("0", "1"):
        filters["auto"] = asked["auto"]
        rows = rows.filter(auto=asked["auto"] == "1")
    # Open ones have no time at which they were decided.
    time = "created_at" if filters["status"] == Candidate.Status.PENDING else "decided_at"
    for name, sign in (("since", "gte"), ("until", "lt")):
        if (moment := _moment(asked.get(name, ""))) is not None:
            filters[name] = asked[name]
            rows = rows.filter(**{f"{time}__{sign}": moment})
    if asked.get("sort") in SORTS:
        filters["sort"] = asked["sort"]
    return rows.order_by(*SORTS[filters.get("sort", "newest")]), filters


def _moment(value: str) -> datetime | None:
    """Return the time in the reader's zone that a form sent, None for what is no time."""
    try:
        found = datetime.fromisoformat(value) if len(value) <= 32 else None
        return timezone.make_aware(found) if found is not None and found.tzinfo is None else found
    except (ValueError, OverflowError):
        return None


def _reasons(rows: QuerySet[Candidate]) -> list[tuple[str, str, int]]:
    counted = rows.order_by("reason").values_list("reason").annotate(Count("pk"))
    return [(reason, REASONS.get(reason, reason), count) for reason, count in counted]


def _lookers(request: HttpRequest, ids: Sequence[int]) -> dict[int, str]:
    """Return who else looks at each of the candidates now, in words."""
    names = review.lookers(ids, besides=request.user.pk or 0, now=timezone.now())
    return {pk: one_line(", ".join(who)) for pk, who in names.items()}


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
    context = {"one": Shown.of(found), "kept": request.GET.urlencode(), "lookers": _lookers(request, [found.pk])}
    return render(request, "review/candidate.html", context)


@page
@require_GET
def effect(request: HttpRequest, candidate_id: int) -> HttpResponse:
    """What recall returns before and after the candidate is applied."""
    _, found = _candidate(request, candidate_id)
    is_open = found.status == Candidate.Status.PENDING
    context = {
        "one": Shown.of(found),
        "recalls": effect_of(found, now=timezone.now()) if is_open else [],
        "is_open": is_open,
    }
    part = "review/effect.html#recalls" if getattr(request, "htmx", False) else "review/effect.html"
    return render(request, part, context)


@page
@require_http_methods(["GET", "POST"])
def looking(request: HttpRequest) -> HttpResponse:
    """Who else looks at the candidates on a page; a POST notes that the person looks at one of them."""
    asked = request.POST if request.method == "POST" else request.GET
    ids = [int(one) for one in asked.getlist("id")[:PER_PAGE] if one.isascii() and one.isdigit() and len(one) < 19]
    places = set(Candidate.objects.filter(pk__in=ids).order_by().values_list("workspace_id", flat=True))
    principals = [_reviewer(request, place) for place in places]
    # Candidates that are gone by now are no error: a page that asks again and again would be replaced by one.
    visible = (visible_to(principal, Candidate) for principal in principals)
    seen: QuerySet[Candidate] = reduce(or_, visible, Candidate.objects.none()).filter(pk__in=ids).order_by("-pk")
    if request.method == "POST":
        for found in seen:
            review.look(found, user_id=request.user.pk or 0, now=timezone.now())
    shown = [found.pk for found in seen]
    return render(request, "review/looking.html", {"ids": shown, "lookers": _lookers(request, shown)})


def _reason(request: HttpRequest) -> str:
    return clean_text(request.POST.get("reason", "")).strip()[:NAME_MAX]


@page
@require_POST
def decide(request: HttpRequest, candidate_id: int, verb: str) -> HttpResponse:
    """Approve, dismiss or revert one candidate. htmx gets its row, others go back to where they were."""
    if verb not in VERBS:
        raise Http404
    principal, found = _candidate(request, candidate_id)
    seen = request.POST.get("seen", "")
    if verb == "approve" and seen and seen != Shown.of(found).seen:
        problem = gettext("It rests on other revisions by now: look at it again.")
    else:
        problem = _problem(principal, found, verb, request)
    found.refresh_from_db()
    shown = Shown.of(found)
    # Parsed and written anew, so that nothing but a query comes back.
    kept = QueryDict(request.POST.get("kept", "")[:KEPT_MAX])
    place = request.POST.get("place", "")
    if getattr(request, "htmx", False):
        context = {"one": shown, "problem": problem, "kept": kept.urlencode(), "place": place}
        if place == "queue":
            context["total"] = _filtered(kept, visible_to(principal, Candidate), principal)[0].count()
        return render(request, "review/candidate.html#decided", context)
    if problem:
        messages.error(request, problem)
    else:
        messages.success(request, shown.done)
    if place == "batch" and found.batch_id is not None:
        return redirect(_address(kept, "review-batch", found.batch_id))
    return redirect(_address(kept, "review"))


def _problem(principal: Principal, found: Candidate, verb: str, request: HttpRequest) -> str:
    """Return why the candidate was left alone, empty where it was not. Raises Http404 where it is gone by now."""
    options: dict[str, Any] = {"now": timezone.now(), "reason": _reason(request)}
    if verb == "dismiss" and request.POST.get("never"):
        options["never"] = True
    try:
        decided = VERBS[verb](principal, [found.pk], **options)
    except NotFound as gone:
        raise Http404 from gone
    return " ".join(skipped_in_words(outcome) for outcome in decided.skipped)


@page
@require_http_methods(["GET", "POST"])
def bulk(request: HttpRequest) -> HttpResponse:
    """Decide all that a filter lets through: first a random ten of them to look at, then a button with the number."""
    asked = request.POST if request.method == "POST" else request.GET
    workspace = asked.get("workspace", "")
    if not (workspace.isascii() and workspace.isdigit() and len(workspace) < 19):
        raise Http404
    principal = _reviewer(request, int(workspace))
    verb = asked.get("verb", "approve")
    if verb not in VERBS:
        raise Http404
    rows, filters = _filtered(
        asked.dict() | {"status": STATUS_OF[verb].value}, visible_to(principal, Candidate), principal
    )
    newest = asked.get("newest", "")
    if newest.isascii() and newest.isdigit() and len(newest) < 19:
        # What came since the person looked is not part of it.
        rows = rows.filter(pk__lte=int(newest))
    if verb == "revert":
        # The last goes first: what was built upon another one is taken back before it.
        rows = rows.order_by("-decided_at", "-pk")
    ids = list(rows.values_list("pk", flat=True)[: BULK_MAX + 1])
    total = len(ids) if len(ids) <= BULK_MAX else rows.count()
    ids = ids[:BULK_MAX]
    if request.method == "POST" and ids and request.POST.get("number") == str(len(ids)):
        return _bulk_done(request, principal, verb, ids, filters)
    if request.method == "POST":
        messages.error(request, gettext("Nothing was done: there are other ones than you were shown. Look again."))
    sample = random.sample(ids, min(SAMPLED, len(ids)))
    context = {
        "verb": verb,
        "workspace": principal.workspace_id,
        "filters": {name: value for name, value in filters.items() if name not in ("status", "sort")},
        "said": _filters_in_words(filters),
        "number": len(ids),
        "total": total,
        "newest": max(ids, default=0),
        "shown": Shown.all_of(Candidate.objects.filter(pk__in=sample).order_by("-pk")),
        "is_sample": True,
    }
    return render(request, "review/bulk.html", context)


def _bulk_done(
    request: HttpRequest, principal: Principal, verb: str, ids: list[int], filters: dict[str, str]
) -> HttpResponse:
    decided = VERBS[verb](principal, ids, now=timezone.now(), reason=_reason(request))
    said = {
        "approve": ngettext("%(count)d candidate was applied.", "%(count)d candidates were applied.", decided.done),
        "dismiss": ngettext("%(count)d candidate was dismissed.", "%(count)d candidates were dismissed.", decided.done),
        "revert": ngettext("%(count)d candidate was reverted.", "%(count)d candidates were reverted.", decided.done),
    }
    messages.success(request, said[verb] % {"count": decided.done})
    for outcome in decided.skipped[:SAMPLED]:
        messages.error(request, skipped_in_words(outcome))
    if len(decided.skipped) > SAMPLED:
        more = ngettext(
            "%(count)d more was left alone.", "%(count)d more were left alone.", len(decided.skipped) - SAMPLED
        )
        messages.error(request, more % {"count": len(decided.skipped) - SAMPLED})
    if decided.batch is not None and decided.done:
        return redirect("review-batch", decided.batch.pk)
    query = QueryDict(urlencode({"workspace": principal.workspace_id, **filters}))
    return redirect(_address(query, "review"))


def _filters_in_words(filters: dict[str, str]) -> list[str]:
    """Return what narrows the candidates, as a person reads it."""
    words = {
        "action": lambda value: str(ACTIONS[Action(value)]),
        "reason": lambda value: str(REASONS[value]),
        "auto": lambda value: gettext("applied by itself") if value == "1" else gettext("applied by a person"),
        "since": lambda value: gettext("from %(time)s on") % {"time": value},
        "until": lambda value: gettext("before %(time)s") % {"time": value},
    }
    told = (name for name in filters if name not in ("status", "sort"))
    return [one_line(words.get(name, str)(filters[name])) for name in told]


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
