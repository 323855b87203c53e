"""What matches a query, where the hits are, and what a prefilter may leave out."""

from __future__ import annotations

import sqlite3

import pytest
import regex
from hypothesis import assume, example, given
from hypothesis import strategies as st

from search.matching import (
    HARMLESS_RANGES,
    PLAIN_RUN,
    Meaning,
    PreparedText,
    like_prefilter,
    matches,
    says,
    spans,
)
from search.query import Match, Not, Or, Term, parse, shape, superset, terms
from search.text import GAP, alt_text, fold, fold_characters, tokens
from tests.search.texts import quoted, texts, texts_and_runs

MEANINGS: list[Meaning] = ["words", "substring"]


def found(query: str, text: str, meaning: Meaning = "words", match: Match = "all") -> bool:
    root = parse(query, match=match).root
    return root is not None and matches(root, PreparedText(text), meaning)


def marked(query: str, text: str, meaning: Meaning = "words") -> str:
    root = parse(query).root
    assert root is not None
    for start, end in reversed(spans(root, text, meaning)):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


@pytest.mark.parametrize(
    ("query", "yes", "no"),
    [
        ("kettle", "The KETTLE whistles.", "Two kettles whistle."),
        ("kettle tea", "tea from the kettle", "the kettle is cold"),
        ("kettle OR pot", "the pot", "the cup"),
        ("tea NOT milk", "black tea", "tea with milk"),
        ("tea NOT milk", "milky tea", "milk"),
        ('"green tea"', "Green, TEA", "tea, green"),
        ('"green tea"', "green 🍵 tea", "green leaf tea"),
        ("whist*", "it whistles", "it has whistled through a list"[9:20]),
        ('"the kettle whis"*', "Hear the kettle whistle", "the kettle was whistling"),
        ("tea-pot", "a tea pot", "a teapot"),
        ("v4.7", "since V4.7.", "4 or 7, said v"),
        ("don't", "They don’t boil.", "Don and t"),
        ("C++", "Written in C, slowly", "Written in Csharp"),
        ("cafe", "Das Café", "cafeteria"),
        ("Müller", "Herr MÜLLER", "Frau Mueller"),
        ("Mueller", "Herr Müller", "Frau Muller"),
        ("muel*", "Herr Müller", "Frau Muller"),
        ("mueller-strasse", "Müller-Straße 7", "Müller, in der Straße"),
        ('"mueller koehler"', "Mueller Köhler und Müller Koehler und Mueller Koehler", "Müller und Köhler"),
        ("STRASSE", "die Straße", "Hauptstraße"),
        ("ſtrong", "STRONG", "strongly"),
        ("茶", "明天喝绿茶。", "明天喝水。"),
        ("绿茶", "明天喝绿茶吗", "绿色的茶"),
        ("绿茶 水", "水和绿茶", "绿茶"),
        ("明前龙井", "买明前龙井茶", "明前的龙井"),
        ("绿茶-红茶", "绿茶、红茶", "绿茶红茶"),
        ('"绿茶 红茶"', "喝绿茶 红茶好", "红茶 绿茶"),
        ("A茶", "来杯A茶吧", "来杯AA茶吧"),
        ("泡Tea喝", "慢慢泡tea喝完", "泡Teapot喝"),
        ("サーバー", "ｻｰﾊﾞｰの", "サーバ"),
        ("が", "か\u3099く", "かく"),
        ("한글", "\u1112\u1161\u11ab\u1100\u1173\u11af", "한 글"),
        ("녹차", "녹차를 마셔요", "녹색 차"),
        ("🍵", "Zeit für 🍵🍵!", "Zeit für Tee"),
        ("👍", "gut 👍🏽", "gut"),
        ("25°C", "bei 25 °C", "bei 25 C"),
        ("25°C", "bei 25°C", "bei 125°C"),
        ("€5", "nur €5", "nur $5"),
        ("ชา", "ดื่ม ชา ร้อน", "ดื่มชาร้อน"),
        ("τσαι", "ΤΣΆΙ", "τσαιου"),
        ("احمد", "قال أحمد", "أحمدي"),
        ("green tea", f"green\n{GAP}\ntea", "greentea"),
        ('"green tea"', "green tea", f"green\n{GAP}\ntea"),
    ],
)
def test_words(query: str, yes: str, no: str) -> None:
    assert found(query, yes)
    assert not found(query, no)


