"""What pairs of texts are to each other: every kind of trap, in three languages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tidy.pairs import DE, EN, ZH, pairs
from tidy.language import OPPOSITES
from tidy.rules import (
    contradiction_keys,
    equivalence_key,
    is_literal_duplicate,
    judge_pair,
    may_belong_together,
    near_keys,
    veto_low_confidence,
)
from tidy.sameness import equivalence

ALL = [pair for text in (EN, DE, ZH) for pair in pairs(text)]


@pytest.mark.parametrize(("verdict", "one", "other"), ALL)
def test_whatever_is_found_together_is_looked_at(verdict: str, one: str, other: str) -> None:
    if judge_pair(one, other).relation != "different":
        assert may_belong_together(one, other)
        keys = [(equivalence_key(text), *contradiction_keys(text), *near_keys(text)) for text in (one, other)]
        assert set(keys[0]) & set(keys[1])


@pytest.mark.parametrize("language", [EN, DE, ZH])
def test_there_are_enough_of_them(language: str) -> None:
    assert len(pairs(language)) >= 60


@pytest.mark.parametrize(("verdict", "one", "other"), ALL)
def test_a_pair_is_what_a_careful_person_says(verdict: str, one: str, other: str) -> None:
    found, turned = judge_pair(one, other), judge_pair(other, one)
    if verdict == "merge":
        assert (found.relation, found.containment, found.veto) == ("merge", "both", None)
        assert found.similarity >= 0.95
        assert equivalence_key(one) == equivalence_key(other)
    else:
        assert found.relation != "merge"
        assert found.similarity <= 0.94
        assert found.veto is not None
        assert veto_low_confidence(one, other) == found.veto
    if verdict in ("contained", "contradicts"):
        assert found.relation == verdict
    if verdict == "contradicts":
        assert set(contradiction_keys(one)) & set(contradiction_keys(other))
    assert found.why
    assert (turned.relation, turned.similarity, turned.veto) == (found.relation, found.similarity, found.veto)
    assert (turned.only_a, turned.only_b) == (found.only_b, found.only_a)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Le serveur est en panne.", "le serveur est en panne"),
        ("El gato está en la casa.", "el gato está en la casa"),
        ("Сервер стоит в подвале.", "сервер стоит в подвале"),
    ],
)
def test_in_an_unknown_language_only_equal_texts_are_merged(one: str, other: str) -> None:
    assert judge_pair(one, other).relation != "merge"
    assert judge_pair(one, f" {one}\n").relation == "merge"


def test_what_forbids_a_merge_is_named() -> None:
    found = judge_pair("The harbour is (not) open on Sundays.", "The harbour is not open on Sundays.")
    assert (found.relation, found.veto) == ("similar", "marks")
    assert "commas, brackets" in " ".join(found.why)
    found = judge_pair("Alma reports to Boris.", "Boris reports to Alma.")
    assert (found.relation, found.veto) == ("different", "role_order")


def test_marks_alone_are_the_same_as_nothing_but_themselves() -> None:
    assert judge_pair("|---|---|", "|-----|--|").relation == "different"
    assert judge_pair("***", "***").relation == "merge"


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
def test_opposites_are_found_together(one: str, other: str) -> None:
    keys = [set(contradiction_keys(f"x {word} y")) for word in (one, other)]
    assert keys[0] & keys[1]


def test_letters_and_white_space_inside_make_no_literal_duplicate() -> None:
    assert is_literal_duplicate("\n a  b ", "a  b")
    assert not is_literal_duplicate("a b", "a  b")
    assert not is_literal_duplicate("A b", "a b")


def test_what_both_state_and_what_one_alone_does_is_told() -> None:
    found = judge_pair("Omar is 41. Omar lives in Linz.", "Omar lives in Linz. Omar is 41. Omar has two sons.")
    assert (found.relation, found.containment) == ("contained", "a_in_b")
    assert set(found.shared) == {"Omar is 41", "Omar lives in Linz"}
    assert (found.only_a, found.only_b) == ((), ("Omar has two sons",))


PIECES = "Omar Nora lives likes not the a few in Linz . , ! ? - 5 2026-05-03 和 不 猫 了 `x`"
text_of_many = st.text(max_size=60) | st.lists(st.sampled_from([*PIECES.split(" "), "\n"]), max_size=12).map(" ".join)


@given(text_of_many, text_of_many)
def test_a_verdict_is_the_same_from_both_sides(one: str, other: str) -> None:
    found, turned = judge_pair(one, other), judge_pair(other, one)
    assert (found.relation, found.similarity, found.veto) == (turned.relation, turned.similarity, turned.veto)
    assert 0 <= found.similarity <= 1
    if found.relation == "merge" and not is_literal_duplicate(one, other):
        assert equivalence_key(one) == equivalence_key(other)


@given(text_of_many)
def test_a_text_is_the_same_as_itself(one: str) -> None:
    assert judge_pair(one, f"  {one}\n").relation == "merge"
    assert equivalence_key(one) == equivalence_key(f"  {one}\n")


@pytest.mark.parametrize("piece", ["a", "(", '"', "猫", "2026-05-03 ", "a.", "- x\n", "`", "http://", "=", "'", "不"])
def test_long_texts_are_no_trouble(piece: str) -> None:
    long = piece * (100_000 // len(piece))
    judge_pair(long, long + "x")
    judge_pair(long[:19_000], long[:19_000] + "x")
    equivalence(long[:19_000], long[:18_999])
    contradiction_keys(long)


def test_verdicts_do_not_depend_on_what_was_asked_before(monkeypatch: Any) -> None:
    first = [judge_pair(one, other) for _, one, other in ALL]
    assert [judge_pair(one, other) for _, one, other in reversed(ALL)] == first[::-1]
