"""The search page: memories and transcripts, how they were found, and whether the answer is complete."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from memories.access import Principal, visible_among, visible_to
from memories.models import LABEL_MAX, Memory, Message, Status
from memories.pages import choose, page
from memoryweb.pages import date_field
from memoryweb.pages.browse import MARKS, midnight
from memoryweb.pages.words import ROLES, STATUSES, VALUES, in_words, reason_in_words
from search.api import MemoryQuery, MessageQuery, answer_json, memory_rows, message_rows
from search.corpora import MEMORIES, MESSAGES
from search.engine import search
from search.hits import memory_hits, message_hits, survivors
from search.query import parse

PER_PAGE = 20
TOGETHER = 10
"""Hits of each corpus where both are asked."""
FURTHEST = 10_000
"""Hits that paging reaches."""
CORPORA = [("both", _("memories and transcripts")), ("memories", _("memories")), ("messages", _("transcripts"))]
MODES = [
    ("auto", _("words, then parts of words")),
    ("words", _("whole words")),
    ("substring", _("parts of words")),
    ("scan", _("read every text")),
]
MATCHES = [("all", _("all words")), ("any", _("any word, as a question"))]
SORTS = [("relevance", _("what fits best")), ("newest", _("newest first")), ("oldest", _("oldest first"))]
FIELDS = ("id", "session_id", "role", "snippet", "timestamp", "tool_name", "source", "match", "context")


class SearchForm(forms.Form):
    """What to look for. All of it is optional."""

    q = forms.CharField(label=_("Words"), max_length=10_000, required=False)
    corpus = forms.ChoiceField(label=_("In"), choices=CORPORA, required=False)
    mode = forms.ChoiceField(label=_("Find"), choices=MODES, required=False)
    match = forms.ChoiceField(label=_("With"), choices=MATCHES, required=False)
    sort = forms.ChoiceField(label=_("Order"), choices=SORTS, required=False)
    role = forms.ChoiceField(label=_("Said by"), choices=[("", _("all")), *ROLES.items()], required=False)
    source = forms.CharField(label=_("Place"), max_length=LABEL_MAX, required=False)
    since = date_field(_("From"))
    until = date_field(_("To"))

    def value(self, name: str, default: str) -> str:
        return self.cleaned_data.get(name) or default


@dataclass(frozen=True, slots=True)
class Found:
    """What one corpus answered: hits as they are shown, and the answer's own words on how it came to them."""

    corpus: str
    name: Promise
    hits: list[dict[str, Any]]
    said: dict[str, Any]
    total: int
    is_exact: bool
    following: int | None
    previous: int | None


@page
@require_GET
def find(request: HttpRequest) -> HttpResponse:
    """The form, and what it finds."""
    chosen = choose(request)
    if chosen is None:
        return render(request, "pages/nothing.html", status=403)
    form = SearchForm({"corpus": "both", "mode": "auto", "match": "all", "sort": "relevance"} | request.GET.dict())
    form.is_valid()
    words, corpus = form.cleaned_data.get("q") or "", form.value("corpus", "both")
    offset = request.GET.get("offset", "")
    place = min(int(offset), FURTHEST) if offset.isascii() and offset.isdigit() and len(offset) < 9 else 0
    found = []
    if words.strip():
        wanted = ("memories", "messages") if corpus == "both" else (corpus,)
        limit, place = (TOGETHER, 0) if corpus == "both" else (PER_PAGE, place)
        found = [ASKED[name](chosen.principal, form, words, limit, place) for name in wanted]
    context = {"chosen": chosen, "form": form, "found": found, "words": words, "is_together": corpus == "both"}
    return render(request, "pages/search.html", context)


def _in_memories(principal: Principal, form: SearchForm, words: str, limit: int, offset: int) -> Found:
    asked = {name: form.value(name, default) for name, default in (("mode", "auto"), ("match", "all"))}
    query = MemoryQuery.model_validate(asked | {"sort": form.value("sort", "relevance")})
    rows = memory_rows(principal, query)
    if since := midnight(form.cleaned_data.get("since")):
        rows = rows.filter(created_at__gte=since)
    if until := midnight(form.cleaned_data.get("until"), days=1):
        rows = rows.filter(created_at__lt=until)
    searched = rows | visible_to(principal, Memory).filter(status=Status.MERGED)
    answer = search(
        MEMORIES,
        parse(words, match=query.match),
        searched,
        principal,
        mode=query.mode,
        sort=query.sort,
        limit=limit,
        offset=offset,
        resolve=partial(survivors, principal, allowed=rows),
    )
    hits = memory_hits(principal, answer.hits, answer.query.root, marks=MARKS)
    shown = [
        hit
        | {"kind_word": in_words(VALUES["kind"], hit["kind"]), "status_word": in_words(STATUSES, hit["status"])}
        | {"is_active": hit["status"] == Status.ACTIVE}
        for hit in hits
    ]
    return _found("memories", answer, shown, limit, offset)


def _in_messages(principal: Principal, form: SearchForm, words: str, limit: int, offset: int) -> Found:
    asked = {name: form.value(name, default) for name, default in (("mode", "auto"), ("match", "all"))}
    role, source = form.value("role", ""), form.value("source", "")
    query = MessageQuery.model_validate(
        asked
        | {
            "sort": form.value("sort", "relevance"),
            "role": [role] if role else [],
            "source": [source] if source else [],
            "since": midnight(form.cleaned_data.get("since")),
            "until": midnight(form.cleaned_data.get("until"), days=1),
        }
    )
    answer = search(
        MESSAGES,
        parse(words, match=query.match),
        message_rows(principal, query),
        principal,
        mode=query.mode,
        sort=query.sort,
        unindexed_rows=not role or role == "tool",
        limit=limit,
        offset=offset,
    )
    hits = message_hits(principal, answer.hits, answer.query.root, fields=FIELDS, include_inactive=False, marks=MARKS)
    # A page is addressed by the session's number: its name may be another one's as well.
    places = dict(visible_among(principal, Message, [hit["id"] for hit in hits]).values_list("pk", "session_id"))
    shown = [
        hit | {"session": places.get(hit["id"]), "role_word": in_words(ROLES, hit["role"]), **_around(hit)}
        for hit in hits
    ]
    return _found("messages", answer, shown, limit, offset)


def _around(hit: dict[str, Any]) -> dict[str, Any]:
    """Return the messages before and after a hit, without the hit itself."""
    context = [one | {"role_word": in_words(ROLES, one["role"])} for one in hit["context"]]
    place = next((n for n, one in enumerate(hit["context"]) if one["role"] == hit["role"]), 0)
    if len(context) == 3:
        place = 1
    return {"before": context[:place], "after": context[place + 1 :]}


ASKED = {"memories": _in_memories, "messages": _in_messages}


def _found(corpus: str, answer: Any, hits: list[dict[str, Any]], limit: int, offset: int) -> Found:
    said = answer_json(answer, [])
    if "scanned_to" in said:
        said["scanned_to"] = timezone.localtime(said["scanned_to"])
    said["reason"] = reason_in_words(said["reason"])
    names = dict(CORPORA)
    return Found(
        corpus=corpus,
        name=names[corpus],
        hits=hits,
        said=said,
        total=answer.total,
        is_exact=answer.total_is_exact,
        following=answer.next_offset if (answer.next_offset or 0) <= FURTHEST else None,
        previous=max(0, offset - limit) if offset else None,
    )
