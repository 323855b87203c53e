"""Text is cut into what is compared: words, numbers and dates, and byte for byte what is code, quoted or an address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidy.tokens import tokens_of


def cut(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens_of(text)]


@pytest.mark.parametrize(
    "said",
    [
        "`rm -r x`",
        "```\na = (1)\n```",
        "https://docs.example/a(b)?c=d",
        "ssh://host:22",
        "alma@mail.example",
        "CACHE=on",
        "--dry-run",
        "-v",
        "~/notes/a.txt",
        "../up",
        "C:\\temp\\x",
        "@alma",
        "#12",
        "pyproject.toml",
        '"teal otter"',
        "《旧卷宗》",
    ],
)
def test_what_is_exact_is_one_token_as_it_is(said: str) -> None:
    expected = f'"{said[1:-1]}"' if said[0] in '"《' else said
    assert cut(f"see {said} now") == [("word", "see"), ("raw", expected), ("word", "now")]


@pytest.mark.parametrize("number", ["5", "-5", "2.5", "1,000", "10:30", "1/2", ".5", "-.5", "2.1.4"])
def test_numbers_are_kept_as_they_are_written(number: str) -> None:
    assert cut(f"it is {number} here")[2] == ("number", number)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a, b", ["word", "comma", "word"]),
        ("a (b) c", ["word", "mark", "word", "mark", "word"]),
        ("a - b", ["word", "mark", "word"]),
        ("a — b", ["word", "mark", "word"]),
        ("a—b", ["word", "mark", "word"]),
        ("well-known", ["word", "word"]),
        ("f(x)", ["word", "symbol", "word", "symbol"]),
        ("so :)", ["word", "symbol", "symbol"]),
        ("so :(", ["word", "symbol", "symbol"]),
        ("type A-", ["word", "word", "symbol"]),
        ("5-6", ["number", "symbol", "number"]),
        ("10 - 5", ["number", "symbol", "number"]),
        ("is - 5", ["word", "symbol", "number"]),
        ("a -> b", ["word", "symbol", "word"]),
        ("[ ] call", ["symbol", "word"]),
        ("- milk", ["bullet", "word"]),
        ("- 5 eggs", ["symbol", "number", "word"]),
        ("Nora. Ivo!", ["word", "end", "word", "end"]),
        ("가나 다", ["character", "character", "blank", "character"]),
        ("中文 中", ["character", "character", "character"]),
        (".NET", ["symbol", "word"]),
    ],
)
def test_marks_are_kept_where_they_have_a_sense(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in cut(text)] == kinds


@pytest.mark.parametrize(
    ("said", "full"),
    [
        ("can't", ["can", "not"]),
        ("won’t", ["will", "not"]),
        ("I'm", ["I", "am"]),
        ("they've", ["they", "have"]),
        ("isn't", ["is", "not"]),
        ("Nora's", ["Nora's"]),
        ("she'd", ["she'd"]),
    ],
)
def test_contractions_are_written_out_where_they_have_one_reading(said: str, full: list[str]) -> None:
    assert [text for _, text in cut(said)] == full


def test_an_address_ends_before_the_full_stop() -> None:
    assert cut("See https://docs.example/a.") == [("word", "See"), ("raw", "https://docs.example/a"), ("end", ".")]


@pytest.mark.parametrize(
    "text", ["on 3 May 2026.", "on 2026-05-03.", "on ２０２６/05/03.", "on 3. Mai 2026.", "on May 3rd, 2026."]
)
def test_full_dates_are_one_token(text: str) -> None:
    assert cut(text) == [("word", "on"), ("date", "2026-05-03"), ("end", ".")]


@given(st.text(max_size=80))
def test_no_letter_or_digit_is_lost(text: str) -> None:
    shown = "".join(token.shown for token in tokens_of(text))
    kept = [one for one in text.translate({code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}) if one.isalnum()]
    assert [one for one in shown if one.isalnum()] == kept


PIECES = [
    "a",
    "(",
    '"',
    "猫",
    "2026-05-03 ",
    "a.",
    "- x\n",
    "`",
    "```",
    "http://",
    "a://",
    "=",
    "x=",
    "'",
    "《",
    "-",
    "a-",
    "가 ",
]


@pytest.mark.parametrize("piece", PIECES)
def test_every_step_goes_on(piece: str) -> None:
    long = piece * (20_000 // len(piece))
    assert sum(len(token.shown) for token in tokens_of(long)) <= len(long)
