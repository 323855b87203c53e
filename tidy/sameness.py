"""Whether statements and texts state the same, so surely that they may be merged without a person. Pure.

Two statements are the same where every word, particle and number is, in the same order. Only these may differ: commas
and brackets that one has and the other leaves out, umlauts written out, an English article that is missing on one side,
one adverb of a closed list, and the order of statements of which each says how something is and none rests on another.
Each of them has its exceptions here, for each of them changes the sense somewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tidy import language
from tidy.facts import LONGEST, Statement, has_umlaut, loose, says_something, small, statements, without_umlauts
from tidy.tokens import Token

EXACT, LOOSE = 1.0, 0.96
SAME_MAX = 20
"""Statements of the same words in any order that are compared with one."""
_RESTING = language.PRONOUNS | language.ORDER_WORDS | language.LEANING
_CJK_RESTING = (*language.CJK_PRONOUNS, *language.CJK_ORDER, *language.CJK_LEANING)
_JOINING = language.ORDER_WORDS | language.SUBORDINATING
_SENSITIVE = language.NEGATIONS | language.REPORTING
_CJK_SENSITIVE = (*language.CJK_NEGATIONS, *language.CJK_REPORTING)
_BEGINNING = language.PRONOUNS | language.ARTICLES | language.BEING


def equivalence(one: str, other: str) -> float | None:
    """Return how surely two texts state the same, 1.0 or .96, None where they may not."""
    if max(len(one), len(other)) > LONGEST:
        return EXACT if one.strip() == other.strip() else None
    first, second = statements(one), statements(other)
    if not first or len(first) != len(second) or not (says_something(first) and says_something(second)):
        return None
    layout = _layout(one)
    if layout != _layout(other):
        return None
    found = [sameness(*pair) for pair in zip(first, second, strict=True)]
    if all(found):
        return min(value for value in found if value is not None)
    if layout or not (is_free_in_order(first) and is_free_in_order(second)):
        return None
    matched = pairs_of(first, second)
    return min((value for _, _, value in matched), default=None) if len(matched) == len(first) else None


def _layout(text: str) -> tuple[int, ...]:
    """Return how deep each line stands, empty where all stand alike: in code and outlines that has a meaning."""
    lines = [line for line in text.expandtabs().splitlines() if line.strip()]
    depths = [len(line) - len(line.lstrip()) for line in lines]
    steps = {depth: step for step, depth in enumerate(sorted(set(depths)))}
    return tuple(steps[depth] for depth in depths) if len(steps) > 1 else ()


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
    if len(found) < 2 or not all(_stands_alone(statement) for statement in found):
        return False
    # "Is 41." says of whom only by the statement before it, unless all of them are of one.
    if len({_begins_with_verb(statement) for statement in found}) > 1:
        return False
    return not _refers_back(found)


def _stands_alone(statement: Statement) -> bool:
    if statement.is_question:
        return False
    said, run = set(statement.words), statement.run
    if said & _RESTING or any(mark in run for mark in _CJK_RESTING):
        return False
    if any(_tells_what_was_done(*pair) for pair in pairwise(statement.words)):
        return False
    return bool(said & language.STATES) or any(mark in run for mark in language.CJK_STATES)


def _tells_what_was_done(verb: str, following: str) -> bool:
    """Return whether two words are as in has left: what was done has its order in time."""
    return verb in language.HAVING and (following in language.DONE or following.endswith(("ed", "en")))


def _begins_with_verb(statement: Statement) -> bool:
    first = statement.tokens[0]
    if first.kind == "word":
        return first.text.casefold() in language.STATES
    return any(statement.run.startswith(mark) for mark in language.CJK_STATES)


def _refers_back(found: Sequence[Statement]) -> bool:
    """Return whether one names by "the" what another one names too: which of two dogs the dog is, the order tells."""
    for place, statement in enumerate(found):
        named = {after for before, after in pairwise(statement.words) if before == "the"}
        others = {word for other in (*found[:place], *found[place + 1 :]) for word in other.words}
        if named & others:
            return True
    return False


def sameness(one: Statement, other: Statement) -> float | None:
    """Return 1.0 for the same words in the same order, .96 where only articles or one free adverb differ, else None."""
    if one.is_question != other.is_question:
        return None
    if _same_words(one.tokens, other.tokens):
        return EXACT if _parted_alike(one, other, one.parted, other.parted) else None
    if _same_words(one.ordered, other.ordered):
        return EXACT if _listed_alike(one, other) else None
    if one.spoken == "en" and other.spoken == "en" and _is_same_but_for_articles(one, other):
        return LOOSE
    return LOOSE if _is_same_but_for_adverb(one, other) or _is_same_but_for_also(one, other) else None


def _same_words(one: Sequence[Token], other: Sequence[Token]) -> bool:
    if not one or len(one) != len(other):
        return False
    unlike = [pair for pair in zip(one, other, strict=True) if _differ(*pair)]
    if not unlike:
        return True
    # Who writes one umlaut out writes all of them out. Without one, ss is not ß: Maße are not Masse.
    has_any = {any(has_umlaut(token.text) for token in tokens if token.kind == "word") for tokens in (one, other)}
    return len(has_any) == 2 and all(_is_written_out(*pair) for pair in unlike)


def _differ(one: Token, other: Token) -> bool:
    return one.kind != other.kind or one.text != other.text


def _is_written_out(one: Token, other: Token) -> bool:
    if one.kind != "word" or other.kind != "word" or has_umlaut(one.text) == has_umlaut(other.text):
        return False
    return without_umlauts(one.text) == without_umlauts(other.text)


def _parted_alike(one: Statement, other: Statement, parted: frozenset[int], others: frozenset[int]) -> bool:
    """Return whether commas, dashes and brackets change nothing: one side has all of the other, and none is needed."""
    if not (one.spaced <= other.spaced or other.spaced <= one.spaced):
        return False
    if parted == others:
        return True
    if not (parted <= others or others <= parted) or (parted ^ others) & (one.listed | other.listed):
        return False
    if one.spoken == "ja":  # ここで、はきもの are shoes here, ここでは、きもの are clothes.
        return False
    if set(one.words) & _SENSITIVE or any(mark in one.run for mark in _CJK_SENSITIVE):
        return False
    return not any(_needs_parting(one.tokens, place) for place in parted ^ others)


def _needs_parting(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a comma has a sense: between numbers or names, before who or because, before who is spoken to."""
    if not 0 < place < len(tokens):
        return False
    before, after = tokens[place - 1], tokens[place]
    if before.kind == after.kind == "number" or after.text.casefold() in language.SUBORDINATING:
        return True
    is_name = after.kind == "word" and after.shown[:1].isupper()
    return is_name and (place == len(tokens) - 1 or (before.kind == "word" and before.shown[:1].isupper()))


