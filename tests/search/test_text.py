"""Text is folded and cut into the same tokens for the index and for the query."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given

from search.text import (
    CJK_RANGES,
    GAP,
    INDEX_TEXT_VERSION,
    alt_text,
    fold,
    function_name,
    has_symbols,
    index_folded,
    index_text,
    is_cjk,
    tokens,
)
from tests.search.texts import texts


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Green TEA", "green tea"),
        ("Grüße aus der Straße", "grusse aus der strasse"),
        ("ﬁne ＴＥＡ №５ ½", "fine tea no5 1⁄2"),
        ("Crème Brûlée", "creme brulee"),
        ("Smørrebrød, Łódź, Þór, ægir", "smorrebrod, lodz, thor, aegir"),
        ("İzmir IZMIR ızmir", "izmir izmir izmir"),
        ("ΣΟΦΊΑ σοφίας", "σοφια σοφιασ"),
        ("Ёлка Йод Їжак", "елка йод їжак"),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد أحمد إيمان آمن جـــدا", "محمد احمد ايمان امن جدا"),
        ("か\u3099 ｶﾞ が ﾊﾟ", "が ガ が パ"),
        ("\u1112\u1161\u11ab 한", "한 한"),
        ("ㅋㅋㅋ ㄱㅏ ﾡ ㅋㅏ🍵", "ㅋㅋㅋ ㄱㅏ ㄱ ㅋㅏ🍵"),
        ("हिन्दी में", "हिन्दी में"),
        ("น้ำชา", "น้\u0e4d\u0e32ชา"),
        ("豈 ⼤", "豈 大"),
        ("Dampf\u00adschiff zero\u200bwidth", "dampfschiff zerowidth"),
        ("❤\ufe0f 👩\u200d🌾", "❤ 👩🌾"),
        ("don’t “quote” en–dash", 'don\'t "quote" en-dash'),
        (" a\u00a0b \r\n\t c\u3000d ", "a b c d"),
        ("a\u00b4b", "a b"),
        ("", ""),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(texts)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(texts)
def test_precomposed_and_decomposed_text_fold_to_the_same(text: str) -> None:
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))


def test_every_character_folds_to_what_folds_to_itself() -> None:
    points = [*range(0x3400), *range(0x9FF0, 0xAC10), *range(0xD7A0, 0xD800), *range(0xF900, 0x20100)]
    characters = [chr(point) for point in [*points, *range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200)]]
    assert [character for character in characters if fold(fold(character)) != fold(character)] == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Brew the tea, then pour.", ["brew", "the", "tea", "then", "pour"]),
        ("don't tea-pot P4.7 a_b", ["don", "t", "tea", "pot", "p4", "7", "a", "b"]),
        ("茶", ["茶"]),
        ("绿茶", ["绿茶", "茶"]),
        ("明前龙井", ["明前", "前龙", "龙井", "井"]),
        ("泡teapot茶", ["泡", "teapot", "茶"]),
        ("用Python3写", ["用", "python3", "写"]),
        ("녹차를 마셔요", ["녹차", "차를", "를", "마셔", "셔요", "요"]),
        ("ｻｰﾊﾞｰ", ["サー", "ーバ", "バー", "ー"]),
        ("佐々木 二〇二", ["佐々", "々木", "木", "二〇", "〇二", "二"]),
        ("ジョン・スミス", ["ジョ", "ョン", "ン", "スミ", "ミス", "ス"]),
        ("ㄅㄆㄇ", ["ㄅㄆ", "ㄆㄇ", "ㄇ"]),
        ("𠮷野家", ["𠮷野", "野家", "家"]),
        ("ภาษาAPI", ["ภาษา", "api"]),
        ("Яndex 3д 3D", ["я", "ndex", "3д", "3d"]),
        ("हिन्दी चाय", ["हिन्दी", "चाय"]),
        ("20°C 🍵 → €5", ["20", "c", "5"]),
        ("... !? —", []),
    ],
)
def test_tokens(text: str, wanted: list[str]) -> None:
    assert tokens(text) == wanted
    assert index_text(text) == " ".join(wanted)


@given(texts, texts)
def test_texts_side_by_side_have_the_tokens_of_both(one: str, other: str) -> None:
    assert tokens(f"{one} {other}") == tokens(one) + tokens(other)


@given(texts)
def test_index_text_is_made_of_the_folded_text_alone(text: str) -> None:
    assert index_text(text) == index_folded(fold(text)) == index_text(fold(text))


@pytest.mark.parametrize(
    ("text", "alt"),
    [
        ("Herr Müller trinkt Tee", "mueller"),
        ("Müller und KÖHLER", f"mueller {GAP} koehler"),
        ("Müller-Straße 5", "mueller strasse"),
        ("Mu\u0308ller", "mueller"),
        ("Søren i Århus", f"soeren {GAP} aarhus"),
        ("Mueller trinkt Tee", ""),
        ("喝茶", ""),
        ("café", ""),
    ],
)
def test_words_with_umlauts_are_written_out_beside(text: str, alt: str) -> None:
    assert alt_text(text) == alt


def test_the_gap_between_columns_is_a_token() -> None:
    assert tokens(f"green\n{GAP}\ntea") == ["green", GAP, "tea"]


def test_one_table_says_what_is_cjk() -> None:
    assert all(is_cjk(character) for character in "茶𠮷豈々〇かカーㄅ차ㅋ\u1112")
    assert not any(is_cjk(character) for character in "aé7яשशช・。🍵")
    assert all(first <= last for first, last in CJK_RANGES)
    assert [first for first, _ in CJK_RANGES] == sorted(first for first, _ in CJK_RANGES)


def test_symbols_are_content_and_other_marks_are_not() -> None:
    assert all(has_symbols(symbol) for symbol in "🍵€→°×©❤🏽")
    assert not any(has_symbols(mark) for mark in "$+<>|~^`%&*_-.,;:!?§\ufffd\ufffc。「")


def test_the_function_name_carries_version_and_unicode_tables() -> None:
    assert function_name().isidentifier()
    assert function_name() == function_name(INDEX_TEXT_VERSION) != function_name(INDEX_TEXT_VERSION + 1)
    assert unicodedata.unidata_version.replace(".", "_") in function_name()
