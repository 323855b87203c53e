"""The JSON endpoints for tidying and for the audit log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django_q.tasks import async_task
from ninja import Body, Query, Router, Schema
from pydantic import Field

from memories import audit
from memories.access import Principal, visible_to
from memories.errors import Conflict, Forbidden
from memories.idempotency import Answer
from memories.models import NAME_MAX, AuditEntry
from memories.plain_text import clean_text
from memories.schemas import LARGEST_ID, Time
from memories.wire import to_json
from tidy import review, rounds
from tidy.apply import Outcome, Skip
from tidy.models import REASON_MAX, Candidate, Round
from tidy.review import Decided
from tidy.shown import SKIPPED

router = Router(tags=["tidy"])

Cursor = Annotated[int, Field(ge=1, le=LARGEST_ID)]
Limit = Annotated[int, Field(ge=1, le=500)]
CandidateId = int
StatusName = Literal["pending", "applied", "dismissed", "reverted", "withdrawn"]
ActionName = Literal["merge", "archive", "reclassify", "link", "keep"]


class CandidateQuery(Schema):
    """Which candidates to list."""

    status: Annotated[list[StatusName], Field(max_length=5)] = ["pending"]
    action: Annotated[list[ActionName], Field(max_length=5)] = []
    reason: Annotated[list[Annotated[str, Field(max_length=REASON_MAX)]], Field(max_length=20)] = []
    subject: Annotated[str, Field(max_length=NAME_MAX)] | None = None
    cursor: Cursor | None = None
    limit: Limit = 50


class DecisionIn(Schema):
    """Why it is decided so; kept with the candidate."""

    model_config = {"extra": "forbid"}

    reason: Annotated[str, Field(max_length=NAME_MAX)] = ""


class LeaveIn(DecisionIn):
    """Why it is dismissed; ``never`` keeps a pair from being compared again, whatever the texts become."""

    never: bool = False


class SkippedOut(Schema):
    """A candidate that was left alone: why, and the memories that stood in the way."""

    candidate: int
    reason: str
    memories: list[int]


class CandidateOut(Schema):
    """A proposal with its evidence."""

    id: int
    action: ActionName
    reason: str
    auto_reason: str | None
    auto: bool
    status: StatusName
    subject: str
    target: int | None
    sources: list[int]
    evidence: dict[str, Any]
    round: int | None
    batch: int | None
    created_at: datetime
    decided_at: datetime | None
    decided_by: str
    decision_reason: str


class CandidatePage(Schema):
    candidates: list[CandidateOut]
    total: int
    next_cursor: int | None


class RevertedOut(Schema):
    """How many of a batch were reverted, and what was left alone."""

    done: int
    skipped: list[SkippedOut]


class RoundOut(Schema):
    """One round and what came of it."""

    id: int
    state: Literal["running", "done"]
    started_by: str
    started_at: datetime
    ended_at: datetime | None
    scanned: int
    proposed: int
    withdrawn: int
    scan_truncated: bool
    candidates_truncated: bool
    receipt: str


class RoundPage(Schema):
    rounds: list[RoundOut]
    next_cursor: int | None


class PageQuery(Schema):
    """Which page of a list."""

    cursor: Cursor | None = None
    limit: Limit = 50


class AuditQuery(Schema):
    """Which entries of the audit log."""

    verb: Annotated[str, Field(max_length=60)] | None = None
    actor: Annotated[str, Field(max_length=300)] | None = None
    auto: bool | None = None
    since: Time | None = None
    until: Time | None = None
    cursor: Cursor | None = None
    limit: Limit = 50


class AuditEntryOut(Schema):
    """Who did what."""

    id: int
    at: datetime
    actor: str
    verb: str
    target: str
    result: str
    counts: dict[str, Any]
    request_id: str


class AuditPage(Schema):
    entries: list[AuditEntryOut]
    next_cursor: int | None


def _principal(request: HttpRequest) -> Principal:
    principal: Principal = request.auth  # type: ignore[attr-defined]
    return principal


def _json(data: Any, status: int = 200) -> HttpResponse:
    return Answer(status, to_json(data)).as_response()


def candidate_json(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate as the API shows it."""
    return {
        "id": candidate.pk,
        "action": candidate.action,
        "reason": candidate.reason,
        "auto_reason": candidate.auto_reason,
        "auto": candidate.auto,
        "status": candidate.status,
        "subject": candidate.subject,
        "target": candidate.target_id,
        "sources": [seen["id"] for seen in candidate.evidence["seen"] if seen["role"] == "source"],
        "evidence": candidate.evidence,
        "round": candidate.round_id,
        "batch": candidate.batch_id,
        "created_at": candidate.created_at,
        "decided_at": candidate.decided_at,
        "decided_by": candidate.decided_by,
        "decision_reason": candidate.decision_reason,
    }


