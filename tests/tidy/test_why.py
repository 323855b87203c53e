"""Evidence in the reader's language."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.utils import translation

from tests.tidy.rounds import run
from tidy import why
from tidy.models import Candidate
from tidy.rules import _VETOES, judge_pair


@pytest.mark.django_db
def test_every_line_of_a_round_over_the_demo_is_known(capsys: Any) -> None:
    call_command("load_demo")
    run()
    lines = {line for candidate in Candidate.objects.all() for line in candidate.evidence["why"]}
    assert len(lines) > 20
    assert [line for line in lines if not why.is_known(line)] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tea.", "Tea."),
        ("!", "?"),
        ("x " * 60_000, "y " * 60_000),
        ("Ben eats fish.", "Ben does not eat fish."),
        ("The lamp is red.", "The lamp is blue."),
        ("timeout=5", "timeout=6"),
        ("It weighs 5 kg.", "It weighs 5 g."),
    ],
)
def test_every_line_of_a_verdict_is_known(one: str, other: str) -> None:
    for line in judge_pair(one, other).why:
        assert why.is_known(line), line


def test_every_veto_has_words() -> None:
    assert set(_VETOES.values()) == set(why.VETOES)


def test_what_texts_say_is_text_and_no_pattern() -> None:
    line = "They are the same but for 100%s here and %(other)s there."
    assert why.in_words(line) == line
    with translation.override("de"):
        said = why.in_words("They may not be merged without a person: their numbers differ.")
        assert "numbers" not in said
        assert why.in_words("of other rules") == "of other rules"
