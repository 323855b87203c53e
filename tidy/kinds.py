"""Which kind of memory a text is by what it says. Pure.

From text alone two kinds are safe: a task that begins as one, and a contact, a person with an address or number in one
statement of nothing else. Others, and all that looks like these but may be a fact, are for people to decide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidy import han
from tidy.facts import LONGEST, statements


@dataclass(frozen=True, slots=True)
class KindVerdict:
    """The kind that a text tells of. ``is_safe``: it may be corrected without a person."""

    kind: str
    is_safe: bool
    why: tuple[str, ...]


SHORT = 120
"""A longer sentence about two people says more than how they are related, or how one is reached."""
_TASK = re.compile(
    r"\s*(?:[-*]\s*)?(?:to-?do\s*[:：]|TODO\b(?!\s+(?:list|app|item|comment|file)s?\b)|\[ \]"
    r"|remind me (?:to|about|of|on|in|at|when|tomorrow|tonight|every|next)\b"
    r"|erinnere? mich (?:bitte |mal |doch )?(?:an|daran|am|um|in|morgen|heute|nächste[nrs]?|wenn)\b"
    r"|提醒我(?!的|过|了)|待办(?:事项)?\s*[:：])",
    re.IGNORECASE,
)
# What must not be forgotten may be a fact: 别忘了小王过敏.
_MAYBE_TASK = re.compile(
    r"\s*(?:[-*]\s*)?(?:reminder\s*:|don't forget\b|do not forget\b|nicht vergessen\b|aufgabe\s*:|remind me\b"
    r"|别忘了|记得)",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\[x\]|[✓✔✅☑]|\b(?:done|finished|completed|cancell?ed|obsolete|erledigt|fertig|abgesagt|hinfällig)\b"
    r"|已完成|完成了|做完了|已取消|取消了",
    re.IGNORECASE,
)
_MAIL = r"(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}"
# A telephone number: seven digits or more, with the signs that part them; a date or an amount has fewer.
_PHONE = (
    r"(?<![A-Za-z0-9_.])(?:\+\d{1,3}[ \d/().-]{6,18}\d|0\d{1,5}[ /-]\d[\d /-]{4,12}\d|1[3-9]\d{9})(?![A-Za-z0-9_]|\.\d)"
)
_REACHED = (
    r"phone|telephone|mobile|cell|number|e-?mail|reach(?:ed|able)?|contact|call|handle|address"
    r"|telefon\w*|handy\w*|nummer|e-?mail\w*|erreichbar|erreichen|kontakt|adresse"
)
_CONTACT = re.compile(
    rf"(?:\b(?:{_REACHED})\b|电话|手机|邮箱|联系|微信).{{0,60}}?(?:{_MAIL}|{_PHONE})"
    rf"|(?:{_MAIL}|{_PHONE}).{{0,30}}?\b(?:erreichbar|erreichen)\b|\A\s*[^\W\d_]{{2,30}}\s*[:：]\s*(?:{_MAIL}|{_PHONE})"
    r"|\bhandle\b.{0,40}?\s@[A-Za-z0-9_]|微信号?(?:是|为|：|:)\s*[A-Za-z0-9_]",
    re.IGNORECASE | re.DOTALL,
)
_NAME = (
    r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?(?!The\b|Our\b|My\b|Your\b|This\b|That\b)[A-ZÄÖÜ][\w-]{1,30}"
    r"(?: [A-ZÄÖÜ][\w-]{1,30})?"
)
_ROLE = (
    r"(?:[Mm]y|[Oo]ur|[Tt]he) (?:landlord|landlady|dentist|doctor|plumber|electrician|lawyer|accountant|boss|manager"
    r"|nurse|neighbou?r|teacher|mother|father|sister|brother|aunt|uncle|cousin|wife|husband|son|daughter|friend|janitor|tutor)"
)
_GERMAN_ROLE = (
    r"(?:[Mm]ein|[Uu]nser|[Dd]er|[Dd]ie|[Mm]eine|[Uu]nsere) (?:Vermieter|Zahnarzt|Arzt|Klempner|Anwalt|Chef|Nachbar"
    r"|Lehrer|Hausmeister|Freund|Steuerberater)(?:in)?|Mutter|Vater|Schwester|Bruder|Tante|Onkel"
)
_MEANS = (
    r"(?:(?:new|work|private|home|mobile|cell|office|personal) )?(?:(?:tele)?phone(?: number)?|mobile(?: number)?"
    r"|cell(?: number)?|number|e-?mail(?: address)?)"
)
_GERMAN_MEANS = r"(?:Telefon|Handy|Mobil|Fest)?(?:[Nn]ummer|netznummer)|Telefon|Handy|E-?Mail(?:-?[Aa]dresse)?|Mail"
_AT = rf"(?:{_MAIL}|{_PHONE})[.!。]?\s*$"
_REACH = r"(?:can be reached|is reachable)"
# Names begin with a capital letter, so these are the one place where letters are not folded.
_SURE = (
    re.compile(rf"\s*(?:{_NAME}|{_ROLE})(?:'s|’s|'|’) {_MEANS}(?: is|:) {_AT}"),
    re.compile(rf"\s*(?:{_NAME}|{_ROLE}) {_REACH} (?:at|under|on|by|via|through)(?: {_MEANS}:?)? {_AT}"),
    re.compile(rf"\s*(?:You|One|We|I) can (?:reach|call|contact) (?:{_NAME}|{_ROLE}) (?:at|under|on|by|via) {_AT}"),
    re.compile(rf"\s*{_NAME}s? (?:{_GERMAN_MEANS}) (?:ist|lautet)(?: die)? {_AT}"),
    re.compile(rf"\s*Die (?:{_GERMAN_MEANS}) von {_NAME} (?:ist|lautet) {_AT}"),
    re.compile(
        rf"\s*(?:{_NAME}|{_GERMAN_ROLE}) ist (?:unter|über)(?: der)?(?: Nummer)? (?:{_MAIL}|{_PHONE})"
        r"(?: zu)? (?:erreichbar|erreichen)[.!]?\s*$"
    ),
    re.compile(rf"\s*[^\W\d_]{{1,8}}?(?:的)?(?:电话号码|手机号码|手机号|电话|手机|邮箱)(?:是|为|：|:)\s*{_AT}"),
)
# Whose address this is, no person is.
_THING = re.compile(
    r"\b(?:server|service|host|app|api|bot|git|account|konto|order|invoice|ticket|case|serial|tracking|customer|policy|bank"
    r"|repo|project|team|support|no-?reply|daemon|root|admin|postmaster|webmaster|info|sales)\b"
    r"|服务|账号|帐号|订单|系统|公司|客服|热线|项目",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:(?:we|i|team|it was) (?:have |has )?(?:decided|agreed)|let's (?:stick|go) with)\b"
    r"|\b(?:decision|agreed|entscheidung)\s*:|\b(?:wir|ich) (?:haben|habe) (?:beschlossen|entschieden)\b"
    r"|\beinigten? sich\b"
    r"|决定[：:]|(?:我们|主人)决定(?!是不是|是否|不了|吗)|选定了|否决了",
    re.IGNORECASE,
)
_RELATIONSHIP = re.compile(
    r"\b(?:is|are)\b.{0,40}\b(?:sister|brother|mother|father|wife|husband|son|daughter|cousin|uncle|aunt|friend|boss|manager"
    r"|colleague|landlord|landlady|neighbour|neighbor)\b"
    r"|\bist\b.{0,40}\b(?:schwester|bruder|mutter|vater|frau|mann|sohn|tochter|tante|onkel|freund(?:in)?|chef(?:in)?"
    r"|vorgesetzte[rn]?|kolleg(?:e|in)|vermieter(?:in)?|nachbar(?:in)?)\b"
    r"|^[^，,。？?]{1,8}是[^，,。？?不]{1,8}的(?:姐姐|妹妹|哥哥|弟弟|妈妈|母亲|爸爸|父亲|妻子|丈夫|儿子|女儿|朋友|同事|老板|上司|经理"
    r"|房东|邻居)[。.！!]?$|^[^，,。？?不]{3,10}是(?:夫妻|同事|邻居|兄弟|姐妹|朋友)[。.！!]?$",
    re.IGNORECASE,
)


def kind_of(text: str) -> KindVerdict | None:
    """Return the kind that a text tells of by its form, None where it tells of none."""
    if len(text) > LONGEST or text.rstrip().endswith(("?", "？")):
        return None
    said = han.as_listed(text)
    is_one = len(statements(text)) == 1
    if match := _TASK.match(said) or _MAYBE_TASK.match(said):
        if _DONE.search(said):
            return None
        return KindVerdict("task", is_one and match.re is _TASK, (f"It begins with {_quoted(text, match)}.",))
    if not is_one or len(text) > SHORT:
        return None
    is_sure = any(sure.match(said) for sure in _SURE)
    if is_sure or _CONTACT.search(said):
        why = "One statement names how somebody is reached, with an address or number."
        return KindVerdict("contact", is_sure and not _THING.search(said), (why,))
    if match := _DECISION.search(said):
        return KindVerdict("decision", False, (f"It tells of a decision: {_quoted(text, match)}.",))
    if match := _RELATIONSHIP.search(said):
        return KindVerdict("relationship", False, (f"It tells how two people are related: {_quoted(text, match)}.",))
    return None


def _quoted(text: str, match: re.Match[str]) -> str:
    return repr(text[match.start() : match.end()].strip())
