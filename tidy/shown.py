"""A candidate as a page shows it: in words, with what differs marked, and nothing of anybody's text left to act."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.models import SHARED_PARTITION, Agent, Kind, Status
from memories.plain_text import cut, one_line, visible
from tidy import eligibility, proposals, why
from tidy.apply import Outcome, Skip
from tidy.diff import Piece, word_diff
from tidy.evidence import Evidence, Seen
from tidy.models import Action, Candidate, CandidateMemory

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
CONTAINMENT = {
    "both": _("each states all of the other"),
    "a_in_b": _("the second states all of the first"),
    "b_in_a": _("the first states all of the second"),
    "overlap": _("some statements are in both"),
    "none": _("no statement is in both"),
}
STATUSES = {
    Candidate.Status.PENDING: _("open"),
    Candidate.Status.APPLIED: _("applied"),
    Candidate.Status.DISMISSED: _("dismissed"),
    Candidate.Status.REVERTED: _("reverted"),
    Candidate.Status.WITHDRAWN: _("withdrawn"),
}
KINDS = {
    Kind.FACT: _("fact"),
    Kind.DECISION: _("decision"),
    Kind.OBSERVATION: _("observation"),
    Kind.TASK: _("task"),
    Kind.CONTACT: _("contact"),
    Kind.RELATIONSHIP: _("relationship"),
    Kind.WORLD_EVENT: _("world event"),
    Kind.OTHER: _("other"),
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
class Stretch:
    """A piece of a text on a page. Of a long one that both texts have, ``folded`` is the middle, shown when asked."""

    text: str
    differs: bool = False
    folded: str = ""
    after: str = ""

    @classmethod
    def of(cls, text: str) -> Stretch:
        """Return a text in one stretch, with nothing hidden in it."""
        return cls(visible(text))


@dataclass(frozen=True, slots=True)
class Side:
    """One memory of a candidate: as it was looked at, in stretches, and whether it is still so."""

    seen: Seen
    stretches: list[Stretch]
    label: str
    changed: bool
    # What it says now, where that is not what was looked at.
    now: list[Stretch]

    @property
    def subject(self) -> str:
        return one_line(self.seen.subject)

    @property
    def key(self) -> str:
        return one_line(self.seen.key or "")

    @property
    def tags(self) -> str:
        return one_line(", ".join(self.seen.tags))

    @property
    def kind(self) -> str:
        return _kind(self.seen.kind)

    @property
    def scrolls(self) -> bool:
        """Return whether the text may be taller than its box, which then has to be reached by keyboard."""
        return len(self.seen.text) > SCROLLS or self.seen.text.count("\n") > SCROLLS_LINES


SCROLLS, SCROLLS_LINES = 700, 10
ALIKE_MAX = 600
"""Characters of a stretch that both texts have, above which its middle is folded."""
ALIKE_KEPT = 150
FACTS_LISTED = 12


@dataclass(frozen=True, slots=True)
class Facts:
    """Statements under one heading; ``more`` are not listed."""

    heading: str
    listed: list[str]
    more: int


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
    whose: str

    @property
    def id(self) -> int:
        return self.candidate.pk

    @property
    def seen(self) -> str:
        """Return the revisions that it rests on, as a form sends them back."""
        return " ".join(f"{side.seen.id}.{side.seen.revision}" for side in self.sides)

    @property
    def status(self) -> str:
        return str(STATUSES[Candidate.Status(self.candidate.status)])

    @property
    def decided_by(self) -> str:
        return one_line(self.candidate.decided_by)

    @property
    def decision_reason(self) -> str:
        return one_line(self.candidate.decision_reason)

    @property
    def is_open(self) -> bool:
        return self.candidate.status == Candidate.Status.PENDING

    @property
    def is_applied(self) -> bool:
        return self.candidate.status == Candidate.Status.APPLIED

    @property
    def may_revert(self) -> bool:
        return self.candidate.status in (Candidate.Status.APPLIED, Candidate.Status.DISMISSED)

    @property
    def changed(self) -> bool:
        """Return whether a memory has changed since it was looked at, or since the candidate was applied."""
        return (self.is_open or self.is_applied) and any(side.changed for side in self.sides)

    @property
    def likeness(self) -> str:
        """Return how alike two texts are, in words."""
        words = CONTAINMENT.get(self.evidence.containment, self.evidence.containment)
        return gettext("Likeness %(number)s of 1; %(words)s.") % {"number": self.evidence.similarity, "words": words}

    @property
    def facts(self) -> list[Facts]:
        """Return what both state and what one alone does, with headings."""
        shown = (
            (gettext("Both state"), self.evidence.shared),
            (gettext("Only the first states"), self.evidence.only_source),
            (gettext("Only the second states"), self.evidence.only_target),
        )
        return [_facts(heading, facts) for heading, facts in shown if facts]

    @property
    def why(self) -> list[str]:
        return [one_line(why.in_words(line)) for line in self.evidence.why]

    @classmethod
    def of(cls, candidate: Candidate) -> Shown:
        """Return the candidate as it is shown now."""
        return cls.all_of([candidate])[0]

    @classmethod
    def all_of(cls, candidates: Iterable[Candidate]) -> list[Shown]:
        """Return the candidates as they are shown now, their memories looked up together."""
        rows = list(candidates)
        parts = CandidateMemory.objects.filter(candidate__in=rows).select_related("memory")
        found = {(part.candidate_id, part.memory_id): part for part in parts}
        names = _names(rows)
        return [cls._of(row, found, names) for row in rows]

    @classmethod
    def _of(cls, candidate: Candidate, parts: dict[tuple[int, int], CandidateMemory], names: dict[str, str]) -> Shown:
        evidence = Evidence.model_validate(candidate.evidence)
        sides = [
            _side(candidate, seen, text, parts.get((candidate.pk, seen.id)))
            for seen, text in zip(evidence.seen, _compared(evidence), strict=True)
        ]
        return cls(
            candidate=candidate,
            evidence=evidence,
            action=str(ACTIONS[Action(candidate.action)]),
            reason=str(REASONS.get(candidate.reason, candidate.reason)),
            effect=_effect(candidate, evidence),
            sides=sides,
            done=str(DONE[Candidate.Status(candidate.status)]) % {"id": candidate.pk},
            whose=names.get(candidate.partition, ""),
        )


def _facts(heading: str, facts: Sequence[str]) -> Facts:
    once = list(dict.fromkeys(facts))
    return Facts(heading, [one_line(fact) for fact in once[:FACTS_LISTED]], max(0, len(once) - FACTS_LISTED))


def _names(candidates: list[Candidate]) -> dict[str, str]:
    """Return for each partition of the candidates who sees what is in it."""
    ids = {row.partition.removeprefix("agent:") for row in candidates if row.partition.startswith("agent:")}
    agents = Agent.objects.filter(pk__in=ids).values_list("pk", "name")
    names = {f"agent:{pk}": gettext("private to agent %(name)s") % {"name": one_line(name)} for pk, name in agents}
    return names | {SHARED_PARTITION: gettext("shared in the workspace")}


def _kind(kind: str | None) -> str:
    return str(KINDS[Kind(kind)]) if kind in Kind.values else ""


def _effect(candidate: Candidate, evidence: Evidence) -> str:
    """Return what applying changes, in words."""
    ids: dict[str, Any] = {"source": evidence.sources[0].id if evidence.sources else 0, "target": candidate.target_id}
    if candidate.action == Action.MERGE:
        return gettext("Memory %(source)d goes into memory %(target)d: recall gives the second alone.") % ids
    if candidate.action == Action.ARCHIVE:
        return gettext("Memory %(source)d leaves recall and brief; search still finds it, marked as archived.") % ids
    if candidate.action == Action.RECLASSIFY:
        ids |= {"before": _kind(evidence.kind_before), "after": _kind(evidence.kind_after)}
        return gettext("The kind of memory %(source)d changes from %(before)s to %(after)s.") % ids
    return gettext("Nothing is changed by approving; it is noted that somebody has looked.")


def _compared(evidence: Evidence) -> list[list[Stretch]]:
    """Return the text of each memory in stretches: sources against the target, the target against the first source."""
    target = evidence.target
    if target is None or not evidence.sources:
        return [[Stretch.of(seen.text)] if seen.text else [] for seen in evidence.seen]
    pairs = {seen.id: word_diff(seen.text, target.text) for seen in evidence.sources}
    pairs[target.id] = pairs[evidence.sources[0].id][::-1]
    return [stretches(*pairs[seen.id]) for seen in evidence.seen]


def stretches(pieces: list[Piece], others: list[Piece]) -> list[Stretch]:
    """Return the pieces with nothing hidden in them. Where texts differ, what is long and alike is folded."""
    fold = any(piece.differs for piece in (*pieces, *others))
    return [
        _folded(piece.text)
        if fold and not piece.differs and len(piece.text) > ALIKE_MAX
        else Stretch(visible(piece.text), piece.differs)
        for piece in pieces
    ]


def _folded(text: str) -> Stretch:
    """Return a stretch that shows its first and last words; the last are looked for near the end alone."""
    beginning = cut(text, ALIKE_KEPT)
    beginning = beginning[: beginning.rfind(" ") + 1] or beginning
    near_end = text[-2 * ALIKE_KEPT :]
    ending = near_end[len(cut(near_end, ALIKE_KEPT)) :]
    ending = ending[max(0, ending.find(" ")) :]
    middle = text[len(beginning) : len(text) - len(ending)]
    return Stretch(visible(beginning), folded=visible(middle), after=visible(ending))


def _side(candidate: Candidate, seen: Seen, text: list[Stretch], part: CandidateMemory | None) -> Side:
    now: list[Stretch] = []
    if part is not None and part.memory.content != seen.text:
        left, right = word_diff(part.memory.content, seen.text)
        now = stretches(left, right)
    return Side(seen, text, _label(candidate, seen), _has_changed(candidate, part), now)


def _label(candidate: Candidate, seen: Seen) -> str:
    """Return what becomes of a memory."""
    if candidate.action == Action.MERGE:
        return gettext("stays") if seen.role == "target" else gettext("goes into the other")
    if candidate.action == Action.ARCHIVE:
        return gettext("is archived")
    if candidate.action == Action.RECLASSIFY:
        return gettext("gets another kind")
    return gettext("is looked at")


def _has_changed(candidate: Candidate, part: CandidateMemory | None) -> bool:
    """Return whether the memory is another one than was looked at, or than applying left."""
    if part is None:
        return True
    memory = part.memory
    if candidate.status == Candidate.Status.APPLIED:
        return part.applied_revision is not None and memory.revision != part.applied_revision
    return memory.revision != part.seen_revision or memory.status != Status.ACTIVE
