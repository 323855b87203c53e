"""What every page of records in the admin keeps to: superusers only, bounded lists, refusals shown in the form."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.helpers import ActionForm
from django.core.paginator import Page, Paginator
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.access import Actor, Principal, principal_of_superuser
from memories.errors import Refused, Stale
from memories.plain_text import cut, one_line

COUNTED = 5_000
"""Rows of a list that are counted and paged through at most; filters and search lead further."""
SEARCHED = 100_000
"""Newest rows (of the filtered ones) that a search in a list reads at most."""
LATELY = 10_000
"""Newest rows whose values are offered as a filter."""


def actor_of(request: HttpRequest) -> Actor:
    """Return the person who is logged in, for the audit log."""
    return Actor(f"user {request.user.get_username()}", getattr(request, "id", ""), is_person=True)


def principal_in(request: HttpRequest, workspace_id: int) -> Principal:
    """Return the superuser who is logged in, as principal of one workspace."""
    return principal_of_superuser(request.user, workspace_id, request_id=getattr(request, "id", ""))


def beginning(text: str, length: int = 80) -> str:
    """Return the beginning of a text as one line, with control and direction marks made visible."""
    shown = cut(text, length)
    return one_line(shown) + ("…" if len(shown) < len(text) else "")


def visible(text: str) -> str:
    """Return the whole text with its line breaks; other control and direction marks are made visible."""
    return "\n".join(one_line(line) for line in text.split("\n"))


def as_block(text: str) -> str:
    """Return a text of somebody else's as HTML that only shows it."""
    return format_html('<pre class="their-text">{}</pre>', visible(text))


def link(name: str, pk: int | None, text: object) -> str:
    """Return a link to the page of one record."""
    return format_html('<a href="{}">{}</a>', reverse(f"admin:memories_{name}_change", args=[pk]), text)


def list_link(name: str, text: object, **lookups: object) -> str:
    """Return a link to a list, filtered by the lookups."""
    query = "&".join(f"{lookup}={value}" for lookup, value in lookups.items())
    return format_html('<a href="{}?{}">{}</a>', reverse(f"admin:memories_{name}_changelist"), query, text)


class SuperusersOnly(admin.ModelAdmin):
    """Records cross workspaces, of which Django's permissions know nothing: only superusers see them."""

    class Media:
        css = {"all": ["memories/admin.css"]}

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._is_superuser(request)

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return self._is_superuser(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return self._is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return self._is_superuser(request)

    def _is_superuser(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_superuser


class ReadOnly(SuperusersOnly):
    """Records that are looked at here and written elsewhere."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


class CappedPaginator(Paginator):
    """Pages over the first COUNTED rows; more are never counted."""

    @cached_property
    def _found(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[: COUNTED + 1].count())

    @property
    def is_capped(self) -> bool:
        """Return whether there are more rows than the pages show."""
        return self._found > COUNTED

    @property
    def count(self) -> int:
        return min(self._found, COUNTED)

    def page(self, number: int | str) -> Page:
        """Return a page whose ids are looked for first: sorted with all their columns, many rows take much longer."""
        number = self.validate_number(number)
        rows: Any = self.object_list
        first = (number - 1) * self.per_page
        ids = list(rows.values_list("pk", flat=True)[first : min(first + self.per_page, self.count)])
        return Page(rows.filter(pk__in=ids), number, self)


class BoundedList(SuperusersOnly):
    """A list that opens as quickly over a million rows: newest first, and counted and searched in part."""

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    ordering = ("-pk",)
    sortable_by = ()

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, search_term: str) -> tuple[QuerySet, bool]:
        """Return the rows that match, among the newest SEARCHED that the filters let through."""
        return super().get_search_results(request, newest(queryset) if search_term else queryset, search_term)


def newest(rows: QuerySet) -> QuerySet:
    """Return the newest SEARCHED of the rows."""
    beyond = list(rows.order_by("-pk").values_list("pk", flat=True)[SEARCHED : SEARCHED + 1])
    return rows.filter(pk__gt=beyond[0]) if beyond else rows


class LatelySeen(admin.SimpleListFilter):
    """A filter that offers the values of one column in the newest rows: to offer all would mean to read every row."""

    field: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.parameter_name = self.field
        super().__init__(*args, **kwargs)

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        newest = model_admin.model._default_manager.order_by("-pk").values_list(self.field, flat=True)[:LATELY]
        values = set(newest)
        if self.value():
            values.add(self.value())
        return [(value, beginning(value, 40)) for value in sorted(values)[:50]]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset.filter(**{self.field: self.value()}) if self.value() else queryset


class RefusableForm(forms.ModelForm):
    """A form whose values go to a verb instead of into the row; what the verb refuses is an error of the form."""

    refusal: Refused | None = None

    def _post_clean(self) -> None:
        """Leave the row alone: the verb decides what becomes of it."""

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if isinstance(self.refusal, Stale):
            why = gettext("Nothing was saved: it was changed while this page was open. Open the page again. (%(what)s)")
            self.add_error(None, why % {"what": self.refusal.message})
        elif self.refusal is not None:
            field = self.refusal.field
            self.add_error(field if field in self.fields else None, self.refusal.message)
        return cleaned


class ShowsRefusals(SuperusersOnly):
    """Saving goes through a verb. If it refuses, all is rolled back and the form is shown again with the reason."""

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        return type(form.__name__, (form,), {"refusal": getattr(request, "refusal", None)})

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except Refused as refusal:
            request.refusal = refusal  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, form_url, extra_context)


class ReasonForm(ActionForm):
    """Actions on a list that leave a trace may say why."""

    reason = forms.CharField(
        required=False, label=_("Reason:"), widget=forms.TextInput(attrs={"placeholder": _("optional")})
    )
