"""Numbers that Chinese writes in characters: 二十五元 says 25, and no part of it says 二十元. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tidy.tokens import Token

_DIGITS = "一二三四五六七八九"
_DIGIT = f"[{_DIGITS}两]"
# Only what is written in full and in order; 三四个, three or four, and 五六十 say no number.
_NUMBER = re.compile(
    f"(?:(?P<thousands>{_DIGIT})千)?(?:零?(?P<hundreds>{_DIGIT})百)?(?:零?(?P<tens>{_DIGIT}?)(?P<ten>十))?"
    f"(?P<zero>零)?(?P<ones>{_DIGIT})?"
)
_CHARACTERS = frozenset(f"{_DIGITS}两十百千零")
COUNTED = frozenset("个只隻条张件位人岁年月日号楼层元块斤克吨里米桌杯壶次天周度场台间套本名辆届折瓶座")
"""What a number in characters stands before; before anything else the characters may be part of a word."""


def value_of(written: str) -> int | None:
    """Return the number, None for what is none or is written in a way with two readings; 一 alone is an article."""
    match = _NUMBER.fullmatch(written)
    if match is None or written == "一":
        return None
    if match["zero"] and not match["ones"]:
        return None
    thousands, hundreds, ones = (_digit(match[name]) for name in ("thousands", "hundreds", "ones"))
    tens = (_digit(match["tens"]) or 1) if match["ten"] else 0
    return 1000 * thousands + 100 * hundreds + 10 * tens + ones or None


def _digit(character: str | None) -> int:
    return 0 if not character else 2 if character == "两" else _DIGITS.index(character) + 1


def read(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens with each number in characters that something is counted by as one token."""
    place = 0
    while place < len(tokens):
        end = place
        while end < len(tokens) and tokens[end].kind == "character" and tokens[end].text in _CHARACTERS:
            end += 1
        if end > place and end < len(tokens) and tokens[end].text in COUNTED:
            shown = "".join(token.shown for token in tokens[place:end])
            value = value_of("".join(token.text for token in tokens[place:end]))
            if value is not None:
                yield Token("number", str(value), shown)
                place = end
                continue
        yield tokens[place]
        place += 1
