"""Full dates in text: day, month and year, however they are written. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

_ENGLISH = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_GERMAN = (
    *("januar", "februar", "märz", "april", "mai", "juni"),
    *("juli", "august", "september", "oktober", "november", "dezember"),
)
_MONTHS = {name: number for names in (_ENGLISH, _GERMAN) for number, name in enumerate(names, start=1)}
_MONTHS |= {name[:3]: _MONTHS[name] for name in _ENGLISH}
_MONTHS |= {"sept": 9, "jänner": 1, "maerz": 3, "okt": 10, "dez": 12}
MONTH_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DIGITS = "〇零一二三四五六七八九"
_HAN = r"[〇零一二三四五六七八九十]"
_APART, _ENDED = r"(?<![A-Za-z0-9_.,/-])", r"(?![A-Za-z0-9_/-]|\.\d)"
_DATE = re.compile(
    rf"""
    {_APART}(?P<y1>\d{{4}})-(?P<m1>\d{{1,2}})-(?P<d1>\d{{1,2}}){_ENDED}
    | {_APART}(?P<y2>\d{{4}})/(?P<m2>\d{{1,2}})/(?P<d2>\d{{1,2}}){_ENDED}
    | {_APART}(?P<d3>\d{{1,2}})\.\s?(?P<m3>\d{{1,2}})\.\s?(?P<y3>\d{{4}}){_ENDED}
    | {_APART}(?P<d4>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<m4>{MONTH_NAMES})\.?,?\s+(?P<y4>\d{{4}})(?!\w)
    | (?<!\w)(?P<m5>{MONTH_NAMES})\.?\s+(?P<d5>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y5>\d{{4}})(?!\w)
    | (?<!\d)(?P<y6>\d{{4}})\s?年\s?(?P<m6>\d{{1,2}})\s?月\s?(?P<d6>\d{{1,2}})\s?[日号號]
    | (?P<y7>{_HAN}{{4}})年(?P<m7>{_HAN}{{1,3}})月(?P<d7>{_HAN}{{1,3}})[日号號]
    | (?<!\d)(?P<y8>\d{{4}})년\s?(?P<m8>\d{{1,2}})월\s?(?P<d8>\d{{1,2}})일
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Dated:
    """A full date and where it stands in the text."""

    start: int
    end: int
    day: date


def dates(text: str) -> Iterator[Dated]:
    """Return the full dates of a text in order. What names no day that exists is none."""
    for match in _DATE.finditer(text):
        number = next(name[1] for name, value in match.groupdict().items() if value is not None)
        year, month, day = (_number(match[f"{part}{number}"]) for part in "ymd")
        try:
            yield Dated(match.start(), match.end(), date(year, month, day))
        except ValueError:
            continue


def _number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    if text.casefold() in _MONTHS:
        return _MONTHS[text.casefold()]
    if len(text) == 4:
        return int("".join(str("0123456789"[_digit(character)]) for character in text))
    tens, _, ones = text.partition("十")
    if "十" not in text:
        return _digit(text[-1]) if len(text) == 1 else 0
    return 10 * (_digit(tens) if tens else 1) + (_digit(ones) if ones else 0)


def _digit(character: str) -> int:
    place = _DIGITS.find(character)
    return max(place - 1, 0) if len(character) == 1 and place >= 0 else 99
