"""How well texts answer a question: BM25 over the few that the index picked, with what an index does not know.

Pure functions of values. A word of the question counts fully; another form of it (runs, running), or in languages that
write compounds in one word a longer word that it is part of, counts less. A message is also about its neighbours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import snowballstemmer

K1, B = 0.9, 0.5
"""How soon a repeated word stops to count, and how much long texts are held back: between messages and pages."""
STEM_WEIGHT = 0.7
"""What another form of a word counts."""
COMPOUND_WEIGHT = 0.3
"""What a longer word that begins or ends with it counts."""
PIECE_WEIGHT = 0.2
"""What a shorter word that it begins or ends with counts."""
JOINED_WEIGHT = 0.7
"""What each word counts of several that a question joins with hyphens and the like, beside all of them as one."""
FUNCTION_WEIGHT = 0.2
"""What a word counts that sentences are full of, whatever they are about."""
COMPOUND_LEAST = 5
"""Shorter words stand in too many others by chance."""
NEIGHBOUR_SHARES = (0.3, 0.15)
"""What a message gets of the score of the next one on either side, and of the second next."""
_BEGINNING = 3
_COMPOUNDING = {"german", "dutch", "swedish", "danish", "norwegian"}
# Folded words that questions and answers are full of; a language is told by them.
_FUNCTION_WORDS = {
    "english": "a an and are at by did do does for from had has have he her his how i in is it my of on or our "
    "she that the their they this to was we were what when where which who why will with would you "
    "your",
    "german": "aber als am auf aus bei das dass dem den der des die dies ein eine einem einen einer er es fur "
    "haben hat ich im in ist mein mit nach nicht oder sie sind uber und von wann war waren warum was "
    "welche welchem welchen welcher welches wer wie wir wird wo worden wurde wurden zu zum zur "
    "andere dann diese dieser dieses diesem diesen einige gab gehort gehorte gibt heissen heisst ihr ihre ihrem ihren "
    "ihrer kann konnte lautet lautete man manche nannte nennt sein seine seinen seiner sich soll sollte viel viele "
    "wenn weshalb wieso wieviel wobei wodurch wofur wogegen woher wohin womit woran woraus worauf worin worum",
    "french": "au aux avec ce ces combien comment dans de des du elle en est et il ils je la le les leur mais "
    "mon ne nous ont ou par pas pour pourquoi quand que quel quelle quelles quels qui se ses son sont "
    "sur un une vous",
    "spanish": "al como con cual cuales cuando cuanto cuantos de del donde el ella en era es esta fue ha la las "
    "lo los mas mi no para pero por porque que quien se su sus un una y yo",
    "italian": "al alla che chi come con cosa da dal dei del della delle di dove e gli ha i il in io la le lo ma "
    "nel nella non per perche quale quali quando quanti si sono su suo un una uno",
    "portuguese": "a ao as com como da das de do dos e ela ele em era eu foi mais mas na nao no nos o onde os ou "
    "para pela pelo por porque qual quais quando que quem se seu sua um uma",
    "dutch": "aan als bij dat de den die dit door een en er haar het hij hoe ik in is maar met mijn naar niet "
    "of om op te tot uit van voor waar waarom wanneer waren was wat welk welke werd wie wij worden ze "
    "zijn",
    "swedish": "av att den det dig du ett en for fran har han hon hur i inte jag med min nar och om pa sig som "
    "till vad var varfor vem vi vilka vilken vilket ar",
    "danish": "af at den der det du en er et for fra ham han har hun hvad hvem hvilke hvilken hvilket hvor "
    "hvorfor hvornar i ikke jeg med min og om pa sig som til var vi",
}
# Pairs of characters that questions in Chinese and Japanese are full of.
_PAIRS = (
    "什么 么时 时候 是什 了什 有什 哪里 哪些 哪个 哪种 在哪 有哪 是哪 多少 几个 怎么 怎样 么样 如何 为何 为什 是谁 "
    "谁是 何时 是否 的是 です ます した して いる いた ある った れた され とは では には のは のか すか たか "
    "何で 何と は何 が何 を何 いつ どこ だれ なに なぜ どの どん こと から まで いう うか でし しょ"
)
_FUNCTION_PAIRS = frozenset(_PAIRS.split())
_LANGUAGES_OF_WORD: dict[str, list[str]] = {}
for _language, _words in _FUNCTION_WORDS.items():
    for _word in set(_words.split()):
        _LANGUAGES_OF_WORD.setdefault(_word, []).append(_language)


@dataclass(frozen=True, slots=True)
class Asked:
    """A word or phrase of a question, as tokens of the index."""

    tokens: tuple[str, ...]
    # The last token need only begin a word.
    prefix: bool = False

    @property
    def word(self) -> str | None:
        """Return the one whole word that is asked for, None for a phrase or a beginning."""
        return self.tokens[0] if len(self.tokens) == 1 and not self.prefix else None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a question: itself, all forms of it with what each counts, and what it weighs in either meaning."""

    asked: Asked
    forms: Mapping[Asked, float]
    weight: float
    # More than the other where the word as it was typed is rarer than its forms together.
    weight_itself: float


