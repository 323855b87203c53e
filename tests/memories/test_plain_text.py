"""Text is valid, and is never cut inside a character."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from memories.plain_text import (
    calls_in_parts,
    clean_text,
    cut,
    one_line,
    one_space,
    text_of_calls,
    text_of_parts,
    without_encoded,
)


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


def test_one_space_makes_one_line() -> None:
    assert one_space(" a\n\tb\u3000\u00a0c ") == "a b c"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([], ""),
        (["a", "b"], "a\nb"),
        ([{"type": "text", "text": "温かい"}, {"type": "image_url", "image_url": {"url": "x.png"}}], "温かい"),
        ([{"type": "input_text", "text": "in"}, {"type": "output_text", "text": "out"}], "in\nout"),
        ([{"type": "text", "text": {"value": "inner", "annotations": []}}], "inner"),
        ([{"type": "refusal", "refusal": "I'd rather not."}], "I'd rather not."),
        ([{"text": "without a type"}], "without a type"),
        (
            [
                {"type": "thinking", "thinking": "hm"},
                {"type": "reasoning", "text": "hm"},
                {"type": "text", "text": "so"},
            ],
            "so",
        ),
        ([{"type": "tool_result", "tool_use_id": "t1", "content": "180 degrees"}], "180 degrees"),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}], "a"),
        ([{"type": "tool_use", "id": "t1", "name": "oven", "input": {"q": "x"}}], ""),
        ([{"type": "text", "text": 5}, {"type": "text"}, {"type": "text", "text": "\ud800"}], "\ufffd"),
    ],
)
def test_the_text_of_parts(content: Any, text: str) -> None:
    assert text_of_parts(content) == text


ARGUMENTS = {
    "query": "部署指南 größe",
    "nested": {"paths": ["a.txt", {"deep": "b.txt"}]},
    "n": 7,
    "on": True,
    "none": None,
}
VALUES = "部署指南 größe\na.txt\nb.txt\n7"


@pytest.mark.parametrize(
    "call",
    [
        {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": json.dumps(ARGUMENTS)}},
        {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": ARGUMENTS}},
        {"type": "function_call", "call_id": "call_1", "name": "find", "arguments": json.dumps(ARGUMENTS)},
        {"type": "tool_use", "id": "toolu_1", "name": "find", "input": ARGUMENTS},
        {"functionCall": {"name": "find", "args": ARGUMENTS}},
        {"name": "find", "args": ARGUMENTS, "id": "1", "type": "tool_call"},
        {"tool": "find", "parameters": ARGUMENTS},
        {"toolName": "find", "toolInput": json.dumps(json.dumps(ARGUMENTS))},
        {"type": "function", "function": {"name": "find", "arguments": json.dumps({"all": json.dumps(ARGUMENTS)})}},
        {"name": "find", **{name: value for name, value in ARGUMENTS.items() if name != "name"}},
    ],
)
@pytest.mark.parametrize("wrap", [lambda call: [call], lambda call: call, lambda call: json.dumps([call])])
def test_the_text_of_calls_is_name_and_values(call: Any, wrap: Any) -> None:
    assert text_of_calls(wrap(call)) == f"find\n{VALUES}"


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        (None, ""),
        ([], ""),
        ("", ""),
        ("not JSON", "not JSON"),
        ('{"broken": ', '{"broken": '),
        ([{"type": "custom", "custom": {"name": "shell", "input": "ls -l"}}], "shell\nls -l"),
        ([{"function": {"name": "a", "arguments": ""}}, {"function": {"name": "b", "arguments": "{}"}}], "a\nb"),
        (
            [{"function": {"name": "write", "arguments": '{"text": "line one\\nline two"}'}}],
            "write\nline one\nline two",
        ),
        ([{"name": "f", "arguments": '{"t": "\\ud800x\\u0000"}'}], "f\n\ufffdx"),
        ([{"server": "s", "query": {"k": "v"}}], "s\nv"),
        ([5, True, None, "word"], "5\nword"),
    ],
)
def test_odd_calls(calls: Any, text: str) -> None:
    assert text_of_calls(calls) == text


def test_calls_are_found_among_parts() -> None:
    use = {"type": "tool_use", "name": "a", "input": {}}
    google = {"functionCall": {"name": "b", "args": {}}}

    assert calls_in_parts([{"type": "text", "text": "x"}, use, "y", google]) == [use, google]
    assert calls_in_parts("text") == calls_in_parts(None) == []


@pytest.mark.parametrize("seed", range(20))
def test_base64_is_no_text(seed: int) -> None:
    raw = random.Random(seed).randbytes(60 + 37 * seed)
    alone = base64.b64encode(raw).decode()
    address = f"![picture](data:image/png;charset=utf-8;base64,{alone})"

    assert without_encoded(f"before {alone} after") == "before  after"
    assert without_encoded(f"before {base64.urlsafe_b64encode(raw).decode()} after") == "before  after"
    assert without_encoded(f"before\n{base64.encodebytes(raw).decode()}\nafter").split() == ["before", "after"]
    assert without_encoded(address) == "![picture]()"
    assert without_encoded(base64.b64encode(("Der Teig ruht über Nacht. 面团 " * 9).encode()).decode()) == ""


@pytest.mark.parametrize(
    "text",
    [
        "/home/baker/Recipes/Sourdough2026/LongFermentation/WithRyeFlour/notes",
        "https://example.org/Recipes/Sourdough2026/LongFermentation?with=rye&and=salt#top",
        "aLongNameInWhichWordsFollowEachOtherWithoutAnySpaceBetweenThemAsInSomePrograms",
        hashlib.sha512(b"dough").hexdigest(),
        "x" * 500,
        "面团" * 200,
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
        "9f0c2a51-7c1f-4d7e-9a43-1f2b3c4d5e6f" * 3,
    ],
)
def test_long_words_are_text(text: str) -> None:
    assert without_encoded(text) == text
    assert without_encoded(f"see {text}, please") == f"see {text}, please"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_any_json_gives_valid_text(value: Any) -> None:
    text_of_parts(value).encode()
    text_of_calls(value).encode()
    assert text_of_calls(json.dumps([value])) == text_of_calls(json.loads(json.dumps([value])))


@given(st.dictionaries(st.from_regex(r"key[a-z]{6}", fullmatch=True), st.from_regex(r"value[0-9]{4}", fullmatch=True)))
def test_values_are_text_and_keys_are_not(arguments: dict[str, str]) -> None:
    text = text_of_calls([{"function": {"name": "f", "arguments": json.dumps({"a": [arguments]})}}])

    assert text.split("\n")[1:] == list(arguments.values())


@pytest.mark.parametrize(
    "unit", ["{", "[", '"', "\\", "A1b", "aB3/", "data:a/b;", "x=1;", "=", "ab+/" * 20 + "\n", "[{"]
)
def test_hostile_texts_end(unit: str) -> None:
    text = unit * 20_000
    for calls in (text, [text], [{"name": "f", "arguments": text}], "data:a/b" + text):
        assert isinstance(text_of_calls(calls), str)
