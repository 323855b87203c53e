"""Workspaces, who may enter them, and agents."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.db import models
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories import audit
from memories.admin.base import SuperusersOnly, actor_of, list_link
from memories.models import Agent, Membership, Workspace
from memories.plain_text import one_line

LISTED_BEFORE_DELETION = 1_000
"""Rows of a workspace that the question before its deletion lists at most."""


class NameForm(forms.ModelForm):
    """A form with a name, which stands in logs and lists."""

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if one_line(name) != name.replace("\\", "\\\\"):
            raise forms.ValidationError(gettext("A name has no line breaks, control or direction marks."))
        return name

    def _get_validation_exclusions(self) -> set[str]:
        # Names are unique in a workspace, also while the form does not let it be changed.
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        return excluded - {"workspace"}


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 0
    autocomplete_fields = ("user",)


@admin.register(Workspace)
class WorkspaceAdmin(SuperusersOnly):
    form = NameForm
    fields = ("name", "created_at", "records")
    readonly_fields = ("created_at", "records")
    list_display = ("name", "created_at", "records")
    search_fields = ("name",)
    inlines = (MembershipInline,)

    def get_fields(self, request: HttpRequest, obj: Workspace | None = None) -> Any:
        return self.fields if obj else ("name",)

    @admin.display(description=_("records"))
    def records(self, workspace: Workspace) -> str:
        of_agent = {"agent__workspace__id__exact": workspace.pk}
        return format_html(
            "{} · {} · {} · {} · {}",
            list_link("agent", _("agents"), workspace__id__exact=workspace.pk),
            list_link("token", _("tokens"), **of_agent),
            list_link("memory", _("memories"), workspace__id__exact=workspace.pk),
            list_link("session", _("sessions"), workspace__id__exact=workspace.pk),
            list_link("auditentry", _("audit entries"), workspace_id=workspace.pk),
        )

    def save_model(self, request: HttpRequest, obj: Workspace, form: forms.ModelForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change or form.changed_data:
            _audit(request, "workspace.rename" if change else "workspace.create", obj.pk, f"workspace {obj.pk}")

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        super().save_formset(request, form, formset, change)
        audited = partial(_audit, request, workspace_id=formset.instance.pk)
        for member in formset.new_objects:
            audited("membership.grant", target=f"user {member.user.get_username()}", result=f"role={member.role}")
        for member, _fields in formset.changed_objects:
            audited("membership.change", target=f"user {member.user.get_username()}", result=f"role={member.role}")
        for member in formset.deleted_objects:
            audited("membership.revoke", target=f"user {member.user.get_username()}")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, set[str], list[str]]:
        """Return what goes with the workspaces, or why they stay: more rows than a page can list."""
        crowded = [workspace for workspace in objs if _rows_of(workspace) > LISTED_BEFORE_DELETION]
        if crowded:
            why = gettext("more than %(count)d records of workspace “%(name)s”, too many to delete here")
            return [], {}, set(), [why % {"name": each.name, "count": LISTED_BEFORE_DELETION} for each in crowded]
        to_delete, counts, _missing, protected = super().get_deleted_objects(objs, request)
        # Tokens and memories have no delete button of their own, but they go with their workspace.
        return to_delete, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Workspace) -> None:
        pk = obj.pk
        super().delete_model(request, obj)
        _audit(request, "workspace.delete", pk, f"workspace {pk}")

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet) -> None:
        for workspace in queryset:
            self.delete_model(request, workspace)


def _audit(request: HttpRequest, verb: str, workspace_id: int, target: str, result: str = "") -> None:
    actor = actor_of(request)
    audit.record(
        verb, actor=actor.name, workspace_id=workspace_id, target=target, result=result, request_id=actor.request_id
    )


def _rows_of(workspace: Workspace) -> int:
    """Return how many rows point to the workspace, counted up to one more than a page can list."""
    total = 0
    for relation in workspace._meta.get_fields(include_hidden=True):
        if relation.auto_created and relation.one_to_many and relation.on_delete is models.CASCADE:  # type: ignore[union-attr]
            rows = relation.related_model._base_manager.filter(**{relation.field.name: workspace})  # type: ignore[union-attr]
            total += rows[: LISTED_BEFORE_DELETION + 1].count()
    return total


@admin.register(Agent)
class AgentAdmin(SuperusersOnly):
    form = NameForm
    fields = ("workspace", "name", "created_at", "records")
    readonly_fields = ("created_at", "records")
    list_display = ("name", "workspace", "live_tokens", "created_at", "records")
    list_select_related = ("workspace",)
    list_filter = ("workspace",)
    search_fields = ("name", "workspace__name")
    ordering = ("workspace__name", "name")

    def get_fields(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        return self.fields if obj else ("workspace", "name")

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        # What it remembered stays where it was remembered.
        return ("workspace", *self.readonly_fields) if obj else self.readonly_fields

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        now = timezone.now()
        live = Q(tokens__revoked_at=None) & (Q(tokens__expires_at=None) | Q(tokens__expires_at__gt=now))
        agents: QuerySet = super().get_queryset(request)
        agents = agents.annotate(live=Count("tokens", filter=live))
        return agents

    @admin.display(description=_("live tokens"))
    def live_tokens(self, agent: Any) -> int:
        return int(agent.live)

    @admin.display(description=_("records"))
    def records(self, agent: Agent) -> str:
        return format_html(
            '{} · {} · {} · <a href="{}?agent={}">{}</a>',
            list_link("memory", _("memories"), agent__id__exact=agent.pk),
            list_link("session", _("sessions"), agent__id__exact=agent.pk),
            list_link("token", _("tokens"), agent__id__exact=agent.pk),
            reverse("admin:memories_token_add"),
            agent.pk,
            _("new token"),
        )

    def save_model(self, request: HttpRequest, obj: Agent, form: forms.ModelForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change or form.changed_data:
            verb = "agent.rename" if change else "agent.create"
            _audit(request, verb, obj.workspace_id, f"agent {obj.pk}")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, set[str], list[str]]:
        """Return what goes with the agents (their tokens), or which of them stay because what they wrote does."""
        remembered = [agent for agent in objs if agent.memories.exists() or agent.sessions.exists()]
        if remembered:
            why = gettext("what agent “%(name)s” remembered; revoke its tokens to lock it out")
            return [], {}, set(), [why % {"name": agent.name} for agent in remembered]
        to_delete, counts, _missing, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Agent) -> None:
        pk, workspace_id = obj.pk, obj.workspace_id
        super().delete_model(request, obj)
        _audit(request, "agent.delete", workspace_id, f"agent {pk}")

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet) -> None:
        for agent in queryset:
            self.delete_model(request, agent)
