"""Transcripts to read: the list of sessions, and one of them from its beginning or around a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from memories.access import Principal, visible_among
from memories.errors import Invalid
from memories.models import LABEL_MAX, NAME_MAX, Memory, Message, Session
from memories.pages import choose, page
from memories.plain_text import clean_text, one_line
from memories.session_lists import SessionFilters, list_sessions
from memories.transcript_reading import BACKWARDS, FORWARDS, SAID, Walk, preview, visible_parent
from memoryweb.pages import entered
from memoryweb.pages.words import ROLES, in_words

PER_PAGE = 50
WINDOW = 25
"""Messages before and after the one that a link leads to."""
BOOKENDS = 3
FOLDED = 1_200
"""Characters above which a message is folded; a tool's output always is."""
MEMORIES = 50


@page
@require_GET
def sessions(request: HttpRequest) -> HttpResponse:
    """The sessions of a workspace, the most recently active first."""
    chosen = choose(request)
    if chosen is None:
        return render(request, "pages/nothing.html", status=403)
    q, source = (clean_text(request.GET.get(name, "")).strip() for name in ("q", "source"))
    filters = SessionFilters(
        q=q[:NAME_MAX],
        sources=(source[:LABEL_MAX],) if source else (),
        include_archived="archived" in request.GET,
        include_subagents=True,
    )
    try:
        found = list_sessions(chosen.principal, filters, cursor=request.GET.get("after") or None, limit=PER_PAGE)
    except Invalid:
        found = list_sessions(chosen.principal, filters, cursor=None, limit=PER_PAGE)
    context = {"chosen": chosen, "found": found, "q": q, "source": source, "archived": filters.include_archived}
    return render(request, "pages/sessions.html", context)


@dataclass(frozen=True, slots=True)
class Shown:
    """One message as the page shows it."""

    message: Message
    role: str
    is_tool: bool
    is_folded: bool
    summary: str
    # Names and argument values of the tools it calls.
    call: str
    memories: Sequence[int] = ()

    @property
    def mark(self) -> str:
        """Return what became of it: ``compacted``, ``rewound`` or nothing."""
        if self.message.active:
            return ""
        return "compacted" if self.message.compacted else "rewound"


@page
@require_GET
def session(request: HttpRequest, session_id: int) -> HttpResponse:
    """The session from its beginning, or around the message asked for; htmx gets the next messages alone."""
    principal, found = entered(request, Session, session_id)
    rewound = "rewound" in request.GET and not principal.is_reader
    anchor = _message(found, request, "message")
    stretch = _around(found, anchor, rewound) if anchor is not None else _stretch(found, request, rewound)
    is_part = bool(getattr(request, "htmx", False))
    if is_part:
        # It goes between others: what lies on the side it comes from is on the page already.
        before = "before" in request.GET
        stretch = replace(stretch, earlier=stretch.earlier if before else None, later=None if before else stretch.later)
    context: dict[str, Any] = {
        "session": found,
        "anchor": anchor,
        "stretch": stretch,
        "shown": _all(principal, stretch.messages),
        "rewound": rewound,
        "may_see_rewound": not principal.is_reader,
    }
    if is_part:
        return render(request, "pages/session.html#more", context)
    there = {one.pk for one in stretch.messages}
    context |= {"parent": _parent(principal, found)}
    for name, order, is_cut in (
        ("beginning", FORWARDS, stretch.earlier is not None),
        ("ending", BACKWARDS, stretch.later is not None),
    ):
        ends = list(Walk(found, order, SAID, said=True).take(BOOKENDS)) if is_cut else []
        ends.sort(key=lambda one: (one.timestamp, one.pk))
        context[name] = _all(principal, [one for one in ends if one.pk not in there])
    return render(request, "pages/session.html", context)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages that follow each other, and the first and the last where more come before and after."""

    messages: list[Message]
    earlier: int | None
    later: int | None


def _around(found: Session, anchor: Message, rewound: bool) -> Stretch:
    earlier = list(Walk(found, BACKWARDS, rewound=rewound).take(WINDOW + 1, behind=anchor))
    later = list(Walk(found, FORWARDS, rewound=rewound).take(WINDOW + 1, behind=anchor))
    shown = [*earlier[:WINDOW][::-1], anchor, *later[:WINDOW]]
    return Stretch(
        shown,
        shown[0].pk if len(earlier) > WINDOW else None,
        shown[-1].pk if len(later) > WINDOW else None,
    )


def _stretch(found: Session, request: HttpRequest, rewound: bool) -> Stretch:
    """Return the messages before or behind the one that is named, or those from the beginning."""
    before = _message(found, request, "before")
    behind = _message(found, request, "after") if before is None else None
    order = FORWARDS if before is None else BACKWARDS
    rows = list(Walk(found, order, rewound=rewound).take(PER_PAGE + 1, behind=before or behind))
    more, shown = len(rows) > PER_PAGE, rows[:PER_PAGE]
    if before is not None:
        shown = shown[::-1]
        return Stretch(shown, shown[0].pk if more else None, shown[-1].pk if shown else None)
    return Stretch(shown, shown[0].pk if behind is not None and shown else None, shown[-1].pk if more else None)


def _message(found: Session, request: HttpRequest, name: str) -> Message | None:
    number = request.GET.get(name, "")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        return None
    return found.messages.filter(pk=int(number)).first()


def _parent(principal: Principal, found: Session) -> tuple[int, str] | None:
    name = visible_parent(principal, found)
    return (found.parent_id, one_line(name)) if name is not None and found.parent_id is not None else None


def _all(principal: Principal, rows: Sequence[Message]) -> list[Shown]:
    """Return the messages as they are shown, with the memories that were taken from them."""
    taken: dict[int, list[int]] = {}
    from_them = memories_from(principal, [one.pk for one in rows])
    for memory, message in from_them:
        taken.setdefault(message, []).append(memory)
    # A walk leaves out what the index reads of tool calls.
    calls = dict(visible_among(principal, Message, [one.pk for one in rows]).values_list("pk", "tool_text"))
    return [_shown(one, calls.get(one.pk, ""), taken.get(one.pk, ())) for one in rows]


def memories_from(principal: Principal, ids: Sequence[int]) -> list[tuple[int, int]]:
    """Return id and message of the memories that were taken from these messages, MEMORIES at most."""
    # Found by their messages, then asked for who may see them: by the door the database would walk all of them.
    rows = Memory.objects.filter(message__isnull=False, message_id__in=ids).order_by()
    places = rows.values_list("pk", "message_id", "workspace_id", "partition")[:MEMORIES]
    return [
        (memory, message)
        for memory, message, workspace, partition in sorted(places)
        if message is not None and principal.sees(workspace_id=workspace, partition=partition)
    ]


def _shown(one: Message, call: str, memories: Sequence[int]) -> Shown:
    is_tool = one.role == "tool" or (bool(call) and not one.content)
    text = one.content or call
    is_folded = is_tool or len(text) > FOLDED or bool(one.display_kind)
    return Shown(one, in_words(ROLES, one.role), is_tool, is_folded, preview(text), call, memories)
