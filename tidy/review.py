"""What people decide: approve, dismiss, revert, one or many. Each act is in the audit log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memories import audit, storage
from memories.access import Principal, visible_to
from memories.errors import Forbidden, NotFound
from memories.models import Membership, Token
from memories.schemas import LARGEST_ID
from tidy import apply
from tidy.apply import Outcome
from tidy.auto import Receipt, close_batch, open_batch
from tidy.models import Batch, Candidate, Looking


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of each candidate, in the order asked for; the batch where something was applied together."""

    outcomes: tuple[Outcome, ...]
    batch: Batch | None = None

    @property
    def done(self) -> int:
        return sum(outcome.is_done for outcome in self.outcomes)

    @property
    def skipped(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.is_done)


def may_decide(principal: Principal) -> bool:
    """Return whether the principal may approve, dismiss and revert: people who review, and the house's own token."""
    if principal.actor.is_person:
        return principal.role in (Membership.Role.REVIEWER, Membership.Role.ADMIN)
    return principal.role == Token.Role.ADMIN


def find(principal: Principal, candidate_id: int) -> Candidate:
    """Return the candidate. Raises NotFound, also for one of memories that the principal may not see."""
    candidate = visible_to(principal, Candidate).filter(pk=min(candidate_id, LARGEST_ID)).first()
    if candidate is None:
        raise NotFound(f"there is no candidate {candidate_id}")
    return candidate


def _found(principal: Principal, ids: Sequence[int]) -> list[Candidate]:
    """Return the candidates. Raises NotFound before Forbidden: what others have is not told."""
    candidates = [find(principal, candidate_id) for candidate_id in ids]
    _check(principal)
    return candidates


def _check(principal: Principal) -> None:
    if not may_decide(principal):
        raise Forbidden("people decide what is tidied: a reviewer or an admin", code="not_a_reviewer")


def approve(principal: Principal, ids: Sequence[int], *, now: datetime, reason: str = "") -> Decided:
    """Return what became of applying the candidates, each in a transaction of its own, in one batch."""
    candidates = _found(principal, ids)
    receipt = Receipt(auto=False, limit=len(ids), eligible_total=len(ids))
    batch = open_batch(principal.actor, auto=False, now=now, workspace_id=principal.workspace_id)
    outcomes = []
    for candidate in candidates:
        outcome = apply.apply(candidate.pk, by=principal.actor, now=now, batch=batch, reason=reason)
        outcomes.append(outcome)
        if outcome.is_done:
            receipt.count(candidate)
        else:
            receipt.skipped += 1
    target = str(candidates[0]) if len(candidates) == 1 else str(batch)
    close_batch(batch, receipt, actor=principal.actor, now=now, target=target)
    return Decided(tuple(outcomes), batch)


def dismiss(
    principal: Principal, ids: Sequence[int], *, now: datetime, reason: str = "", never: bool = False
) -> Decided:
    """Return what became of leaving the memories of the candidates as they are; with ``never`` for good."""

    def one(candidate: Candidate) -> Outcome:
        return apply.dismiss(candidate.pk, by=principal.actor, now=now, reason=reason, never=never)

    return _each(principal, "dismiss", ids, one, now=now)


def revert(principal: Principal, ids: Sequence[int], *, now: datetime, reason: str = "") -> Decided:
    """Return what became of taking back what was applied, or what was dismissed. Of several, the last goes first."""

    def one(candidate: Candidate) -> Outcome:
        return apply.revert(candidate.pk, by=principal.actor, now=now, reason=reason)

    return _each(principal, "revert", ids, one, now=now)


def revert_batch(principal: Principal, batch_id: int, *, now: datetime, reason: str = "") -> Decided:
    """Return what became of taking back all that a batch applied, as far as the principal may see it."""
    of_batch = visible_to(principal, Candidate).filter(batch_id=min(batch_id, LARGEST_ID))
    if not of_batch.exists():
        raise NotFound(f"there is no batch {batch_id}")
    _check(principal)
    applied = of_batch.filter(status=Candidate.Status.APPLIED).order_by("-decided_at", "-id")
    return revert(principal, list(applied.values_list("pk", flat=True)), now=now, reason=reason)


def _each(
    principal: Principal, verb: str, ids: Sequence[int], act: Callable[[Candidate], Outcome], *, now: datetime
) -> Decided:
    candidates = _found(principal, ids)
    outcomes = tuple(_recorded(principal, verb, candidate, act, now) for candidate in candidates)
    return Decided(outcomes)


@storage.write
def _recorded(
    principal: Principal, verb: str, candidate: Candidate, act: Callable[[Candidate], Outcome], now: datetime
) -> Outcome:
    """Return the outcome of one act, which is in the audit log if it did something, in the same transaction."""
    outcome = act(candidate)
    result = "ok" if outcome.is_done else f"skipped={outcome.skip}"
    audit.record(
        f"memory.tidy.{verb}",
        actor=principal.actor.name,
        workspace_id=candidate.workspace_id,
        target=str(candidate),
        result=f"{result} auto=false action={candidate.action} reason={candidate.reason}",
        request_id=principal.actor.request_id,
        at=now,
    )
    return outcome


LOOKING_FOR = timedelta(seconds=60)
"""How long somebody counts as looking at a candidate after they last did."""


def look(candidate: Candidate, *, user_id: int, now: datetime) -> None:
    """Note that a person looks at the candidate."""
    Looking.objects.update_or_create(candidate=candidate, user_id=user_id, defaults={"at": now})


def lookers(candidate_ids: Sequence[int], *, besides: int, now: datetime) -> dict[int, list[str]]:
    """Return for each candidate the names of others who look at it now."""
    rows = Looking.objects.filter(candidate_id__in=candidate_ids, at__gt=now - LOOKING_FOR).exclude(user_id=besides)
    found: dict[int, list[str]] = {}
    for looking in rows.select_related("user").order_by("at"):
        found.setdefault(looking.candidate_id, []).append(looking.user.get_username())
    return found
