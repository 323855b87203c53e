"""The JSON endpoints for memories."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from datetime import datetime
from typing import Annotated, Any, Literal

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from ninja import Body, Query, Router, Schema
from pydantic import Field, ValidationError

from memories import audit, storage
from memories.access import Principal, agent_name
from memories.errors import Refused, Stale
from memories.idempotency import Answer, answer_once
from memories.lineage import taken_in, went_to
from memories.models import NAME_MAX, TAG_MAX
from memories.plain_text import clean_text
from memories.recall import Filters, brief, history, list_memories, stats
from memories.remember import Receipt, erase, find, forget, remember, restore, revise
from memories.schemas import (
    LARGEST_ID,
    BatchIn,
    BatchOut,
    BriefOut,
    ErasedOut,
    EraseIn,
    HistoryOut,
    KindName,
    MemoryIn,
    MemoryPage,
    MemoryPatch,
    OneMemory,
    ReceiptOut,
    RestoreIn,
    ScopeName,
    SourceName,
    StatsOut,
    StatusName,
    Time,
    memory_json,
)
from memories.wire import to_json

router = Router(tags=["memories"])

MemoryId = int
Limit = Annotated[int, Field(ge=1, le=500)]
MaxChars = Annotated[int, Field(ge=1, le=1_000_000)]
Cursor = Annotated[int, Field(ge=0, le=LARGEST_ID)]
SubjectFilter = Annotated[str, Field(max_length=NAME_MAX)]
TagFilters = Annotated[list[Annotated[str, Field(max_length=TAG_MAX)]], Field(max_length=10)]
MinImportance = Annotated[int, Field(ge=1, le=5)]


class RecallQuery(Schema):
    """What to recall."""

    subject: SubjectFilter | None = None
    kind: list[KindName] = Field([], max_length=8)
    tag: TagFilters = []
    scope: ScopeName | None = None
    min_importance: MinImportance = 1
    limit: Limit = 20
    max_chars: MaxChars = 8000
    include_restricted: bool = False

    def filters(self) -> Filters:
        return Filters(
            subject=_subject(self.subject),
            kinds=tuple(dict.fromkeys(self.kind)),
            tags=tuple(clean_text(tag).strip() for tag in self.tag),
            scope=self.scope,
            min_importance=self.min_importance,
            include_restricted=self.include_restricted,
        )


class ListQuery(Schema):
    """Which memories to list. since and until bound created_at: from since on, before until."""

    subject: SubjectFilter | None = None
    kind: list[KindName] = Field([], max_length=8)
    tag: TagFilters = []
    scope: ScopeName | None = None
    status: list[StatusName] = Field(["active"], max_length=4)
    min_importance: MinImportance = 1
    source: list[SourceName] = Field([], max_length=7)
    created_by: SubjectFilter | None = None
    since: Time | None = None
    until: Time | None = None
    cursor: Cursor | None = None
    limit: Limit = 50

    def filters(self) -> Filters:
        return Filters(
            subject=_subject(self.subject),
            kinds=tuple(self.kind),
            tags=tuple(clean_text(tag).strip() for tag in self.tag),
            scope=self.scope,
            statuses=tuple(self.status),
            min_importance=self.min_importance,
            sources=tuple(self.source),
            created_by=None if self.created_by is None else clean_text(self.created_by),
            since=self.since,
            until=self.until,
        )


class BriefQuery(Schema):
    """How long the overview may be."""

    subject: SubjectFilter | None = None
    max_chars: MaxChars = 4000


class PageQuery(Schema):
    """Which page of a list."""

    cursor: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    limit: Limit = 100


class StatsQuery(Schema):
    """What to count by."""

    group: Literal["kind", "subject", "source", "day"] = "kind"


class ForgetQuery(Schema):
    """Why it is forgotten; the reason is kept in the history."""

    reason: Annotated[str, Field(max_length=NAME_MAX)] = ""


def _subject(value: str | None) -> str | None:
    return None if value is None else clean_text(value).strip()


def _answer(data: Any, status: int = 200) -> HttpResponse:
    return Answer(status, to_json(data)).as_response()


def _principal(request: HttpRequest) -> Principal:
    principal: Principal = request.auth  # type: ignore[attr-defined]
    return principal


def _receipt_json(receipt: Receipt) -> dict[str, Any]:
    memory = memory_json(receipt.memory, created_by=agent_name(receipt.memory.agent_id))
    return {"memory": memory, "action": receipt.action, "revision": receipt.revision}


def _receipt(receipt: Receipt) -> HttpResponse:
    response = _answer(_receipt_json(receipt))
    response["ETag"] = f'"{receipt.revision}"'
    return response


def if_match(request: HttpRequest) -> int | None:
    """Return the revision that If-Match names, None where it is absent or ``*``.

    Raises Stale where none of ours is named.
    """
    header = request.headers.get("If-Match", "*").strip()
    if header == "*":
        return None
    found = re.fullmatch(r'(?:W/)?"?(\d{1,9})"?', header)
    if found is None:
        raise Stale('If-Match must name one revision, as in If-Match: "3"', field="If-Match")
    return int(found[1])


def _in_range(memory_id: int) -> int:
    # Beyond 64 bits no row can be, and the database would refuse to compare.
    return memory_id if 0 < memory_id <= LARGEST_ID else 0


@router.post("/memories", response={201: ReceiptOut, 200: ReceiptOut}, summary="Remember")
def post_memory(request: HttpRequest, item: MemoryIn) -> HttpResponse:
    """Remember one item: 201 for a new row, 200 where a row was updated or was there already."""
    principal, now = _principal(request), timezone.now()

    def run() -> Answer:
        receipt = remember(principal, item, now=now)
        status = 201 if receipt.action in ("created", "kept_beside") else 200
        return Answer(status, to_json(_receipt_json(receipt)), [receipt.memory.pk])

    return answer_once(request, principal, run, now=now)


@router.post("/memories/batch", response=BatchOut, summary="Remember many")
def post_batch(request: HttpRequest, batch: BatchIn) -> HttpResponse:
    """Remember up to 1,000 items in their order.

    Each gets a receipt; a bad one gets an error and does not lose the others. With an Idempotency-Key all is one
    transaction, without one others may write between slices of it.
    """
    principal, now = _principal(request), timezone.now()
    items = [_checked(item) for item in batch.memories]
    at_once = len(items) if "Idempotency-Key" in request.headers else SLICE

    def run() -> Answer:
        receipts: list[dict[str, Any]] = []
        for start in range(0, len(items), at_once):
            receipts += _remember_slice(principal, start, items[start : start + at_once], now)
        ids = list(dict.fromkeys(receipt["memory"]["id"] for receipt in receipts if "memory" in receipt))
        return Answer(200, to_json({"receipts": receipts}), ids)

    return answer_once(request, principal, run, now=now)


SLICE = 50
"""Items of a batch that are written in one transaction, so that nobody waits long for the write lock."""


def _checked(item: dict[str, Any]) -> MemoryIn | dict[str, Any]:
    """Return the item, or what is wrong with it."""
    try:
        return MemoryIn.model_validate(item)
    except ValidationError as error:
        return first_error(error.errors(include_url=False, include_input=False))


@storage.write
def _remember_slice(
    principal: Principal, start: int, items: list[MemoryIn | dict[str, Any]], now: datetime
) -> list[dict[str, Any]]:
    receipts = [_batch_receipt(principal, start + place, item, now) for place, item in enumerate(items)]
    audit.record(
        "memory.batch",
        actor=principal.actor.name,
        workspace_id=principal.workspace_id,
        counts=dict(sorted(Counter(receipt.get("action", "refused") for receipt in receipts).items())),
        request_id=principal.actor.request_id,
        at=now,
    )
    return receipts


def _batch_receipt(principal: Principal, index: int, item: MemoryIn | dict[str, Any], now: datetime) -> dict[str, Any]:
    if isinstance(item, dict):
        return {"index": index, "error": item}
    try:
        with transaction.atomic():
            return {"index": index} | _receipt_json(remember(principal, item, now=now))
    except Refused as error:
        return {"index": index, "error": refusal_json(error)}


def refusal_json(error: Refused) -> dict[str, Any]:
    """Return what the ``error`` of an answer holds."""
    detail = {"code": error.code, "message": error.message}
    return detail | {"field": error.field} if error.field else detail


def first_error(errors: Any) -> dict[str, Any]:
    """Return pydantic's first error as the API shows it: the field by its path, and what is allowed."""
    error = errors[0]
    path = ".".join(str(part) for part in error["loc"] if part not in ("body", "query", "path"))
    kind, message = error["type"], error["msg"]
    if kind == "extra_forbidden":
        message = f"{path} is not a known field"
    elif kind == "missing":
        message = f"{path or 'the body'} is required"
    elif kind == "model_attributes_type" and not path:
        message = "the body must be a JSON object"
    elif path:
        message = f"{path}: {message}"
    return {"code": "invalid", "message": message, "field": path}