def part_of(asked: Asked, forms: Mapping[Asked, float], having: Mapping[Asked, float], rows: int) -> Part:
    """Return the part of a question, weighed by how many of the rows have its forms."""
    together = sum(counts * having.get(form, 0) for form, counts in forms.items())
    return Part(asked, forms, idf(min(together, rows), rows), idf(min(having.get(asked, 0), rows), rows))


def times(part: Part, share: float) -> Part:
    """Return the part with a share of its weight."""
    return replace(part, weight=share * part.weight, weight_itself=share * part.weight_itself)


class RankedText:
    """A text as the words index has it, counted when first asked for."""

    def __init__(self, written: str) -> None:
        self.written = written

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each token stands in it."""
        return Counter(self.tokens)

    @cached_property
    def tokens(self) -> list[str]:
        """Its tokens in order."""
        return self.written.split()

    @property
    def length(self) -> int:
        """The number of its tokens."""
        return len(self.tokens)

    def frequency(self, forms: Mapping[Asked, float]) -> float:
        """Return how often it has any of the forms, each times its weight."""
        return sum(weight * self.count(form) for form, weight in forms.items())

    def count(self, form: Asked) -> int:
        """Return how often the form stands in it."""
        if form.word is not None:
            # One word is counted sooner than all.
            return self.counts[form.word] if "counts" in self.__dict__ else self.tokens.count(form.word)
        needle = f" {' '.join(form.tokens)}"
        # Neighbours share a space, so every place is looked at by itself.
        padded, end = f" {self.written} ", "" if form.prefix else " "
        count, place = 0, padded.find(needle + end)
        while place >= 0:
            count, place = count + 1, padded.find(needle + end, place + 1)
        return count


def language_of(words: Iterable[str]) -> str | None:
    """Return the language that most of the folded words' function words are of, by its snowball name.

    English where Latin letters tell nothing more, Russian for Cyrillic ones, None for other scripts.
    """
    votes: Counter[str] = Counter()
    letters = ""
    for word in words:
        votes.update(_LANGUAGES_OF_WORD.get(word, ()))
        letters += word
    if any("\u0400" <= letter <= "\u04ff" for letter in letters):
        return "russian"
    if votes:
        return max(votes, key=lambda language: (votes[language], language == "english"))
    return "english" if any("a" <= letter <= "z" for letter in letters) else None


@lru_cache(maxsize=16)
def _stemmer(language: str) -> Callable[[str], str]:
    stem: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return stem


@lru_cache(maxsize=65_536)
def stem(word: str, language: str) -> str:
    """Return the part of a word that its forms have in common. https://snowballstem.org"""
    return _stemmer(language)(word)


