"""Text as it is kept and cut: always valid Unicode, never split inside what a reader sees as one character.

And the text in what is no plain text: messages that come in parts, and calls of tools.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import regex

_SURROGATES = regex.compile(r"[\ud800-\udfff]")
_CLUSTER = regex.compile(r"\X")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
# Controls, line and paragraph separators, the invisible marks that reorder or hide what stands on a line, and the tag
# characters, which spell out words that only a model reads.
_UNSAFE = regex.compile(
    r"[\\\p{Cc}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def clean_text(text: str) -> str:
    """Return the text without NUL, lone surrogates replaced by U+FFFD; surrogate pairs are joined first."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    if _SURROGATES.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def cut(text: str, length: int) -> str:
    """Return the longest beginning of at most ``length`` code points that ends between grapheme clusters (UAX #29)."""
    if len(text) <= length:
        return text
    end = 0
    # One code point more than fits shows whether the last cluster goes on.
    for cluster in _CLUSTER.finditer(text[: length + 1]):
        if cluster.end() > length:
            break
        end = cluster.end()
    return text[:end]


def one_line(text: str) -> str:
    """Return the text as one line: backslashes, controls, separating, ordering and hidden marks as escapes."""
    return _UNSAFE.sub(lambda mark: _ESCAPES.get(mark[0]) or _escape(ord(mark[0])), text)


def visible(text: str) -> str:
    """Return the text with its line breaks; other control, hidden and direction marks are made visible."""
    return "\n".join(one_line(line) for line in text.split("\n"))


_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*+")
_LATIN = regex.compile(r"\p{Latin}")
# Letters of other scripts that a reader takes for Latin ones; https://www.unicode.org/reports/tr39/
_LIKE_LATIN = regex.compile("[аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅοαρνΑΒΕΖΗΙΚΜΝΟΡΤΥΧＡ-Ｚａ-ｚ]")


def lookalikes(text: str) -> list[tuple[int, str]]:
    """Return place and Unicode name of each letter that poses as a Latin one, in the order of the text.

    That is a Cyrillic, Greek or fullwidth letter inside a word with Latin letters, and a word all of such letters where
    every other word of the text is Latin.
    """
    if text.isascii() or not _LIKE_LATIN.search(text):
        return []
    words = list(_WORD.finditer(text))
    alike = [_LIKE_LATIN.findall(word[0]) for word in words]
    foreign = [not _LATIN.search(word[0]) for word in words]
    posing = [len(found) == len(word[0]) for found, word in zip(alike, words, strict=True)]
    is_latin = any(not other for other in foreign) and all(
        pose or not other for other, pose in zip(foreign, posing, strict=True)
    )
    return [
        (word.start() + place, unicodedata.name(letter, "?"))
        for word, other in zip(words, foreign, strict=True)
        if not other or is_latin
        for place, letter in enumerate(word[0])
        if _LIKE_LATIN.fullmatch(letter)
    ]


def _escape(point: int) -> str:
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def one_space(text: str) -> str:
    """Return the text with every run of white space as one space, none at its ends."""
    return " ".join(text.split())


_UNSAID = {"thinking", "redacted_thinking", "reasoning"}
_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "function_call", "custom_tool_call"}
# A call's own fields by the names that model makers give them.
_WRAPPERS = ("function", "custom", "functionCall", "function_call", "tool_call", "toolCall", "tool_use", "toolUse")
_NAMES = ("name", "tool_name", "toolName", "tool", "function")
_ARGUMENTS = ("arguments", "args", "input", "parameters", "params", "kwargs", "tool_input", "toolInput")
_NO_TEXT = {"id", "type", "call_id", "index", "status", "object", *_NAMES}
DEPTH_MAX = 64
"""Levels of lists, objects and JSON texts inside each other that are looked into."""
_DATA_URL = regex.compile(
    r"data:[\w.+-]{1,100}/[\w.+-]{1,100}(?:;[\w.+=-]{1,100}){0,5};base64,[A-Za-z0-9+/_=-]*", regex.IGNORECASE
)
# Lines of 64 and more such characters, and the shorter line that may end them.
_RUN = regex.compile(r"(?:[A-Za-z0-9+/_-]{64,}={0,2}(?:\r?\n)?)+(?:(?<=\n)[A-Za-z0-9+/_-]*={0,2}(?!\S))?")
_HEX = regex.compile(r"[0-9A-Fa-f\s-]+")


