"""What may be tidied, decided by rules alone: pure, deterministic, and each verdict says why.

No measure of likeness is safe: texts may share every word and say the opposite. So a pair is merged without a person
only where every word, particle and number is the same in the same order but for what tidy/facts.py levels; the
similarity only says which of these it was. All else is for people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tidy import facts, language
from tidy.events import Event, looks_like_habit, one_off_event, possible_event
from tidy.facts import LONGEST, Statement, equivalence_key, statements
from tidy.kinds import KindVerdict, kind_of
from tidy.sameness import equivalence, is_free_in_order, pairs_of
from tidy.tokens import Token

__all__ = [
    "RULES_VERSION",
    "Event",
    "KindVerdict",
    "PairVerdict",
    "contradiction_keys",
    "equivalence_key",
    "is_literal_duplicate",
    "judge_pair",
    "kind_of",
    "looks_like_habit",
    "may_belong_together",
    "near_keys",
    "one_off_event",
    "possible_event",
    "veto_low_confidence",
]

RULES_VERSION = 3
"""Raised whenever a verdict may change: memories are then looked at again."""
UNSURE = 0.94
"""The highest similarity of what is not equivalent."""
LIKELY = 0.9
"""Share of content words, in the same order, from which people are asked whether two texts are the same."""
FEW_MISSING = 2
LEAST_INSIDE = 4
"""Words of a text that another one may have and more: thanks and headings stand in many others."""
FRAMES = 3
FRAMED = 80
"""Words of a statement that may name something there can be one of; longer ones tell stories."""
STATED = 6
"""Statements of a text that each are a key; a longer text is found by its ends."""
SHOWN = 200

Containment = Literal["both", "a_in_b", "b_in_a", "overlap", "none"]
Relation = Literal["merge", "similar", "contained", "contradicts", "different"]
Veto = Literal[
    "numbers",
    "dates",
    "units",
    "negation",
    "modality",
    "names",
    "role_order",
    "marks",
    "quotations",
    "question",
    "language",
    "wording",
]


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What two texts are to each other, ``a`` and ``b``.

    ``merge``: they state the same. ``similar``: a person may find so. ``contained``: one states all of the other.
    ``contradicts``: they differ in one number, date, unit, negation or opposite. ``veto`` names what forbids a merge
    without a person.
    """

    relation: Relation
    containment: Containment
    similarity: float
    veto: Veto | None
    contradiction: str | None
    shared: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    why: tuple[str, ...]


def is_literal_duplicate(a: str, b: str) -> bool:
    """Return whether two texts are equal after trimming; letters and white space inside count."""
    return a.strip() == b.strip()


def judge_pair(a: str, b: str) -> PairVerdict:
    """Return what two texts are to each other."""
    if is_literal_duplicate(a, b):
        stated = tuple(map(_shown, statements(a)))
        return PairVerdict("merge", "both", 1.0, None, None, stated, (), (), ("The texts are equal.",))
    if max(len(a), len(b)) > LONGEST:
        return PairVerdict(
            "different", "none", 0.0, "wording", None, (), (), (), ("They are too long to be compared.",)
        )
    first, second = statements(a), statements(b)
    if not (facts.says_something(first) and facts.says_something(second)):
        return PairVerdict("different", "none", 0.0, "wording", None, (), (), (), ("There are marks and no words.",))
    shared, only_a, only_b = _compared(first, second)
    containment = _containment(shared, only_a, only_b)
    same = equivalence(a, b)
    parts = (tuple(map(_shown, shared)), tuple(map(_shown, only_a)), tuple(map(_shown, only_b)))
    if same is not None and _is_known(a, b, same):
        why = "Every word, number and particle is the same, in the same order."
        if same < 1.0:
            why = "Every word and number is the same, but for an article or one adverb that changes nothing."
        return PairVerdict("merge", "both", same, None, None, *parts, (why,))
    veto = _veto(a, b, first, second)
    similarity = min(UNSURE, _likeness(first, second))
    contradiction, said = _contradiction(first, second)
    if contradiction is not None:
        return PairVerdict("contradicts", containment, similarity, veto, contradiction, *parts, (said,))
    why = f"They may not be merged without a person: {_VETOES[veto]}."
    if containment in ("a_in_b", "b_in_a") and shared and not _leans(first) and not _leans(second):
        return PairVerdict(
            "contained", containment, similarity, veto, None, *parts, ("One states all of the other.", why)
        )
    inside = _inside(first, second)
    if inside is not None:
        return PairVerdict("contained", inside, similarity, veto, None, *parts, ("One says the same and more.", why))
    if similarity >= LIKELY and veto in ("wording", "marks", "language") and _same_order(first, second):
        return PairVerdict(
            "similar", containment, similarity, veto, None, *parts, ("The same words in the same order.", why)
        )
    return PairVerdict("different", containment, similarity, veto, None, *parts, (why,))


