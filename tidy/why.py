"""Why something was proposed, in the reader's language: the evidence keeps it in English, as programs are told."""

from __future__ import annotations

import re

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

VETOES: dict[str, Promise] = {
    "their numbers differ": _("their numbers differ"),
    "their dates differ": _("their dates differ"),
    "their units differ": _("their units differ"),
    "one denies what the other does not": _("one denies what the other does not"),
    "one is less certain or less strict than the other": _("one is less certain or less strict than the other"),
    "their names differ": _("their names differ"),
    "the same words stand in another order": _("the same words stand in another order"),
    "their commas, brackets or lines stand elsewhere": _("their commas, brackets or lines stand elsewhere"),
    "what they quote or name exactly differs": _("what they quote or name exactly differs"),
    "one asks what the other states": _("one asks what the other states"),
    "the rules do not know their language": _("the rules do not know their language"),
    "their words differ": _("their words differ"),
}
FIXED: dict[str, Promise] = {
    "The texts are equal.": _("The texts are equal."),
    "They are too long to be compared.": _("They are too long to be compared."),
    "There are marks and no words.": _("There are marks and no words."),
    "Every word, number and particle is the same, in the same order.": _(
        "Every word, number and particle is the same, in the same order."
    ),
    "Every word and number is the same, but for an article or one adverb that changes nothing.": _(
        "Every word and number is the same, but for an article or one adverb that changes nothing."
    ),
    "One states all of the other.": _("One states all of the other."),
    "One says the same and more.": _("One says the same and more."),
    "The same words in the same order.": _("The same words in the same order."),
    "One says what the other denies.": _("One says what the other denies."),
    "One statement names how somebody is reached, with an address or number.": _(
        "One statement names how somebody is reached, with an address or number."
    ),
}
PATTERNS: tuple[tuple[re.Pattern[str], Promise], ...] = (
    (
        re.compile(r"They may not be merged without a person: (?P<veto>.+)\."),
        _("They may not be merged without a person: %(veto)s."),
    ),
    (
        re.compile(r"They are the same but for (?P<one>.+) here and (?P<other>.+) there\.", re.DOTALL),
        _("They are the same but for %(one)s here and %(other)s there."),
    ),
    (
        re.compile(r"There can be one of it, and it is (?P<one>.+) here and (?P<other>.+) there\.", re.DOTALL),
        _("There can be one of it, and it is %(one)s here and %(other)s there."),
    ),
    (re.compile(r"It expired on (?P<day>[\d-]+)\."), _("It expired on %(day)s.")),
    (
        re.compile(r"An observation of importance (?P<number>\d) that nobody has touched for (?P<days>\d+) days\."),
        _("An observation of importance %(number)s that nobody has touched for %(days)s days."),
    ),
    (re.compile(r"Its only date, (?P<day>[\d-]+), is past\."), _("Its only date, %(day)s, is past.")),
    (
        re.compile(r"Its only date, (?P<day>[\d-]+), is past, and nothing in it says that it lasts or repeats\."),
        _("Its only date, %(day)s, is past, and nothing in it says that it lasts or repeats."),
    ),
    (
        re.compile(r"What happened is told by (?P<verb>.+), which leaves nothing behind\.", re.DOTALL),
        _("What happened is told by %(verb)s, which leaves nothing behind."),
    ),
    (re.compile(r"It begins with (?P<words>.+)\.", re.DOTALL), _("It begins with %(words)s.")),
    (re.compile(r"It tells of a decision: (?P<words>.+)\.", re.DOTALL), _("It tells of a decision: %(words)s.")),
    (
        re.compile(r"It tells how two people are related: (?P<words>.+)\.", re.DOTALL),
        _("It tells how two people are related: %(words)s."),
    ),
)


def in_words(line: str) -> str:
    """Return a line of evidence in the reader's language; one of other rules stays as it is."""
    if line in FIXED:
        return str(FIXED[line])
    for pattern, said in PATTERNS:
        if match := pattern.fullmatch(line):
            found = match.groupdict()
            if "veto" in found:
                found["veto"] = str(VETOES.get(found["veto"], found["veto"]))
            return str(said) % found
    return line


def is_known(line: str) -> bool:
    """Return whether there is a sentence for the line."""
    return line in FIXED or any(pattern.fullmatch(line) for pattern, _said in PATTERNS)