def _listed_alike(one: Statement, other: Statement) -> bool:
    """Return whether both have as many commas, but for the one before the last item: a, b, and c."""
    return not (one.spaced or other.spaced) and abs(len(one.parted) - len(other.parted)) <= 1


def _is_same_but_for_articles(one: Statement, other: Statement) -> bool:
    long, short = (one, other) if len(one.tokens) > len(other.tokens) else (other, one)
    skipped: set[int] = set()
    i = 0
    for place, token in enumerate(long.tokens):
        # Behind an article in front, the first letter is as it is; without it, it was levelled.
        said = small(token) if not i and skipped else token
        if i < len(short.tokens) and not _differ(said, short.tokens[i]):
            i += 1
        elif _may_be_missing(long.tokens, place):
            skipped.add(place)
        else:
            return False
    if i < len(short.tokens) or not skipped:
        return False
    return _parted_alike(long, short, _moved_up(long, skipped), short.parted)


def _moved_up(statement: Statement, left_out: set[int]) -> frozenset[int]:
    """Return where the statement is parted once some of its tokens are left out."""
    return frozenset(place - sum(left < place for left in left_out) for place in statement.parted)


def _may_be_missing(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a token is an article that says nothing: in front of one thing, that is not another without it."""
    token = tokens[place]
    if token.kind != "word" or token.text not in language.ARTICLES or place + 1 >= len(tokens):
        return False
    following = tokens[place + 1].text.casefold()
    if tokens[place + 1].kind == "date":
        return True
    if not place and (token.text != "the" or tokens[1].shown[:2].istitle()):
        return False  # The Polish are no polish, and a king is not King.
    if tokens[place + 1].kind != "word" or following in language.ARTICLE_TELLS or following in language.SMALL_WORDS:
        return False
    if following.endswith("s") and not following.endswith(("ss", "us", "is")):
        return False  # The cats are not all cats.
    before = tokens[place - 1].text.casefold() if place else ""
    return before not in language.LETTERED and before not in language.NEGATIONS


def _is_same_but_for_adverb(one: Statement, other: Statement) -> bool:
    """Return whether two statements differ by one adverb of the closed list, that one lacks or has elsewhere."""
    places = _free_places(one), _free_places(other)
    if max(map(len, places)) != 1:
        return False
    left, right = (_without(statement, found) for statement, found in zip((one, other), places, strict=True))
    if not _same_words(left, right):
        return False
    if all(places) and not _are_alike_adverbs(one, other, places[0][0], places[1][0]):
        return False
    parted = [_moved_up(statement, set(found)) for statement, found in zip((one, other), places, strict=True)]
    return _parted_alike(one, other, *parted)


def _are_alike_adverbs(one: Statement, other: Statement, place: int, other_place: int) -> bool:
    words = {one.tokens[place].text.casefold(), other.tokens[other_place].text.casefold()}
    if len({word in language.TIME_ADVERBS for word in words}) > 1:
        return False
    return place == other_place or (_may_move(one, place) and _may_move(other, other_place))


def _without(statement: Statement, places: Sequence[int]) -> list[Token]:
    kept = [token for place, token in enumerate(statement.tokens) if place not in places]
    return [small(kept[0]), *kept[1:]] if kept and 0 in places else kept


def _free_places(statement: Statement) -> list[int]:
    """Return where adverbs stand that may be missing."""
    said = set(statement.words)
    # "Not now" is not never, and "patch it now" is more than "patch it".
    if said & language.NEGATIONS or not said & (language.STATES | language.BEING):
        return []
    return [place for place in range(len(statement.tokens)) if _is_free(statement.tokens, place)]


def _is_free(tokens: Sequence[Token], place: int) -> bool:
    token = tokens[place]
    word = token.text.casefold()
    if token.kind != "word" or word not in language.FREE_ADVERBS or (place and token.text != word):
        return False
    before = tokens[place - 1].text.casefold() if place else ""
    after = tokens[place + 1].text.casefold() if place + 1 < len(tokens) else ""
    if before in language.BEFORE_BOUND_ADVERBS or after in language.AFTER_BOUND_ADVERBS:
        return False
    if word == "however":  # however hard he works
        return not after or after in _BEGINNING or tokens[place + 1].shown[:1].isupper()
    return True


def _may_move(statement: Statement, place: int) -> bool:
    """Return whether the adverb says the same elsewhere: at either end, or beside the only is or has there is."""
    verbs = [index for index, token in enumerate(statement.tokens) if token.text.casefold() in language.BEING]
    if len(verbs) != 1 or set(statement.words) & _JOINING:
        return False
    return place in (0, len(statement.tokens) - 1) or abs(place - verbs[0]) == 1


def _is_same_but_for_also(one: Statement, other: Statement) -> bool:
    """Return whether two statements differ as is also kept and is kept also do."""
    if len(one.tokens) != len(other.tokens) or one.parted != other.parted:
        return False
    apart = [place for place, pair in enumerate(zip(one.tokens, other.tokens, strict=True)) if _differ(*pair)]
    if len(apart) != 2 or apart[1] - apart[0] != 1 or not apart[0]:
        return False
    first, second = one.tokens[apart[0]], one.tokens[apart[1]]
    if _differ(first, other.tokens[apart[1]]) or _differ(second, other.tokens[apart[0]]):
        return False
    verb = second.text if first.text == "also" else first.text if second.text == "also" else ""
    return verb.endswith(("ed", "en", "pt")) and one.tokens[apart[0] - 1].text in ("is", "are", "was", "were")