def _next(rows: list[Any], limit: int) -> int | None:
    return rows[limit - 1].pk if len(rows) > limit else None


@router.get("/tidy/candidates", response=CandidatePage, summary="Candidates")
def get_candidates(request: HttpRequest, query: Query[CandidateQuery]) -> HttpResponse:
    """Proposals for memories that you may see, newest first; open ones unless asked."""
    rows = visible_to(_principal(request), Candidate).filter(status__in=query.status)
    if query.action:
        rows = rows.filter(action__in=query.action)
    if query.reason:
        rows = rows.filter(reason__in=query.reason)
    if query.subject is not None:
        rows = rows.filter(subject=clean_text(query.subject).strip())
    total = rows.count()
    if query.cursor is not None:
        rows = rows.filter(pk__lt=query.cursor)
    page = list(rows.order_by("-pk")[: query.limit + 1])
    shown = [candidate_json(candidate) for candidate in page[: query.limit]]
    return _json({"candidates": shown, "total": total, "next_cursor": _next(page, query.limit)})


@router.get("/tidy/candidates/{candidate_id}", response=CandidateOut, summary="One candidate")
def get_candidate(request: HttpRequest, candidate_id: CandidateId) -> HttpResponse:
    """One proposal with its evidence."""
    return _json(candidate_json(review.find(_principal(request), candidate_id)))


def _reason(body: DecisionIn | None) -> str:
    return clean_text(body.reason).strip() if body is not None else ""


def _decided(
    request: HttpRequest, verb: Callable[..., Decided], candidate_id: int, body: DecisionIn | None
) -> HttpResponse:
    principal = _principal(request)
    decided = verb(principal, [candidate_id], now=timezone.now(), reason=_reason(body))
    for outcome in decided.skipped:
        raise Conflict(_in_words(outcome), code=str(outcome.skip))
    return _json(candidate_json(review.find(principal, candidate_id)))


def _in_words(outcome: Outcome) -> str:
    named = f": memories {', '.join(map(str, outcome.memories))}" if outcome.memories else ""
    return f"candidate {outcome.candidate_id} was left alone, {SKIPPED[outcome.skip or Skip.NOT_FOUND]}{named}"


@router.post("/tidy/candidates/{candidate_id}/approve", response=CandidateOut, summary="Approve")
def post_approve(request: HttpRequest, candidate_id: CandidateId, body: DecisionIn | None = Body(None)) -> HttpResponse:
    """Do what it proposes, to exactly the revisions that it shows. For reviewers and admins."""
    return _decided(request, review.approve, candidate_id, body)


@router.post("/tidy/candidates/{candidate_id}/dismiss", response=CandidateOut, summary="Dismiss")
def post_dismiss(request: HttpRequest, candidate_id: CandidateId, body: LeaveIn | None = Body(None)) -> HttpResponse:
    """Leave the memories as they are. The same is not proposed again while their texts stay; with never at all."""
    dismiss = partial(review.dismiss, never=body is not None and body.never)
    return _decided(request, dismiss, candidate_id, body)


