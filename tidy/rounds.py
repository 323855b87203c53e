"""A round: what has changed is looked at, moot candidates are withdrawn, and what is safe is applied.

All of it is steps of a moment each, which may be killed and done again: a memory counts as looked at in the transaction
that writes what was proposed for it.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from memories import storage
from memories.access import Actor, everything
from memories.models import Memory, Status
from tidy import apply, auto, config
from tidy.config import Config
from tidy.models import Candidate, CandidateMemory, Looked, Round
from tidy.pairing import Partners, keys_of, write_keys
from tidy.proposals import Proposal, proposals_for_one, proposals_for_pairs
from tidy.rules import RULES_VERSION

logger = logging.getLogger("memoryweb.tidy")

CHUNK = 50
"""Memories that are looked at and written in one transaction."""
LEASE = timedelta(seconds=90)
"""A process that has not shown itself for so long is taken for killed, and another goes on with its round."""
WALK_DAYS = 1
"""In about so many days all that has not changed is looked at again: with time, memories expire and events are over."""
WALK_LEAST = 500
WITHDRAWN_AT_ONCE = 500
UNSETTLED = 0
"""Noted as the version of the rules where another merge stood in the way: the memory is looked at in the next round."""


def start(*, by: Actor, now: datetime) -> Round | None:
    """Return a new round, None where one is under way: there is one at a time."""
    try:
        return _start(by, now)
    except IntegrityError:
        return None


@storage.write
def _start(by: Actor, now: datetime) -> Round | None:
    if Round.objects.filter(state=Round.State.RUNNING).exists():
        return None
    return Round.objects.create(started_by=by.name, started_at=now)


def under_way() -> Round | None:
    """Return the round that is under way."""
    return Round.objects.filter(state=Round.State.RUNNING).first()


@storage.write
def _take(round_id: int, holder: str, now: datetime) -> Round | None:
    """Return the round if this process may work on it now, and hold it for LEASE."""
    free = Q(lease_until=None) | Q(lease_until__lt=now) | Q(holder=holder)
    mine = Round.objects.filter(free, pk=round_id, state=Round.State.RUNNING)
    if not mine.update(holder=holder, lease_until=now + LEASE):
        return None
    return Round.objects.get(pk=round_id)


@storage.write
def _let_go(round: Round) -> None:
    Round.objects.filter(pk=round.pk, holder=round.holder).update(lease_until=None)


class Lost(Exception):
    """Another process has taken the round over."""


def work(
    round_id: int,
    *,
    seconds: float,
    progress: Callable[[int], object] = lambda looked: None,
    clock: Callable[[], datetime] = timezone.now,
) -> bool:
    """Return whether the round is done, after working on it for about so many seconds.

    Does nothing while another process holds it. ``progress`` is told how many more memories were looked at.
    """
    until = time.monotonic() + seconds
    round = _take(round_id, uuid.uuid4().hex, clock())
    if round is None:
        return not Round.objects.filter(pk=round_id, state=Round.State.RUNNING).exists()
    read = config.read()
    if read.problem is not None:
        logger.warning("tidy: nothing is applied by itself: %s is not used: %s", config.path(), read.problem)
    try:
        auto.finish_batches(now=clock())
        _withdraw_moot(round, clock())
        walk = _Walk(round, read.config)
        while time.monotonic() < until:
            looked = walk.step(clock())
            if not looked:
                _finish(round, read.config, clock())
                return True
            progress(looked)
        _let_go(round)
    except Lost:
        pass
    return False


def _withdraw_moot(round: Round, now: datetime) -> None:
    """Withdraw open candidates whose memories have changed since they were looked at."""
    part = CandidateMemory.objects.filter(candidate=OuterRef("pk"))
    changed = part.exclude(memory__revision=F("seen_revision")) | part.exclude(memory__status=Status.ACTIVE)
    touched = part.filter(memory__last_seen_at__gt=OuterRef("created_at"))
    pending = Candidate.objects.filter(status=Candidate.Status.PENDING)
    moot = pending.filter(Exists(changed) | Q(reason="decayed") & Exists(touched))
    while ids := list(moot.values_list("pk", flat=True)[:WITHDRAWN_AT_ONCE]):
        count = apply.withdraw(ids, now=now)
        _add(round, now, withdrawn=count)


@storage.write
def _add(round: Round, now: datetime, **counts: int) -> None:
    """Count in the round and hold it further. Raises Lost where another process holds it by now."""
    mine = Round.objects.filter(pk=round.pk, holder=round.holder, state=Round.State.RUNNING)
    steps = {name: F(name) + step for name, step in counts.items()}
    if not mine.update(lease_until=now + LEASE, **steps):
        raise Lost
    for name, step in counts.items():
        setattr(round, name, getattr(round, name) + step)


@dataclass(slots=True)
class _Walk:
    """The part of a round that looks at memories: first at those that have changed, then at some of the others."""

    round: Round
    config: Config
    after: int = 0

    def step(self, now: datetime) -> int:
        """Return how many memories were looked at, 0 where the round has no more to look at."""
        if self.round.proposed >= self.config.candidateLimit:
            _mark(self.round, now, candidates_truncated=True)
            return 0
        if self.round.scanned - self.round.walked < self.config.roundScanLimit:
            rows = list(changed(since=self.round.started_at, after=self.after)[:CHUNK])
            if not rows and self.after:
                # What was written meanwhile behind the place where this walk stands.
                rows = list(changed(since=self.round.started_at)[:CHUNK])
            if rows:
                self.after = rows[-1].pk
                return self._look(rows, now, pairs=True)
        elif changed(since=self.round.started_at).exists():
            _mark(self.round, now, scan_truncated=True)
        others = self._others()
        return self._look(others, now, pairs=False) if others else 0

    def _others(self) -> list[Memory]:
        """Return memories that have not changed, those looked at longest ago first."""
        left = max(WALK_LEAST, Looked.objects.count() // (24 * WALK_DAYS)) - self.round.walked
        before = Looked.objects.filter(at__lt=self.round.started_at, memory__status=Status.ACTIVE)
        as_looked_at = before.filter(memory__revision=F("revision"), rules=RULES_VERSION)
        some = as_looked_at.order_by("at").values_list("pk", "revision")[: max(0, min(left, CHUNK))]
        revisions = dict(some)
        rows = everything(Memory).filter(pk__in=revisions).order_by("pk")
        # What has changed in this moment is not passed over: it is compared with others too.
        return [memory for memory in rows if memory.revision == revisions[memory.pk]]

    def _look(self, memories: Sequence[Memory], now: datetime, *, pairs: bool) -> int:
        compared = _compared(memories) if pairs else {}
        found: list[_Found] = []
        for memory in memories:
            proposals = proposals_for_one(memory, now=now, config=self.config)
            if pairs:
                proposals += proposals_for_pairs(memory, compared[memory], today=now.date(), config=self.config)
            found.append(_Found(memory, proposals))
        _write(self.round, found, now, walked=0 if pairs else len(memories))
        return len(memories)


def _compared(memories: Sequence[Memory]) -> dict[Memory, list[Memory]]:
    """Return for each memory what it is compared with."""
    # All keys before any partner is looked up, or two that are looked at together would not meet.
    keys = {memory: keys_of(memory) for memory in memories}
    _write_keys(keys)
    found: dict[Memory, list[Memory]] = {}
    for place in dict.fromkeys((memory.workspace_id, memory.partition) for memory in memories):
        here = {memory: its for memory, its in keys.items() if (memory.workspace_id, memory.partition) == place}
        found |= Partners(*place).of_memories(here)
    return found


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found of one memory."""

    memory: Memory
    proposals: list[Proposal]


