"""JSON from outside."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.wire import Malformed, parse_json, to_json


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"a": NaN}', "NaN"),
        ("[Infinity]", "Infinity"),
        ("[-Infinity]", "Infinity"),
        ("[1e999]", "too large"),
        ("[9223372036854775808]", "64 bits"),
        ("[" + "9" * 5000 + "]", "64 bits"),
        ("[" * 65 + "]" * 65, "deeper than 64"),
        ("[" * 100_000, "deeper than 64"),
        (b'{"a": "\xff"}', "UTF-8"),
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
    ],
)
def test_what_cannot_be_kept_exactly_is_refused(body: Any, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        parse_json(body)


def test_every_text_is_cleaned_keys_too() -> None:
    assert parse_json(r'{"a\u0000": ["\ud800", {"b": "\ud83d\ude00"}]}') == {"a": ["\ufffd", {"b": "😀"}]}


def test_times_end_in_z() -> None:
    assert to_json({"at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)}) == b'{"at":"2026-01-02T03:04:05Z"}'


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(VALUES)
def test_any_value_comes_back_as_it_went(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(to_json(value)) == value
