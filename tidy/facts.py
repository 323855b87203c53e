"""What a text states: its statements, as words in order. Pure.

A statement is a sentence or a line. Levelled are only: the first letter of a statement, closing marks, hyphens inside
words, contractions of one reading, number words from two up, full dates, full width, blanks beside CJK characters,
Chinese 和 and 与, and characters whose traditional and simplified form stand one for one. What may differ besides,
tidy/sameness.py says.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from search.text import is_cjk
from tidy import han, han_numbers, language
from tidy.lists import has_joint, in_one_order
from tidy.tokens import Token, tokens_of

LONGEST = 20_000
"""Characters of a text that are compared; a longer one is equal to its literal copy alone."""
SHORT = 400
"""Characters of a text up to which many are kept in memory; of longer ones few are."""
_CJK_QUESTION = re.compile(r"[吗嗎么呢吧]$")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence or line.

    ``ordered`` is its tokens with the items of a list sorted whose order is free. ``parted`` are the places in front of
    whose token a comma, a dash or a bracket stands, ``listed`` those of 、 and ``spaced`` those of blanks in Korean.
    """

    tokens: tuple[Token, ...]
    is_question: bool = False
    ordered: tuple[Token, ...] = ()
    parted: frozenset[int] = frozenset()
    listed: frozenset[int] = frozenset()
    spaced: frozenset[int] = frozenset()
    spoken: language.Language | None = None

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
        """Return its CJK characters in one run, as closed lists have them, and others as blanks."""
        run = "".join(token.text if token.kind == "character" else " " for token in self.tokens)
        return han.as_listed(run) if self.spoken == "zh" else run


def statements(text: str) -> tuple[Statement, ...]:
    """Return what a text states, sentence by sentence and line by line, empty ones left out."""
    return _of_short(text) if len(text) <= SHORT else _of_long(text)


def _read(text: str) -> tuple[Statement, ...]:
    spoken = language.language_of(text)
    found: list[Statement] = []
    tokens: list[Token] = []
    for token in tokens_of(text) if spoken != "zh" else _in_chinese(text):
        if token.kind in ("end", "bullet"):
            found += _closed(tokens, token.text, spoken)
            tokens = []
        else:
            tokens.append(token)
    return (*found, *_closed(tokens, "", spoken))


def _in_chinese(text: str) -> Iterator[Token]:
    """Yield the tokens with simplified characters, and numbers in characters as numbers."""
    return han_numbers.read([_simplified(token) if token.kind == "character" else token for token in tokens_of(text)])


_of_short: Callable[[str], tuple[Statement, ...]] = lru_cache(maxsize=4096)(_read)
_of_long: Callable[[str], tuple[Statement, ...]] = lru_cache(maxsize=64)(_read)


def _closed(tokens: list[Token], mark: str, spoken: language.Language | None) -> list[Statement]:
    """Return the statement that some tokens and the mark behind them are, none where there are no words."""
    plain: list[Token] = []
    places: dict[str, set[int]] = {"comma": set(), "mark": set(), "blank": set(), "、": set()}
    said = _without_label(tokens)
    for token in said:
        if token.kind in places:
            places[token.kind].add(len(plain))
            places.get(token.shown, set()).add(len(plain))
        else:
            plain.append(token)
    if not plain:
        return []
    is_question = "?" in mark or (plain[-1].kind == "character" and _CJK_QUESTION.search(plain[-1].text) is not None)
    levelled, parted = _levelled(plain, spoken), frozenset(places["comma"] | places["mark"])
    ordered = levelled
    if parted or has_joint(plain):
        ordered = _levelled(in_one_order([token for token in said if token.kind not in ("mark", "blank")]), spoken)
    listed, spaced = frozenset(places["、"]), frozenset(places["blank"])
    return [Statement(levelled, is_question, ordered, parted, listed, spaced, spoken)]


def _simplified(token: Token) -> Token:
    text = han.simplified(token.text)
    return token if text == token.text else replace(token, text=text)


def _without_label(tokens: list[Token]) -> list[Token]:
    """Return the tokens without what only says that a note follows."""
    has_label = len(tokens) > 2 and tokens[1].text == ":" and tokens[0].text.casefold() in language.LABELS
    return tokens[2:] if has_label else tokens


def _levelled(tokens: Sequence[Token], spoken: language.Language | None) -> tuple[Token, ...]:
    """Return the tokens with what is written in several ways written in one."""
    found = list(tokens)
    characters = sum(token.kind == "character" for token in tokens)
    is_chinese = 2 * characters > sum(token.kind in ("word", "character") for token in tokens)
    for place, token in enumerate(tokens):
        if token.kind == "word":
            # Behind a number letters are a unit: mW is not MW.
            if is_chinese and not (place and tokens[place - 1].kind == "number"):
                found[place] = replace(token, text=token.text.casefold())
            elif place == 0:
                found[0] = small(token)
            number = language.NUMBERS.get(spoken or "en", {}).get(token.text.casefold())
            if number is not None and not _is_among_numbers(tokens, place, spoken):
                found[place] = Token("number", number, token.shown)
        elif token.kind == "number" and [after.text for after in tokens[place + 1 : place + 2]] == ["Uhr"]:
            found[place] = replace(token, text=token.text.removesuffix(":00"))
    return tuple(found)


def _is_among_numbers(tokens: Sequence[Token], place: int, spoken: language.Language | None) -> bool:
    """Return whether a number word stands beside another one: twenty five are not 20 and 5."""
    known = language.NUMBERS.get(spoken or "en", {})
    beside = [*tokens[max(place - 1, 0) : place], *tokens[place + 1 : place + 2]]
    return any(token.kind == "number" or token.text.casefold() in known for token in beside)


def small(token: Token) -> Token:
    """Return the token with a small first letter, where a capital one may come from the beginning of a sentence."""
    if token.kind != "word" or token.text.casefold() in language.KEPT_CAPITALS:
        return token
    return replace(token, text=token.text[0].lower() + token.text[1:])


def has_umlaut(text: str) -> bool:
    """Return whether a word has a German umlaut."""
    return any(letter in "äöüÄÖÜ" for letter in text)


def without_umlauts(text: str) -> str:
    """Return a word with its umlauts written out, as by somebody without the keys for them."""
    return text.translate(_UMLAUTS)


def says_something(found: Sequence[Statement]) -> bool:
    """Return whether there is more than marks: rules of tables are alike and say nothing."""
    return any(token.kind != "symbol" for statement in found for token in statement.tokens)


def loose(token: Token) -> str:
    """Return what tokens that may be the same have in common, empty for those that may be missing."""
    return _loose(token.kind, token.text)


@lru_cache(maxsize=16_384)
def _loose(kind: str, text: str) -> str:
    folded = text.casefold()
    if kind == "word":
        return "" if folded in language.ARTICLES or folded in language.FREE_ADVERBS else without_umlauts(folded)
    return text if kind == "raw" else folded


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
