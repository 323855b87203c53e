"""Text as it is kept and cut: always valid Unicode, never split inside what a reader sees as one character."""

from __future__ import annotations

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


def _escape(point: int) -> str:
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
