"""What a text states: its statements as words in order, with the little that may differ without a difference. Pure.

Two statements are the same where every word, particle and number is, in the same order. Levelled are only: the first
letter of a statement, closing marks, commas and brackets, hyphens inside words, contractions of one reading, number
words from two up, full dates, full width, blanks beside CJK characters, Chinese 和 and 与, and umlauts written out.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from search.text import CJK, is_cjk
from tidy import language
from tidy.dates import dates
from tidy.lists import in_one_order

Kind = Literal["word", "number", "date", "raw", "symbol", "character", "comma"]
LONGEST = 20_000
"""Characters of a text that are compared; a longer one is equal to its literal copy alone."""
EXACT, LOOSE = 1.0, 0.96
SAME_MAX = 20
"""Statements of the same words in any order that are compared with one."""

_ALIKE = str.maketrans("’‘ʼ´“”„«»「」『』‐‑–—−", '\'\'\'\'"""""""""-----')
# What is compared byte for byte: code, addresses, paths, flags, settings, file names, quotations.
_RAW = rf"""
    (?P<code>`[^`\n]+`)
  | (?P<url>[a-z][a-z0-9+.-]*://[^\s<>"'，。；、）】{CJK}]+)
  | (?P<mail>[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)
  | (?P<setting>(?<![A-Za-z0-9_=])[A-Za-z_][A-Za-z0-9_.]*=[^\s，。；、{CJK}]+)
  | (?P<flag>(?<![A-Za-z0-9_-])--?[A-Za-z][A-Za-z0-9-]*(?:=[^\s]+)?)
  | (?P<path>(?<![A-Za-z0-9_/])(?:~|\.{{1,2}})?/[\w.~-][^\s，。；、]*|(?<!\w)[A-Za-z]:\\[^\s]+)
  | (?P<handle>(?<!\w)[@\#][A-Za-z0-9_][A-Za-z0-9_.-]*)
  | (?P<file>(?<![A-Za-z0-9_.])[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)+(?![A-Za-z0-9_]))
  | (?P<quoted>"[^"\n]*"|《[^》\n]*》)
"""
_LETTER = rf"(?:(?![{CJK}])[^\W\d_])"
_TOKEN = re.compile(
    _RAW
    + rf"""
  | (?P<number>(?:(?<![\w)])-)?\d+(?:[.,:/]\d+)*)
  | (?P<end>[!?。！？…]+|\.(?=\s|$|["')\]])|\n+)
  | (?P<bullet>(?:(?<=\n)|^)[ \t]*(?:[-*•+]|\d+[.)])[ \t]+)
  | (?P<range>(?<=\d)-(?=\d))
  | (?P<characters>[{CJK}]+)
  | (?P<word>[A-Za-z]+\d[A-Za-z0-9]*|{_LETTER}+(?:'{_LETTER}+)*)
  | (?P<level>(?:[,，、()\[\]{{}}（）【】·・\s.]|-(?!\d))+)
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
_CJK_QUESTION = re.compile(r"(吗|嗎|么|呢|吧)\s*$")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number, date or sign, as it is compared; ``shown`` is how it was written."""

    kind: Kind
    text: str
    shown: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence or line."""

    tokens: tuple[Token, ...]
    is_question: bool = False
    is_bullet: bool = False
    # With the items of a list sorted whose order is free; otherwise the same.
    ordered: tuple[Token, ...] = ()

    def __str__(self) -> str:
        shown = ""
        for token in self.tokens:
            glued = not shown or (is_cjk(token.shown[:1]) and is_cjk(shown[-1]))
            shown += token.shown if glued else f" {token.shown}"
        return f"{shown}?" if self.is_question else shown

    @property
    def words(self) -> list[str]:
        """Return its words, case-folded."""
        return [token.text.casefold() for token in self.tokens if token.kind == "word"]

    @property
    def run(self) -> str:
        """Return its CJK characters in one run, others as blanks."""
        return "".join(token.text if token.kind == "character" else " " for token in self.tokens)


@lru_cache(maxsize=4096)
def statements(text: str) -> tuple[Statement, ...]:
    """Return what a text states, sentence by sentence and line by line, empty ones left out."""
    found: list[Statement] = []
    tokens: list[Token] = []
    is_bullet = False

    def close(mark: str) -> None:
        nonlocal is_bullet
        if any(token.kind != "comma" for token in tokens):
            run = "".join(token.text for token in tokens if token.kind == "character")
            is_question = "?" in mark or _CJK_QUESTION.search(run) is not None
            said = _without_label(tokens)
            plain = _levelled([token for token in said if token.kind != "comma"])
            found.append(Statement(plain, is_question, is_bullet, _levelled(in_one_order(said))))
        tokens.clear()
        is_bullet = False

    for name, token in _scanned(text.translate(language.FULL_WIDTH).translate(_ALIKE).strip()):
        if name == "end":
            close(token.shown)
        elif name == "bullet":
            close("")
            is_bullet = True
        else:
            tokens.append(token)
    close("")
    return tuple(found)


def _scanned(text: str) -> Iterator[tuple[str, Token]]:
    """Return the tokens of a text in order with what they are, and where a statement ends."""
    full_dates = {dated.start: dated for dated in dates(text)}
    place = 0
    while place < len(text):
        dated = full_dates.get(place)
        if dated is not None:
            yield "token", Token("date", dated.day.isoformat(), text[place : dated.end])
            place = dated.end
            continue
        match = _TOKEN.match(text, place)
        assert match is not None
        name, said = str(match.lastgroup), match[0]
        ends = [start for start in full_dates if place < start < match.end()]
        if ends and name in ("number", "word", "characters", "level"):
            said = text[place : min(ends)]
        place += len(said)
        if name in ("end", "bullet"):
            yield name, Token("symbol", said.strip(), said)
        elif name == "number":
            yield "token", Token("number", said, said)
        elif name == "characters":
            yield from (("token", Token("character", "和" if one in "与與" else one, one)) for one in said)
        elif name == "word":
            yield from (("token", token) for token in _word_tokens(said))
        elif name in ("symbol", "range"):
            yield "token", Token("symbol", said, said)
        elif name == "quoted":
            yield "token", Token("raw", f'"{said[1:-1]}"', said)
        elif name == "level" and (comma := next((one for one in said if one in ",，、"), None)):
            yield "token", Token("comma", ",", comma)
        elif name != "level":
            # A full stop behind an address ends the sentence, not the address.
            kept = said.rstrip(".,;:!?)") or said
            yield "token", Token("raw", kept, kept)
            place -= len(said) - len(kept)


def _word_tokens(said: str) -> Iterator[Token]:
    folded = said.casefold()
    if folded in _CONTRACTED:
        first, second = _CONTRACTED[folded]
        yield Token("word", _cased_as(said, first), said)
        yield Token("word", second, "")
        return
    for ending, full in _ENDINGS.items():
        if folded.endswith(ending) and len(folded) > len(ending):
            yield Token("word", said[: -len(ending)], said)
            yield Token("word", full, "")
            return
    if folded in language.NUMBERS:
        yield Token("number", language.NUMBERS[folded], said)
        return
    yield Token("word", said, said)


def _cased_as(said: str, text: str) -> str:
    return text.capitalize() if said[:1].isupper() else text


def _levelled(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Return the tokens with the first letter small, where it tells nothing, and Latin words among Chinese ones."""
    tokens = [_full_hour(token, tokens[place + 1 : place + 2]) for place, token in enumerate(tokens)]
    first, *rest = tokens
    if first.kind == "word" and first.text.casefold() not in language.KEPT_CAPITALS:
        first = replace(first, text=first.text[0].lower() + first.text[1:])
    found = [first, *rest]
    characters = sum(token.kind == "character" for token in found)
    if characters > sum(token.kind == "word" for token in found):
        found = [replace(token, text=token.text.casefold()) if token.kind == "word" else token for token in found]
    return tuple(found)


def _without_label(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens without what only says that a note follows."""
    has_label = len(tokens) > 2 and tokens[1].text == ":" and tokens[0].text.casefold() in language.LABELS
    return tokens[2:] if has_label else tokens


def _full_hour(token: Token, following: Sequence[Token]) -> Token:
    """Return 14:00 Uhr as 14 Uhr."""
    if token.kind == "number" and token.text.endswith(":00") and following and following[0].text == "Uhr":
        return replace(token, text=token.text.removesuffix(":00"))
    return token


def _same_word(one: Token, other: Token) -> bool:
    if one.kind != other.kind:
        return False
    if one.text == other.text:
        return True
    # Umlauts written out, by somebody without the keys for them. Without one, ss is not ß: Maße are not Masse.
    if one.kind != "word" or _has_umlaut(one.text) == _has_umlaut(other.text):
        return False
    return one.text.translate(_UMLAUTS) == other.text.translate(_UMLAUTS)


def _has_umlaut(text: str) -> bool:
    return any(letter in "äöüÄÖÜ" for letter in text)


def sameness(one: Statement, other: Statement) -> float | None:
    """Return 1.0 for the same words in the same order, .96 where only articles or one free adverb differ, else None."""
    if one.is_question != other.is_question:
        return None
    for left, right in ((one.tokens, other.tokens), (one.ordered, other.ordered)):
        if left and len(left) == len(right) and all(map(_same_word, left, right)):
            return EXACT
    first, second = _without_adverbs(one.tokens), _without_adverbs(other.tokens)
    if abs(_free(one.tokens) - _free(other.tokens)) > 1 or max(_free(one.tokens), _free(other.tokens)) > 1:
        return None
    if _same_but_for_articles(first, second):
        return LOOSE
    moved, other_moved = _without_moved(first), _without_moved(second)
    is_same = moved is not None and other_moved is not None and _same_but_for_articles(moved, other_moved)
    return LOOSE if is_same else None


def _without_moved(tokens: Sequence[Token]) -> list[Token] | None:
    """Return the tokens without the one adverb that may move behind is or has, None where it cannot."""
    folded = [token.text.casefold() for token in tokens]
    if sum(word in language.MOVED_ADVERBS for word in folded) != 1:
        return None
    place = next(place for place, word in enumerate(folded) if word in language.MOVED_ADVERBS)
    if not set(folded[:place]) & language.BEING:
        return None
    return [*tokens[:place], *tokens[place + 1 :]]


def _free(tokens: Sequence[Token]) -> int:
    return sum(_is_free(token) for token in tokens)


def _is_free(token: Token) -> bool:
    return token.kind == "word" and token.text.casefold() in language.FREE_ADVERBS


def _without_adverbs(tokens: Sequence[Token]) -> list[Token]:
    kept = [token for token in tokens if not _is_free(token)]
    if kept and _is_free(tokens[0]) and kept[0].kind == "word":
        kept[0] = _small(kept[0])
    return kept


def _small(token: Token) -> Token:
    if token.text.casefold() in language.KEPT_CAPITALS:
        return token
    return replace(token, text=token.text[0].lower() + token.text[1:])


def _same_but_for_articles(one: Sequence[Token], other: Sequence[Token]) -> bool:
    i = j = 0
    while i < len(one) or j < len(other):
        if i < len(one) and j < len(other) and _same_word(one[i], other[j]):
            i, j = i + 1, j + 1
        elif _may_be_missing(one, i) and not _is_article(other, j):
            i += 1
        elif _may_be_missing(other, j) and not _is_article(one, i):
            j += 1
        else:
            return False
    return True


def _is_article(tokens: Sequence[Token], place: int) -> bool:
    return place < len(tokens) and tokens[place].kind == "word" and tokens[place].text.casefold() in language.ARTICLES


def _may_be_missing(tokens: Sequence[Token], place: int) -> bool:
    if not _is_article(tokens, place):
        return False
    following = tokens[place + 1].text.casefold() if place + 1 < len(tokens) else ""
    return bool(following) and following not in language.ARTICLE_TELLS


def equivalence(one: str, other: str) -> float | None:
    """Return how surely two texts state the same, 1.0 or .96, None where they may not."""
    if max(len(one), len(other)) > LONGEST:
        return EXACT if one.strip() == other.strip() else None
    first, second = statements(one), statements(other)
    if not first or len(first) != len(second) or not (says_something(first) and says_something(second)):
        return None
    found = [sameness(*pair) for pair in zip(first, second, strict=True)]
    if all(found):
        return min(value for value in found if value is not None)
    if not (is_free_in_order(first) and is_free_in_order(second)):
        return None
    return _matched(first, second)


def says_something(found: Sequence[Statement]) -> bool:
    """Return whether there is more than marks: rules of tables are alike and say nothing."""
    return any(token.kind != "symbol" for statement in found for token in statement.tokens)


def _matched(first: Sequence[Statement], second: Sequence[Statement]) -> float | None:
    found = pairs_of(first, second)
    return min((value for _, _, value in found), default=None) if len(found) == len(first) else None


def pairs_of(first: Sequence[Statement], second: Sequence[Statement]) -> list[tuple[int, int, float]]:
    """Return which statements of both are the same, by their places, each once, and how surely."""
    # Only what has the same words is compared, so that long texts take no longer than they are.
    places: dict[tuple[str, ...], list[int]] = {}
    for place, statement in enumerate(second):
        places.setdefault(_loose_words(statement), []).append(place)
    found = []
    for place, statement in enumerate(first):
        left = places.get(_loose_words(statement), [])
        for index, other in enumerate(left[:SAME_MAX]):
            value = sameness(statement, second[other])
            if value is not None:
                found.append((place, other, value))
                del left[index]
                break
    return found


def _loose_words(statement: Statement) -> tuple[str, ...]:
    return tuple(sorted(text for token in statement.tokens if (text := loose(token))))


def is_free_in_order(found: Sequence[Statement]) -> bool:
    """Return whether the statements say the same in any order: each tells how something is, none looks at another."""
    return len(found) > 1 and all(_stands_alone(statement) for statement in found)


def _stands_alone(statement: Statement) -> bool:
    if statement.is_question:
        return False
    said, run = set(statement.words), statement.run
    if said & (language.PRONOUNS | language.ORDER_WORDS) or any(mark in run for mark in language.CJK_PRONOUNS):
        return False
    if any(mark in run for mark in language.CJK_ORDER):
        return False
    return bool(said & language.STATES) or any(mark in run for mark in language.CJK_STATES)


def loose(token: Token) -> str:
    """Return what tokens that may be the same have in common, empty for those that may be missing."""
    folded = token.text.casefold()
    if token.kind == "word":
        return "" if folded in language.ARTICLES | language.FREE_ADVERBS else folded.translate(_UMLAUTS)
    return token.text if token.kind == "raw" else folded


def equivalence_key(text: str) -> str:
    """Return what all texts share that are equivalent, as 16 characters; few others do."""
    if len(text) > LONGEST:
        return digest(text.strip())
    counted = Counter(loose(token) for statement in statements(text) for token in statement.tokens)
    del counted[""]
    return digest(repr(sorted(counted.items())) if counted else text.strip())


def digest(text: str) -> str:
    """Return a short hash that is the same in every process and version."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
