"""Applying what is safe without a person: all eligible candidates in one batch, newest first, within a limit."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from memories import audit, storage
from memories.access import Actor
from tidy import apply
from tidy.apply import Skip
from tidy.config import Config
from tidy.models import Action, Batch, Candidate, Round

logger = logging.getLogger("memoryweb.tidy")

TIDY = Actor(audit.BY_ITSELF)
"""Who applies without a person."""
ABANDONED = timedelta(minutes=5)
"""A batch that is not closed for so long was left by a process that was killed."""
MOOT = {Skip.STALE, Skip.INACTIVE_TARGET, Skip.PARTITION_MISMATCH, Skip.KEY_TAKEN, Skip.NOTHING_TO_DO}
"""Skipped for what will not pass: such a candidate is withdrawn, so that it does not stand before others."""
DONE = {Action.MERGE: "merged", Action.ARCHIVE: "archived", Action.RECLASSIFY: "reclassified"}


@dataclass(slots=True)
class Receipt:
    """What a batch did, in numbers; no text of anybody's is in it."""

    auto: bool
    limit: int
    eligible_total: int = 0
    truncated: bool = False
    scan_truncated: bool = False
    skipped: int = 0
    failed: int = 0
    by_action: Counter[str] = field(default_factory=Counter)
    by_reason: Counter[str] = field(default_factory=Counter)

    @property
    def applied(self) -> int:
        return self.by_action.total()

    def __str__(self) -> str:
        reasons = ",".join(f"{reason}={count}" for reason, count in sorted(self.by_reason.items())) or "none"
        return (
            f"ok auto={_word(self.auto)} applied={self.applied} merged={self.by_action['merged']} "
            f"archived={self.by_action['archived']} reclassified={self.by_action['reclassified']} "
            f"skipped={self.skipped} failed={self.failed} eligible_total={self.eligible_total} limit={self.limit} "
            f"truncated={_word(self.truncated)} scan_truncated={_word(self.scan_truncated)} by_reason={reasons}"
        )

    def count(self, candidate: Candidate) -> None:
        """Count a candidate that was applied."""
        self.by_action[DONE.get(Action(candidate.action), candidate.action)] += 1
        self.by_reason[candidate.auto_reason or candidate.reason] += 1


def _word(value: bool) -> str:
    return str(value).lower()


def eligible() -> QuerySet[Candidate]:
    """Return the candidates that may be applied without a person, in the order in which they are."""
    found = Candidate.objects.filter(status=Candidate.Status.PENDING, auto_reason__isnull=False)
    return found.order_by("failures", "-id")


def auto_apply(config: Config, *, round: Round | None, now: datetime) -> Receipt | None:
    """Return the receipt of applying what is eligible, None where that is switched off: then nothing is looked up.

    Each candidate is a transaction of its own; one that fails stays for the next round, behind the others.
    """
    if not config.autoApply:
        return None
    receipt = Receipt(auto=True, limit=config.autoApplyPerRound)
    pending = Candidate.objects.filter(status=Candidate.Status.PENDING).order_by()
    receipt.scan_truncated = pending[: config.autoApplyScanLimit + 1].count() > config.autoApplyScanLimit
    receipt.eligible_total = eligible().order_by().count()
    receipt.truncated = receipt.eligible_total > receipt.limit
    if receipt.eligible_total:
        batch = open_batch(TIDY, auto=True, round=round, now=now)
        for candidate in list(eligible()[: receipt.limit - _applied_before(round)]):
            _apply_one(candidate, batch, receipt, now)
        close_batch(batch, receipt, actor=TIDY, now=now)
    _warn(receipt)
    return receipt


def _applied_before(round: Round | None) -> int:
    """Return how many were applied in this round already, by a process that was killed."""
    return 0 if round is None else Candidate.objects.filter(batch__round=round).count()


def _apply_one(candidate: Candidate, batch: Batch, receipt: Receipt, now: datetime) -> None:
    try:
        outcome = apply.apply(candidate.pk, by=TIDY, now=now, batch=batch, auto=True)
    except Exception:
        # Whatever it is, it is this candidate's alone.
        logger.exception("tidy: %s could not be applied", candidate)
        receipt.failed += 1
        _count_failure(candidate.pk)
        return
    if outcome.is_done:
        receipt.count(candidate)
        return
    receipt.skipped += 1
    if outcome.skip in MOOT:
        apply.withdraw([candidate.pk], now=now)


@storage.write
def _count_failure(candidate_id: int) -> None:
    for candidate in Candidate.objects.select_for_update().filter(pk=candidate_id):
        candidate.failures = min(candidate.failures + 1, 30_000)
        candidate.save(update_fields=["failures"])


@storage.write
def open_batch(
    actor: Actor, *, auto: bool, now: datetime, round: Round | None = None, workspace_id: int | None = None
) -> Batch:
    """Return a new batch."""
    return Batch.objects.create(auto=auto, actor=actor.name, at=now, round=round, workspace_id=workspace_id)


@storage.write
def close_batch(batch: Batch, receipt: Receipt, *, actor: Actor, now: datetime, target: str = "") -> None:
    """Write what the batch did to the log, to the audit log and to the batch itself."""
    batch.counts = {**receipt.by_action, "skipped": receipt.skipped, "failed": receipt.failed}
    batch.noted = True
    batch.save(update_fields=["counts", "noted"])
    audit.record(
        apply.VERB,
        actor=actor.name,
        workspace_id=batch.workspace_id,
        target=target or str(batch),
        result=str(receipt)[:1000],
        counts={"applied": receipt.applied, "skipped": receipt.skipped, "failed": receipt.failed},
        request_id=actor.request_id,
        at=now,
    )
    transaction.on_commit(lambda: logger.info("%s %s", apply.VERB, receipt))


def finish_batches(*, now: datetime) -> None:
    """Note what batches did whose process was killed before it could."""
    for batch in Batch.objects.filter(noted=False, at__lt=now - ABANDONED):
        applied = list(batch.candidates.all())
        receipt = Receipt(auto=batch.auto, limit=len(applied), eligible_total=len(applied))
        for candidate in applied:
            receipt.count(candidate)
        close_batch(batch, receipt, actor=Actor(batch.actor), now=now)


def _warn(receipt: Receipt) -> None:
    if receipt.failed:
        logger.warning("tidy: failed=%d of %d", receipt.failed, receipt.failed + receipt.applied + receipt.skipped)
    if receipt.truncated:
        left = receipt.eligible_total - receipt.limit
        logger.warning(
            "tidy: truncated=true eligible_total=%d limit=%d left=%d", receipt.eligible_total, receipt.limit, left
        )
    if receipt.scan_truncated:
        logger.warning("tidy: scan_truncated=true: more candidates are pending than autoApplyScanLimit")
