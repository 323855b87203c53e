"""What a text states, and what equivalent texts have in common."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidy.facts import LONGEST, equivalence_key, says_something, statements


def test_a_text_states_sentence_by_sentence_and_line_by_line() -> None:
    text = "Omar is 41. Omar lives in Linz!\n- likes chess\n\n* owns a kayak"
    assert [str(one) for one in statements(text)] == ["Omar is 41", "Omar lives in Linz", "likes chess", "owns a kayak"]


@pytest.mark.parametrize(
    ("text", "is_question"),
    [("Is it red?", True), ("Is it red?!", True), ("这是龙井吗", True), ("这是龙井", False), ("It is red.", False)],
)
def test_a_question_is_known_by_its_mark_or_particle(text: str, is_question: bool) -> None:
    assert [one.is_question for one in statements(text)] == [is_question]


def test_commas_brackets_and_dashes_are_places_and_no_tokens() -> None:
    (found,) = statements("Nora, however (late), came - alone")
    assert [token.text for token in found.tokens] == ["nora", "however", "late", "came", "alone"]
    assert found.parted == {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("text", "levelled"),
    [
        ("Four goats are in the yard", "4 goats are in the yard"),
        ("Zwölf Ziegen sind im Hof", "12 Ziegen sind im Hof"),
        ("Der Termin ist um 14:00 Uhr", "der Termin ist um 14 Uhr"),
        ("Sie ist im Hof", "Sie ist im Hof"),
        ("Note: the yard is wet", "the yard is wet"),
        ("The twenty five goats are old", "the twenty five goats are old"),
        ("用 Vim 写作", "用 vim 写 作"),
        ("功率是5MW的电机", "功 率 是 5 MW 的 电 机"),
    ],
)
def test_what_is_written_in_several_ways_is_levelled(text: str, levelled: str) -> None:
    (found,) = statements(text)
    assert " ".join(token.text for token in found.tokens) == levelled


def test_rules_of_tables_say_nothing() -> None:
    assert not says_something(statements("|---|---|"))
    assert says_something(statements("| a |"))


@given(
    st.lists(st.sampled_from(["Omar", "is", "the", "now", "5", "猫", "`x`", "A-"]), min_size=1, max_size=8),
    st.randoms(),
)
def test_the_key_holds_for_any_order_of_words(said: list[str], random: object) -> None:
    said = ["Omar", *said]
    turned = said.copy()
    random.shuffle(turned)  # type: ignore[attr-defined]
    line = "\n".join
    assert equivalence_key(line(said)) == equivalence_key(line(turned))


def test_long_texts_have_the_key_of_their_copy_alone() -> None:
    long = "Omar is 41. " * LONGEST
    assert equivalence_key(long) == equivalence_key(f" {long}\n")
    assert equivalence_key(long) != equivalence_key(long.replace("41", "42", 1))


def test_keys_are_the_same_in_every_process() -> None:
    text = "All gates are open, nobody is up; 没有灯是开着的"
    code = (
        "from tidy.rules import contradiction_keys, equivalence_key, near_keys\n"
        f"text = {text!r}\n"
        "print(equivalence_key(text), contradiction_keys('All gates are open'), near_keys(text))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "DJANGO_SETTINGS_MODULE": "memoryweb.settings", "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(found) == 1
