"""Text is valid, and is never cut inside a character."""

from __future__ import annotations

import regex
from hypothesis import given
from hypothesis import strategies as st

from memories.plain_text import clean_text, cut, one_line


def test_nul_is_removed_and_lone_surrogates_replaced() -> None:
    assert clean_text("a\x00b") == "ab"
    assert clean_text("a\ud800b") == "a\ufffdb"
    assert clean_text("\udc00\ud800") == "\ufffd\ufffd"
    assert clean_text("\ud83d\ude00") == "😀"
    assert clean_text("plain 文") == "plain 文"


@given(st.text(st.characters(exclude_categories=[]), max_size=50))
def test_clean_text_is_always_utf8_and_stays_itself(text: str) -> None:
    clean = clean_text(text)

    clean.encode()
    assert clean_text(clean) == clean
    if not any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in text):
        assert clean == text


@given(
    st.text(alphabet="ab\u0301\u200d👨👩🇩🇪\u1112\u1161\u11ab\r\n\u0903\u0915\u094d", max_size=12), st.integers(0, 12)
)
def test_a_cut_ends_between_clusters_and_is_the_longest(text: str, length: int) -> None:
    clusters = regex.findall(r"\X", text)
    ends = {0}
    for cluster in clusters:
        ends.add(max(ends) + len(cluster))
    shorter = cut(text, length)

    assert text.startswith(shorter)
    assert len(shorter) == max(end for end in ends if end <= length or end == 0)


@given(st.text(max_size=40))
def test_one_line_is_one_line(text: str) -> None:
    line = one_line(text)

    assert len(line.splitlines()) <= 1
    assert not regex.search(r"[\p{Cc}\u202a-\u202e\u2066-\u2069]", line)
