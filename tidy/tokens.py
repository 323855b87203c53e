"""Text cut into words, numbers, dates and signs, as they are compared. Pure, and linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from search.text import CJK, is_cjk
from tidy import language
from tidy.dates import dates

Kind = Literal["word", "number", "date", "raw", "symbol", "character", "comma", "mark", "blank", "end", "bullet"]
"""comma, mark (brackets, dashes) and blank (between Hangul) part words, and are compared by where they stand."""

_ALIKE = str.maketrans("’‘ʼ´“”„«»「」『』‐‑–−", '\'\'\'\'"""""""""----')
_DASH = re.compile(r"(?<!\d)—|—(?!\d)")
# What is compared byte for byte: code, addresses, paths, flags, settings, file names, quotations.
_RAW = rf"""
    (?P<code>```.*?```|`[^`\n]+`)
  | (?P<url>(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{{0,30}}://[^\s<>"'，。；、）】{CJK}]+)
  | (?P<mail>(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]{{1,64}}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)
  | (?P<setting>(?<![A-Za-z0-9_.=])[A-Za-z_][A-Za-z0-9_.]{{0,80}}=[^\s，。；、{CJK}]+)
  | (?P<arrow><?-{{1,3}}>|<-{{1,3}}|=>|[<>=!]=)
  | (?P<flag>(?<![A-Za-z0-9_-])--?[A-Za-z][A-Za-z0-9-]*(?:=[^\s]+)?)
  | (?P<path>(?<![A-Za-z0-9_/])(?:~|\.{{1,2}})?/[\w.~-][^\s，。；、]*|(?<!\w)[A-Za-z]:\\[^\s]+)
  | (?P<handle>(?<!\w)[@\#][A-Za-z0-9_][A-Za-z0-9_.-]*)
  | (?P<file>(?<![A-Za-z0-9_.-])[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)+(?![A-Za-z0-9_]))
  | (?P<quoted>"[^"\n]*"|《[^《》\n]*》)
  | (?P<box>\[[ xX]?\](?=\s|$))
"""
_LETTER = rf"(?:(?![{CJK}])[^\W\d_])"
_TOKEN = re.compile(
    _RAW
    + rf"""
  | (?P<number>(?:(?<![\w)])-)?(?:(?<![\w.])\.)?\d+(?:[.,:/]\d+)*)
  | (?P<end>[!?。！？…]+|\.(?=\s|$|["')\]])|\n+)
  | (?P<bullet>(?:(?<=\n)|^)[ \t]*(?:[*•]|[-+](?![ \t]*\d))[ \t]+)
  | (?P<characters>[{CJK}]+)
  | (?P<word>[A-Za-z]+\d[A-Za-z0-9]*|{_LETTER}+(?:'{_LETTER}+)*)
  | (?P<parting>[,，、\s·・]+)
  | (?P<hyphen>(?<=[^\W_])-(?=[^\W\d_]))
  | (?P<dash>(?<=\s)-{{1,3}}(?=\s)(?!\s+\d))
  | (?P<bracket>[()【】])
  | (?P<symbol>.)
""",
    re.VERBOSE | re.DOTALL,
)
_CONTRACTED = {
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "i'm": ("i", "am"),
}
_ENDINGS = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will"}


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number, date or sign, as it is compared; ``shown`` is how it was written."""

    kind: Kind
    text: str
    shown: str


def tokens_of(text: str) -> Iterator[Token]:
    """Return the tokens of a text in order; one of the kind ``end`` closes a statement."""
    text = _DASH.sub(" - ", text.translate(language.FULL_WIDTH).translate(_ALIKE).strip()).replace("—", "-")
    full_dates = dates(text)
    dated = next(full_dates, None)
    place, before = 0, ""
    opened: list[bool] = []  # brackets that are open, and whether they only part
    while place < len(text):
        while dated is not None and dated.start < place:
            dated = next(full_dates, None)
        if dated is not None and dated.start == place:
            yield Token("date", dated.day.isoformat(), text[place : dated.end])
            place, before = dated.end, "date"
            continue
        match = _TOKEN.match(text, place)
        assert match is not None
        name, said = str(match.lastgroup), match[0]
        if dated is not None and dated.start < match.end() and name in ("number", "word", "characters", "parting"):
            said = text[place : dated.start]
        if name in _EXACT:
            # A full stop behind an address ends the sentence, not the address.
            said = said.rstrip(".,;:!?)") or said
        around = text[max(place - 1, 0) : place], text[place + len(said) : place + len(said) + 1]
        if name == "bracket" and _only_parts(said, *around, opened):
            yield Token("mark", said, said)
        else:
            yield from _made(name, said, before, around)
        place, before = place + len(said), before if name == "parting" else name


_EXACT = frozenset({"code", "url", "mail", "setting", "flag", "path", "handle", "file"})


def _made(name: str, said: str, before: str, around: tuple[str, str]) -> Iterator[Token]:
    """Return the tokens that a match is, seen what kind of match was before it and which characters are around it."""
    if name == "word":
        yield from _word_tokens(said)
    elif name == "characters":
        yield from (Token("character", "和" if one in "与與" else one, one) for one in said)
    elif name == "number":
        yield Token("number", said, said)
    elif name in ("end", "bullet"):
        yield Token("end" if name == "end" else "bullet", said.strip(), said)
    elif name == "parting":
        comma = next((one for one in said if one in ",，、"), None)
        if comma is not None:
            yield Token("comma", ",", comma)
        elif all("가" <= one <= "힣" for one in around):
            yield Token("blank", " ", said)
    elif name == "quoted":
        yield Token("raw", f'"{said[1:-1]}"', said)
    elif name == "dash" and before not in ("number", "date"):
        yield Token("mark", "-", said)
    elif name in _EXACT:
        yield Token("raw", said, said)
    elif name != "hyphen":
        yield Token("symbol", said, said)


def _only_parts(bracket: str, before: str, after: str, opened: list[bool]) -> bool:
    """Return whether a bracket stands around words, as in prose: not in f(x), Lehrer(in), or a face.

    ``opened`` is what is open so far; it is kept up to date.
    """
    if bracket in "(【":
        opened.append((not before.strip() or before in '"(' or is_cjk(before)) and bool(after.strip()))
        return opened[-1]
    ends = not after.strip() or after in '.,;:!?")' or is_cjk(after)
    return bool(opened) and opened.pop() and ends and bool(before.strip())


def _word_tokens(said: str) -> Iterator[Token]:
    folded = said.casefold()
    if folded in _CONTRACTED:
        first, second = _CONTRACTED[folded]
        yield Token("word", first.capitalize() if said[:1].isupper() else first, said)
        yield Token("word", second, "")
        return
    for ending, full in _ENDINGS.items():
        if folded.endswith(ending) and len(folded) > len(ending):
            yield Token("word", said[: -len(ending)], said)
            yield Token("word", full, "")
            return
    yield Token("word", said, said)
