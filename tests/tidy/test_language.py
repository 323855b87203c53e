"""Which language a text is in, and that the lists of words agree with each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidy import language


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("The kettle is on the stove.", "en"),
        ("Der Kessel steht auf dem Herd.", "de"),
        ("水壶在炉子上", "zh"),
        ("やかんはコンロの上にある", "ja"),
        ("주전자가 난로 위에 있다", "ko"),
        ("小诺用Vim", "zh"),
        ("La bouilloire est sur le feu, dans la cuisine.", None),
        ("El hervidor no está en la cocina.", None),
        ("De ketel staat op het vuur in de keuken.", None),
        ("Kitteln står på spisen när jag är hemma.", None),
        ("Tämä on hyvä päivä.", None),
        ("Bu ürün çok güzel.", None),
        ("A chaleira está na cozinha.", None),
        ("José lives in Linz.", "en"),
        ("Schöne Grüße an Björn.", "de"),
        ("Чайник стоит на плите.", None),
        ("git push origin main", None),
        ("", None),
    ],
)
def test_the_language_of_a_text(text: str, spoken: str | None) -> None:
    assert language.language_of(text) == spoken


@pytest.mark.parametrize(
    ("text", "is_so"), [("Linux kernel panic", True), ("The kernel is old.", False), ("Ядро", False), ("noël", False)]
)
def test_plain_letters_may_tell_no_language(text: str, is_so: bool) -> None:
    assert language.tells_nothing(text) is is_so


@given(st.text(max_size=200))
def test_any_text_has_a_language_or_none(text: str) -> None:
    assert language.language_of(text) in ("en", "de", "zh", "ja", "ko", None)


def test_only_the_beginning_tells_so_that_long_texts_take_no_longer() -> None:
    german = "Der Kessel steht auf dem Herd. " * 100
    assert language.language_of(german + "the and is are of to " * 20_000) == "de"


def test_every_free_adverb_is_of_one_kind() -> None:
    assert {"however"} == language.FREE_ADVERBS - language.TIME_ADVERBS


def test_number_words_have_one_meaning_each() -> None:
    for known in language.NUMBERS.values():
        assert len(set(known.values())) == len(known)
        assert all(int(number) > 1 for number in known.values())
    assert "elf" not in language.NUMBERS["en"]
    assert "acht" not in language.NUMBERS["de"]
