"""Which candidates may be applied without a person: one pure decision on the candidate alone.

It is made when the candidate is written and stored with it, so that nothing else that is pending stands in the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from memories.models import Kind
from tidy.evidence import Evidence, Seen
from tidy.models import Action
from tidy.rules import is_literal_duplicate, judge_pair, kind_of, looks_like_habit, one_off_event

LITERAL_DUPLICATE = "literal_duplicate"
FACT_EQUIVALENT = "fact_equivalent_high_similarity"
ONE_OFF_EVENT = "one_off_event"
KIND_MISMATCH = "kind_mismatch"
AUTO_REASONS = (LITERAL_DUPLICATE, FACT_EQUIVALENT, ONE_OFF_EVENT, KIND_MISMATCH)
SIMILAR_ENOUGH = 0.95


def auto_reason(
    action: str,
    reason: str,
    evidence: Evidence,
    *,
    sources: Sequence[int | None],
    target: int | None,
    grace_days: int,
) -> str | None:
    """Return why the candidate may be applied by itself, None where a person has to look.

    The rules are asked again on the texts of the evidence: what is stored of their verdict is not relied on.
    """
    given = [source for source in sources if source]
    if len(given) != 1 or len(evidence.sources) != 1:
        return None
    source = evidence.sources[0]
    if source.restricted or source.key is not None or source.pinned:
        return None
    if action == Action.MERGE:
        return _merge_reason(source, evidence.target, target)
    if target:
        return None
    if action == Action.ARCHIVE:
        return _archive_reason(source, reason, date.fromisoformat(evidence.today), grace_days)
    if action == Action.RECLASSIFY:
        return _reclassify_reason(source, reason, evidence)
    return None


def _merge_reason(source: Seen, target: Seen | None, target_id: int | None) -> str | None:
    if target is None or not target_id or target.id == source.id or target.partition != source.partition:
        return None
    if _would_lose(source, target):
        return None
    if is_literal_duplicate(source.text, target.text):
        return LITERAL_DUPLICATE
    verdict = judge_pair(source.text, target.text)
    if verdict.veto is None and verdict.containment == "both" and verdict.similarity >= SIMILAR_ENOUGH:
        return FACT_EQUIVALENT
    return None


def _would_lose(source: Seen, target: Seen) -> bool:
    """Return whether some recall that gives the source now would not give the target instead."""
    return (
        not set(source.tags) <= set(target.tags)
        or source.subject != target.subject
        or source.kind != target.kind
        or source.importance > target.importance
        or target.restricted
        or _ends_sooner(target.expires_at, source.expires_at)
    )


def _ends_sooner(one: str | None, other: str | None) -> bool:
    return one is not None and (other is None or one < other)


def _archive_reason(source: Seen, reason: str, today: date, grace_days: int) -> str | None:
    # The red line: a habit is never archived, whatever else is found in it.
    if reason != ONE_OFF_EVENT or looks_like_habit(source.text):
        return None
    return ONE_OFF_EVENT if one_off_event(source.text, today=today, grace_days=grace_days) else None


def _reclassify_reason(source: Seen, reason: str, evidence: Evidence) -> str | None:
    before, after = evidence.kind_before, evidence.kind_after
    if reason != KIND_MISMATCH or before == after or before != source.kind or not {before, after} <= set(Kind.values):
        return None
    verdict = kind_of(source.text)
    return KIND_MISMATCH if verdict is not None and verdict.is_safe and verdict.kind == after else None
