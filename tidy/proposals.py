"""What to propose for memories, and on which evidence: pure decisions on what was looked at."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memories.models import Kind, Memory
from tidy.config import Config
from tidy.eligibility import (
    FACT_EQUIVALENT,
    KIND_MISMATCH,
    LITERAL_DUPLICATE,
    ONE_OFF_EVENT,
    SIMILAR_ENOUGH,
    auto_reason,
)
from tidy.evidence import FACTS_SHOWN, Evidence, Seen
from tidy.models import KEY_MAX, Action
from tidy.pairing import precedence
from tidy.rules import (
    RULES_VERSION,
    PairVerdict,
    is_literal_duplicate,
    judge_pair,
    kind_of,
    may_belong_together,
    one_off_event,
    possible_event,
)

CONTAINED = "contained"
NEAR_DUPLICATE = "near_duplicate"
CONTRADICTION = "contradiction"
EXPIRED = "expired"
DECAYED = "decayed"
POSSIBLE_EVENT = "possible_event"
GROUP = 5
"""Memories that one candidate shows to contradict another. Where there are more it is a series, no contradiction."""
DECAYED_IMPORTANCE_MAX = 2


SEEN_MAX = 100
"""Times seen that tell proposals of equal importance apart."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate before it is written."""

    action: Action
    reason: str
    sources: tuple[Memory, ...]
    target: Memory | None
    evidence: Evidence
    fingerprint: str
    auto_reason: str | None

    @property
    def memories(self) -> tuple[Memory, ...]:
        return (*self.sources, *((self.target,) if self.target is not None else ()))

    @property
    def impact(self) -> int:
        """Return how much depends on it: the importance of the most important source, then how often it was seen."""
        return max(SEEN_MAX * source.importance + min(source.seen_count, SEEN_MAX - 1) for source in self.sources)


def proposals_for_pairs(memory: Memory, partners: Sequence[Memory], *, today: date, config: Config) -> list[Proposal]:
    """Return what to propose for a memory and what it was compared with, those that would stay first.

    One merge at most: the safest one. What contradicts it stands together in one link.
    """
    merges: list[tuple[int, Memory, Memory, str, PairVerdict]] = []
    contradicting: list[tuple[Memory, PairVerdict]] = []
    for place, partner in enumerate(partners):
        if not may_belong_together(memory.content, partner.content):
            continue
        verdict = judge_pair(memory.content, partner.content)
        reason = _merge_reason(memory, partner, verdict)
        if reason is not None:
            source, target = _source_and_target(memory, partner, verdict, reason)
            merges.append((_SAFEST.index(reason) * len(partners) + place, source, target, reason, verdict))
            if reason in (LITERAL_DUPLICATE, FACT_EQUIVALENT):
                break
        elif verdict.contradiction is not None:
            contradicting.append((partner, verdict))
    found = []
    if merges:
        _, source, target, reason, verdict = min(merges, key=lambda merge: merge[0])
        found.append(_pair(Action.MERGE, reason, (source,), target, verdict, memory, today=today, config=config))
    # What differs in a number from many others is one of a series, and a task is no statement.
    if 0 < len(contradicting) <= GROUP and not _is_task(memory):
        others, verdict = tuple(partner for partner, _ in contradicting), contradicting[0][1]
        found.append(_pair(Action.LINK, CONTRADICTION, others, memory, verdict, memory, today=today, config=config))
    return found


def _is_task(memory: Memory) -> bool:
    verdict = kind_of(memory.content)
    return memory.kind == Kind.TASK or (verdict is not None and verdict.kind == Kind.TASK)


_SAFEST = (LITERAL_DUPLICATE, FACT_EQUIVALENT, CONTAINED, NEAR_DUPLICATE)


def _merge_reason(memory: Memory, partner: Memory, verdict: PairVerdict) -> str | None:
    if is_literal_duplicate(memory.content, partner.content):
        return LITERAL_DUPLICATE
    if verdict.relation == "merge":
        is_safe = verdict.veto is None and verdict.similarity >= SIMILAR_ENOUGH
        return FACT_EQUIVALENT if is_safe else NEAR_DUPLICATE
    if verdict.relation == "contained":
        return CONTAINED
    return NEAR_DUPLICATE if verdict.relation == "similar" else None


def _source_and_target(memory: Memory, partner: Memory, verdict: PairVerdict, reason: str) -> tuple[Memory, Memory]:
    if reason == CONTAINED:
        return (memory, partner) if verdict.containment == "a_in_b" else (partner, memory)
    target, source = sorted((memory, partner), key=precedence)
    return source, target


