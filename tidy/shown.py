"""A candidate as a page shows it: in words, with what differs marked, and nothing of anybody's text left to act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.models import Memory, Status
from memories.plain_text import one_line
from tidy import eligibility, proposals
from tidy.apply import Outcome, Skip
from tidy.diff import Piece, word_diff
from tidy.evidence import Evidence, Seen
from tidy.models import Action, Candidate

ACTIONS = {
    Action.MERGE: _("Merge"),
    Action.ARCHIVE: _("Archive"),
    Action.RECLASSIFY: _("Change the kind"),
    Action.LINK: _("Look at both"),
    Action.KEEP: _("Leave as is"),
}
REASONS = {
    eligibility.LITERAL_DUPLICATE: _("the same text twice"),
    eligibility.FACT_EQUIVALENT: _("they state the same"),
    proposals.CONTAINED: _("one states all of the other"),
    proposals.NEAR_DUPLICATE: _("they may state the same"),
    proposals.CONTRADICTION: _("they contradict each other"),
    eligibility.ONE_OFF_EVENT: _("an event that is over"),
    proposals.POSSIBLE_EVENT: _("it may be an event that is over"),
    proposals.EXPIRED: _("it has expired"),
    proposals.DECAYED: _("nobody has touched it for long"),
    eligibility.KIND_MISMATCH: _("it says another kind of thing"),
}
SKIPPED = {
    Skip.PARTITION_MISMATCH: _("its memories are no longer seen by the same"),
    Skip.STALE: _("a memory has changed since it was looked at"),
    Skip.ALREADY_APPLIED: _("it is applied already"),
    Skip.INACTIVE_TARGET: _("the memory that would stay is no longer active"),
    Skip.KEY_TAKEN: _("another memory has the key by now"),
    Skip.NOT_PENDING: _("it is no longer open"),
    Skip.NOT_APPLIED: _("it is not applied"),
    Skip.CHANGED_SINCE: _("a memory has changed since it was applied"),
    Skip.NOTHING_TO_DO: _("it proposes nothing that can be done"),
    Skip.NOT_FOUND: _("it is gone"),
}
DONE = {
    Candidate.Status.APPLIED: _("Candidate %(id)d was applied."),
    Candidate.Status.DISMISSED: _("Candidate %(id)d was dismissed: its memories stay as they are."),
    Candidate.Status.REVERTED: _("Candidate %(id)d was reverted: its memories are as before."),
    Candidate.Status.PENDING: _("Candidate %(id)d is open again."),
    Candidate.Status.WITHDRAWN: _("Candidate %(id)d was withdrawn."),
}


def skipped_in_words(outcome: Outcome) -> str:
    """Return why a candidate was left alone, with the memories that stood in the way."""
    why = SKIPPED[outcome.skip or Skip.NOT_FOUND]
    said = gettext("Candidate %(id)d was left alone: %(why)s.") % {"id": outcome.candidate_id, "why": why}
    if outcome.memories:
        named = ", ".join(map(str, outcome.memories))
        said += " " + gettext("(memory %(ids)s)") % {"ids": named}
    return said


@dataclass(frozen=True, slots=True)
class Side:
    """One memory of a candidate: as it was looked at, in pieces, and whether it is still so."""

    seen: Seen
    pieces: list[Piece]
    label: str
    changed: bool

    @property
    def subject(self) -> str:
        return one_line(self.seen.subject)

    @property
    def key(self) -> str:
        return one_line(self.seen.key or "")

    @property
    def tags(self) -> str:
        return one_line(", ".join(self.seen.tags))


@dataclass(frozen=True, slots=True)
class Shown:
    """A candidate in words."""

    candidate: Candidate
    evidence: Evidence
    action: str
    reason: str
    effect: str
    sides: list[Side]
    done: str

    @property
    def id(self) -> int:
        return self.candidate.pk

    @property
    def is_open(self) -> bool:
        return self.candidate.status == Candidate.Status.PENDING

    @property
    def may_revert(self) -> bool:
        return self.candidate.status in (Candidate.Status.APPLIED, Candidate.Status.DISMISSED)

    @property
    def is_stale(self) -> bool:
        return self.is_open and any(side.changed for side in self.sides)

    @property
    def facts(self) -> list[tuple[str, list[str]]]:
        """Return what both state and what one alone does, with headings."""
        shown = (
            (gettext("Both state"), self.evidence.shared),
            (gettext("Only the first states"), self.evidence.only_source),
            (gettext("Only the second states"), self.evidence.only_target),
        )
        return [(heading, [one_line(fact) for fact in facts]) for heading, facts in shown if facts]

    @property
    def why(self) -> list[str]:
        return [one_line(line) for line in self.evidence.why]

    @classmethod
    def of(cls, candidate: Candidate) -> Shown:
        """Return the candidate as it is shown now."""
        evidence = Evidence.model_validate(candidate.evidence)
        action = Action(candidate.action)
        return cls(
            candidate=candidate,
            evidence=evidence,
            action=str(ACTIONS[action]),
            reason=str(REASONS.get(candidate.reason, candidate.reason)),
            effect=_effect(candidate, evidence),
            sides=_sides(candidate, evidence),
            done=str(DONE[Candidate.Status(candidate.status)]) % {"id": candidate.pk},
        )


def _effect(candidate: Candidate, evidence: Evidence) -> str:
    """Return what applying changes, in words."""
    ids: dict[str, Any] = {"source": evidence.sources[0].id if evidence.sources else 0, "target": candidate.target_id}
    if candidate.action == Action.MERGE:
        return gettext("Memory %(source)d goes into memory %(target)d: recall gives the second alone.") % ids
    if candidate.action == Action.ARCHIVE:
        return gettext("Memory %(source)d leaves recall and brief; search still finds it, marked as archived.") % ids
    if candidate.action == Action.RECLASSIFY:
        ids |= {"before": evidence.kind_before, "after": evidence.kind_after}
        return gettext("Memory %(source)d becomes a %(after)s instead of a %(before)s.") % ids
    return gettext("Nothing is changed by approving; it is noted that somebody has looked.")


def _sides(candidate: Candidate, evidence: Evidence) -> list[Side]:
    now = {memory.pk: memory for memory in Memory.objects.filter(pk__in=[seen.id for seen in evidence.seen])}
    target = evidence.target
    base = _visible(target.text) if target is not None else None
    sides = []
    for seen in evidence.seen:
        text = _visible(seen.text)
        if seen.role == "target" and evidence.sources:
            pieces = word_diff(_visible(evidence.sources[0].text), text)[1]
        elif base is not None:
            pieces = word_diff(text, base)[0]
        else:
            pieces = [Piece(text, False)]
        sides.append(Side(seen, pieces, _label(candidate, seen), _has_changed(now.get(seen.id), seen)))
    return sides


def _label(candidate: Candidate, seen: Seen) -> str:
    """Return what becomes of a memory."""
    if candidate.action != Action.MERGE:
        return gettext("is looked at")
    return gettext("stays") if seen.role == "target" else gettext("goes into the other")


def _has_changed(memory: Memory | None, seen: Seen) -> bool:
    return memory is None or memory.revision != seen.revision or memory.status != Status.ACTIVE


def _visible(text: str) -> str:
    """Return the text with its line breaks; other control, hidden and direction marks are made visible."""
    return "\n".join(one_line(line) for line in text.split("\n"))