@pytest.mark.parametrize(
    ("query", "yes", "no"),
    [
        ("ettl", "The KETTLES whistle.", "The pot"),
        ("tea", "steam and team", "te a"),
        ("-v", "run it --verbose", "run it, verbose"),
        ("C++", "in c++17", "in C"),
        ("80%", "180% of it", "80 percent"),
        ("(x)", "f(y, x)", "f(y)"),
        ("ttle whi", "a kettle, which", "a kettle"),
        ('"ttle whi"', "the kettle\n  whistles", "the kettle, white"),
        ("chifff", "Die Dampfschiﬀfahrt", "Das Dampfschiff"),
        ("strasse", "Hauptstraße", "Strafe"),
        ("tea NOT eam", "teak", "steam"),
        ("ชา", "ดื่มชาร้อน", "ดื่มน้ำ"),
        ("绿茶", "喝绿茶吗", "绿 茶"),
        ("🍵", "🍵", "☕"),
    ],
)
def test_substrings(query: str, yes: str, no: str) -> None:
    assert found(query, yes, "substring")
    assert not found(query, no, "substring")


@pytest.mark.parametrize(
    ("query", "text", "hits"),
    [
        ("kettle tea", "Tea, kettle, teapot.", "[Tea], [kettle], teapot."),
        ('"green tea" pot*', "green  tea for potters", "[green  tea] for [potters]"),
        ("mueller", "Herr Mu\u0308ller, Müller und Mueller", "Herr [Mu\u0308ller], [Müller] und [Mueller]"),
        ("mueller-str*", "die Müller-Straße", "die [Müller-Straße]"),
        ("strasse", "Straße", "[Straße]"),
        ("fine", "ﬁne", "[ﬁne]"),
        ("绿茶", "喝绿茶，绿茶好", "喝[绿茶]，[绿茶]好"),
        ("泡Tea喝", "慢慢泡Tea喝完", "慢慢[泡Tea喝]完"),
        ("サーバー", "新ｻｰﾊﾞｰへ", "新[ｻｰﾊﾞｰ]へ"),
        ("tea", "ＴＥＡ t\u00adea", "[ＴＥＡ] [t\u00adea]"),
        ("한글", "\u1112\u1161\u11ab\u1100\u1173\u11af은", "[\u1112\u1161\u11ab\u1100\u1173\u11af]은"),
        ("👩", "an 👩\u200d🌾 here", "an [👩\u200d🌾] here"),
        ("25°C", "25 °C", "[25 °C]"),
        ("tea NOT milk", "tea", "[tea]"),
        ("tea OR milk", "milk tea", "[milk] [tea]"),
    ],
)
def test_spans_of_words_are_in_the_text_itself(query: str, text: str, hits: str) -> None:
    assert marked(query, text) == hits


@pytest.mark.parametrize(
    ("query", "text", "hits"),
    [
        ("ea", "Tea steam", "T[ea] st[ea]m"),
        ("ss", "Straße Fuss", "Stra[ß]e Fu[ss]"),
        ("i", "ﬁn", "[ﬁ]n"),
        ("fe", "Cafe\u0301s", "Ca[fe\u0301]s"),
        ('"green tea"', " green\n\n\ttea ", " [green\n\n\ttea] "),
        ("aa", "aaa", "[aaa]"),
        ("が", "か\u3099", "[か\u3099]"),
        ("テ", "ﾃｽﾄ", "[ﾃ]ｽﾄ"),
        ("क", "क्षि", "[क्षि]"),
        ("stra", "Straße", "[Stra]ße"),
        ("e", "Straße", "Straß[e]"),
        ("green", "green  tea", "[green]  tea"),
        ("t", "t\u0e33", "[t\u0e33]"),
        ("5", "\u06005", "[\u06005]"),
    ],
)
def test_spans_of_substrings_take_in_whole_characters(query: str, text: str, hits: str) -> None:
    assert marked(query, text, "substring") == hits


