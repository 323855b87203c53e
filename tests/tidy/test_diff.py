"""What differs between two texts, as pages mark it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidy.diff import COMPARISONS_MAX, Piece, word_diff

TEXTS = st.text(st.sampled_from("ab. \n。中文か가é\u0301\u200d👩💻-9\u202e"), max_size=60) | st.text(max_size=60)


def marked(pieces: list[Piece]) -> str:
    """Return the text with brackets around what differs."""
    return "".join(f"[{piece.text}]" if piece.differs else piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("one", "other", "first", "second"),
    [
        ("Mara works at Acme.", "Mara works at Acme in Bonn.", "Mara works at Acme.", "Mara works at Acme[ in Bonn]."),
        ("Port 8080 is open.", "Port 9090 is open.", "Port [8080] is open.", "Port [9090] is open."),
        ("the tram", "The tram", "[the] tram", "[The] tram"),
        ("He does not smoke.", "He does smoke.", "He does [not ]smoke.", "He does smoke."),
        ("会议在三楼。", "会议在四楼。", "会议在[三]楼。", "会议在[四]楼。"),
        ("東京に住んでいる", "京都に住んでいる", "[東]京に住んでいる", "京[都]に住んでいる"),
        ("서울에 산다", "서울에서 산다", "서울에 산다", "서울에[서] 산다"),
        ("用Python写的", "用Rust写的", "用[Python]写的", "用[Rust]写的"),
        ("same", "same", "same", "same"),
        ("", "new", "", "[new]"),
        ("", "", "", ""),
    ],
)
def test_words_and_characters_that_differ_are_marked(one: str, other: str, first: str, second: str) -> None:
    left, right = word_diff(one, other)
    assert (marked(left), marked(right)) == (first, second)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cafe\u0301 au lait", "cafe au lait"),
        ("\U0001f469\u200d\U0001f4bb works", "\U0001f469\u200d\U0001f52c works"),
        ("हिन्दी", "हिन्दू"),
        ("\U0001f1e9\U0001f1ea", "\U0001f1e9\U0001f1f0"),
    ],
)
def test_what_a_reader_sees_as_one_character_is_never_split(one: str, other: str) -> None:
    left, right = word_diff(one, other)
    assert [piece.text for piece in left if piece.differs] == [one.split()[0]]
    assert [piece.text for piece in right if piece.differs] == [other.split()[0]]


@given(TEXTS, TEXTS)
def test_the_pieces_are_the_texts(one: str, other: str) -> None:
    left, right = word_diff(one, other)
    assert "".join(piece.text for piece in left) == one
    assert "".join(piece.text for piece in right) == other
    assert all(piece.text for piece in (*left, *right))


@given(TEXTS, TEXTS)
def test_what_is_not_marked_is_in_both(one: str, other: str) -> None:
    left, right = word_diff(one, other)
    same = ["".join(piece.text for piece in pieces if not piece.differs) for pieces in (left, right)]
    assert same[0] == same[1]


@given(TEXTS)
def test_equal_texts_have_one_piece(text: str) -> None:
    assert word_diff(text, text)[0] == ([Piece(text, False)] if text else [])


def test_long_texts_are_compared_sentence_by_sentence() -> None:
    note = [f"Point {number} of the plan is settled with everybody." for number in range(400)]
    changed = [*note]
    changed[3] = "Point 3 of the plan is open."
    changed[390] = "Point 390 of the plan is dropped."
    left, right = word_diff(" ".join(note), " ".join(changed))
    assert "[settled with everybody]" in marked(left)
    assert [piece.text for piece in right if piece.differs] == ["open", "dropped"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b " * 25_000, "b a " * 25_000),
        ("x" * 100_000, "y" * 100_000),
        ("a." * 50_000, "b!" * 50_000),
        ("中文" * 50_000, "文中" * 50_000),
        ("." * 100_000, "!" * 100_000),
        ("e" + "\u0301" * 99_999, "e" + "\u0302" * 99_999),
        ("word one. " * 10_000, "word two! " * 10_000),
    ],
)
def test_texts_of_any_length_come_back_whole(one: str, other: str) -> None:
    left, right = word_diff(one, other)
    assert "".join(piece.text for piece in left) == one
    assert "".join(piece.text for piece in right) == other
    assert any(piece.differs for piece in left)


def test_no_more_is_compared_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(_junk: object, first: list[str], second: list[str], autojunk: bool) -> object:
        asked.append(len(first) * len(second))
        return Matcher(None, first, second, autojunk=autojunk)

    import tidy.diff

    Matcher = tidy.diff.SequenceMatcher
    monkeypatch.setattr(tidy.diff, "SequenceMatcher", counted)
    word_diff("a b. " * 1_000, "b a! " * 1_000)
    word_diff("a b c d " * 700, "b a d c " * 700)
    assert asked
    assert max(asked) <= COMPARISONS_MAX
    assert sum(asked) <= 3 * COMPARISONS_MAX
