"""Memories: corrected, archived and restored, never deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminSplitDateTime, AdminTextareaWidget, AdminTextInputWidget
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from pydantic import TypeAdapter, ValidationError

from memories import remember
from memories.admin.base import (
    BoundedList,
    ReasonForm,
    RefusableForm,
    ShowsRefusals,
    as_block,
    beginning,
    link,
    principal_in,
)
from memories.errors import Refused
from memories.models import Kind, Memory, Revision, Status
from memories.plain_text import one_line
from memories.remember import Receipt
from memories.schemas import MemoryPatch, Reason
from memories.wire import Malformed, parse_json, to_json

LISTED = 20
"""Revisions and merged memories that a memory's page lists; the rest is one link away."""
ACTED_ON = 1_000
"""Memories that one action changes at most."""


class LinesField(forms.CharField):
    """A text of several lines. Browsers send every line break as two characters; that is no change of the text."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, **kwargs)

    def to_python(self, value: Any) -> str:
        return _unix_lines(super().to_python(value) or "")

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(_unix_lines(initial or ""), data)


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _small_area(rows: int) -> AdminTextareaWidget:
    return AdminTextareaWidget(attrs={"rows": rows})


class MemoryForm(RefusableForm):
    """What a person may change of a memory. The rules are those of the API (MemoryPatch)."""

    content = LinesField(widget=_small_area(10))
    subject = forms.CharField(required=False, widget=AdminTextInputWidget)
    key = forms.CharField(required=False, widget=AdminTextInputWidget, help_text=_("Empty: it has no key."))
    kind = forms.ChoiceField(choices=Kind.choices)
    tags = LinesField(required=False, widget=_small_area(3), help_text=_("One a line."))
    importance = forms.TypedChoiceField(choices=[(number, str(number)) for number in range(1, 6)], coerce=int)
    pinned = forms.BooleanField(required=False)
    expires_at = forms.SplitDateTimeField(
        required=False, widget=AdminSplitDateTime, help_text=_("In UTC. Empty: never.")
    )
    metadata = LinesField(required=False, widget=_small_area(3), help_text=_("A JSON object."))
    reason = forms.CharField(
        required=False,
        widget=AdminTextInputWidget,
        help_text=_("Why you change it; stands in its history."),
    )
    seen_revision = forms.IntegerField(widget=forms.HiddenInput)

    class Meta:
        model = Memory
        fields = ()

    texts = ("content", "subject", "key", "kind", "tags", "importance", "pinned", "expires_at", "metadata")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        instance = kwargs.get("instance")
        if instance is not None:
            initial = {name: getattr(instance, name) for name in self.texts}
            initial["tags"] = "\n".join(instance.tags)
            initial["metadata"] = to_json(instance.metadata).decode() if instance.metadata else ""
            initial["seen_revision"] = instance.revision
            kwargs["initial"] = initial | (kwargs.get("initial") or {})
        super().__init__(*args, **kwargs)
        self.changes: dict[str, Any] = {}

    def is_multipart(self) -> bool:
        # Encoded as a plain form, the longest text in many scripts would pass the limit of a request.
        return True

    def clean_tags(self) -> list[str]:
        return [line.strip() for line in self.cleaned_data["tags"].split("\n") if line.strip()]

    def clean_key(self) -> str | None:
        return self.cleaned_data["key"] or None

    def clean_metadata(self) -> Any:
        text = self.cleaned_data["metadata"].strip()
        if not text:
            return {}
        try:
            return parse_json(text)
        except Malformed as error:
            raise forms.ValidationError(str(error).replace("the body", "this")) from None

    def clean(self) -> dict[str, Any] | None:
        """Return the cleaned values; ``changes`` then holds what the verb is asked for."""
        cleaned = super().clean()
        sent = {name: self.cleaned_data[name] for name in self.texts if self._is_news(name)}
        try:
            patch = MemoryPatch.model_validate(sent | {"reason": self.cleaned_data.get("reason", "")})
        except ValidationError as error:
            for detail in error.errors():
                name = str(detail["loc"][0]) if detail["loc"] else None
                self.add_error(name if name in self.fields else None, _what_is_allowed(detail))
        else:
            self.changes = patch.changes
        return cleaned

    def _is_news(self, name: str) -> bool:
        return name in self.changed_data and name in self.cleaned_data


def _what_is_allowed(error: Mapping[str, Any]) -> str:
    """Return one of pydantic's errors for people."""
    place = error["loc"][1:]
    message = str(error["msg"])
    if "max_length" in error.get("ctx", {}):
        of_lines = error["loc"] == ("tags",)
        said = gettext("must have at most %d lines") if of_lines else gettext("must have at most %d characters")
        message = said % error["ctx"]["max_length"]
    return (
        gettext("Line %(number)d: %(message)s.") % {"number": place[0] + 1, "message": message}
        if place
        else capfirst(message) + "."
    )