def test_spans_may_be_limited() -> None:
    root = parse("tea").root
    assert root is not None
    assert spans(root, "tea " * 10, "words", limit=3) == [(0, 3), (4, 7), (8, 11)]
    assert len(spans(root, "tea " * 10, "substring", limit=3)) == 3


@pytest.mark.parametrize(
    ("query", "text", "said"),
    [
        ("C++ tea", "tea in C++", True),
        ("C++ tea", "tea in C", False),
        ("C++ NOT milk", "milk in C++", True),
        ("C++ OR 80%", "80% of it", True),
    ],
)
def test_says_is_to_have_the_marks_too(query: str, text: str, said: bool) -> None:
    root = parse(query).root
    assert root is not None
    assert says(root, PreparedText(text)) is said


@pytest.mark.parametrize(
    ("query", "meaning", "run"),
    [
        ("tea kettle", "words", "kettle"),
        ("tea NOT kettle", "words", "tea"),
        ("tea OR kettle", "words", None),
        ("tea OR teapot OR cup-of-steam", "words", "tea"),
        ("tea OR 🍵", "words", None),
        ("(tea OR pot) kettle", "words", "kettle"),
        ("tea-pot", "substring", "tea"),
        ("用tea泡绿茶", "words", "泡绿茶"),
        ("用tea泡", "substring", "用tea泡"),
        ("чай", "words", None),
        ("🍵", "words", None),
        ("Café", "words", "cafe"),
    ],
)
def test_like_prefilter(query: str, meaning: Meaning, run: str | None) -> None:
    root = parse(query).root
    assert root is not None
    assert like_prefilter(root, meaning) == run


def passes_in_sqlite(text: str, run: str) -> bool:
    with sqlite3.connect(":memory:") as connection:
        query = "SELECT ? LIKE ? OR octet_length(?) <> length(?)"
        return bool(connection.execute(query, [text, f"%{run}%", text, text]).fetchone()[0])


def test_the_prefilter_lets_through_what_may_fold_to_more_than_it_shows() -> None:
    for text in ("KETTLE", "Kéttle", "ke\u0301ttle", "ＫＥＴＴＬＥ", "ket\u00adtle", "\u212aettle", "ⓚettle"):
        assert found("kettle", text), text
        assert passes_in_sqlite(text, "kettle"), text
    assert not passes_in_sqlite("The pot is empty.", "kettle")


def test_harmless_characters_neither_vanish_nor_become_plain() -> None:
    for first, last in HARMLESS_RANGES:
        for point in range(first, last + 1):
            character = chr(point)
            folded = fold_characters(character)
            plain = set("".join(PLAIN_RUN.findall(folded))) - {character, character.lower() if point < 0x80 else ""}
            assert not plain, hex(point)
            assert folded, hex(point)
            if point > 0x7F:
                assert all(fold_characters(base + character) == base + folded for base in "aかハ가"), hex(point)


# Properties


@given(texts_and_runs(), st.sampled_from(["all", "any"]))
@example(("(tea", "(tea"), "all")
@example(("a NOT b", "a NOT b"), "all")
@example(('say "tea" now', 'y "tea" n'), "all")
def test_any_run_of_a_text_finds_it_as_a_quoted_substring(text_and_run: tuple[str, str], match: Match) -> None:
    text, run = text_and_run

    assert found(quoted(run), text, "substring", match)


@given(texts_and_runs())
def test_any_run_typed_as_it_is_finds_its_text_unless_it_says_not(text_and_run: tuple[str, str]) -> None:
    text, run = text_and_run
    query = parse(run)
    assume("only_negations" not in query.reasons and "NOT(" not in shape(query.root))

    assert found(run, text, "substring")