def forms_of(
    asked: Sequence[Asked], texts: Sequence[RankedText], language: str | None
) -> dict[Asked, dict[Asked, float]]:
    """Return for each part of the question the forms of it that count, itself first, with what each counts.

    Other forms are looked for in the texts.
    """
    forms = {part: {part: 1.0} for part in asked}
    if language is None:
        return forms
    stems = {part: stem(part.word, language) for part in asked if part.word is not None and part.word.isalpha()}
    vocabulary: set[str] = set().union(*(text.counts for text in texts))
    compounds = _compounds(stems) if language in _COMPOUNDING else {}
    # Forms of a word begin alike, so few words of the texts need to be stemmed.
    beginnings: dict[str, list[str]] = {}
    wanted = {stemmed[:_BEGINNING] for stemmed in stems.values()}
    wanted |= {stemmed[at : at + _BEGINNING] for stemmed in compounds.values() for at in _inner(stemmed)}
    for word in sorted(word for word in vocabulary if word[:_BEGINNING] in wanted):
        beginnings.setdefault(word[:_BEGINNING], []).append(word)
    for part, stemmed in stems.items():
        for word in beginnings.get(stemmed[:_BEGINNING], ()):
            if word != part.word and stem(word, language) == stemmed:
                forms[part][Asked((word,))] = STEM_WEIGHT
    if compounds:
        written = f" {' '.join(sorted(vocabulary))} "
        for part, stemmed in compounds.items():
            for word in _words_with(stemmed, written):
                if word.startswith(stemmed) or stem(word, language).endswith(stemmed):
                    forms[part].setdefault(Asked((word,)), COMPOUND_WEIGHT)
            for word in _pieces(stemmed, beginnings, language):
                forms[part].setdefault(Asked((word,)), PIECE_WEIGHT)
    return forms


def _compounds(stems: Mapping[Asked, str]) -> dict[Asked, str]:
    """Return the words that may be compounds or parts of one: those that are not short."""
    return {
        part: stemmed
        for part, stemmed in stems.items()
        if len(part.tokens[0]) >= COMPOUND_LEAST and len(stemmed) >= COMPOUND_LEAST - 1
    }


def _inner(stemmed: str) -> range:
    """Return where the last word of a compound may begin."""
    return range(_BEGINNING, len(stemmed) - COMPOUND_LEAST + 2)


def _pieces(stemmed: str, beginnings: Mapping[str, Sequence[str]], language: str) -> Iterator[str]:
    """Return the words that a compound begins or ends with."""
    for word in beginnings.get(stemmed[:_BEGINNING], ()):
        if COMPOUND_LEAST <= len(word) < len(stemmed) and stemmed.startswith(stem(word, language)):
            yield word
    for at in _inner(stemmed):
        for word in beginnings.get(stemmed[at : at + _BEGINNING], ()):
            if len(word) >= COMPOUND_LEAST and stem(word, language) == stemmed[at:]:
                yield word


def _words_with(piece: str, written: str) -> Iterator[str]:
    """Return the words between spaces that the piece stands in."""
    place = written.find(piece)
    while place >= 0:
        end = written.index(" ", place)
        yield written[written.rindex(" ", 0, place) + 1 : end]
        place = written.find(piece, end)


def is_function_word(asked: Asked, language: str | None) -> bool:
    """Return whether it is a word that says little of what a text is about. Other scripts have their own."""
    word = asked.word
    if word is None:
        return False
    return word in _FUNCTION_PAIRS or (language is not None and language in _LANGUAGES_OF_WORD.get(word, ()))


def idf(having: float, rows: int) -> float:
    """Return what a word weighs that so many of the rows have: the rarer, the more, never less than nothing."""
    return math.log(1 + max(rows - having + 0.5, 0.5) / (having + 0.5))


def scores(texts: Mapping[int, RankedText], parts: Sequence[Part], *, average_length: float) -> dict[int, float]:
    """Return the BM25 score of each text for the parts of a question."""
    found: dict[int, float] = {}
    for id_, text in texts.items():
        held_back = K1 * (1 - B + B * text.length / max(average_length, 1))
        score = 0.0
        for part in parts:
            if any_form := text.frequency(part.forms):
                itself = text.count(part.asked)
                score += max(
                    part.weight * any_form * (K1 + 1) / (any_form + held_back),
                    part.weight_itself * itself * (K1 + 1) / (itself + held_back),
                )
        found[id_] = score
    return found


def with_neighbours(own: Mapping[int, float], neighbours: Mapping[int, Sequence[Sequence[int]]]) -> dict[int, float]:
    """Return the scores with each row's share of its neighbours': those at distance 1, then those at distance 2."""
    found = dict(own)
    for id_, rings in neighbours.items():
        if id_ in own:
            for share, ring in zip(NEIGHBOUR_SHARES, rings, strict=False):
                found[id_] += share * sum(own.get(beside, 0.0) for beside in ring)
    return found
