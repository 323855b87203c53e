"""The pages where people look at what is remembered: dashboard, memories, search, transcripts, audit log.

The review page is tidy's, the index room search's: they need no more than their own app.
"""

from __future__ import annotations

from typing import Any, TypeVar

from django import forms
from django.db import models
from django.http import Http404, HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.access import Principal, visible_to
from memories.errors import Refused
from memories.pages import principal_in
from memories.plain_text import one_line

M = TypeVar("M", bound=models.Model)
REFUSALS: dict[str, Promise] = {
    "stale": _("It was changed by somebody else meanwhile. Nothing of yours was written."),
    "key_taken": _("Another memory has this key."),
    "not_active": _("It is not active: restore it first."),
    "merged": _("It is merged into another memory: revert the merge or restore it first."),
    "erased": _("It was erased, and cannot be brought back."),
    "forbidden": _("Your role does not allow this."),
    "not_found": _("It is not there any more."),
}
"""What a person is told of a verb's refusal, by its code."""


def refusal_in_words(refusal: Refused) -> str:
    """Return why a verb refused, in the reader's language as far as it is a reason that people meet."""
    known = REFUSALS.get(refusal.code)
    return str(known) if known is not None else gettext("Refused: %(why)s") % {"why": one_line(refusal.message)}


def entered(request: HttpRequest, model: type[M], pk: int) -> tuple[Principal, M]:
    """Return a row by its id and who the person is in its workspace. Raises Http404 also for rows of others."""
    # Which workspace it is, and nothing else of it: whether the person may look is asked next.
    place = model._default_manager.filter(pk=min(pk, 2**63 - 1)).values_list("workspace_id", flat=True).first()
    principal = principal_in(request, place) if place is not None else None
    row = visible_to(principal, model).filter(pk=pk).first() if principal is not None else None
    if principal is None or row is None:
        raise Http404
    return principal, row


def date_field(label: Any) -> forms.DateField:
    """Return a field for a day, with the browser's own calendar."""
    return forms.DateField(label=label, required=False, widget=forms.DateInput(attrs={"type": "date"}))
