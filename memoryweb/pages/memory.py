"""One memory: its text, where it came from, all that happened to it, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from pydantic import ValidationError

from memories import remember
from memories.access import Principal, may_change, visible_to
from memories.errors import Refused, Stale
from memories.lineage import taken_in, went_to
from memories.models import CONTENT_MAX, NAME_MAX, Agent, Memory, Message, Revision, Status
from memories.pages import page
from memories.plain_text import clean_text, visible
from memories.schemas import MemoryPatch
from memoryweb.pages import entered, refusal_in_words
from memoryweb.pages.words import FIELDS, SCOPES, VALUES, VERBS, in_words
from tidy.diff import word_diff
from tidy.models import Candidate
from tidy.shown import KINDS, REASONS, Stretch, stretches

REVISIONS = 20
"""Revisions that a page shows, newest first."""
CANDIDATES = 10


@page
@require_GET
def memory(request: HttpRequest, memory_id: int) -> HttpResponse:
    """The memory with its history; htmx gets the next revisions alone."""
    principal, found = entered(request, Memory, memory_id)
    if getattr(request, "htmx", False):
        return render(request, "pages/memory.html#history", _history(request, principal, found))
    return render(request, "pages/memory.html", _shown(request, principal, found))


def _shown(request: HttpRequest, principal: Principal, found: Memory) -> dict[str, Any]:
    message = visible_to(principal, Message).select_related("session").filter(pk=found.message_id or 0).first()
    taken = taken_in(principal, found)
    about = visible_to(principal, Candidate).filter(memories__memory=found).order_by("-pk")[:CANDIDATES]
    return {
        "memory": found,
        "fields": _fields(found),
        "agent": Agent.objects.filter(pk=found.agent_id).values_list("name", flat=True).first(),
        "message": message,
        "went_to": went_to(principal, found),
        "taken_in": taken.listed,
        "taken_in_total": taken.total,
        "candidates": [(one, str(REASONS.get(one.reason, one.reason))) for one in about],
        "may_change": found.status != Status.ERASED and may_change(principal, found) is None,
        "may_erase": found.status != Status.ERASED and principal.is_admin,
        "is_expired": found.expires_at is not None and found.expires_at <= timezone.now(),
        **_history(request, principal, found),
    }


def _fields(found: Memory) -> list[tuple[str, str]]:
    """Return name and value of the fields that say something, in words."""
    shown: list[tuple[str, Any]] = [
        ("kind", in_words(VALUES["kind"], found.kind)),
        ("importance", found.importance),
        ("subject", found.subject),
        ("key", found.key),
        ("tags", ", ".join(found.tags)),
        ("scope", in_words(SCOPES, found.scope)),
        ("source", in_words(VALUES["source"], found.source)),
        ("pinned", gettext("yes") if found.pinned else ""),
        ("archive_reason", in_words(REASONS, found.archive_reason)),  # type: ignore[arg-type]
    ]
    return [(str(FIELDS[name]), str(value)) for name, value in shown if value]


@dataclass(frozen=True, slots=True)
class Change:
    """What one revision made of one field: two texts with what differs marked, or two values."""

    name: str
    before: list[Stretch]
    after: list[Stretch]
    is_text: bool = False
    # Not so for what a new memory began with.
    is_change: bool = True


@dataclass(frozen=True, slots=True)
class ShownRevision:
    """One step of a memory's history in words."""

    revision: Revision
    verb: str
    changes: list[Change]
    is_current: bool

    @classmethod
    def of(cls, revision: Revision, *, current: int) -> ShownRevision:
        names = [name for name in FIELDS if name in revision.after or name in revision.before]
        is_first = not revision.before
        # What a new memory has by default says nothing.
        told = [name for name in names if not is_first or name == "content" or revision.after.get(name) not in EMPTY]
        changes = [
            _change(name, revision.before.get(name), revision.after.get(name), is_first=is_first) for name in told
        ]
        return cls(revision, in_words(VERBS, revision.verb), changes, revision.number == current)


EMPTY: tuple[Any, ...] = (None, "", False, [], {}, "active")