def may_belong_together(a: str, b: str) -> bool:
    """Return whether it is worth judging two texts: one has all words of the other but two, or a tenth of them.

    All that judge_pair finds together has so many in common.
    """
    one, other = _bag(a), _bag(b)
    least = min(one.total(), other.total())
    return (one & other).total() >= least - max(FEW_MISSING, least // 10)


def _bag(text: str) -> Counter[str]:
    return _bag_of_short(text) if len(text) <= facts.SHORT else _bag_of_long(text[:LONGEST])


def _counted_words(text: str) -> Counter[str]:
    return Counter(_content(statements(text)))


_bag_of_short = lru_cache(maxsize=4096)(_counted_words)
_bag_of_long = lru_cache(maxsize=64)(_counted_words)


_VETOES = {
    "numbers": "their numbers differ",
    "dates": "their dates differ",
    "units": "their units differ",
    "negation": "one denies what the other does not",
    "modality": "one is less certain or less strict than the other",
    "names": "their names differ",
    "role_order": "the same words stand in another order",
    "marks": "their commas, brackets or lines stand elsewhere",
    "quotations": "what they quote or name exactly differs",
    "question": "one asks what the other states",
    "language": "the rules do not know their language",
    "wording": "their words differ",
}


def _is_known(a: str, b: str, same: float) -> bool:
    """Return whether the rules know the language of two equivalent texts, or it does not matter to plain letters."""
    if language.language_of(a) is not None or language.language_of(b) is not None:
        return True
    return same == 1.0 and language.tells_nothing(a) and language.tells_nothing(b)


def veto_low_confidence(a: str, b: str) -> str | None:
    """Return what forbids to merge two texts without a person, None where nothing does."""
    return judge_pair(a, b).veto


def _shown(statement: Statement) -> str:
    text = str(statement)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _compared(
    first: Sequence[Statement], second: Sequence[Statement]
) -> tuple[list[Statement], list[Statement], list[Statement]]:
    """Return the statements of both, those of the first alone and those of the second alone."""
    found = pairs_of(first, second)
    left, right = {place for place, _, _ in found}, {place for _, place, _ in found}
    return (
        [first[place] for place in sorted(left)],
        [statement for place, statement in enumerate(first) if place not in left],
        [statement for place, statement in enumerate(second) if place not in right],
    )


def _containment(shared: Sequence[Statement], only_a: Sequence[Statement], only_b: Sequence[Statement]) -> Containment:
    if not shared:
        return "none"
    if not only_a and not only_b:
        return "both"
    return "overlap" if only_a and only_b else "b_in_a" if only_a else "a_in_b"


def _leans(found: Sequence[Statement]) -> bool:
    """Return whether a statement of several rests on another one, as by a pronoun."""
    return len(found) > 1 and not is_free_in_order(found)


def _tokens(found: Sequence[Statement]) -> list[Token]:
    return [token for statement in found for token in statement.tokens]


def _counted(found: Sequence[Statement], *kinds: str) -> Counter[str]:
    return Counter(token.text for token in _tokens(found) if token.kind in kinds)


def _folded(found: Sequence[Statement], known: frozenset[str]) -> Counter[str]:
    return Counter(word for statement in found for word in statement.words if word in known)


def _runs(found: Sequence[Statement], known: Sequence[str]) -> Counter[str]:
    run = " ".join(statement.run for statement in found)
    return Counter({mark: run.count(mark) for mark in known if mark in run})


def _veto(a: str, b: str, first: Sequence[Statement], second: Sequence[Statement]) -> Veto:
    one, other = _content(first), _content(second)
    said = [[token.text for token in _tokens(found)] for found in (first, second)]
    checks: tuple[tuple[Veto, bool], ...] = (
        ("question", [one.is_question for one in first].count(True) != [one.is_question for one in second].count(True)),
        ("quotations", _counted(first, "raw") != _counted(second, "raw")),
        ("dates", _counted(first, "date") != _counted(second, "date")),
        ("numbers", _counted(first, "number") != _counted(second, "number")),
        ("negation", _negations(first) != _negations(second)),
        ("modality", _folded(first, language.MODALS) != _folded(second, language.MODALS)),
        ("modality", _runs(first, language.CJK_MODALS) != _runs(second, language.CJK_MODALS)),
        ("units", _folded(first, language.UNITS) != _folded(second, language.UNITS)),
        ("role_order", one != other and Counter(one) == Counter(other)),
        ("marks", said[0] == said[1]),
        ("names", _names(first) != _names(second)),
        ("language", language.language_of(a) is None or language.language_of(b) is None),
    )
    return next((name for name, differs in checks if differs), "wording")


def _negations(found: Sequence[Statement]) -> int:
    return _folded(found, language.NEGATIONS).total() + _runs(found, language.CJK_NEGATIONS).total()


def _names(found: Sequence[Statement]) -> Counter[str]:
    """Return the words with a capital letter that does not come from the beginning of a statement."""
    names: Counter[str] = Counter()
    for statement in found:
        names.update(token.text for token in statement.tokens[1:] if token.kind == "word" and token.text[:1].isupper())
    return names


def _content(found: Sequence[Statement]) -> list[str]:
    return [text for token in _tokens(found) if (text := facts.loose(token))]


def _likeness(first: Sequence[Statement], second: Sequence[Statement]) -> float:
    """Return Dice's coefficient of the words, 0 to 1."""
    one, other = Counter(_content(first)), Counter(_content(second))
    total = one.total() + other.total()
    return round(2 * (one & other).total() / total, 4) if total else 0.0


def _same_order(first: Sequence[Statement], second: Sequence[Statement]) -> bool:
    """Return whether the words that both have stand in the same order in both."""
    one, other = _content(first), _content(second)
    both = Counter(one) & Counter(other)
    return _kept(one, both) == _kept(other, both)


def _kept(found: Sequence[str], both: Counter[str]) -> list[str]:
    left, kept = Counter(both), []
    for word in found:
        if left[word]:
            left[word] -= 1
            kept.append(word)
    return kept


def _inside(first: Sequence[Statement], second: Sequence[Statement]) -> Containment | None:
    """Return which of two statements is the other with one more run of words in it, that denies and doubts nothing."""
    if len(first) != 1 or len(second) != 1 or first[0].is_question or second[0].is_question:
        return None
    if len(first[0].tokens) == len(second[0].tokens):
        return None
    short, long = sorted((first[0].tokens, second[0].tokens), key=len)
    added = _added_run(short, long)
    if (
        added is None
        or sum(token.kind != "symbol" for token in short) < LEAST_INSIDE
        or _negations([Statement(added)])
        or _doubts(added)
    ):
        return None
    return "a_in_b" if short is first[0].tokens else "b_in_a"


def _added_run(short: Sequence[Token], long: Sequence[Token]) -> tuple[Token, ...] | None:
    same = [one.text == other.text for one, other in zip(short, long, strict=False)]
    begin = same.index(False) if False in same else len(short)
    more = len(long) - len(short)
    rest = all(one.text == other.text for one, other in zip(short[begin:], long[begin + more :], strict=True))
    return tuple(long[begin : begin + more]) if rest else None


def _doubts(added: Sequence[Token]) -> bool:
    """Return whether the words that one text has more change what the rest means, instead of adding to it."""
    said = [Statement(tuple(added))]
    if _folded(said, language.MODALS) or _runs(said, language.CJK_MODALS):
        return True
    return all(token.text.casefold() in _CHANGING for token in added)


def _contradiction(first: Sequence[Statement], second: Sequence[Statement]) -> tuple[str | None, str]:
    """Return in which way two texts contradict each other, and that in words."""
    if len(first) != 1 or len(second) != 1 or first[0].is_question or second[0].is_question:
        return None, ""
    one, other = first[0].tokens, second[0].tokens
    if _without_negations(one) == _without_negations(other) and abs(_negations(first) - _negations(second)) == 1:
        return "polarity", "One says what the other denies."
    if len(one) != len(other):
        return None, ""
    places = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0].text != pair[1].text]
    if len(places) != 1:
        return None, ""
    left, right = one[places[0]], other[places[0]]
    pair = f"{left.shown} here and {right.shown} there"
    if left.kind == right.kind and left.kind in ("number", "date"):
        return left.kind, f"They are the same but for {pair}."
    if left.kind == right.kind == "raw" and "=" in left.text and left.text.split("=")[0] == right.text.split("=")[0]:
        return "setting", f"They are the same but for {pair}."
    if {left.text.casefold(), right.text.casefold()} <= language.UNITS:
        return "unit", f"They are the same but for {pair}."
    if (left.text.casefold(), right.text.casefold()) in _OPPOSITES:
        return "opposite", f"They are the same but for {pair}."
    if places[0] >= max(_single_valued_from(one), 1):
        return "single_valued", f"There can be one of it, and it is {pair}."
    return None, ""


