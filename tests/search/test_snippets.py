"""A snippet shows the best place of a text, in the text's own words."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from search.matching import Meaning, PreparedText, matches
from search.query import parse
from search.snippets import ELLIPSIS, snippet
from tests.search.texts import texts, texts_and_runs

NUMBERS = " ".join(str(number) for number in range(100))


def shown(text: str, query: str, *, meaning: Meaning = "words", tokens: int = 40) -> str:
    return snippet(text, parse(query).root, meaning=meaning, tokens=tokens)


@pytest.mark.parametrize(
    ("text", "query", "wanted"),
    [
        ("Green tea, please.", "tea", "Green >>>tea<<<, please."),
        ("Green tea, please.", "tea green", ">>>Green<<< >>>tea<<<, please."),
        ("Green tea, please.", '"green tea"', ">>>Green tea<<<, please."),
        ("Herr Müller wohnt hier", "mueller", "Herr >>>Müller<<< wohnt hier"),
        ("买了明前龙井茶。", "明前龙井", "买了>>>明前龙井<<<茶。"),
        ("tea & <b>pot</b>\n\n", "pot", "tea & <b>>>>pot<<<</b>\n\n"),
        (">>>tea<<< and tea", "tea", ">>>>>>tea<<<<<< and >>>tea<<<"),
        ("so 👩\u200d🌾 it is", "👩", "so >>>👩\u200d🌾<<< it is"),
        ("🍵🍵", "🍵", ">>>🍵<<<>>>🍵<<<"),
        ("no hit here", "tea", "no hit here"),
        ("---", "tea", "---"),
        ("", "tea", ""),
    ],
)
def test_a_short_text_is_shown_whole(text: str, query: str, wanted: str) -> None:
    assert shown(text, query) == wanted


def test_substring_hits_are_marked_inside_words() -> None:
    assert shown("Two steamers", "team", meaning="substring") == "Two s>>>team<<<ers"


def test_a_long_text_is_cut_on_both_sides_of_the_hit() -> None:
    assert shown(NUMBERS, "50", tokens=7) == f"{ELLIPSIS}47 48 49 >>>50<<< 51 52 53{ELLIPSIS}"
    assert shown(NUMBERS, "1", tokens=5) == f"0 >>>1<<< 2 3 4{ELLIPSIS}"
    assert shown(NUMBERS, "98", tokens=5) == f"{ELLIPSIS}95 96 97 >>>98<<< 99"
    assert shown(NUMBERS, "none", tokens=3) == f"0 1 2{ELLIPSIS}"
    assert shown("天地玄黄宇宙洪荒日月盈昃", "洪荒", tokens=4) == f"{ELLIPSIS}宙>>>洪荒<<<日{ELLIPSIS}"


def test_the_best_hit_is_where_most_terms_stand_together() -> None:
    assert shown(f"tea {NUMBERS} pot tea", "tea pot", tokens=4) == f"{ELLIPSIS}98 99 >>>pot<<< >>>tea<<<"
    assert (
        shown(f"tea {NUMBERS} tea pot {NUMBERS}", "tea OR pot", tokens=2) == f"{ELLIPSIS}>>>tea<<< >>>pot<<<{ELLIPSIS}"
    )
    assert shown(f"tea {NUMBERS} tea", "tea", tokens=2) == f">>>tea<<< 0{ELLIPSIS}"


def test_a_hit_longer_than_the_snippet_is_cut() -> None:
    assert shown(NUMBERS, '"10 11 12 13 14 15"', tokens=3) == f"{ELLIPSIS}>>>10 11 12<<<{ELLIPSIS}"


def test_marks_and_length_may_be_chosen() -> None:
    root = parse("tea").root
    assert snippet("hot tea here", root, before="<mark>", after="</mark>") == "hot <mark>tea</mark> here"
    assert snippet("hot tea here", None) == "hot tea here"


def test_a_text_without_spaces_gives_no_endless_snippet() -> None:
    blob = "QUJD" * 20_000
    assert len(shown(f"{blob}needle{blob}", "needle", meaning="substring")) < 1_100
    assert ">>>needle<<<" in shown(f"{blob}needle{blob}", "needle", meaning="substring")
    assert len(shown(f"tea{'-' * 50_000}pot", "tea")) < 2_000


def test_a_hit_far_down_a_very_long_text_is_shown() -> None:
    text = f"{'leaf by leaf ' * 30_000}needle{' and so on' * 30_000}"

    assert ">>>needle<<<" in shown(text, "needle")
    assert ">>>leaf<<<" in shown(text, "leaf")
    assert shown(text, "absent").startswith("leaf by leaf")


@given(texts_and_runs(), st.integers(1, 40))
def test_a_snippet_without_its_marks_is_a_part_of_the_text_and_cuts_no_character(
    text_and_run: tuple[str, str], tokens: int
) -> None:
    text, run = text_and_run
    found = snippet(text, parse(run).root, before="\ue001", after="\ue002", tokens=tokens)

    pieces = regex.split("[\ue001\ue002]", found)
    bare = "".join(pieces)
    bare = bare if bare in text else bare.removeprefix(ELLIPSIS)
    bare = bare if bare in text else bare.removesuffix(ELLIPSIS)
    assert bare in text
    assert "".join(regex.findall(r"\X", text)) == text
    ends = {0, *(cluster.end() for cluster in regex.finditer(r"\X", text))}
    places = [place for place in range(len(text) - len(bare) + 1) if text.startswith(bare, place)]
    assert any({place, place + len(bare)} <= ends for place in places)


@given(texts, texts, st.sampled_from(["words", "substring"]))
def test_what_matches_is_marked(text: str, query: str, meaning: Meaning) -> None:
    root = parse(f"{query} {text[:9]}").root
    if root is not None and matches(root, PreparedText(text), meaning):
        assert "\ue001" in snippet(text, root, meaning=meaning, before="\ue001", after="\ue002")
