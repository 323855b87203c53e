"""Applying, dismissing and reverting candidates: the only code of tidy that changes memories.

All of it is soft and goes through memories/revisions.py: status, links and kind change, texts and ``updated_at`` stay.
Each candidate is a transaction of its own and rests on the revisions that were looked at.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db import transaction

from memories import revisions, storage
from memories.access import Actor
from memories.errors import Conflict
from memories.models import Memory, Status
from tidy.evidence import Evidence
from tidy.models import Action, Batch, Candidate, CandidateMemory, KeptApart, Looked, PairingKey

VERB = "memory.tidy.apply"
Role = CandidateMemory.Role


class Skip(StrEnum):
    """Why a candidate was not applied, or not reverted."""

    PARTITION_MISMATCH = "partition_mismatch"
    STALE = "stale"
    ALREADY_APPLIED = "already_applied"
    INACTIVE_TARGET = "inactive_target"
    KEY_TAKEN = "key_taken"
    NOT_PENDING = "not_pending"
    NOT_APPLIED = "not_applied"
    CHANGED_SINCE = "changed_since"
    NOTHING_TO_DO = "nothing_to_do"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one candidate: done, or skipped and why. ``memories`` are the ids that stood in the way."""

    candidate_id: int
    skip: Skip | None = None
    memories: tuple[int, ...] = ()

    @property
    def is_done(self) -> bool:
        return self.skip is None


@storage.write
def apply(
    candidate_id: int, *, by: Actor, now: datetime, batch: Batch | None = None, auto: bool = False, reason: str = ""
) -> Outcome:
    """Return the outcome of doing what the candidate proposes, to exactly the revisions that it has seen."""
    candidate = _locked(candidate_id)
    if candidate is None:
        return Outcome(candidate_id, Skip.NOT_FOUND)
    if candidate.status == Candidate.Status.APPLIED:
        return Outcome(candidate_id, Skip.ALREADY_APPLIED)
    if candidate.status != Candidate.Status.PENDING:
        return Outcome(candidate_id, Skip.NOT_PENDING)
    parts = list(candidate.memories.select_related("memory"))
    refusal = _refusal(candidate, parts)
    if refusal is not None:
        return refusal
    for part in parts:
        fields = _fields(candidate, part, now)
        if fields:
            verb = f"tidy.{candidate.action}"
            revisions.change(part.memory, fields, by=by, now=now, verb=verb, reason=candidate.reason, touch=False)
            part.applied_revision = part.memory.revision
            part.save(update_fields=["applied_revision"])
            if part.memory.status != Status.ACTIVE:
                # Active again, it has a revision that no round has seen, and gets them back.
                PairingKey.objects.filter(memory=part.memory).delete()
    _decide(candidate, Candidate.Status.APPLIED, by=by, now=now, reason=reason, batch=batch, auto=auto)
    return Outcome(candidate_id)


def _locked(candidate_id: int) -> Candidate | None:
    return Candidate.objects.select_for_update().filter(pk=candidate_id).first()


def _refusal(candidate: Candidate, parts: list[CandidateMemory]) -> Outcome | None:
    """Return why the candidate must not be applied by anyone, None if it may."""
    for part in parts:
        if part.memory.partition != candidate.partition or part.memory.workspace_id != candidate.workspace_id:
            return Outcome(candidate.pk, Skip.PARTITION_MISMATCH, (part.memory_id,))
    for part in parts:
        if part.role == Role.TARGET and part.memory.status != Status.ACTIVE:
            return Outcome(candidate.pk, Skip.INACTIVE_TARGET, (part.memory_id,))
    stale = tuple(
        part.memory_id
        for part in parts
        if part.memory.revision != part.seen_revision or part.memory.status != Status.ACTIVE
    )
    if stale:
        return Outcome(candidate.pk, Skip.STALE, stale)
    if candidate.reason == "decayed" and any(part.memory.last_seen_at > candidate.created_at for part in parts):
        # Somebody has touched it since.
        return Outcome(candidate.pk, Skip.STALE, tuple(part.memory_id for part in parts))
    has_target = any(part.role == Role.TARGET for part in parts)
    if (candidate.action == Action.MERGE) != has_target and candidate.action != Action.LINK:
        return Outcome(candidate.pk, Skip.NOTHING_TO_DO)
    return None


def _fields(candidate: Candidate, part: CandidateMemory, now: datetime) -> dict[str, Any]:
    """Return what applying changes of one memory."""
    if part.role == Role.TARGET:
        return {}
    if candidate.action == Action.MERGE:
        return {"status": Status.MERGED.value, "merged_into_id": candidate.target_id, "merged_at": now}
    if candidate.action == Action.ARCHIVE:
        return {"status": Status.ARCHIVED.value, "archived_at": now, "archive_reason": candidate.reason}
    if candidate.action == Action.RECLASSIFY:
        return {"kind": Evidence.model_validate(candidate.evidence).kind_after}
    return {}


