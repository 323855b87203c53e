"""Sessions and messages, to be read. Agents write them; nothing is deleted but with a whole workspace."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.admin.base import BoundedList, LatelySeen, ReadOnly, as_block, beginning, link, list_link
from memories.models import Message, Session
from memories.plain_text import one_line
from memories.wire import to_json

LISTED = 20
"""Memories that a message's page lists."""


class SourceFilter(LatelySeen):
    title = _("source")
    field = "source"


class RoleFilter(LatelySeen):
    title = _("role")
    field = "role"


class KindFilter(LatelySeen):
    title = _("kind of bookkeeping")
    field = "display_kind"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(value, shown) for value, shown in super().lookups(request, model_admin) if value]


class StateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"
    conditions = {
        "live": Q(active=True),
        "compacted": Q(compacted=True),
        "rewound": Q(active=False, compacted=False),
    }

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [("live", _("live")), ("compacted", _("compacted")), ("rewound", _("rewound"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        condition = self.conditions.get(self.value() or "")
        return queryset if condition is None else queryset.filter(condition)


@admin.register(Session)
class SessionAdmin(BoundedList, ReadOnly):
    """Transcripts, by the names that agents gave them."""

    list_display = (
        "id",
        "name",
        "in_workspace",
        "by",
        "scope",
        "place",
        "heading",
        "said",
        "last_active_at",
        "archived",
    )
    list_display_links = ("id", "name")
    list_select_related = ("workspace", "agent")
    list_filter = ("workspace", "scope", SourceFilter, "archived")
    search_fields = ("external_id", "title")
    search_help_text = _("Name and title of the newest 100,000 sessions that the filters let through.")
    fields = (
        *("name", "heading", "in_workspace", "by", "scope", "partition", "place", "of_model", "before", "after"),
        *("said", "started_at", "ended_at", "last_active_at", "archived", "shown_metadata", "created_at", "updated_at"),
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        rows: QuerySet = super().get_queryset(request)
        return rows.defer("metadata")

    @admin.display(description=_("name"))
    def name(self, session: Session) -> str:
        return one_line(session.external_id)

    @admin.display(description=_("workspace"))
    def in_workspace(self, session: Session) -> str:
        return one_line(session.workspace.name)

    @admin.display(description=_("agent"))
    def by(self, session: Session) -> str:
        return one_line(session.agent.name)

    @admin.display(description=_("source"))
    def place(self, session: Session) -> str:
        return one_line(session.source)

    @admin.display(description=_("model"))
    def of_model(self, session: Session) -> str:
        return one_line(session.model) or "-"

    @admin.display(description=_("title"))
    def heading(self, session: Session) -> str:
        return beginning(session.title) or "-"

    @admin.display(description=_("messages"))
    def said(self, session: Session) -> str:
        return list_link("message", session.message_count, session__id__exact=session.pk)

    @admin.display(description=_("continues"))
    def before(self, session: Session) -> str:
        return "-" if session.parent_id is None else _session_link(session.parent_id)

    @admin.display(description=_("continued by"))
    def after(self, session: Session) -> str:
        return list_link("session", gettext("sessions that name it as their parent"), parent__id__exact=session.pk)

    @admin.display(description=_("metadata"))
    def shown_metadata(self, session: Session) -> str:
        return as_block(to_json(session.metadata).decode())


@admin.register(Message)
class MessageAdmin(BoundedList, ReadOnly):
    """What was said, whatever became of it."""

    list_display = ("id", "text", "in_session", "in_workspace", "who", "tool", "state", "trust", "timestamp")
    list_display_links = ("id", "text")
    list_select_related = ("workspace",)
    list_filter = ("workspace", StateFilter, RoleFilter, "trust", KindFilter)
    search_fields = ("content",)
    search_help_text = _("Text of the newest 100,000 messages that the filters let through.")
    fields = (
        *("shown_content", "in_session", "in_workspace", "partition", "name", "who", "kind", "state", "trust"),
        *("timestamp", "tool", "shown_calls", "shown_tool_text", "shown_parts", "remembered"),
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        # A page of the longest texts would be 50 MB.
        rows: QuerySet = super().get_queryset(request)
        rows = rows.annotate(beginning=Left("content", 120), called=Left("tool_text", 120))
        return rows.defer("content", "parts", "tool_calls", "tool_text")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Message | None:
        try:
            number = Message._meta.pk.to_python(object_id)
        except forms.ValidationError:
            return None
        return Message.objects.select_related("workspace").filter(pk=number).first()

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        # One session is read in its own order, from its end.
        return ("-timestamp", "-pk") if "session__id__exact" in request.GET else self.ordering

    @admin.display(description=_("content"))
    def text(self, message: Any) -> str:
        return beginning(message.beginning) or beginning(message.called) or "-"

    @admin.display(description=_("session"))
    def in_session(self, message: Message) -> str:
        return _session_link(message.session_id)

    @admin.display(description=_("workspace"))
    def in_workspace(self, message: Message) -> str:
        return one_line(message.workspace.name)

    @admin.display(description=_("external id"))
    def name(self, message: Message) -> str:
        return one_line(message.external_id or "") or "-"

    @admin.display(description=_("role"))
    def who(self, message: Message) -> str:
        return one_line(message.role)

    @admin.display(description=_("tool"))
    def tool(self, message: Message) -> str:
        return one_line(message.tool_name) or "-"

    @admin.display(description=_("kind of bookkeeping"))
    def kind(self, message: Message) -> str:
        return one_line(message.display_kind) or "-"

    @admin.display(description=_("state"))
    def state(self, message: Message) -> str:
        if message.active:
            return gettext("live")
        return gettext("compacted") if message.compacted else gettext("rewound")

    @admin.display(description=_("content"))
    def shown_content(self, message: Message) -> str:
        return as_block(message.content)

    @admin.display(description=_("calls of tools"))
    def shown_calls(self, message: Message) -> str:
        return "-" if message.tool_calls is None else as_block(to_json(message.tool_calls).decode())

    @admin.display(description=_("text of the calls"))
    def shown_tool_text(self, message: Message) -> str:
        return as_block(message.tool_text) if message.tool_text else "-"

    @admin.display(description=_("parts"))
    def shown_parts(self, message: Message) -> str:
        return "-" if message.parts is None else as_block(to_json(message.parts).decode())

    @admin.display(description=_("remembered from it"))
    def remembered(self, message: Message) -> str:
        ids = list(message.memories.order_by("-pk").values_list("pk", flat=True)[: LISTED + 1])
        links = [(link("memory", pk, gettext("memory %(id)d") % {"id": pk}),) for pk in ids[:LISTED]]
        links += [("…",)] if len(ids) > LISTED else []
        return format_html_join(", ", "{}", links) or "-"


def _session_link(pk: int) -> str:
    return link("session", pk, gettext("session %(id)d") % {"id": pk})
