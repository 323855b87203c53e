"""Two texts are the same where every word is; what may differ, may differ only where it changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tidy.pairs import DE, EN, ZH, pairs
from tidy.facts import statements
from tidy.sameness import EXACT, LOOSE, equivalence, is_free_in_order, pairs_of

TEXTS = sorted({text for listed in (EN, DE, ZH) for _, *both in pairs(listed) for text in both})
words = st.sampled_from(
    [
        *("Omar", "Nora", "is", "has", "not", "the", "a", "few", "in", "Linz", "now", "currently", "however", "also"),
        *("and", "who", "said", "5", "six", ",", "(", ")"),
    ]
)


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_it_is_the_same_from_both_sides(one: str, other: str) -> None:
    assert equivalence(one, other) == equivalence(other, one)


@given(st.lists(words, min_size=1, max_size=9), st.lists(words, min_size=1, max_size=9))
def test_whatever_is_the_same_has_all_its_words_in_order(one: list[str], other: list[str]) -> None:
    free = {"the", "a", "now", "currently", "however", ",", "(", ")"}

    def kept(said: list[str]) -> list[str]:
        return [{"six": "6"}.get(word, word).casefold() for word in said if word not in free]

    if equivalence(" ".join(one), " ".join(other)) is not None and "also" not in one:
        assert kept(one) == kept(other)


@given(st.sampled_from(TEXTS), st.data())
def test_one_more_word_is_never_the_same(text: str, data: st.DataObject) -> None:
    found = text.split(" ")
    place = data.draw(st.integers(0, len(found)))
    more = data.draw(
        st.sampled_from(["not", "only", "nicht", "nur", "7", "perhaps", "also", "auch", "不", "也", "halb"])
    )
    assert equivalence(text, " ".join([*found[:place], more, *found[place:]])) is None


@given(st.sampled_from(TEXTS), st.data())
def test_two_words_that_changed_places_are_never_the_same(text: str, data: st.DataObject) -> None:
    (found, *others) = statements(text)
    said = [token.shown for token in found.tokens if token.shown]
    if others or len(said) < 2 or found.ordered != found.tokens or found.is_question:
        return
    place = data.draw(st.integers(0, len(said) - 2))
    turned = [*said[:place], said[place + 1], said[place], *said[place + 2 :]]
    if [one.casefold() for one in turned] == [one.casefold() for one in said] or "also" in text:
        return
    if {"now", "currently", "jetzt", "derzeit", "aktuell"} & set(turned[place : place + 2]):
        return  # These may move; where, the tables say.
    assert equivalence(" ".join(said), " ".join(turned)) is None


def test_how_sure_it_is() -> None:
    assert equivalence("The heater is on.", "the heater is on") == EXACT
    assert equivalence("The heater is on.", "Heater is on.") == LOOSE
    assert equivalence("The heater is on.", "The heater is off.") is None


def test_articles_are_english_alone() -> None:
    assert equivalence("Das Rad ist an der Wand.", "Das Rad ist der Wand.") is None
    assert equivalence("Omar is at the pier.", "Omar is at pier.") == LOOSE
    assert equivalence("Omar is at a pier.", "Omar is at the pier.") is None


@pytest.mark.parametrize(
    ("text", "is_free"),
    [
        ("Omar is 41. Nora has two goats.", True),
        ("Omar is 41.", False),
        ("Omar is 41. He has two goats.", False),
        ("Omar is 41. Then Nora has two goats.", False),
        ("Omar is 41. Is Nora 30?", False),
        ("Omar is 41. Open the gate.", False),
        ("Omar is 41. Has two goats.", False),
        ("has two goats\nis 41", True),
        ("Omar has a goat. The goat is old.", False),
        ("Nora has left. Omar is 41.", False),
        ("小诺有猫。小陆住在林茨。", True),
        ("小诺有猫。他住在林茨。", False),
    ],
)
def test_sentences_are_free_in_order_where_none_rests_on_another(text: str, is_free: bool) -> None:
    assert is_free_in_order(statements(text)) is is_free


@given(st.lists(st.sampled_from(["Omar is 41.", "Nora has a kayak.", "Ivo is in Bari."]), max_size=40), st.randoms())
def test_each_statement_finds_one_other(said: list[str], random: object) -> None:
    turned = said.copy()
    random.shuffle(turned)  # type: ignore[attr-defined]
    found = pairs_of(statements(" ".join(said)), statements(" ".join(turned)))
    assert sorted(left for left, _, _ in found) == sorted(right for _, right, _ in found) == list(range(len(said)))