def text_of_parts(content: Any) -> str:
    """Return the text of a message's content: of a text itself, or of a list of parts, a line each.

    Images, files, calls and what a model only thought have none.
    """
    return clean_text("\n".join(text for text in _said(content, DEPTH_MAX) if text))


def _said(part: Any, depth: int) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, list) and depth:
        for one in part:
            yield from _said(one, depth - 1)
    elif isinstance(part, dict) and depth and part.get("type") not in _UNSAID:
        text = part.get("text", part.get("refusal"))
        if isinstance(text, dict):
            text = text.get("value")
        if isinstance(text, str):
            yield text
        elif isinstance(part.get("content"), str | list):  # the result of a tool
            yield from _said(part["content"], depth - 1)


def calls_in_parts(content: Any) -> list[Any]:
    """Return the parts of a message's content that call a tool."""
    if not isinstance(content, list):
        return []
    return [
        part
        for part in content
        if isinstance(part, dict) and (part.get("type") in _CALLS or "functionCall" in part or "toolUse" in part)
    ]


def text_of_calls(calls: Any) -> str:
    """Return what calls of tools say: each tool's name and the values of its arguments, a line each.

    Takes the shapes that OpenAI, Anthropic, Google and others send, as JSON or as JSON text, and JSON text inside them;
    what has none of these shapes gives its values. Keys, escapes and base64 are no text.
    """
    return clean_text("\n".join(line for line in _called(calls, DEPTH_MAX) if line))


def _called(call: Any, depth: int) -> Iterator[str]:
    call = _parsed(call)
    if isinstance(call, list) and depth:
        for one in call:
            yield from _called(one, depth - 1)
        return
    if not isinstance(call, dict) or not depth:
        yield from _values(call, depth)
        return
    inner = [call[name] for name in _WRAPPERS if isinstance(call.get(name), dict)]
    for one in inner:
        yield from _called(one, depth - 1)
    names = (call[name] for name in _NAMES if isinstance(call.get(name), str))
    name = next(names, None)
    if name is not None:
        yield name
    arguments = [call[name] for name in _ARGUMENTS if name in call]
    if not inner and not arguments:
        arguments = [value for name, value in call.items() if name not in _NO_TEXT]
    for one in arguments:
        yield from _values(one, depth - 1)


def _values(value: Any, depth: int) -> Iterator[str]:
    value = _parsed(value)
    if isinstance(value, str):
        yield without_encoded(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, list | dict) and depth:
        for one in value if isinstance(value, list) else value.values():
            yield from _values(one, depth - 1)


def _parsed(value: Any) -> Any:
    """Return what a JSON text of an object, a list or a text stands for, everything else as it is."""
    # What is JSON inside JSON has become longer each time, so that this ends soon.
    while isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            break
    return value


def without_encoded(text: str) -> str:
    """Return the text without base64: nobody looks for it, and it would fill an index with words that are none."""
    return _RUN.sub(lambda run: "" if _is_encoded(run[0]) else run[0], _DATA_URL.sub("", text))


def _is_encoded(run: str) -> bool:
    """Return whether a long run is base64: letters and digits of both cases change there as in no name and no path."""
    if _HEX.fullmatch(run):
        return False
    sample = [character.isdigit() + 2 * character.isupper() for character in run[:400] if character.isalnum()]
    changes = sum(one != other for one, other in pairwise(sample))
    return sample.count(1) >= 3 and changes > 0.45 * len(sample)
