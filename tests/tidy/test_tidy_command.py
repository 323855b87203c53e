"""manage.py tidy: what it does, what it would do, and why."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories.access import Actor
from memories.models import Memory, Status
from tests.factories import MemoryFactory
from tidy import rounds
from tidy.models import Candidate, Looked, PairingKey, Round

pytestmark = pytest.mark.django_db


def said(*options: str) -> str:
    out = StringIO()
    call_command("tidy", *options, stdout=out)
    return out.getvalue()


@pytest.fixture
def some(agent: Any) -> None:
    for text in ("The kettle is red.", "the kettle is red", "Mara works at Acme.", "Mara works at Acme in Bonn."):
        MemoryFactory.create(agent=agent, content=text)


def test_it_runs_a_round_and_lists_what_came_of_it(some: None) -> None:
    text = said()
    assert "by itself (fact_equivalent_high_similarity)" in text
    assert "for people" in text
    assert "4 memories looked at, 2 proposed, 0 withdrawn" in text
    assert "ok auto=true applied=1 merged=1" in text
    assert Memory.objects.filter(status=Status.MERGED).count() == 1


def test_a_dry_run_lists_the_same_and_writes_nothing(some: None) -> None:
    text = said("--dry-run")
    assert "2 would be proposed; nothing was changed" in text
    assert "Mara works at Acme.  |  Mara works at Acme in Bonn." in text
    for model in (Candidate, Round, Looked, PairingKey):
        assert not model.objects.exists()
    said()
    assert "0 would be proposed" in said("--dry-run")


def test_it_explains_a_candidate(some: None) -> None:
    said()
    candidate = Candidate.objects.get(reason="contained")
    text = said("--explain", str(candidate.pk))
    assert "One says the same and more." in text
    assert "containment: a_in_b" in text
    assert "only_target: Mara works at Acme in Bonn" in text
    with pytest.raises(CommandError, match="there is no candidate 999"):
        said("--explain", "999")


def test_hostile_text_stays_on_its_line(agent: Any) -> None:
    MemoryFactory.create(agent=agent, content="TODO: \u202eevil\x1b[2J\nsecond line")
    text = said()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len([line for line in text.splitlines() if "TODO" in line]) == 1


def test_a_round_that_another_process_works_on_is_left_to_it(some: None) -> None:
    round = rounds.start(by=Actor("test"), now=timezone.now())
    assert round is not None
    rounds._take(round.pk, "another", timezone.now())
    with pytest.raises(CommandError, match="another process works on"):
        said()
