"""Where the order of words is free: lists of what somebody has or likes, and pairs that do something with each other.

Elsewhere it is not: a journey by Bonn, Ulm and Graz is another one by Graz, Ulm and Bonn. So only a list of single
words at the end of a statement counts, right after a verb from a closed list. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidy.language import CJK_ORDER, ORDER_WORDS, runs_of, words

if TYPE_CHECKING:
    from tidy.tokens import Token

_VERBS = words(
    "sells sell likes like speaks speak uses use eats eat drinks drink plays play knows know grows grow owns own "
    "verkauft verkaufen mag mögen spricht sprechen nutzt nutzen isst essen trinkt trinken spielt spielen kennt kennen "
    "besitzt besitzen"
)
_HAVING = words("has have hat haben")
_JOINTS = words("and or und oder")
# Where it is said in which order, or who has which, the order is not free.
_ORDERED = ORDER_WORDS - _JOINTS | words(
    "respectively consecutively successively alternately order turn nacheinander reihum abwechselnd jeweils"
)
_CHINESE_VERBS = runs_of("喜欢 使用 会说 卖 有 养")
_CHINESE_ORDERED = (*CJK_ORDER, *runs_of("依次 顺序 分别 先后 轮流 按 最"))
# What a measure word in front counts is the item behind it, and all behind that.
_NO_ITEM = frozenset("了的不没是在给把被会要去来和一二三四五六七八九十百千万两几半数多各每种个只条")
_TOGETHER = runs_of("共用 是同事 是邻居 是夫妻 是朋友 是兄弟 是姐妹 合租")
LEAST, LONGEST_ITEM, LONGEST_NAME = 3, 6, 4


def has_joint(tokens: Sequence[Token]) -> bool:
    """Return whether there is the Chinese and, between two of which each may come first."""
    return any(token.text == "和" for token in tokens)


def in_one_order(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with a list whose order is free sorted, and without commas."""
    found = (
        _sorted_words(list(tokens)) or _sorted_characters(list(tokens)) or _sorted_pair(list(tokens)) or list(tokens)
    )
    return [token for token in found if token.kind != "comma"]


def _sorted_words(tokens: list[Token]) -> list[Token] | None:
    """Return ``... verb a, b and c`` with its items sorted, None where there is no such list."""
    if len(tokens) < 2 * LEAST or tokens[-2].text.casefold() not in _JOINTS:
        return None
    items, place = [tokens[-1]], len(tokens) - 3
    if tokens[place].kind == "comma":  # a, b, and c
        place -= 1
    while place >= 1 and tokens[place].kind == "word":
        items.append(tokens[place])
        if tokens[place - 1].kind != "comma":
            break
        place -= 2
    if len(items) < LEAST or any(item.kind != "word" for item in items) or place < 1:
        return None
    if not _lists_things(tokens[place - 1].text.casefold(), items):
        return None
    if any(token.text.casefold() in _ORDERED for token in tokens[:place]):
        return None
    ordered = sorted(items, key=lambda item: item.text)
    return [*tokens[:place], *ordered[:-1], tokens[-2], ordered[-1]]


def _lists_things(verb: str, items: Sequence[Token]) -> bool:
    """Return whether a verb has a list of things behind it, and not of what was done: has laughed, cried and left."""
    if verb in _HAVING:
        return all(item.shown[:1].isupper() or item.text.endswith("s") for item in items)
    return verb in _VERBS


def _sorted_characters(tokens: list[Token]) -> list[Token] | None:
    """Return ``...卖甲、乙和丙`` with its items sorted, None where there is no such list."""
    run = "".join(token.text if token.kind == "character" else " " for token in tokens)
    if len(run) != len(tokens) or any(mark in run for mark in _CHINESE_ORDERED):
        return None
    begin = max((run.find(verb) + len(verb) for verb in _CHINESE_VERBS if verb in run), default=0)
    items: list[list[Token]] = [[]]
    for token in tokens[begin:]:
        if (token.kind == "comma" and token.shown == "、") or token.text == "和":
            items.append([])
        else:
            items[-1].append(token)
    if not begin or len(items) < LEAST or not all(_is_item(item) for item in items):
        return None
    return [*tokens[:begin], *(token for item in sorted(items, key=_text) for token in item)]


def _is_item(item: Sequence[Token]) -> bool:
    fits = 0 < len(item) <= LONGEST_ITEM
    return fits and all(token.kind == "character" and token.text not in _NO_ITEM for token in item)


def _text(item: Sequence[Token]) -> str:
    return "".join(token.text for token in item)


def _sorted_pair(tokens: list[Token]) -> list[Token] | None:
    """Return ``甲和乙是同事`` with the two in one order, None where it tells of nothing that is mutual."""
    run = "".join(token.text if token.kind == "character" else " " for token in tokens)
    place = min((run.find(mark) for mark in _TOGETHER if mark in run), default=-1)
    joint = run.find("和")
    if len(run) != len(tokens) or not 0 < joint < place or place - joint - 1 > LONGEST_NAME or joint > LONGEST_NAME:
        return None
    pair = [tokens[:joint], tokens[joint + 1 : place]]
    if not all(_is_item(name) for name in pair):
        return None
    first, second = sorted(pair, key=_text)
    return [*first, tokens[joint], *second, *tokens[place:]]
