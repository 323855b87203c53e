"""The audit log as people read it: who did what, by itself or by hand."""

from __future__ import annotations

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from memories.audit import BY_ITSELF
from memories.models import AuditEntry
from memories.pages import choose, is_member, page
from memories.plain_text import clean_text
from memoryweb.pages import date_field
from memoryweb.pages.browse import midnight

PER_PAGE = 50
WHO = [("", _("all")), ("auto", _("by itself")), ("people", _("people")), ("agents", _("agents"))]


class AuditForm(forms.Form):
    """Which entries to list. All of it is optional."""

    who = forms.ChoiceField(label=_("Who"), choices=WHO, required=False)
    actor = forms.CharField(label=_("Actor"), max_length=300, required=False)
    verb = forms.CharField(label=_("Verb"), max_length=60, required=False)
    since = date_field(_("From"))
    until = date_field(_("To"))
    instance = forms.BooleanField(label=_("of the whole server"), required=False)

    def narrow(self, rows: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        """Return the entries asked for; what cannot be read does not narrow."""
        asked = self.cleaned_data
        who = {
            "auto": Q(actor=BY_ITSELF),
            "people": Q(actor__startswith="user "),
            "agents": Q(actor__startswith="agent "),
        }.get(asked.get("who") or "")
        if who is not None:
            rows = rows.filter(who)
        if actor := clean_text(asked.get("actor") or "").strip():
            rows = rows.filter(actor=actor)
        if verb := clean_text(asked.get("verb") or "").strip():
            rows = rows.filter(verb=verb) if not verb.endswith("*") else rows.filter(verb__startswith=verb[:-1])
        if since := midnight(asked.get("since")):
            rows = rows.filter(at__gte=since)
        if until := midnight(asked.get("until"), days=1):
            rows = rows.filter(at__lt=until)
        return rows


@page
@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    """The entries of a workspace, newest first; who runs the server reads those of the whole server too."""
    chosen = choose(request, may=lambda principal: principal.is_admin)
    if chosen is None:
        if not is_member(request):
            return render(request, "pages/nothing.html", status=403)
        raise PermissionDenied(gettext("The audit log is read by members with the role admin."))
    form = AuditForm(request.GET)
    form.is_valid()
    is_superuser = bool(getattr(request.user, "is_superuser", False))
    of_server = is_superuser and bool(form.cleaned_data.get("instance"))
    rows = form.narrow(AuditEntry.objects.filter(Q(workspace=None) if of_server else Q(workspace=chosen.workspace.pk)))
    after = request.GET.get("after", "")
    if after.isascii() and after.isdigit() and len(after) < 19:
        rows = rows.filter(pk__lt=int(after))
    found = list(rows.order_by("-pk")[: PER_PAGE + 1])
    context = {
        "chosen": chosen,
        "form": form,
        "entries": found[:PER_PAGE],
        "following": found[PER_PAGE - 1].pk if len(found) > PER_PAGE else None,
        "is_superuser": is_superuser,
    }
    return render(request, "pages/audit.html#more" if getattr(request, "htmx", False) else "pages/audit.html", context)