def _decide(
    candidate: Candidate,
    status: Candidate.Status,
    *,
    by: Actor,
    now: datetime,
    reason: str,
    batch: Batch | None = None,
    auto: bool = False,
) -> None:
    candidate.status = status.value
    candidate.decided_at, candidate.decided_by, candidate.decision_reason = now, by.name, reason
    if batch is not None:
        candidate.batch, candidate.auto = batch, auto
    candidate.save(update_fields=["status", "decided_at", "decided_by", "decision_reason", "batch", "auto"])


@storage.write
def dismiss(candidate_id: int, *, by: Actor, now: datetime, reason: str = "", never: bool = False) -> Outcome:
    """Return the outcome of leaving the memories as they are. The same is not proposed again while the texts stay.

    With ``never`` the memories are not compared with each other again, whatever their texts become.
    """
    candidate = _locked(candidate_id)
    if candidate is None:
        return Outcome(candidate_id, Skip.NOT_FOUND)
    if candidate.status == Candidate.Status.DISMISSED:
        return Outcome(candidate_id)
    if candidate.status == Candidate.Status.APPLIED:
        return Outcome(candidate_id, Skip.ALREADY_APPLIED)
    if candidate.status != Candidate.Status.PENDING:
        return Outcome(candidate_id, Skip.NOT_PENDING)
    _decide(candidate, Candidate.Status.DISMISSED, by=by, now=now, reason=reason)
    if never:
        _keep_apart(candidate, by=by, now=now)
    return Outcome(candidate_id)


def _keep_apart(candidate: Candidate, *, by: Actor, now: datetime) -> None:
    """Note that its sources and its target are never to be merged; opening it again takes that back."""
    sources = candidate.memories.filter(role=Role.SOURCE).values_list("memory_id", flat=True)
    pairs = [sorted((source, candidate.target_id)) for source in sources if candidate.target_id is not None]
    KeptApart.objects.bulk_create(
        [KeptApart(first_id=one, second_id=other, candidate=candidate, by=by.name, at=now) for one, other in pairs],
        ignore_conflicts=True,
    )


@storage.write
def revert(candidate_id: int, *, by: Actor, now: datetime, reason: str = "") -> Outcome:
    """Return the outcome of taking back what applying did. Memories that were changed since refuse it, by their ids."""
    candidate = _locked(candidate_id)
    if candidate is None:
        return Outcome(candidate_id, Skip.NOT_FOUND)
    if candidate.status == Candidate.Status.DISMISSED:
        candidate.kept_apart.all().delete()
        _decide(candidate, Candidate.Status.PENDING, by=by, now=now, reason=reason)
        return Outcome(candidate_id)
    if candidate.status != Candidate.Status.APPLIED:
        return Outcome(candidate_id, Skip.NOT_APPLIED)
    parts = [part for part in candidate.memories.select_related("memory") if part.applied_revision is not None]
    changed = tuple(part.memory_id for part in parts if part.memory.revision != part.applied_revision)
    if changed:
        return Outcome(candidate_id, Skip.CHANGED_SINCE, changed)
    key_taken = _taken_back(parts, by=by, now=now, reason=reason)
    if key_taken is not None:
        return Outcome(candidate_id, Skip.KEY_TAKEN, (key_taken,))
    _decide(candidate, Candidate.Status.REVERTED, by=by, now=now, reason=reason)
    return Outcome(candidate_id)


def _taken_back(parts: list[CandidateMemory], *, by: Actor, now: datetime, reason: str) -> int | None:
    """Return the memory whose key another one has by now, and then nothing is changed; None where all went back."""
    memory_id = 0
    try:
        with transaction.atomic():
            for part in parts:
                memory_id = part.memory_id
                before = part.memory.revisions.get(number=part.memory.revision).before
                fields = {name: revisions.from_json(name, value) for name, value in before.items()}
                revisions.change(part.memory, fields, by=by, now=now, verb="tidy.revert", reason=reason, touch=False)
    except Conflict:
        return memory_id
    return None


@storage.write
def withdraw(candidate_ids: Collection[int], *, now: datetime) -> int:
    """Return how many pending candidates were withdrawn; their memories are looked at anew by the next round."""
    found = Candidate.objects.select_for_update().filter(pk__in=candidate_ids, status=Candidate.Status.PENDING)
    ids = list(found.values_list("pk", flat=True))
    decided = {"decided_at": now, "decided_by": "tidy"}
    Candidate.objects.filter(pk__in=ids).update(status=Candidate.Status.WITHDRAWN, **decided)
    Looked.objects.filter(memory__candidates__candidate__in=ids).delete()
    return len(ids)


def forget_text(memory: Memory) -> None:
    """Empty the memory's text in every candidate's evidence, in the transaction that erases it."""
    touched = Candidate.objects.filter(memories__memory=memory)
    for candidate in touched:
        evidence = Evidence.model_validate(candidate.evidence).without_text_of([memory.pk])
        candidate.evidence = evidence.as_json()
        candidate.subject = ""
        candidate.save(update_fields=["evidence", "subject"])
    PairingKey.objects.filter(memory=memory).delete()
