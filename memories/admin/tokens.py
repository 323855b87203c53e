"""Tokens: made, narrowed and revoked, never deleted."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminSplitDateTime
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories import access
from memories.admin.base import BoundedList, RefusableForm, ShowsRefusals, actor_of
from memories.models import Agent, Source, Token


class AgentChoice(forms.ModelChoiceField):
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.workspace} / {obj}"


class TokenForm(RefusableForm):
    """A new token, or what may still be changed of one."""

    agent = AgentChoice(Agent.objects.select_related("workspace").order_by("workspace__name", "name"))
    sources = forms.MultipleChoiceField(
        choices=Source.choices,
        required=False,
        initial=Source.values,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Where it may say that something comes from. Without any it cannot remember."),
    )
    expires_at = forms.SplitDateTimeField(
        required=False,
        widget=AdminSplitDateTime,
        help_text=_("In UTC. Empty: it stays valid until it is revoked."),
    )

    class Meta:
        model = Token
        fields = ("agent", "role", "sources", "may_write_shared", "instance", "expires_at")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and "sources" in self.fields:
            held = [(source.value, source.label) for source in Source if source in self.instance.sources]
            self.fields["sources"].choices = held  # type: ignore[attr-defined]
            self.fields["sources"].help_text = _("A token may lose sources. More of them need a new token.")
        if self.instance.pk and "may_write_shared" in self.fields:
            self.fields["may_write_shared"].disabled = not self.instance.may_write_shared
            self.fields["may_write_shared"].help_text = _("A token may lose this right; only a new one has it.")

    def clean_expires_at(self) -> Any:
        moment = self.cleaned_data["expires_at"]
        if not self.instance.pk and moment is not None and moment <= timezone.now():
            raise forms.ValidationError(gettext("This time has passed."))
        return moment

    def sent_or_kept(self, name: str) -> Any:
        """Return the field's value if it was changed, else the row's: a form rounds times to seconds."""
        return self.cleaned_data[name] if name in self.changed_data else getattr(self.instance, name)


class TokenStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [("live", _("live")), ("expired", _("expired")), ("revoked", _("revoked"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        expired = Q(revoked_at=None, expires_at__lte=timezone.now())
        match self.value():
            case "live":
                return queryset.filter(revoked_at=None).exclude(expired)
            case "expired":
                return queryset.filter(expired)
            case "revoked":
                return queryset.filter(revoked_at__isnull=False)
        return queryset


@admin.register(Token)
class TokenAdmin(BoundedList, ShowsRefusals):
    """Tokens are made, narrowed and revoked, never deleted: the audit log tells of them by their prefix."""

    form = TokenForm
    change_form_template = "admin/memories/token/change_form.html"
    list_display = (
        "prefix",
        "state",
        "agent",
        "workspace",
        "rights",
        "claims",
        "last_used_at",
        "expires_at",
    )
    list_display_links = ("prefix",)
    list_select_related = ("agent__workspace",)
    list_filter = (TokenStateFilter, "role", "agent__workspace")
    search_fields = ("prefix__istartswith", "agent__name")
    fields = ("agent", "role", "sources", "may_write_shared", "instance", "expires_at")
    shown = ("prefix", "agent", "workspace", "role", "instance", "state", "created_at", "last_used_at", "revoked_at")
    narrowed = ("sources", "may_write_shared", "expires_at")
    actions = ("revoke",)

    def get_fieldsets(self, request: HttpRequest, obj: Token | None = None) -> Any:
        if obj is None:
            return [(None, {"fields": self.fields})]
        editable = ("sources" if obj.is_live(timezone.now()) else "claims", "may_write_shared", "expires_at")
        return [(None, {"fields": self.shown}), (_("What it may do, and until when"), {"fields": editable})]

    def get_readonly_fields(self, request: HttpRequest, obj: Token | None = None) -> Any:
        return (*self.shown, "claims") if obj else ()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # A closed token is looked at; a post that comes too late is told so by the verb.
        is_open = obj is None or request.method == "POST" or obj.is_live(timezone.now())
        return is_open and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    @admin.display(description=_("workspace"))
    def workspace(self, token: Token) -> str:
        return token.agent.workspace.name

    @admin.display(description=_("role"))
    def rights(self, token: Token) -> str:
        """Return the role, and what is unusual about it."""
        more = [gettext("instance")] if token.instance else []
        fewer = [] if token.may_write_shared else [gettext("nothing shared")]
        return ", ".join([token.role, *more, *fewer])

    @admin.display(description=_("sources"))
    def claims(self, token: Token) -> str:
        if set(token.sources) >= set(Source.values):
            return gettext("all")
        return ", ".join(token.sources) or gettext("none")

    @admin.display(description=_("state"))
    def state(self, token: Token) -> str:
        if token.revoked_at is not None:
            return gettext("revoked")
        return gettext("live") if token.is_live(timezone.now()) else gettext("expired")

    def save_model(self, request: HttpRequest, obj: Token, form: Any, change: bool) -> None:
        if change:
            access.change_token(
                obj,
                actor=actor_of(request),
                now=timezone.now(),
                expires_at=form.sent_or_kept("expires_at"),
                may_write_shared=form.sent_or_kept("may_write_shared"),
                sources=form.sent_or_kept("sources"),
            )
            return
        values = {name: form.cleaned_data[name] for name in self.fields if name != "agent"}
        token, secret = access.create_token(form.cleaned_data["agent"], actor=actor_of(request), **values)
        obj.__dict__.update(token.__dict__)
        # Only for the answer to this request; nothing that outlives it may hold the text.
        request.new_token_text = secret  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: Token, post_url_continue: str | None = None) -> HttpResponse:
        """Return the one page that shows the token's text. A redirect would have to keep the text somewhere."""
        context = self.admin_site.each_context(request) | {
            "title": gettext("Token %(prefix)s was made") % {"prefix": obj.prefix},
            "opts": self.opts,
            "token": obj,
            "text": request.new_token_text,  # type: ignore[attr-defined]
            "api": request.build_absolute_uri("/api/recall"),
        }
        response = TemplateResponse(request, "admin/memories/token/made.html", context)
        response["Cache-Control"] = "no-store"
        response["Referrer-Policy"] = "no-referrer"
        return response

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        context["show_save_and_add_another"] = False
        context["show_save_and_continue"] = not kwargs.get("add", False)
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.action(description=_("Revoke selected tokens"), permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet) -> None:
        now, actor = timezone.now(), actor_of(request)
        revoked = [access.revoke_token(token, actor=actor, now=now) for token in queryset.select_related("agent")]
        done, skipped = revoked.count(True), revoked.count(False)
        said = gettext("%(done)d revoked, %(skipped)d skipped") % {"done": done, "skipped": skipped}
        if skipped:
            said += gettext(": %(count)d revoked before") % {"count": skipped}
        self.message_user(request, said + ".", messages.SUCCESS if done else messages.WARNING)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.revoke_view)
        return [path("<int:token_id>/revoke/", view, name="memories_token_revoke"), *super().get_urls()]

    def revoke_view(self, request: HttpRequest, token_id: int) -> HttpResponse:
        """Revoke one token, from the button on its page."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_change_permission(request):
            raise PermissionDenied
        token = get_object_or_404(Token.objects.select_related("agent"), pk=token_id)
        self.revoke(request, Token.objects.filter(pk=token.pk))
        return redirect("admin:memories_token_change", token.pk)