def changed(*, since: datetime, after: int = 0) -> QuerySet[Memory]:
    """Return active memories that no round has looked at as they are now, with these rules; or at all since then."""
    settled = Q(rules=RULES_VERSION) | Q(rules=UNSETTLED, at__gte=since)
    looked = Looked.objects.filter(settled, memory=OuterRef("pk"), revision=OuterRef("revision"))
    return everything(Memory).filter(~Exists(looked), pk__gt=after, status=Status.ACTIVE).order_by("pk")


@storage.write
def _write_keys(keys: Mapping[Memory, Sequence[str]]) -> None:
    write_keys(keys)


@storage.write
def _write(round: Round, found: Sequence[_Found], now: datetime, *, walked: int) -> None:
    """Write what was proposed, and that these memories were looked at, unless they have changed meanwhile."""
    ids = {memory.pk for one in found for proposal in one.proposals for memory in proposal.memories}
    ids |= {one.memory.pk for one in found}
    now_at = dict(everything(Memory).filter(pk__in=ids, status=Status.ACTIVE).values_list("pk", "revision"))
    proposed = 0
    unsettled: set[int] = set()
    for one in found:
        for proposal in one.proposals:
            if proposal.action == "merge" and one.memory != proposal.sources[0] and _is_merging(proposal.sources[0]):
                unsettled.add(one.memory.pk)
            if all(now_at.get(memory.pk) == memory.revision for memory in proposal.memories):
                proposed += _write_candidate(round, proposal, now)
    Looked.objects.bulk_create(
        [
            Looked(
                memory=one.memory,
                revision=one.memory.revision,
                rules=UNSETTLED if one.memory.pk in unsettled else RULES_VERSION,
                at=now,
            )
            for one in found
            if one.memory.pk in now_at
        ],
        update_conflicts=True,
        unique_fields=["memory"],
        update_fields=["revision", "rules", "at"],
    )
    _add(round, now, scanned=len(found), walked=walked, proposed=proposed)


