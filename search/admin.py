"""How far each search index is, and buttons to build it anew or to look it through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.admin.base import BoundedList, ReadOnly, actor_of
from memories.plain_text import one_line
from search import acts
from search.corpora import CORPORA
from search.maintenance import generation_of
from search.models import IndexRun, IndexState


@admin.register(IndexState)
class IndexStateAdmin(ReadOnly):
    """The indexes of both corpora. Searches go on whatever is done to them here."""

    list_display = ("index", "state", "filled", "generation", "built_at", "verified_at", "found", "error")
    list_display_links = ("index",)
    sortable_by = ()
    fields = (
        *("corpus", "kind", "state", "filled", "progress", "high_water", "generation", "function"),
        *("building", "build_progress", "build_high_water", "paused"),
        *("built_at", "verified_at", "found", "error"),
    )
    readonly_fields = fields
    actions = ("rebuild_selected",)

    @admin.display(description=_("index"))
    def index(self, state: IndexState) -> str:
        return str(state)

    @admin.display(description=_("filled"))
    def filled(self, state: IndexState) -> str:
        percent = state.percent if state.build_percent is None else state.build_percent
        beside = gettext(", beside the one that serves") if state.building is not None else ""
        paused = gettext(", paused") if state.paused else ""
        return format_html('<progress max="100" value="{0}"></progress> {0} %{1}{2}', percent, beside, paused)

    @admin.display(description=_("last verified"))
    def found(self, state: IndexState) -> str:
        return one_line(state.verified) or "-"

    @admin.display(description=_("last error"))
    def error(self, state: IndexState) -> str:
        return one_line(state.last_error) or "-"

    @admin.action(description=_("Build the selected indexes anew"), permissions=["view"])
    def rebuild_selected(self, request: HttpRequest, queryset: Any) -> None:
        done = 0
        for state in queryset:
            acts.rebuild(CORPORA[state.corpus], generation_of(state).kind, actor=actor_of(request))
            done += 1
        self.message_user(request, gettext("%(done)d indexes are being built anew.") % {"done": done}, messages.SUCCESS)

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("<int:pk>/rebuild/", wrap(self.rebuild_view), name="search_indexstate_rebuild"),
            path("<int:pk>/pause/", wrap(self.pause_view), name="search_indexstate_pause"),
            path("<int:pk>/resume/", wrap(self.resume_view), name="search_indexstate_resume"),
            path("<int:pk>/verify/", wrap(self.verify_view), name="search_indexstate_verify"),
            path("<int:pk>/optimize/", wrap(self.optimize_view), name="search_indexstate_optimize"),
            *super().get_urls(),
        ]

    def rebuild_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Begin the index anew, from the button on its page."""
        return self._press(request, pk, acts.rebuild, lambda _: gettext("The index is being built anew."))

    def pause_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Let the building wait, from the button on its page."""
        nothing = gettext("Nothing is being built.")
        return self._press(request, pk, acts.pause, lambda done: gettext("The building waits.") if done else nothing)

    def resume_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Go on building, from the button on its page."""
        nothing = gettext("Nothing was waiting.")
        return self._press(request, pk, acts.resume, lambda done: gettext("The building goes on.") if done else nothing)

    def verify_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Look the index through, from the button on its page."""
        return self._press(request, pk, acts.verify, lambda verdict: gettext("The index is %s.") % verdict.said)

    def optimize_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Merge what the index has gathered, from the button on its page."""
        more = gettext("The index was merged for some seconds; there is more to merge.")
        return self._press(request, pk, acts.optimize, lambda done: gettext("The index is merged.") if done else more)

    def _press(
        self, request: HttpRequest, pk: int, act: Callable[..., Any], said: Callable[[Any], str]
    ) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_view_permission(request):
            raise PermissionDenied
        state = get_object_or_404(IndexState, pk=pk)
        found = act(CORPORA[state.corpus], generation_of(state).kind, actor=actor_of(request))
        self.message_user(request, one_line(said(found)), messages.SUCCESS)
        return redirect("admin:search_indexstate_change", pk)


@admin.register(IndexRun)
class IndexRunAdmin(BoundedList, ReadOnly):
    """What was built, when, why and by whom."""

    list_display = (
        "id",
        "corpus",
        "kind",
        "generation",
        "state",
        "why",
        "by",
        "started_at",
        "ended_at",
        "rows",
        "came",
    )
    fields = list_display
    readonly_fields = fields

    @admin.display(description=_("reason"))
    def why(self, run: IndexRun) -> str:
        return one_line(run.reason)

    @admin.display(description=_("by"))
    def by(self, run: IndexRun) -> str:
        return one_line(run.started_by) or "-"

    @admin.display(description=_("what came of it"))
    def came(self, run: IndexRun) -> str:
        return one_line(run.said) or "-"
