"""Gates over public data: nothing false is merged, no habit is archived. Skipped where TIDY_DATA names no folder."""

from __future__ import annotations

import pytest

from tests.tidy import gates

pytestmark = pytest.mark.skipif(gates.data() is None, reason="no data: name their folder in TIDY_DATA")


@pytest.mark.parametrize("language", gates.PARAPHRASED)
def test_no_pair_that_differs_is_merged(language: str) -> None:
    found = gates.paraphrases(language)
    assert found.wrong == []
    assert found.caught


@pytest.mark.parametrize("language", gates.LANGUAGES)
def test_no_hand_made_pair_of_another_verdict_is_merged(language: str) -> None:
    found = gates.pairs(language)
    assert found.wrong == []
    assert 2 * len(found.caught) > found.wanted


@pytest.mark.parametrize("language", gates.LANGUAGES)
def test_no_hand_made_text_that_stays_is_archived(language: str) -> None:
    found = gates.texts(language)
    assert found.wrong == []
    assert 2 * len(found.caught) > found.wanted


@pytest.mark.parametrize("language", gates.LANGUAGES)
def test_no_kind_is_corrected_wrongly(language: str) -> None:
    assert gates.kinds(language).wrong == []


@pytest.mark.parametrize(("name", "language", "label", "kept"), gates.HABITS)
def test_no_habit_is_archived_with_or_without_a_date(
    name: str, language: str, label: str, kept: frozenset[str]
) -> None:
    assert gates.habits(name, language, label, kept).wrong == []