@router.post("/tidy/candidates/{candidate_id}/revert", response=CandidateOut, summary="Revert")
def post_revert(request: HttpRequest, candidate_id: CandidateId, body: DecisionIn | None = Body(None)) -> HttpResponse:
    """Take back what was applied, unless the memory was changed since; open again what was dismissed."""
    return _decided(request, review.revert, candidate_id, body)


@router.post("/tidy/batches/{batch_id}/revert", response=RevertedOut, summary="Revert a batch")
def post_revert_batch(request: HttpRequest, batch_id: int, body: DecisionIn | None = Body(None)) -> HttpResponse:
    """Take back all that was applied together. What was changed since is left alone and named."""
    principal = _principal(request)
    decided = review.revert_batch(principal, batch_id, now=timezone.now(), reason=_reason(body))
    skipped = [
        {"candidate": one.candidate_id, "reason": one.skip, "memories": list(one.memories)} for one in decided.skipped
    ]
    return _json({"done": decided.done, "skipped": skipped})


def _instance(request: HttpRequest) -> Principal:
    principal = _principal(request)
    if not principal.instance:
        raise Forbidden("acts on the instance need an instance token (create_token --instance)", code="not_instance")
    return principal


def round_json(round: Round) -> dict[str, Any]:
    """Return a round as the API shows it."""
    return {name: getattr(round, name) for name in RoundOut.model_fields}


@router.post("/tidy/rounds", response={202: RoundOut}, summary="Begin a round")
def post_round(request: HttpRequest) -> HttpResponse:
    """Have the worker look at what has changed, now. Needs an instance token."""
    principal = _instance(request)
    round = rounds.start(by=principal.actor, now=timezone.now())
    if round is None:
        raise Conflict("a round is under way", code="round_running")
    async_task("tidy.tasks.go_on", round.pk)
    return _json(round_json(round), status=202)


@router.get("/tidy/rounds", response=RoundPage, summary="Rounds")
def get_rounds(request: HttpRequest, query: Query[PageQuery]) -> HttpResponse:
    """Rounds, newest first. Needs an instance token."""
    _instance(request)
    rows = Round.objects.order_by("-pk")
    if query.cursor is not None:
        rows = rows.filter(pk__lt=query.cursor)
    page = list(rows[: query.limit + 1])
    return _json(
        {"rounds": [round_json(round) for round in page[: query.limit]], "next_cursor": _next(page, query.limit)}
    )


@router.get("/audit", response=AuditPage, tags=["audit"], summary="Audit log")
def get_audit(request: HttpRequest, query: Query[AuditQuery]) -> HttpResponse:
    """Who did what in your workspace, newest first; with an instance token also what concerns no workspace.

    Needs a token of role admin. ``auto`` is true for what the house did by itself.
    """
    principal = _principal(request)
    if not principal.is_admin:
        raise Forbidden("the audit log needs a token of role admin")
    mine = Q(workspace_id=principal.workspace_id)
    rows = AuditEntry.objects.filter(mine | Q(workspace_id=None) if principal.instance else mine)
    for name, value in (("verb", query.verb), ("actor", query.actor)):
        if value is not None:
            rows = rows.filter(**{name: clean_text(value)})
    if query.auto is not None:
        rows = rows.filter(actor=audit.BY_ITSELF) if query.auto else rows.exclude(actor=audit.BY_ITSELF)
    if query.since is not None:
        rows = rows.filter(at__gte=query.since)
    if query.until is not None:
        rows = rows.filter(at__lt=query.until)
    if query.cursor is not None:
        rows = rows.filter(pk__lt=query.cursor)
    page = list(rows.order_by("-pk")[: query.limit + 1])
    shown = [{name: getattr(entry, name) for name in AuditEntryOut.model_fields} for entry in page[: query.limit]]
    return _json({"entries": shown, "next_cursor": _next(page, query.limit)})