class ButtonForm(forms.Form):
    """What a button on a memory's page sends along: the revision it was looked at, and the one to go back to."""

    seen_revision = forms.IntegerField(required=False, min_value=1)
    revision = forms.IntegerField(required=False, min_value=1)


class ImportanceFilter(admin.SimpleListFilter):
    title = _("importance")
    parameter_name = "importance"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(str(number), str(number)) for number in range(5, 0, -1)]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        numbers = dict(self.lookup_choices)
        number = self.value()
        return queryset.filter(importance=int(number)) if number in numbers else queryset


class YesNoFilter(admin.SimpleListFilter):
    """A filter by a condition that is no column."""

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [("yes", _("Yes")), ("no", _("No"))]

    def condition(self) -> Q:
        raise NotImplementedError

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        match self.value():
            case "yes":
                return queryset.filter(self.condition())
            case "no":
                return queryset.exclude(self.condition())
        return queryset


class RestrictedFilter(YesNoFilter):
    title = _("restricted")
    parameter_name = "restricted"

    def condition(self) -> Q:
        return Q(restricted=True)


class ExpiredFilter(YesNoFilter):
    title = _("expired")
    parameter_name = "expired"

    def condition(self) -> Q:
        return Q(expires_at__isnull=False, expires_at__lte=timezone.now())


SKIPPED = {
    "merged": _("merged into another"),
    "erased": _("erased"),
    "key_taken": _("key in use by another memory"),
    "not_found": _("gone"),
}
"""Why an action skipped a memory, by the code of the refusal."""


