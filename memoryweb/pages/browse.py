"""The memories of a workspace: filtered, searched, archived and restored several at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from memories import remember
from memories.access import Principal, visible_to
from memories.errors import Refused
from memories.models import NAME_MAX, Agent, Memory, Status
from memories.pages import choose, page, principal_in
from memories.plain_text import clean_text, cut
from memories.recall import COUNTED_MAX, Filters, count_memories, list_memories
from memoryweb.pages import date_field, refusal_in_words
from memoryweb.pages.words import SCOPES, SOURCES, STATUSES, VALUES, in_words, reason_in_words
from search.api import MemoryQuery, memory_rows
from search.corpora import MEMORIES
from search.engine import Answer, search
from search.hits import memory_hits, survivors
from search.query import parse
from tidy.shown import KINDS

PER_PAGE = 50
TEXT_SHOWN = 300
"""Characters of a memory's text that the list shows."""
NAMED = 5
"""Memories that stood in the way of a bulk act and are named."""


class BrowseForm(forms.Form):
    """What memories to list. All of it is optional."""

    q = forms.CharField(label=_("Words"), max_length=2_000, required=False)
    status = forms.ChoiceField(label=_("Status"), choices=[*STATUSES.items()], required=False, initial="active")
    kind = forms.ChoiceField(
        label=_("Kind"), choices=[("", _("all")), *((str(k.value), w) for k, w in KINDS.items())], required=False
    )
    subject = forms.CharField(label=_("Subject"), max_length=NAME_MAX, required=False)
    tag = forms.CharField(label=_("Tag"), max_length=100, required=False)
    key = forms.CharField(label=_("Key"), max_length=NAME_MAX, required=False)
    pinned = forms.ChoiceField(
        label=_("Pinned"), choices=[("", _("all")), ("1", _("yes")), ("0", _("no"))], required=False
    )
    agent = forms.CharField(label=_("Agent"), max_length=NAME_MAX, required=False)
    scope = forms.ChoiceField(label=_("Seen by"), choices=[("", _("all")), *SCOPES.items()], required=False)
    source = forms.ChoiceField(label=_("Source"), choices=[("", _("all")), *SOURCES.items()], required=False)
    min_importance = forms.IntegerField(label=_("Importance from"), min_value=1, max_value=5, required=False)
    since = date_field(_("From"))
    until = date_field(_("To"))

    @property
    def filters(self) -> Filters:
        """Return what was asked for, words aside; what cannot be read does not narrow."""
        asked = self.cleaned_data
        return Filters(
            subject=clean_text(asked["subject"]).strip() if asked.get("subject") else None,
            kinds=(asked["kind"],) if asked.get("kind") else (),
            tags=(clean_text(asked["tag"]).strip(),) if asked.get("tag") else (),
            scope=asked.get("scope") or None,
            statuses=(asked.get("status") or Status.ACTIVE.value,),
            min_importance=asked.get("min_importance") or 1,
            sources=(asked["source"],) if asked.get("source") else (),
            created_by=clean_text(asked["agent"]) if asked.get("agent") else None,
            key=clean_text(asked["key"]).strip() if asked.get("key") else None,
            pinned=asked["pinned"] == "1" if asked.get("pinned") else None,
            since=midnight(asked.get("since")),
            until=midnight(asked.get("until"), days=1),
        )

    @property
    def words(self) -> str:
        return clean_text(self.cleaned_data.get("q") or "")


def midnight(day: Any, *, days: int = 0) -> datetime | None:
    """Return the beginning of a day in the reader's time zone, or of one some days later."""
    if day is None:
        return None
    try:
        return timezone.make_aware(datetime.combine(day + timedelta(days=days), time()))
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of memories as rows, where the next one begins, how many there are, and how words were found."""

    rows: list[dict[str, Any]]
    following: str | None
    total: int
    is_exact: bool
    answer: Answer | None = None

    @property
    def reason(self) -> str:
        """Return why words were found so, in the reader's language."""
        return "" if self.answer is None else reason_in_words(self.answer.plan.reason)


@page
@require_GET
def browse(request: HttpRequest) -> HttpResponse:
    """The list, newest first; with words what fits them best."""
    chosen = choose(request)
    if chosen is None:
        return render(request, "pages/nothing.html", status=403)
    form = BrowseForm({"status": "active"} | request.GET.dict())
    form.is_valid()
    find = _found if form.words.strip() else _listed
    listed = find(chosen.principal, form, request.GET.get("after", ""))
    context = {
        "chosen": chosen,
        "form": form,
        "listed": listed,
        "rows": [_shown(row) for row in listed.rows],
        "is_narrowed": any(name not in ("workspace", "after") and value for name, value in request.GET.items()),
        "may_change": not chosen.principal.is_reader,
        "kept": _kept(request.GET),
    }
    part = "pages/browse.html#more" if getattr(request, "htmx", False) else "pages/browse.html"
    return render(request, part, context)