def _pair(
    action: Action,
    reason: str,
    sources: tuple[Memory, ...],
    target: Memory,
    verdict: PairVerdict,
    memory: Memory,
    *,
    today: date,
    config: Config,
) -> Proposal:
    """Return the proposal. The verdict's side ``a`` is ``memory``, whichever of the two that is now."""
    is_source = memory in sources
    only_source, only_target = (verdict.only_a, verdict.only_b) if is_source else (verdict.only_b, verdict.only_a)
    evidence = Evidence(
        seen=(*(Seen.of(source, "source") for source in sources), Seen.of(target, "target")),
        rule=verdict.relation,
        rules_version=RULES_VERSION,
        today=today.isoformat(),
        containment=_turned(verdict.containment, is_source),
        similarity=verdict.similarity,
        veto=verdict.veto,
        contradiction=verdict.contradiction,
        shared=verdict.shared[:FACTS_SHOWN],
        only_source=only_source[:FACTS_SHOWN],
        only_target=only_target[:FACTS_SHOWN],
        why=verdict.why[:FACTS_SHOWN],
    )
    return _proposal(action, reason, sources, target, evidence, config)


def _turned(containment: str, as_it_is: bool) -> str:
    """Return the containment with the source as side ``a``."""
    if as_it_is:
        return containment
    return {"a_in_b": "b_in_a", "b_in_a": "a_in_b"}.get(containment, containment)


def proposals_for_one(memory: Memory, *, now: datetime, config: Config) -> list[Proposal]:
    """Return what to propose for a memory by itself: one that is over or of another kind than it says."""
    today = now.date()
    archive = _expired(memory, now, config) or _event(memory, today, config) or _decayed(memory, now, config)
    return [proposal for proposal in (archive, _other_kind(memory, today, config)) if proposal is not None]


def _expired(memory: Memory, now: datetime, config: Config) -> Proposal | None:
    if memory.expires_at is None or memory.expires_at > now:
        return None
    why = f"It expired on {memory.expires_at:%Y-%m-%d}."
    return _alone(Action.ARCHIVE, EXPIRED, memory, (why,), now.date(), config, {})


def _event(memory: Memory, today: date, config: Config) -> Proposal | None:
    sure = one_off_event(memory.content, today=today, grace_days=config.eventGraceDays)
    event = sure or possible_event(memory.content, today=today, grace_days=config.eventGraceDays)
    if event is None:
        return None
    extra = {"event_date": event.date.isoformat(), "event_verb": event.verb}
    reason = ONE_OFF_EVENT if sure else POSSIBLE_EVENT
    return _alone(Action.ARCHIVE, reason, memory, event.why, today, config, extra)


def _decayed(memory: Memory, now: datetime, config: Config) -> Proposal | None:
    untouched = now - max(memory.updated_at, memory.last_seen_at)
    if (
        memory.kind != Kind.OBSERVATION
        or memory.key is not None
        or memory.pinned
        or memory.importance > DECAYED_IMPORTANCE_MAX
        or untouched < timedelta(days=config.decayDays)
    ):
        return None
    why = f"An observation of importance {memory.importance} that nobody has touched for {untouched.days} days."
    return _alone(Action.ARCHIVE, DECAYED, memory, (why,), now.date(), config, {})


def _other_kind(memory: Memory, today: date, config: Config) -> Proposal | None:
    verdict = kind_of(memory.content)
    if verdict is None or verdict.kind == memory.kind:
        return None
    extra = {"kind_before": memory.kind, "kind_after": verdict.kind}
    return _alone(Action.RECLASSIFY, KIND_MISMATCH, memory, verdict.why, today, config, extra)


def _alone(
    action: Action,
    reason: str,
    memory: Memory,
    why: tuple[str, ...],
    today: date,
    config: Config,
    extra: dict[str, str],
) -> Proposal:
    evidence = Evidence(
        seen=(Seen.of(memory, "source"),),
        rule=reason,
        rules_version=RULES_VERSION,
        today=today.isoformat(),
        why=why,
        **extra,  # type: ignore[arg-type]  # fields of Evidence that are texts
    )
    return _proposal(action, reason, (memory,), None, evidence, config)


def _proposal(
    action: Action,
    reason: str,
    sources: tuple[Memory, ...],
    target: Memory | None,
    evidence: Evidence,
    config: Config,
) -> Proposal:
    ids = [source.pk for source in sources]
    target_id = target.pk if target is not None else None
    why_auto = auto_reason(action, reason, evidence, sources=ids, target=target_id, grace_days=config.eventGraceDays)
    memories = (*sources, *((target,) if target is not None else ()))
    return Proposal(
        action, reason, sources, target, evidence, fingerprint(action, reason, memories, evidence), why_auto
    )


def fingerprint(action: str, reason: str, memories: Iterable[Memory], evidence: Evidence) -> str:
    """Return what the same proposal on the same texts always has, however the rules put it.

    A merge is the same whichever way round and for whatever reason; an archive is one for its reason.
    """
    texts = sorted((memory.pk, memory.content_hash) for memory in memories)
    what = {
        Action.ARCHIVE: [reason, [seen.expires_at for seen in evidence.sources] if reason == EXPIRED else None],
        Action.RECLASSIFY: [evidence.kind_before, evidence.kind_after],
    }.get(Action(action))
    said = json.dumps([action, what, texts]).encode()
    return hashlib.blake2b(said, digest_size=KEY_MAX // 2).hexdigest()