@given(texts)
def test_every_token_of_a_text_finds_it(text: str) -> None:
    for token in {*tokens(text), *alt_text(text).split()} - {GAP}:
        assert found(f'"{token}"', text), token


@given(texts_and_runs())
def test_a_cjk_term_means_the_same_as_words_and_as_substring(text_and_run: tuple[str, str]) -> None:
    text, run = text_and_run
    for term in terms(parse(run).root):
        if term.anywhere:
            assert matches(term, PreparedText(text), "words") == matches(term, PreparedText(text), "substring")


@given(texts, texts, st.sampled_from(MEANINGS))
@example("Mueller Köhler", "mueller koehler", "words")
def test_there_are_spans_where_there_is_a_match(text: str, query: str, meaning: Meaning) -> None:
    prepared = PreparedText(text)
    for term in terms(parse(f"{query} {text[:20]}").root):
        assert bool(spans(term, text, meaning)) == matches(term, prepared, meaning), term


@given(texts_and_runs(), st.sampled_from(MEANINGS))
def test_spans_are_whole_characters_in_order(text_and_run: tuple[str, str], meaning: Meaning) -> None:
    text, run = text_and_run
    root = parse(run).root
    assume(root is not None)
    assert root is not None
    ends = {0, *(cluster.end() for cluster in regex.finditer(r"\X", text))}
    previous = 0
    for start, end in spans(root, text, meaning):
        assert {start, end} <= ends
        assert previous <= start < end
        previous = end


@given(texts_and_runs())
def test_a_span_has_what_was_looked_for(text_and_run: tuple[str, str]) -> None:
    text, run = text_and_run
    root = parse(quoted(run)).root
    for term in terms(root):
        for start, end in spans(term, text, "substring"):
            assert term.folded in fold(text[start:end])


@given(texts_and_runs(), texts, st.sampled_from(MEANINGS), st.sampled_from(["{}", "{} OR {}", "{} NOT {}", "({} {})"]))
def test_no_match_is_lost_by_the_prefilter(
    text_and_run: tuple[str, str], other: str, meaning: Meaning, form: str
) -> None:
    text, run = text_and_run
    root = parse(form.format(quoted(run), quoted(other))).root
    if root is not None and matches(root, PreparedText(text), meaning):
        prefilter = like_prefilter(root, meaning)
        assert prefilter is None or passes_in_sqlite(text, prefilter)


@given(texts_and_runs(), texts, st.sampled_from(MEANINGS), st.integers(1, 4))
def test_whatever_matches_matches_the_superset(
    text_and_run: tuple[str, str], other: str, meaning: Meaning, length: int
) -> None:
    text, run = text_and_run
    root = parse(f"({run}) OR {other}").root
    wider = superset(root, lambda term: len(term.folded) >= length)
    if root is not None and wider is not None and matches(root, PreparedText(text), meaning):
        assert matches(wider, PreparedText(text), meaning)


@given(texts, texts)
def test_a_negation_is_the_rest(text: str, query: str) -> None:
    prepared = PreparedText(text)
    for term in terms(parse(query).root):
        assert matches(Not(term), prepared, "words") != matches(term, prepared, "words")


latin = st.characters(min_codepoint=0x41, max_codepoint=0x17F) | st.sampled_from("aeou\u0301\u0308\ufb01\u017fß茶 ")


@given(st.text(latin, max_size=20), st.lists(st.text("aeghiostu", min_size=1, max_size=3), min_size=1, max_size=3))
def test_letters_with_marks_are_found_inside_words_as_folding_says(text: str, needles: list[str]) -> None:
    parts = tuple(Term(text=needle, folded=needle, tokens=(needle,)) for needle in needles)
    root = parts[0] if len(parts) == 1 else Or(parts)
    expected = any(needle in fold(text) for needle in needles)
    assert matches(root, PreparedText(text), "substring") == expected
