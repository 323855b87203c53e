"""The plan of a query says which steps answer it, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.query import Match, parse
from search.routing import Mode, Step, can_use_trigrams, plan, route_of
from search.text import GAP
from tests.search.naive import search_texts
from tests.search.texts import quoted, texts, texts_and_runs

WORDS = Step("words", "words")
MODES: list[Mode] = ["auto", "words", "substring", "scan"]


@pytest.mark.parametrize(
    ("query", "mode", "steps"),
    [
        ("kettle", "auto", [WORDS, Step("trigram", "substring", "short")]),
        ("kettle 茶", "auto", [WORDS, Step("trigram", "substring", "short")]),
        ("kettle tea", "auto", [WORDS, Step("trigram", "substring", "empty")]),
        ("tea", "auto", [WORDS, Step("trigram", "substring", "empty")]),
        ("te", "auto", [WORDS, Step("scan", "substring", "empty")]),
        ("kettle OR te", "auto", [WORDS, Step("scan", "substring", "empty")]),
        ("kettle NOT te", "auto", [WORDS, Step("trigram", "substring", "short")]),
        ("绿茶", "auto", [WORDS]),
        ("茶 OR 水", "auto", [WORDS]),
        ("绿茶-水", "auto", [WORDS, Step("trigram", "substring", "short")]),
        ("🍵", "auto", [Step("scan", "words")]),
        ("🍵 kettle", "auto", [Step("scan", "words"), Step("trigram", "substring", "short")]),
        ("kettle NOT 🍵", "auto", [Step("scan", "words"), Step("trigram", "substring", "short")]),
        ("kettle", "words", [WORDS]),
        ("🍵", "words", [Step("scan", "words")]),
        ("kettle", "substring", [Step("trigram", "substring")]),
        ("te", "substring", [Step("scan", "substring")]),
        ("te kettle", "substring", [Step("trigram", "substring")]),
        ("茶", "substring", [Step("words", "substring")]),
        ("🍵", "substring", [Step("scan", "substring")]),
        ("kettle", "scan", [Step("scan", "words"), Step("scan", "substring", "short")]),
        ("茶", "scan", [Step("scan", "words")]),
        ("", "auto", []),
        ("NOT tea", "scan", []),
    ],
)
def test_steps(query: str, mode: Mode, steps: list[Step]) -> None:
    assert list(plan(parse(query), mode).steps) == steps


def test_rows_that_the_trigram_index_leaves_out_are_read() -> None:
    kettle = parse("kettle")

    assert plan(kettle, unindexed_rows=True).steps == (
        WORDS,
        Step("trigram", "substring", "short", "indexed"),
        Step("scan", "substring", "empty", "unindexed"),
    )
    assert plan(kettle, "substring", unindexed_rows=True).steps == (
        Step("trigram", "substring", "always", "indexed"),
        Step("scan", "substring", "short", "unindexed"),
    )
    assert plan(parse("te"), "substring", unindexed_rows=True).steps == (Step("scan", "substring"),)
    assert plan(parse("绿茶"), unindexed_rows=True).steps == (WORDS,)


@pytest.mark.parametrize("query", ["kettle", "tea", "te", "茶", "🍵", "kettle NOT te"])
def test_without_indexes_a_scan_takes_the_same_steps(query: str) -> None:
    for mode in MODES:
        indexed = plan(parse(query), mode, unindexed_rows=True)
        scanned = plan(parse(query), mode, words=False, trigram=False, unindexed_rows=True)
        assert {step.path for step in scanned.steps} <= {"scan"}
        assert [(step.meaning, step.when) for step in scanned.steps] == [
            (step.meaning, step.when) for step in indexed.steps
        ][: len(scanned.steps)]


@pytest.mark.parametrize(
    ("query", "mode", "route", "reasons"),
    [
        ("kettle", "auto", "words+trigram", ["whole words", "inside other words"]),
        ("te", "auto", "words+scan", ["shorter than four", "shorter than three"]),
        ("茶", "substring", "words", ["mode=substring", "CJK"]),
        ("🍵", "auto", "scan", ["symbols"]),
        ("🍵", "substring", "scan", ["symbols"]),
        ("kettle OR NOT te", "auto", "words+trigram", ["negation_dropped"]),
        ("%", "auto", "none", ["no_terms"]),
        ("NOT tea", "auto", "none", ["only_negations"]),
    ],
)
def test_route_and_reason(query: str, mode: Mode, route: str, reasons: list[str]) -> None:
    found = plan(parse(query), mode)

    assert found.route == route == route_of(found.steps)
    assert all(reason in found.reason for reason in reasons), found.reason


def test_an_index_that_cannot_serve_is_named() -> None:
    assert "words index cannot serve" in plan(parse("kettle"), words=False).reason
    assert "trigram index cannot serve" in plan(parse("kettle"), trigram=False).reason
    assert plan(parse("kettle"), words=False, trigram=False).route == "scan"


def test_trigrams_need_one_long_term_in_every_match() -> None:
    assert can_use_trigrams(parse("tea x"))
    assert can_use_trigrams(parse("tea OR pot"))
    assert not can_use_trigrams(parse("tea OR x"))
    assert not can_use_trigrams(parse("x NOT tea"))


# Answers


TEA = {
    1: "The kettle whistles.",
    2: "Two teakettles and a steam engine.",
    3: "Herr Müller kocht grünen Tee.",
    4: "明天买绿茶和teapot。",
    5: "절대 홍차는 마시지 않아요",
    6: "Serve at 70°C with 🍵!",
    7: f"brew --no-milk\n{GAP}\nterminal",
    8: "Grüntee-Importe steigen",
}


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("kettle", [(1, "word"), (2, "substring")]),
        ("team", [(2, "substring")]),
        ("tea", [(2, "substring"), (4, "substring")]),
        ("Mueller", [(3, "word")]),
        ("grün*", [(3, "word"), (8, "word")]),
        ("茶 teapot", [(4, "word")]),
        ("홍차", [(5, "word")]),
        ("🍵", [(6, "word")]),
        ("70°C", [(6, "word")]),
        ("--no-milk", [(7, "word")]),
        ("-m", [(7, "substring")]),
        ("milk terminal", [(7, "word")]),
        ('"milk terminal"', []),
        ("kettle NOT whistles", [(2, "substring")]),
        ("kettle OR teapot NOT 绿茶", [(1, "word"), (2, "substring")]),
        ("", []),
    ],
)
def test_words_come_first_and_the_same_text_inside_words_behind(query: str, hits: list[tuple[int, str]]) -> None:
    assert search_texts(TEA, query) == hits


@given(texts_and_runs(), st.sampled_from(["all", "any"]))
def test_whatever_the_mode_a_quoted_run_of_a_text_is_not_missed(text_and_run: tuple[str, str], match: Match) -> None:
    text, run = text_and_run

    assert search_texts({1: text}, quoted(run), mode="substring", match=match) == [(1, "substring")]
    assert [number for number, _ in search_texts({1: text}, quoted(run), match=match)] == [1]


@given(st.lists(texts, min_size=1, max_size=4), texts)
def test_scan_gives_what_auto_gives(rows: list[str], query: str) -> None:
    numbered = dict(enumerate(rows))
    asked = f"{query} OR {rows[0][:7]}"

    assert search_texts(numbered, asked, mode="scan") == search_texts(numbered, asked)