@admin.register(Memory)
class MemoryAdmin(BoundedList, ShowsRefusals):
    """Memories are corrected, archived and restored here. Agents remember; nothing is deleted."""

    form = MemoryForm
    change_form_template = "admin/memories/memory/change_form.html"
    action_form = ReasonForm
    list_display = ("id", "text", "in_workspace", "by", "range", "kind", "from_source", "weight", "state", "updated_at")
    list_display_links = ("id", "text")
    list_select_related = ("workspace", "agent")
    list_filter = (
        "workspace",
        "status",
        ExpiredFilter,
        "kind",
        "source",
        RestrictedFilter,
        "scope",
        ImportanceFilter,
        "pinned",
    )
    search_fields = ("content", "subject", "key")
    search_help_text = _("Text, subject and key of the newest 100,000 memories that the filters let through.")
    actions = ("archive", "restore")

    save_on_top = True
    words = ("subject", "key", "kind", "tags")
    weights = (
        (_("Weight"), {"fields": ("importance", "pinned", "expires_at", "metadata")}),
        (None, {"fields": ("reason", "seen_revision")}),
    )
    texts_shown = (
        (None, {"fields": ("shown_content", "shown_subject", "shown_key", "kind", "shown_tags")}),
        (_("Weight"), {"fields": ("importance", "pinned", "expires_at", "shown_metadata")}),
    )
    origin = (
        _("Where it comes from"),
        {"fields": ("in_workspace", "by", "scope", "from_source", "said_in", "partition", "beside")},
    )
    fate = (
        _("What became of it"),
        {
            "fields": (
                "state",
                "survivor",
                "merged_at",
                "archived_at",
                "shown_archive_reason",
                "revision",
                "seen_count",
                "last_seen_at",
                "created_at",
                "updated_at",
            )
        },
    )
    readonly_fields = (
        *("marks", "shown_content", "shown_subject", "shown_key", "shown_tags", "shown_metadata"),
        *origin[1]["fields"],
        *fate[1]["fields"],
    )

    # Lists

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        # A page of the longest texts would be 20 MB.
        rows: QuerySet = super().get_queryset(request)
        rows = rows.annotate(beginning=Left("content", 120)).defer("content", "metadata", "tags")
        return rows

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Memory | None:
        try:
            number = Memory._meta.pk.to_python(object_id)
        except forms.ValidationError:
            return None
        return Memory.objects.select_related("workspace", "agent").filter(pk=number).first()

    @admin.display(description=_("content"))
    def text(self, memory: Any) -> str:
        return beginning(memory.beginning) or gettext("(erased)")

    @admin.display(description=_("workspace"))
    def in_workspace(self, memory: Memory) -> str:
        return one_line(memory.workspace.name)

    @admin.display(description=_("agent"))
    def by(self, memory: Memory) -> str:
        return one_line(memory.agent.name)

    @admin.display(description=_("scope"))
    def range(self, memory: Memory) -> str:
        return memory.scope

    @admin.display(description=_("source"))
    def from_source(self, memory: Memory) -> str:
        return gettext("%(source)s (restricted)") % {"source": memory.source} if memory.restricted else memory.source

    @admin.display(description=_("importance"))
    def weight(self, memory: Memory) -> str:
        return (
            gettext("%(importance)d, pinned") % {"importance": memory.importance}
            if memory.pinned
            else str(memory.importance)
        )

    @admin.display(description=_("status"))
    def state(self, memory: Memory) -> str:
        has_expired = memory.expires_at is not None and memory.expires_at <= timezone.now()
        return gettext("%(status)s, expired") % {"status": memory.status} if has_expired else memory.status

    # One memory

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # What is archived or merged is looked at until it is restored; the verb refuses a post that comes too late.
        is_open = obj is None or request.method == "POST" or obj.status == Status.ACTIVE
        return is_open and super().has_change_permission(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: Memory | None = None) -> Any:
        if not self.has_change_permission(request, obj):
            return (*self.texts_shown, self.origin, self.fate)
        words = ("content", "marks") if obj is not None and _has_marks(obj.content) else ("content",)
        return ((None, {"fields": (*words, *self.words)}), *self.weights, self.origin, self.fate)

    @admin.display(description=_("hidden marks"))
    def marks(self, memory: Memory) -> str:
        """Return the content with its hidden marks shown: a text area shows it as the marks want it shown."""
        return as_block(memory.content)

    @admin.display(description=_("content"))
    def shown_content(self, memory: Memory) -> str:
        return as_block(memory.content)

    @admin.display(description=_("subject"))
    def shown_subject(self, memory: Memory) -> str:
        return one_line(memory.subject) or "-"

    @admin.display(description=_("key"))
    def shown_key(self, memory: Memory) -> str:
        return one_line(memory.key or "") or "-"

    @admin.display(description=_("tags"))
    def shown_tags(self, memory: Memory) -> str:
        return ", ".join(one_line(tag) for tag in memory.tags) or "-"

    @admin.display(description=_("metadata"))
    def shown_metadata(self, memory: Memory) -> str:
        return as_block(to_json(memory.metadata).decode())

    @admin.display(description=_("archive reason"))
    def shown_archive_reason(self, memory: Memory) -> str:
        return one_line(memory.archive_reason) or "-"

    @admin.display(description=_("merged into"))
    def survivor(self, memory: Memory) -> str:
        return _memory_link(memory.merged_into_id)

    @admin.display(description=_("taken from"))
    def said_in(self, memory: Memory) -> str:
        if memory.message_id is None:
            return "-"
        return link("message", memory.message_id, gettext("message %(id)d") % {"id": memory.message_id})

    @admin.display(description=_("kept beside"))
    def beside(self, memory: Memory) -> str:
        return _memory_link(memory.kept_beside_id)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        obj: Memory = kwargs["obj"]
        newest = obj.revisions.order_by("-number")[: LISTED + 1]
        merged = obj.merged_from.order_by("-pk").values_list("pk", Left("content", 120))[: LISTED + 1]
        context |= {
            "revisions": [_revision_row(revision) for revision in newest[:LISTED]],
            "has_more_revisions": len(newest) > LISTED,
            "merged_from": [(pk, beginning(text)) for pk, text in merged[:LISTED]],
            "has_more_merged": len(merged) > LISTED,
            "may_archive": obj.status == Status.ACTIVE,
            "may_restore": obj.status in (Status.ARCHIVED, Status.MERGED),
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Memory, form: Any, change: bool) -> None:
        if not form.changes:
            return
        remember.revise(
            principal_in(request, obj.workspace_id),
            obj.pk,
            form.changes,
            now=timezone.now(),
            if_revision=form.cleaned_data["seen_revision"],
            reason=form.cleaned_data["reason"],
        )

    # Actions and buttons

    @admin.action(description=_("Archive selected memories"), permissions=["change"])
    def archive(self, request: HttpRequest, queryset: QuerySet) -> None:
        self._act(request, queryset, remember.forget, "%(done)d archived", gettext("archived before"))

    @admin.action(description=_("Restore selected memories"), permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet) -> None:
        self._act(request, queryset, remember.restore, "%(done)d restored", gettext("active already"))

    def _act(
        self, request: HttpRequest, queryset: QuerySet, verb: Callable[..., Receipt], said: str, unchanged: str
    ) -> None:
        """Run the verb on each memory, each in its own transaction; say how many were done and why others were not."""
        rows = list(queryset.order_by("pk").values_list("pk", "workspace_id")[: ACTED_ON + 1])
        if len(rows) > ACTED_ON:
            why = gettext("Nothing was done: at most %(count)d memories at once.") % {"count": ACTED_ON}
            self.message_user(request, why, messages.ERROR)
            return
        try:
            reason = TypeAdapter(Reason).validate_python(request.POST.get("reason", ""))
        except ValidationError as error:
            why = gettext("Nothing was done, because of the reason: %(why)s")
            self.message_user(request, why % {"why": _what_is_allowed(error.errors()[0])}, messages.ERROR)
            return
        done, skipped = 0, Counter[str]()
        for memory_id, workspace_id in rows:
            try:
                receipt = verb(principal_in(request, workspace_id), memory_id, now=timezone.now(), reason=reason)
            except Refused as refusal:
                skipped[str(SKIPPED.get(refusal.code, refusal.code))] += 1
            else:
                done += receipt.action != "unchanged"
                skipped[unchanged] += receipt.action == "unchanged"
        text = gettext(said) % {"done": done} + gettext(", %(count)d skipped") % {"count": skipped.total()}
        why = ", ".join(f"{count} {why}" for why, count in skipped.most_common() if count)
        self.message_user(request, f"{text}{': ' if why else ''}{why}.", messages.SUCCESS if done else messages.WARNING)

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("<int:memory_id>/archive/", wrap(self.archive_view), name="memories_memory_archive"),
            path("<int:memory_id>/restore/", wrap(self.restore_view), name="memories_memory_restore"),
            *super().get_urls(),
        ]

    def archive_view(self, request: HttpRequest, memory_id: int) -> HttpResponse:
        """Archive one memory, from the button on its page."""
        return self._press(request, memory_id, remember.forget, gettext("The memory was archived."))

    def restore_view(self, request: HttpRequest, memory_id: int) -> HttpResponse:
        """Make one memory active again, or bring it back to a revision, from the button on its page."""
        return self._press(request, memory_id, remember.restore, gettext("The memory was restored."))

    def _press(self, request: HttpRequest, memory_id: int, verb: Callable[..., Receipt], said: str) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_change_permission(request):
            raise PermissionDenied
        memory = get_object_or_404(Memory.objects.only("workspace_id"), pk=memory_id)
        form = ButtonForm(request.POST)
        if form.is_valid():
            options = {"if_revision": form.cleaned_data["seen_revision"]}
            if form.cleaned_data["revision"] is not None:
                options["revision"] = form.cleaned_data["revision"]
            try:
                receipt = verb(principal_in(request, memory.workspace_id), memory_id, now=timezone.now(), **options)
            except Refused as refusal:
                self.message_user(request, capfirst(one_line(refusal.message)) + ".", messages.ERROR)
            else:
                is_same = receipt.action == "unchanged"
                self.message_user(request, gettext("It was so already.") if is_same else said, messages.SUCCESS)
        else:
            self.message_user(request, gettext("The button sent something that is no revision."), messages.ERROR)
        return redirect("admin:memories_memory_change", memory_id)


def _has_marks(text: str) -> bool:
    bare = text.replace("\n", "").replace("\\", "")
    return one_line(bare) != bare


def _memory_link(pk: int | None) -> str:
    return "-" if pk is None else link("memory", pk, gettext("memory %(id)d") % {"id": pk})


def _revision_row(revision: Revision) -> dict[str, Any]:
    """Return what a line of a memory's history shows; the texts are on the revision's own page."""
    return {
        "pk": revision.pk,
        "number": revision.number,
        "verb": revision.verb,
        "at": revision.created_at,
        "actor": beginning(revision.actor, 60),
        "reason": beginning(revision.reason, 80),
        "fields": ", ".join(revision.after) if revision.number > 1 else gettext("as it was first remembered"),
    }