def _kept(asked: QueryDict) -> str:
    kept = asked.copy()
    kept.pop("after", None)
    return kept.urlencode()


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return what the list shows of a row."""
    return row | {
        "text": cut(row["content"], TEXT_SHOWN),
        "is_cut": len(row["content"]) > TEXT_SHOWN,
        "kind_word": in_words(VALUES["kind"], row["kind"]),
        "status_word": in_words(STATUSES, row["status"]),
        "tag_list": ", ".join(row["tags"]),
    }


def _listed(principal: Principal, form: BrowseForm, after: str) -> Listed:
    cursor = int(after) if after.isascii() and after.isdigit() and len(after) < 19 else None
    found = list_memories(principal, form.filters, cursor=cursor, limit=PER_PAGE)
    total = count_memories(principal, form.filters)
    return Listed(found.rows, found.next_cursor, min(total, COUNTED_MAX), total <= COUNTED_MAX)


def _found(principal: Principal, form: BrowseForm, after: str) -> Listed:
    offset = min(int(after), 10_000) if after.isascii() and after.isdigit() and len(after) < 9 else 0
    rows = _rows(principal, form.filters)
    searched, resolve = rows, None
    if form.filters.statuses == (Status.ACTIVE.value,):
        # Merged ones are found too, and show the memory they went into.
        searched = rows | visible_to(principal, Memory).filter(status=Status.MERGED)
        resolve = partial(survivors, principal, allowed=rows)
    answer = search(MEMORIES, parse(form.words), searched, principal, limit=PER_PAGE, offset=offset, resolve=resolve)
    following = None if answer.next_offset is None else str(answer.next_offset)
    hits = memory_hits(principal, answer.hits, answer.query.root, marks=MARKS)
    return Listed(hits, following, answer.total, answer.total_is_exact, answer)


MARKS = ("\x02", "\x03")
"""Stand around what was sought, for the filter ``found``."""


def _rows(principal: Principal, filters: Filters) -> QuerySet[Memory]:
    """Return the memories that the filters let through, without joins, as a search wants them."""
    query = MemoryQuery.model_validate(
        {
            "subject": filters.subject,
            "kind": filters.kinds,
            "tag": filters.tags,
            "scope": filters.scope,
            "status": filters.statuses,
        }
    )
    rows = memory_rows(principal, query).filter(importance__gte=filters.min_importance)
    if filters.sources:
        rows = rows.filter(source__in=filters.sources)
    if filters.created_by is not None:
        agents = Agent.objects.filter(workspace_id=principal.workspace_id, name=filters.created_by)
        rows = rows.filter(agent_id__in=list(agents.values_list("pk", flat=True)))
    if filters.key is not None:
        rows = rows.filter(key=filters.key)
    if filters.pinned is not None:
        rows = rows.filter(pinned=filters.pinned)
    if filters.since is not None:
        rows = rows.filter(created_at__gte=filters.since)
    if filters.until is not None:
        rows = rows.filter(created_at__lt=filters.until)
    return rows


VERBS: dict[str, Callable[..., remember.Receipt]] = {"archive": remember.forget, "restore": remember.restore}


@page
@require_POST
def act_on_many(request: HttpRequest) -> HttpResponse:
    """Archive or restore the memories that are ticked, each on its own, and say what became of them."""
    workspace = request.POST.get("workspace", "")
    principal = principal_in(request, int(workspace)) if workspace.isascii() and workspace.isdigit() else None
    verb = VERBS.get(request.POST.get("verb", ""))
    if principal is None or verb is None or principal.is_reader:
        raise PermissionDenied
    reason = " ".join(clean_text(request.POST.get("reason", "")).split())[:NAME_MAX]
    ids = [int(one) for one in request.POST.getlist("id") if one.isascii() and one.isdigit() and len(one) < 19]
    done, refused = 0, []
    for memory_id in dict.fromkeys(ids[:PER_PAGE]):
        try:
            receipt = verb(principal, memory_id, now=timezone.now(), reason=reason)
        except Refused as refusal:
            refused.append(gettext("Memory %(id)d: %(why)s") % {"id": memory_id, "why": refusal_in_words(refusal)})
        else:
            done += receipt.action != "unchanged"
    messages.success(request, _said(request.POST["verb"], done))
    for said in refused[:NAMED]:
        messages.error(request, said)
    kept = QueryDict(request.POST.get("kept", "")[:4_000])
    response = redirect("memories")
    response["Location"] += f"?{kept.urlencode()}" if kept else ""
    return response


def _said(verb: str, done: int) -> str:
    if verb == "archive":
        said = ngettext("%(count)d memory was archived.", "%(count)d memories were archived.", done)
    else:
        said = ngettext("%(count)d memory is active again.", "%(count)d memories are active again.", done)
    return said % {"count": done}