_OPPOSITES = {pair for one, other in language.OPPOSITES for pair in ((one, other), (other, one))}


def _sides() -> dict[str, str]:
    """Return what each word and all of its opposites have in common: the first of them."""
    sides: dict[str, str] = {}
    for pair in language.OPPOSITES:
        known = {sides.get(word, word) for word in pair}
        together = {*pair, *(word for word, first in sides.items() if first in known)}
        sides |= dict.fromkeys(together, min(together))
    return sides


_SIDES = _sides()
_CHANGING = language.ARTICLES | language.words("only just half step ex nur halb ehemals 了 的 得 地 着 过 只 半 也")
_SINGLE = language.words(
    "port limit rent deadline address version name birthday age price password hint budget timezone capital language "
    "miete frist adresse geburtstag alter preis passwort hinweis zeitzone hauptstadt sprache "
    "sister brother mother father wife husband boss schwester bruder mutter vater frau mann chef"
)
_SINGLE_RUNS = language.runs_of("端口 上限 租金 房租 期限 地址 版本 生日 年龄 价格 密码 住在 时区")
_SINGLE_VERBS = (("lives", "in"), ("wohnt", "in"), ("lebt", "in"), ("born", "in"), ("docs", "are"), ("expires", "on"))
_BEING = language.words("is ist are lautet heißt")