def _change(name: str, before: Any, after: Any, *, is_first: bool) -> Change:
    one, other = _value(name, before), _value(name, after)
    left, right = _whole(one), _whole(other)
    if name == "content" and one and other:
        pieces, others = word_diff(one, other)
        left, right = stretches(pieces, others), stretches(others, pieces)
    return Change(str(FIELDS[name]), left, right, is_text=name == "content", is_change=not is_first)


def _whole(text: str) -> list[Stretch]:
    return [Stretch.of(text)] if text else []


def _value(name: str, value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if name.endswith("_at"):
        moment = timezone.localtime(datetime.fromisoformat(str(value)))
        return f"{moment:%Y-%m-%d %H:%M}"
    return in_words(VALUES.get(name, {}), str(value))


def _history(request: HttpRequest, principal: Principal, found: Memory) -> dict[str, Any]:
    before = request.GET.get("before", "")
    rows = found.revisions.order_by("-number")
    if before.isascii() and before.isdigit():
        rows = rows.filter(number__lt=min(int(before), 2**31 - 1))
    read = list(rows[: REVISIONS + 1])
    shown = [ShownRevision.of(revision, current=found.revision) for revision in read[:REVISIONS]]
    return {
        "memory": found,
        "revisions": shown,
        "older": read[REVISIONS - 1].number if len(read) > REVISIONS else None,
        "may_change": found.status != Status.ERASED and may_change(principal, found) is None,
    }


class MemoryForm(forms.Form):
    """The fields of a memory that a person edits. ``revision`` is the one that was read: If-Match, as a page has it."""

    revision = forms.IntegerField(widget=forms.HiddenInput, min_value=1)
    content = forms.CharField(label=_("Text"), max_length=CONTENT_MAX, widget=forms.Textarea, strip=False)
    subject = forms.CharField(label=_("Subject"), max_length=NAME_MAX, required=False)
    key = forms.CharField(label=_("Key"), max_length=NAME_MAX, required=False)
    kind = forms.ChoiceField(label=_("Kind"), choices=[(kind.value, word) for kind, word in KINDS.items()])
    tags = forms.CharField(label=_("Tags"), max_length=6_000, required=False, help_text=_("parted by commas"))
    importance = forms.IntegerField(label=_("Importance"), min_value=1, max_value=5)
    pinned = forms.BooleanField(label=_("Pinned"), required=False)
    expires_at = forms.DateTimeField(
        label=_("Expires"), required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    reason = forms.CharField(label=_("Reason (optional)"), max_length=NAME_MAX, required=False)

    @classmethod
    def of(cls, found: Memory) -> MemoryForm:
        """Return the form filled with what the memory holds."""
        expires = timezone.localtime(found.expires_at) if found.expires_at is not None else None
        values = {
            "revision": found.revision,
            "content": found.content,
            "subject": found.subject,
            "key": found.key or "",
            "kind": found.kind,
            "tags": ", ".join(found.tags),
            "importance": found.importance,
            "pinned": found.pinned,
            "expires_at": f"{expires:%Y-%m-%dT%H:%M}" if expires is not None else "",
        }
        return cls(initial=values)

    def clean(self) -> dict[str, Any]:
        """Return the values, once the same rules have passed them that agents' writes pass."""
        cleaned: dict[str, Any] = super().clean() or {}
        if self.errors:
            return cleaned
        sent = {name: clean_text(value) if isinstance(value, str) else value for name, value in cleaned.items()}
        sent.pop("revision")
        sent |= {"key": sent["key"] or None, "tags": [tag.strip() for tag in sent["tags"].split(",") if tag.strip()]}
        sent["content"] = sent["content"].replace("\r\n", "\n")
        try:
            self.patch = MemoryPatch.model_validate(sent)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            self.add_error(str(first["loc"][0]), str(first["msg"]))
        return cleaned

    def changes(self, found: Memory) -> dict[str, Any]:
        """Return what differs from what the memory holds; the minute stands for a time with seconds."""
        sent = self.patch.changes
        if found.expires_at is not None and sent.get("expires_at") == found.expires_at.replace(second=0, microsecond=0):
            sent.pop("expires_at")
        return sent


@page
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, memory_id: int) -> HttpResponse:
    """The form of a memory. What was changed by somebody else meanwhile is shown beside what was typed."""
    principal, found = entered(request, Memory, memory_id)
    if may_change(principal, found) is not None:
        raise PermissionDenied
    if found.status != Status.ACTIVE:
        messages.error(request, gettext("It is not active: restore it first."))
        return redirect("memory", memory_id)
    form = MemoryForm(request.POST) if request.method == "POST" else MemoryForm.of(found)
    hides = visible(found.content) != found.content
    context = {"memory": found, "form": form, "problem": "", "is_stale": False, "hides": hides}
    if request.method == "POST" and form.is_valid():
        try:
            receipt = remember.revise(
                principal,
                memory_id,
                form.changes(found),
                now=timezone.now(),
                if_revision=form.cleaned_data["revision"],
                reason=form.patch.reason,
            )
        except Refused as refusal:
            context |= {"problem": refusal_in_words(refusal), "is_stale": isinstance(refusal, Stale)}
        else:
            unchanged = gettext("Nothing was changed.")
            said = gettext("Memory %(id)d has revision %(revision)d now.")
            numbers = {"id": memory_id, "revision": receipt.revision}
            messages.success(request, unchanged if receipt.action == "unchanged" else said % numbers)
            return redirect("memory", memory_id)
    status = 200 if request.method == "GET" else 412 if context["is_stale"] else 422
    return render(request, "pages/edit.html", context, status=status)


def _archive(principal: Principal, found: Memory, request: HttpRequest) -> str:
    remember.forget(principal, found.pk, now=timezone.now(), if_revision=_seen(request), reason=_reason(request))
    return gettext("Memory %(id)d is archived: recall no longer returns it.") % {"id": found.pk}


def _restore(principal: Principal, found: Memory, request: HttpRequest) -> str:
    number = request.POST.get("revision", "")
    wanted = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None
    receipt = remember.restore(
        principal,
        found.pk,
        now=timezone.now(),
        revision=wanted,
        if_revision=_seen(request),
        reason=_reason(request),
    )
    if receipt.action == "unchanged":
        return gettext("Nothing was changed.")
    if wanted is None:
        return gettext("Memory %(id)d is active again.") % {"id": found.pk}
    return gettext("Memory %(id)d is as it was at revision %(revision)d.") % {"id": found.pk, "revision": wanted}


def _erase(principal: Principal, found: Memory, request: HttpRequest) -> str:
    if request.POST.get("typed", "").strip() != str(found.pk):
        raise Unconfirmed
    remember.erase(principal, found.pk, reason=_reason(request), now=timezone.now())
    return gettext("The text of memory %(id)d was overwritten everywhere.") % {"id": found.pk}


class Unconfirmed(Exception):
    """What cannot be undone was asked for without the number being typed."""


ACTS: dict[str, Callable[[Principal, Memory, HttpRequest], str]] = {
    "archive": _archive,
    "restore": _restore,
    "erase": _erase,
}


@page
@require_POST
def act(request: HttpRequest, memory_id: int, verb: str) -> HttpResponse:
    """Archive, restore or erase the memory, and go back to it."""
    if verb not in ACTS:
        raise Http404
    principal, found = entered(request, Memory, memory_id)
    try:
        messages.success(request, ACTS[verb](principal, found, request))
    except Refused as refusal:
        messages.error(request, refusal_in_words(refusal))
    except Unconfirmed:
        asked = gettext("Nothing was erased: type %(id)d to confirm.")
        messages.error(request, asked % {"id": memory_id})
    return redirect("memory", memory_id)


def _seen(request: HttpRequest) -> int | None:
    seen = request.POST.get("seen", "")
    return int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else None


def _reason(request: HttpRequest) -> str:
    return " ".join(clean_text(request.POST.get("reason", "")).split())[:NAME_MAX]
