"""Run a round of tidying, or say what one would do."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from memories.access import Actor
from memories.plain_text import cut, one_line
from tidy import rounds
from tidy.dry_run import dry_run
from tidy.models import Candidate, Round

SHOWN = 200
"""Candidates of a round that are listed."""


class Command(BaseCommand):
    help = "Look at what has changed, propose what to tidy, and apply what is safe."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="Show what would be proposed; change nothing.")
        parser.add_argument("--explain", type=int, metavar="ID", help="Say why a candidate was proposed.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["explain"] is not None:
            self.explain(options["explain"])
        elif options["dry_run"]:
            self.dry_run()
        else:
            self.run_round()

    def run_round(self) -> None:
        round = rounds.under_way() or rounds.start(by=Actor("command tidy"), now=timezone.now())
        if round is None:
            raise CommandError("another process has just begun a round; run it again later")
        with tqdm(unit="memory", disable=None) as bar:
            while not rounds.work(round.pk, seconds=60, progress=bar.update):
                if not Round.objects.filter(pk=round.pk, lease_until=None).exists():
                    raise CommandError(f"another process works on {round}; it is under way")
        round.refresh_from_db()
        self.table(list(Candidate.objects.filter(round=round).order_by("id")))
        self.stdout.write(
            f"{round}: {round.scanned} memories looked at, {round.proposed} proposed, {round.withdrawn} withdrawn"
        )
        self.stdout.write(round.receipt or "nothing is applied without a person (autoApply is off)")

    def dry_run(self) -> None:
        with tqdm(unit="memory", disable=None) as bar:
            found = dry_run(now=timezone.now(), progress=bar.update)
        for proposal in found:
            self.line("-", proposal.action, proposal.reason, proposal.auto_reason, proposal.evidence.as_json())
        self.stdout.write(f"{len(found)} would be proposed; nothing was changed")

    def line(self, number: object, action: str, reason: str, auto_reason: str | None, evidence: dict[str, Any]) -> None:
        """Write one candidate as a line of a table."""
        texts = "  |  ".join(one_line(cut(seen["text"], 50)) for seen in evidence["seen"])
        how = f"by itself ({auto_reason})" if auto_reason else "for people"
        self.stdout.write(f"{number:>6} {action:<10} {reason:<32} {how:<44} {texts}")

    def table(self, candidates: list[Candidate]) -> None:
        """Write a line for each candidate."""
        for one in candidates[:SHOWN]:
            self.line(one.pk, one.action, one.reason, one.auto_reason, one.evidence)
        if len(candidates) > SHOWN:
            self.stdout.write(f"... and {len(candidates) - SHOWN} more")

    def explain(self, candidate_id: int) -> None:
        candidate = Candidate.objects.filter(pk=candidate_id).first()
        if candidate is None:
            raise CommandError(f"there is no candidate {candidate_id}")
        evidence = candidate.evidence
        self.table([candidate])
        for line in evidence["why"]:
            self.stdout.write(f"  {one_line(line)}")
        for name in ("containment", "similarity", "veto", "contradiction", "kind_before", "kind_after", "event_date"):
            if evidence[name] not in (None, "none", 0.0):
                self.stdout.write(f"  {name}: {evidence[name]}")
        for name in ("shared", "only_source", "only_target"):
            for fact in evidence[name]:
                self.stdout.write(f"  {name}: {one_line(fact)}")