def _single_valued_from(tokens: Sequence[Token]) -> int:
    """Return where a statement has named something there can be one of: its value comes then. Else how long it is."""
    said: list[str] = []
    run = ""
    for place, token in enumerate(tokens[:-1]):
        if token.kind == "character":
            run += token.text
            if run.endswith(_SINGLE_RUNS):
                return place + 1
        elif token.kind == "word":
            said.append(token.text.casefold())
            if tuple(said[-2:]) in _SINGLE_VERBS:
                return place + 1
    if not _SINGLE.isdisjoint(said) and not _BEING.isdisjoint(said):
        return len(tokens) - 1
    return len(tokens)


def _without_negations(tokens: Sequence[Token]) -> list[str]:
    kept = [token.text.casefold() for token in tokens if token.text.casefold() not in _DENIALS]
    # English asks for do when it denies: eats, does not eat.
    return [word[:-1] if word.endswith("s") and len(word) > 3 else word for word in kept if word not in ("do", "does")]


_DENIALS = language.NEGATIONS | {run for run in language.CJK_NEGATIONS if len(run) == 1}


def near_keys(text: str) -> tuple[str, ...]:
    """Return what texts share that a person may find the same: the words that they begin or end with, their statements.

    Where most words are the same in order, or one text has one more run of words, one of both ends is the same.
    """
    if len(text) > LONGEST:
        return ()
    found = statements(text)
    said = _content(found)
    # Characters are told apart from words by their length.
    short, long, turn = (2, 3, 8) if sum(map(len, said)) > 2 * len(said) else (3, 5, 16)
    keys = []
    for length in [short] * (len(said) <= turn) + [long] * (len(said) > turn // 2):
        keys += [f"b {' '.join(said[:length])}", f"e {' '.join(said[-length:])}"]
    if len(found) <= STATED:
        keys += [f"s {' '.join(_content([statement]))}" for statement in found]
    return tuple(dict.fromkeys(map(facts.digest, keys)))


def contradiction_keys(text: str) -> tuple[str, ...]:
    """Return what texts share that may contradict each other, each as 16 characters.

    One key leaves numbers, dates, units and negations out; others name what there can be one of.
    """
    if len(text) > LONGEST:
        return ()
    found = statements(text)
    if len(found) != 1 or found[0].is_question:
        return ()
    tokens = found[0].tokens
    masked = [_masked(token) for token in tokens]
    keys = [facts.digest("m " + " ".join(word for word in _singular(masked) if word))]
    if len(tokens) > FRAMED:
        return tuple(keys)
    said = [facts.loose(token) for token in tokens]
    for place in range(max(_single_valued_from(tokens), 1), len(tokens))[:FRAMES]:
        keys.append(facts.digest(f"f {' '.join(said[:place])}"))
    for place, token in enumerate(tokens):
        other = _SIDES.get(token.text.casefold())
        if other is not None and len(keys) <= FRAMES:
            keys.append(facts.digest("o " + " ".join([*masked[:place], other, *masked[place + 1 :]])))
    return tuple(dict.fromkeys(keys))


def _masked(token: Token) -> str:
    folded = token.text.casefold()
    if token.kind in ("number", "date"):
        return "#"
    if token.kind == "raw" and "=" in token.text:
        return f"{token.text.split('=')[0]}=#"
    if folded in language.UNITS:
        return "@"
    return "" if folded in _DENIALS or folded in ("do", "does") else facts.loose(token)


def _singular(found: Sequence[str]) -> list[str]:
    return [word[:-1] if word.endswith("s") and len(word) > 3 else word for word in found]