def _write_candidate(round: Round, proposal: Proposal, now: datetime) -> bool:
    """Return whether the candidate is new: not proposed, decided or applied before on the same texts."""
    workspace_id = proposal.sources[0].workspace_id
    same = Candidate.objects.filter(workspace_id=workspace_id, fingerprint=proposal.fingerprint)
    if same.exclude(status=Candidate.Status.WITHDRAWN).exists():
        return False
    if proposal.action == "merge" and _is_merging(proposal.sources[0]):
        return False
    candidate = Candidate.objects.create(
        workspace_id=workspace_id,
        partition=proposal.sources[0].partition,
        action=proposal.action,
        reason=proposal.reason,
        auto_reason=proposal.auto_reason,
        fingerprint=proposal.fingerprint,
        target=proposal.target,
        subject=proposal.sources[0].subject,
        evidence=proposal.evidence.as_json(),
        round=round,
        impact=proposal.impact,
        created_at=now,
    )
    CandidateMemory.objects.bulk_create(
        CandidateMemory(
            candidate=candidate,
            memory=memory,
            role=CandidateMemory.Role.TARGET if memory == proposal.target else CandidateMemory.Role.SOURCE,
            seen_revision=memory.revision,
        )
        for memory in proposal.memories
    )
    return True


def _is_merging(source: Memory) -> bool:
    """Return whether it is proposed already to merge the memory into another one."""
    return CandidateMemory.objects.filter(
        memory=source,
        role=CandidateMemory.Role.SOURCE,
        candidate__action="merge",
        candidate__status=Candidate.Status.PENDING,
    ).exists()


@storage.write
def _mark(round: Round, now: datetime, **flags: bool) -> None:
    _add(round, now)
    Round.objects.filter(pk=round.pk).update(**flags)


def _finish(round: Round, used: Config, now: datetime) -> None:
    """Apply what is safe, and close the round."""
    _add(round, now)
    receipt = auto.auto_apply(used, round=round, now=now)
    with transaction.atomic():
        said = "" if receipt is None else str(receipt)
        mine = Round.objects.filter(pk=round.pk, holder=round.holder, state=Round.State.RUNNING)
        mine.update(state=Round.State.DONE, ended_at=now, lease_until=None, receipt=said[:1000])