@router.get("/memories", response=MemoryPage, summary="List memories")
def get_memories(request: HttpRequest, query: Query[ListQuery]) -> HttpResponse:
    """List memories, newest first. status repeats; without it only active ones."""
    page = list_memories(_principal(request), query.filters(), cursor=query.cursor, limit=query.limit)
    return _answer({"memories": page.rows, "next_cursor": page.next_cursor})


@router.get("/brief", response=BriefOut, summary="Brief")
def get_brief(request: HttpRequest, query: Query[BriefQuery]) -> HttpResponse:
    """A compact overview for the user message, as text/plain or JSON by Accept. Equal memories give equal bytes."""
    found = brief(_principal(request), subject=_subject(query.subject), max_chars=query.max_chars, now=timezone.now())
    wants_json = request.get_preferred_type(["text/plain", "application/json"]) == "application/json"
    if wants_json:
        response = _answer(found.as_json())
    else:
        response = HttpResponse(found.text, content_type="text/plain; charset=utf-8")
    return _conditional(request, response)


def _conditional(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return 304 where the client has the same bytes already."""
    etag = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    response["Vary"] = "Accept, Authorization, X-API-Key"
    conditional = get_conditional_response(request, etag=etag, response=response)
    assert isinstance(conditional, HttpResponse)
    return conditional


@router.get("/stats", response=StatsOut, summary="Counts")
def get_stats(request: HttpRequest, query: Query[StatsQuery]) -> HttpResponse:
    """Count what is visible: by status, and active memories by kind, subject, source or day."""
    return _answer(stats(_principal(request), query.group))


@router.get("/memories/{memory_id}", response=OneMemory, summary="Read a memory")
def get_memory(request: HttpRequest, memory_id: MemoryId) -> HttpResponse:
    """Read one memory of any status, where it went if it was merged, and what was merged into it.

    Its revision is the ETag.
    """
    principal = _principal(request)
    memory = find(principal, _in_range(memory_id))
    shown = memory_json(memory, created_by=agent_name(memory.agent_id))
    taken = taken_in(principal, memory)
    lineage = {"merged_from": taken.listed, "merged_from_total": taken.total}
    response = _answer(shown | {"merged_chain": went_to(principal, memory)} | lineage)
    response["ETag"] = f'"{memory.revision}"'
    return response


@router.patch("/memories/{memory_id}", response=ReceiptOut, summary="Revise")
def patch_memory(request: HttpRequest, memory_id: MemoryId, patch: MemoryPatch) -> HttpResponse:
    """Change the fields sent. With If-Match: a revision, only if it is still the current one."""
    receipt = revise(
        _principal(request),
        _in_range(memory_id),
        patch.changes,
        now=timezone.now(),
        if_revision=if_match(request),
        reason=patch.reason,
    )
    return _receipt(receipt)


@router.delete("/memories/{memory_id}", response=ReceiptOut, summary="Forget")
def delete_memory(request: HttpRequest, memory_id: MemoryId, query: Query[ForgetQuery]) -> HttpResponse:
    """Forget a memory: it is archived, and restore brings it back."""
    reason = clean_text(query.reason).strip()
    receipt = forget(
        _principal(request), _in_range(memory_id), now=timezone.now(), if_revision=if_match(request), reason=reason
    )
    return _receipt(receipt)


@router.get("/memories/{memory_id}/history", response=HistoryOut, summary="History")
def get_history(request: HttpRequest, memory_id: MemoryId, query: Query[PageQuery]) -> HttpResponse:
    """Every change of a memory, oldest first, with the changed fields before and after."""
    page = history(_principal(request), _in_range(memory_id), cursor=query.cursor, limit=query.limit)
    return _answer({"revisions": page.rows, "next_cursor": page.next_cursor})


@router.post("/memories/{memory_id}/restore", response=ReceiptOut, summary="Restore")
def post_restore(request: HttpRequest, memory_id: MemoryId, wanted: RestoreIn | None = Body(None)) -> HttpResponse:
    """Go back to a revision, or without one make an archived memory active again."""
    wanted = wanted or RestoreIn()
    receipt = restore(
        _principal(request),
        _in_range(memory_id),
        now=timezone.now(),
        revision=wanted.revision,
        if_revision=if_match(request),
        reason=wanted.reason,
    )
    return _receipt(receipt)


@router.post("/memories/{memory_id}/erase", response=ErasedOut, summary="Erase")
def post_erase(request: HttpRequest, memory_id: MemoryId, wanted: EraseIn) -> HttpResponse:
    """Overwrite a memory's text everywhere (admin, with a reason). There is no way back."""
    erased = erase(_principal(request), _in_range(memory_id), reason=wanted.reason, now=timezone.now())
    return _answer(
        {
            "id": erased.memory.pk,
            "status": erased.memory.status,
            "revision": erased.memory.revision,
            "merged_from": erased.merged_from,
        }
    )
