"""Which kind of memory a text is by what it says. Pure.

From text alone two kinds are safe: a task that begins as one, and a contact, a person with an address or number. Others
are for people to decide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidy.facts import LONGEST, statements


@dataclass(frozen=True, slots=True)
class KindVerdict:
    """The kind that a text tells of. ``is_safe``: it may be corrected without a person."""

    kind: str
    is_safe: bool
    why: tuple[str, ...]


SHORT = 120
"""A longer sentence about two people says more than how they are related."""
_TASK = re.compile(
    r"\s*(?:[-*]\s*)?(?:to-?do\b\s*[:：-]?|\[ \]|remind me\b|reminder\s*:|don't forget to\b|do not forget to\b"
    r"|erinnere mich\b|erinner mich\b|nicht vergessen\s*:|aufgabe\s*:|提醒我|待办|待辦|别忘了|別忘了)",
    re.IGNORECASE,
)
_DONE = re.compile(r"\[x\]|\bdone\b|\berledigt\b|已完成|完成了|做完了", re.IGNORECASE)
_MAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
# A telephone number: seven digits or more, with the signs that part them; a date or an amount has fewer.
_PHONE = r"(?<![\w.])(?:\+\d{1,3}[ \d/().-]{6,18}\d|0\d{1,5}[ /-]\d[\d /-]{4,12}\d|1[3-9]\d{9})(?!\w|\.\d)"
_REACHED = (
    r"phone|telephone|mobile|cell|number|e-?mail|reach(?:ed|able)?|contact|call|handle|address"
    r"|telefon\w*|handy\w*|nummer|e-?mail\w*|erreichbar|erreichen|kontakt|adresse"
)
_CONTACT = re.compile(
    rf"(?:\b(?:{_REACHED})\b|电话|手机|邮箱|郵箱|联系|聯繫|微信).{{0,60}}?(?:{_MAIL}|{_PHONE})",
    re.IGNORECASE | re.DOTALL,
)
_CONTACT_TURNED = re.compile(rf"(?:{_MAIL}|{_PHONE}).{{0,30}}?\b(?:erreichbar|erreichen)\b", re.IGNORECASE | re.DOTALL)
_DECISION = re.compile(
    r"\b(?:(?:we|i|team|it was) (?:have |has )?(?:decided|agreed)|decision\s*:|agreed\s*:|let's (?:stick|go) with)\b"
    r"|\b(?:wir|ich) (?:haben|habe) (?:beschlossen|entschieden)\b|\bentscheidung\s*:|\beinigte(?:n)? sich\b"
    r"|决定[：:]|(?:我们|主人)决定(?!是不是|是否|不了|吗)|选定了|否决了",
    re.IGNORECASE,
)
_RELATIONSHIP = re.compile(
    r"\b(?:is|are)\b.{0,40}\b(?:sister|brother|mother|father|wife|husband|son|daughter|cousin|uncle|aunt|friend|boss|manager"
    r"|colleague|landlord|landlady|neighbour|neighbor)\b"
    r"|\bist\b.{0,40}\b(?:schwester|bruder|mutter|vater|frau|mann|sohn|tochter|tante|onkel|freund(?:in)?|chef(?:in)?"
    r"|vorgesetzte[rn]?|kolleg(?:e|in)|vermieter(?:in)?|nachbar(?:in)?)\b"
    r"|^[^，,。？?]{1,8}是[^，,。？?不]{1,8}的(?:姐姐|妹妹|哥哥|弟弟|妈妈|母亲|爸爸|父亲|妻子|丈夫|儿子|女儿|朋友|同事|老板|上司|经理"
    r"|房东|邻居)[。.！!]?$",
    re.IGNORECASE,
)


def kind_of(text: str) -> KindVerdict | None:
    """Return the kind that a text tells of by its form, None where it tells of none."""
    if len(text) > LONGEST:
        return None
    if match := _TASK.match(text):
        if _DONE.search(text):
            return None
        return KindVerdict("task", True, (f"It begins with {match[0].strip()!r}.",))
    if len(statements(text)) != 1 or text.rstrip().endswith(("?", "？")):
        return None
    if _CONTACT.search(text) or _CONTACT_TURNED.search(text):
        return KindVerdict(
            "contact", True, ("One statement names how somebody is reached, with an address or number.",)
        )
    if match := _DECISION.search(text):
        return KindVerdict("decision", False, (f"It tells of a decision: {match[0]!r}.",))
    if (match := _RELATIONSHIP.search(text)) and len(text) <= SHORT:
        return KindVerdict("relationship", False, (f"It tells how two people are related: {match[0]!r}.",))
    return None
