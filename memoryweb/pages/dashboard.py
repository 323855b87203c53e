"""The first page: how much is remembered, what waits for people, and whether everything works."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.db.models import Count
from django.db.models.functions import TruncDate
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from memories.access import Principal, visible_to
from memories.models import Memory
from memories.pages import choose, page
from memories.recall import stats
from memoryweb.metrics import Latency, latencies
from memoryweb.pages.charts import Bar, bars, columns
from memoryweb.pages.words import STATUSES, VALUES, in_words
from search.status import oldest_task, statuses
from tidy import review
from tidy.models import Candidate, Round
from tidy.shown import REASONS

DAYS = 30
"""Days of growth that are drawn."""
KEPT_SECONDS = 60
"""How long counts of a whole workspace are shown again: they take a moment where there are many memories."""
RULES = 8


@page
@require_GET
def dashboard(request: HttpRequest) -> HttpResponse:
    """The overview of one workspace."""
    chosen = choose(request)
    if chosen is None:
        return render(request, "pages/nothing.html", status=403)
    principal, now = chosen.principal, timezone.now()
    decides = review.may_decide(principal)
    counts = _counts(principal, now)
    context: dict[str, Any] = {
        "chosen": chosen,
        "decides": decides,
        "counts": counts,
        "charts": _charts(counts),
        "pending": _pending(principal) if decides else [],
        "by_itself": _by_itself(principal) if decides else None,
        "latencies": [(_name(one), one) for one in latencies()],
        "indexes": statuses(now=now),
        "oldest_task": oldest_task(now=now),
        "last_round": Round.objects.first() if decides else None,
    }
    context["pending_total"] = sum(count for _, _, count in context["pending"])
    return render(request, "pages/dashboard.html", context)


def _counts(principal: Principal, now: datetime) -> dict[str, Any]:
    """Return the workspace's counts, of up to a minute ago."""
    zone = timezone.get_current_timezone_name()
    name = f"dashboard-{principal.workspace_id}-{principal.private}-{zone}"
    found: dict[str, Any] | None = cache.get(name)
    if found is None:
        found = stats(principal, "kind") | {"days": _days(principal, now), "at": now}
        cache.set(name, found, KEPT_SECONDS)
    return found


def _days(principal: Principal, now: datetime) -> list[tuple[str, int]]:
    """Return how many memories were made on each of the last DAYS days, in the reader's time zone."""
    today = timezone.localtime(now).date()
    rows = visible_to(principal, Memory).filter(created_at__gt=now - timedelta(days=DAYS + 1))
    made = dict(rows.annotate(day=TruncDate("created_at")).order_by().values_list("day").annotate(Count("pk")))
    days = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    return [(f"{day:%m-%d}", made.get(day, 0)) for day in days]


def _charts(counts: dict[str, Any]) -> list[tuple[str, Any]]:
    by_status = [Bar(in_words(STATUSES, name), rows) for name, rows in counts["by_status"].items() if rows]
    by_kind = [Bar(in_words(VALUES["kind"], one["value"]), one["count"]) for one in counts["groups"]]
    days = [Bar(day, made) for day, made in counts["days"]]
    titles = gettext("Memories by kind"), gettext("Memories by status"), gettext("New memories a day")
    return [
        (titles[0], bars(titles[0], by_kind, name="by-kind")),
        (titles[1], bars(titles[1], by_status, name="by-status")),
        (titles[2], columns(titles[2], days, name="growth")),
    ]


def _pending(principal: Principal) -> list[tuple[str, str, int]]:
    """Return reason, its words and number of the open candidates."""
    rows = visible_to(principal, Candidate).filter(status=Candidate.Status.PENDING).order_by()
    counted = rows.values_list("reason").annotate(number=Count("pk"))
    return [(reason, str(REASONS.get(reason, reason)), number) for reason, number in counted.order_by("-number")]


def _by_itself(principal: Principal) -> Any:
    """Return a chart of what was applied without a person, rule by rule, beside what people took back of it."""
    decided = (Candidate.Status.APPLIED, Candidate.Status.REVERTED)
    rows = visible_to(principal, Candidate).filter(auto=True, status__in=decided).order_by()
    kept: Counter[str] = Counter()
    taken_back: Counter[str] = Counter()
    for reason, status, number in rows.values_list("reason", "status").annotate(Count("pk")):
        (kept if status == Candidate.Status.APPLIED else taken_back)[reason] += number
    found = [Bar(str(REASONS.get(reason, reason)), kept[reason], taken_back[reason]) for reason in {*kept, *taken_back}]
    found.sort(key=lambda bar: -(bar.value + bar.other))
    return bars(gettext("Applied by itself, and taken back"), found[:RULES], name="by-itself") if found else None


def _name(one: Latency) -> str:
    names = {
        "recall": gettext("recall"),
        "search memories": gettext("search in memories"),
        "search messages": gettext("search in transcripts"),
    }
    return names.get(one.name, one.name)
