"""Running rounds at a given time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from memories.access import Actor
from tidy import config, rounds
from tidy.models import Candidate, Round

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def run(now: datetime = NOW) -> Round:
    """Return a round that was run to its end."""
    round = rounds.start(by=Actor("test"), now=now)
    assert round is not None
    assert rounds.work(round.pk, seconds=600, clock=lambda: now)
    return Round.objects.get(pk=round.pk)


def pending() -> Any:
    return Candidate.objects.filter(status=Candidate.Status.PENDING)


def settings_file(text: str) -> None:
    """Write the operator's file of settings."""
    file = config.path()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
