"""Traditional and simplified characters that stand one for one are the same; those with two readings are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidy.han import as_listed, simplified


@pytest.mark.parametrize(
    ("text", "other"), [("備份", "备份"), ("電腦", "电脑"), ("說話", "说话"), ("国", "国"), ("tea", "tea")]
)
def test_characters_with_one_simplified_form_are_read_in_it(text: str, other: str) -> None:
    assert simplified(text) == as_listed(text) == other


@pytest.mark.parametrize("text", ["後", "髮", "週", "隻", "裡", "乾", "麵", "鍾"])
def test_characters_that_share_a_simplified_form_are_kept_apart(text: str) -> None:
    assert simplified(text) == text
    assert as_listed(text) != text


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=6))
def test_no_two_characters_of_one_script_become_the_same(text: str) -> None:
    assert len(simplified(text)) == len(as_listed(text)) == len(text)
    assert simplified(simplified(text)) == simplified(text)


def test_one_for_one_is_one_for_one() -> None:
    han = [chr(code) for code in range(0x4E00, 0x9FFF)]
    became: dict[str, list[str]] = {}
    for one in han:
        became.setdefault(simplified(one), []).append(one)
    assert max(len(found) for found in became.values()) == 2
    assert all(one in found for one, found in became.items())
