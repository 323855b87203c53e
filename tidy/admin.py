"""Candidates, rounds and batches in the admin: looked at, approved, dismissed and reverted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.admin.base import BoundedList, ReadOnly, as_block, beginning, link, principal_in
from memories.plain_text import one_line
from memories.wire import to_json
from tidy import review
from tidy.models import Batch, Candidate, Round
from tidy.review import Decided
from tidy.shown import REASONS, SKIPPED

MANY = 500
"""Candidates that are decided at once."""


@admin.register(Candidate)
class CandidateAdmin(BoundedList, ReadOnly):
    """Proposals of all workspaces. Deciding asks once more and goes through the same verbs as everywhere."""

    list_display = ("id", "what", "why", "text", "in_workspace", "status", "itself", "decided_by", "created_at")
    list_display_links = ("id", "what")
    list_select_related = ("workspace",)
    list_filter = ("workspace", "status", "action", "reason", ("auto_reason", admin.EmptyFieldListFilter), "auto")
    search_fields = ("subject", "id")
    search_help_text = _("A subject, or the id of a candidate.")
    fields = (
        *("what", "why", "auto_reason", "status", "in_workspace", "partition", "subject_shown", "of_target", "round"),
        *("batch", "itself", "decided_by", "decided_at", "reason_given", "failures", "created_at", "shown_evidence"),
    )
    readonly_fields = fields
    actions = ("approve_selected", "dismiss_selected", "revert_selected")

    @admin.display(description=_("action"))
    def what(self, candidate: Candidate) -> str:
        return candidate.action

    @admin.display(description=_("reason"))
    def why(self, candidate: Candidate) -> str:
        return str(REASONS.get(candidate.reason, candidate.reason))

    @admin.display(description=_("texts"))
    def text(self, candidate: Candidate) -> str:
        return " | ".join(beginning(seen["text"], 60) or "-" for seen in candidate.evidence["seen"])

    @admin.display(description=_("workspace"))
    def in_workspace(self, candidate: Candidate) -> str:
        return one_line(candidate.workspace.name)

    @admin.display(description=_("by itself"), boolean=True)
    def itself(self, candidate: Candidate) -> bool:
        return candidate.auto

    @admin.display(description=_("subject"))
    def subject_shown(self, candidate: Candidate) -> str:
        return one_line(candidate.subject) or "-"

    @admin.display(description=_("target"))
    def of_target(self, candidate: Candidate) -> str:
        return "-" if candidate.target_id is None else link("memory", candidate.target_id, candidate.target_id)

    @admin.display(description=_("reason given"))
    def reason_given(self, candidate: Candidate) -> str:
        return one_line(candidate.decision_reason) or "-"

    @admin.display(description=_("evidence"))
    def shown_evidence(self, candidate: Candidate) -> str:
        return as_block(to_json(candidate.evidence).decode())

    @admin.action(description=_("Approve the selected candidates"), permissions=["view"])
    def approve_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse | None:
        return self._confirmed(request, queryset, "approve_selected", _("Approve"), review.approve)

    @admin.action(description=_("Dismiss the selected candidates"), permissions=["view"])
    def dismiss_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse | None:
        return self._confirmed(request, queryset, "dismiss_selected", _("Dismiss"), review.dismiss)

    @admin.action(description=_("Revert the selected candidates"), permissions=["view"])
    def revert_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse | None:
        return self._confirmed(request, queryset, "revert_selected", _("Revert"), review.revert)

    def _confirmed(
        self, request: HttpRequest, queryset: QuerySet, action: str, verb: Any, act: Callable[..., Decided]
    ) -> HttpResponse | None:
        """Ask first, naming the number; then decide, workspace by workspace, and say how many were and why not."""
        rows = list(queryset.order_by("pk")[: MANY + 1])
        if len(rows) > MANY:
            self.message_user(request, gettext("At most %(most)d at once.") % {"most": MANY}, messages.ERROR)
            return None
        if "confirmed" not in request.POST:
            context = self.admin_site.each_context(request) | {
                "title": verb,
                "verb": verb,
                "action": action,
                "rows": [(row, self.why(row), self.text(row)) for row in rows],
                "opts": self.opts,
            }
            return TemplateResponse(request, "admin/tidy/candidate/confirm.html", context)
        done, skipped = 0, Counter[str]()
        for workspace_id in sorted({row.workspace_id for row in rows}):
            ids = [row.pk for row in rows if row.workspace_id == workspace_id]
            decided = act(principal_in(request, workspace_id), ids, now=timezone.now())
            done += decided.done
            skipped.update(str(SKIPPED[outcome.skip]) for outcome in decided.skipped if outcome.skip is not None)
        why = ", ".join(f"{count} {reason}" for reason, count in skipped.most_common())
        said = gettext("%(done)d done, %(skipped)d skipped") % {"done": done, "skipped": skipped.total()}
        level = messages.SUCCESS if done else messages.WARNING
        self.message_user(request, f"{said}{': ' if why else ''}{why}.", level)
        return None


@admin.register(Round)
class RoundAdmin(BoundedList, ReadOnly):
    """When it was looked at what had changed, and what came of it."""

    list_display = (
        *("id", "state", "started_by", "started_at", "ended_at", "scanned", "proposed", "withdrawn"),
        *("scan_truncated", "candidates_truncated", "receipt"),
    )
    fields = (*list_display, "walked", "lease_until")
    readonly_fields = fields


@admin.register(Batch)
class BatchAdmin(BoundedList, ReadOnly):
    """What was applied together."""

    list_display = ("id", "by_itself", "actor", "at", "round", "numbers")
    fields = (*list_display, "noted")
    readonly_fields = fields

    @admin.display(description=_("by itself"), boolean=True)
    def by_itself(self, batch: Batch) -> bool:
        return batch.auto

    @admin.display(description=_("counts"))
    def numbers(self, batch: Batch) -> str:
        return ", ".join(f"{name} {count}" for name, count in batch.counts.items()) or "-"
