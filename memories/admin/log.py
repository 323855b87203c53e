"""What was done: revisions and audit entries, to be read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories import audit
from memories.admin.base import BoundedList, LatelySeen, ReadOnly, beginning, link, newest, visible
from memories.models import AuditEntry, Revision, Status
from memories.plain_text import one_line
from memories.wire import to_json


class VerbFilter(LatelySeen):
    title = _("verb")
    field = "verb"


class ActorFilter(LatelySeen):
    title = _("actor")
    field = "actor"


class ByItselfFilter(admin.SimpleListFilter):
    """What a round applied without a person, or what people, programs and commands did."""

    title = _("by itself")
    parameter_name = "auto"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [("true", _("by itself")), ("false", _("by somebody"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() == "true":
            return queryset.filter(actor=audit.BY_ITSELF)
        return queryset.exclude(actor=audit.BY_ITSELF) if self.value() == "false" else queryset


@admin.register(Revision)
class RevisionAdmin(BoundedList, ReadOnly):
    """Every change of a memory, with both texts and a button that goes back to it."""

    change_form_template = "admin/memories/revision/change_form.html"
    list_display = ("id", "of", "number", "verb", "created_at", "who", "why", "changed")
    list_display_links = ("id", "number")
    list_filter = (VerbFilter, ActorFilter)
    search_fields = ("memory__id__exact",)
    search_help_text = _("The id of a memory.")
    fields = ("of", "number", "verb", "created_at", "who", "why", "request_id", "changes")
    readonly_fields = fields

    @admin.display(description=_("memory"))
    def of(self, revision: Revision) -> str:
        return link("memory", revision.memory_id, revision.memory_id)

    @admin.display(description=_("actor"))
    def who(self, revision: Revision) -> str:
        return beginning(revision.actor, 60)

    @admin.display(description=_("reason"))
    def why(self, revision: Revision) -> str:
        return beginning(revision.reason, 80) or "-"

    @admin.display(description=_("changed"))
    def changed(self, revision: Revision) -> str:
        return ", ".join(revision.after) if revision.before else gettext("everything")

    @admin.display(description=_("changes"))
    def changes(self, revision: Revision) -> str:
        names = [*revision.after, *(name for name in revision.before if name not in revision.after)]
        rows = [(name, *_both(revision, name)) for name in names]
        return render_to_string("admin/memories/revision/changes.html", {"rows": rows, "first": not revision.before})

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        obj: Revision = kwargs["obj"]
        memory = obj.memory
        context |= {
            "memory": memory,
            "may_go_back": obj.number < memory.revision and memory.status != Status.ERASED,
        }
        return super().render_change_form(request, context, *args, **kwargs)


def _both(revision: Revision, name: str) -> Iterable[str]:
    for values in (revision.before, revision.after):
        value = values.get(name, "")
        yield visible(value) if isinstance(value, str) else one_line(to_json(value).decode())


@admin.register(AuditEntry)
class AuditEntryAdmin(BoundedList, ReadOnly):
    """Who did what. The log is only ever appended to, so it can only be read here."""

    list_display = ("at", "who", "verb", "on", "outcome", "in_workspace")
    list_display_links = ("at",)
    list_filter = (ByItselfFilter, VerbFilter, ActorFilter, "at")
    search_fields = ("target", "request_id")
    search_help_text = _("A target such as “memory 7”, or a request id.")
    fields = ("at", "who", "verb", "on", "outcome", "counts", "in_workspace", "request_id", "previous_hash", "hash")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        # Joined, a workspace that is gone is none; fetched one by one, it would be an error.
        return super().get_queryset(request).select_related("workspace")

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, search_term: str) -> tuple[QuerySet, bool]:
        """Return the entries with exactly this target or request id, among the newest."""
        if search_term:
            queryset = newest(queryset).filter(Q(target=search_term) | Q(request_id=search_term))
        return queryset, False

    @admin.display(description=_("actor"))
    def who(self, entry: AuditEntry) -> str:
        return beginning(entry.actor, 60)

    @admin.display(description=_("target"))
    def on(self, entry: AuditEntry) -> str:
        kind, _space, number = entry.target.partition(" ")
        if kind in ("memory", "session") and number.isascii() and number.isdigit():
            return link(kind, int(number), entry.target)
        return one_line(entry.target) or "-"

    @admin.display(description=_("result"))
    def outcome(self, entry: AuditEntry) -> str:
        return one_line(entry.result) or "-"

    @admin.display(description=_("workspace"))
    def in_workspace(self, entry: AuditEntry) -> str:
        if entry.workspace_id is None:
            return gettext("the whole instance")
        if entry.workspace is None:
            return gettext("workspace %(id)d (deleted)") % {"id": entry.workspace_id}
        return one_line(entry.workspace.name)
