"""Scores of texts for a question: pure values, no database."""

from __future__ import annotations

from itertools import pairwise

import pytest

from search.ranking import (
    COMPOUND_WEIGHT,
    FUNCTION_WEIGHT,
    PIECE_WEIGHT,
    STEM_WEIGHT,
    Asked,
    Part,
    RankedText,
    forms_of,
    idf,
    is_function_word,
    language_of,
    part_of,
    scores,
    times,
    with_neighbours,
)
from search.text import index_text

HARBOUR = Asked(("harbour",))


def order(texts: list[str], *asked: Asked) -> list[int]:
    """Return the numbers of the texts, best first, every part of the question weighing the same."""
    prepared = {number: RankedText(index_text(text)) for number, text in enumerate(texts)}
    found = scores(prepared, [Part(part, {part: 1.0}, 1.0, 1.0) for part in asked], average_length=8)
    return sorted(found, key=lambda number: -found[number])


@pytest.mark.parametrize(
    ("texts", "asked"),
    [
        pytest.param(["the harbour at night", "the garden at night"], [HARBOUR], id="a text with the word first"),
        pytest.param(["harbour harbour lights", "harbour lights here"], [HARBOUR], id="more often is better"),
        pytest.param(["harbour lights", "harbour lights " + "and more " * 40], [HARBOUR], id="shorter is better"),
        pytest.param(["harbour ferry", "harbour harbour"], [HARBOUR, Asked(("ferry",))], id="two words beat one twice"),
        pytest.param(["the old ferry", "ferry old"], [Asked(("old", "ferry"))], id="a phrase in its order"),
        pytest.param(["harbourmaster", "master"], [Asked(("harbour",), prefix=True)], id="a beginning"),
        pytest.param(["港口的船", "船的港湾"], [Asked(("港口",))], id="a pair of characters"),
    ],
)
def test_better_texts_come_first(texts: list[str], asked: list[Asked]) -> None:
    for better, worse in pairwise(order(texts, *asked)):
        assert better < worse
    assert order(texts[::-1], *asked) == list(range(len(texts)))[::-1]


@pytest.mark.parametrize(
    ("text", "asked", "count"),
    [
        ("no no no", Asked(("no", "no")), 2),
        ("one two one two", Asked(("one", "two")), 2),
        ("carpet car cars", Asked(("car",)), 1),
        ("carpet car cars", Asked(("car",), prefix=True), 3),
        ("", Asked(("car",)), 0),
    ],
)
def test_it_counts_every_place(text: str, asked: Asked, count: int) -> None:
    assert RankedText(index_text(text)).frequency({asked: 1.0}) == count


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("when did she paint the boat", "english"),
        ("wann hat er die alte Muhle verkauft", "german"),
        ("combien de temps dure le voyage", "french"),
        ("donde esta la llave del garaje", "spanish"),
        ("waar ligt het boek van mijn moeder", "dutch"),
        ("invoice Fjordtech", "english"),
        ("когда мы поехали домой", "russian"),
        ("船什么时候开", None),
    ],
)
def test_it_tells_the_language(question: str, language: str | None) -> None:
    assert language_of(index_text(question).split()) == language


@pytest.mark.parametrize(
    ("word", "language", "text", "weights"),
    [
        ("painting", "english", "She paints, he painted a pain.", {"paints": STEM_WEIGHT, "painted": STEM_WEIGHT}),
        ("hauser", "german", "Ein Haus neben den Häusern", {"haus": STEM_WEIGHT, "hausern": STEM_WEIGHT}),
        ("garten", "german", "Gartenzaun, Obstgarten", {"gartenzaun": COMPOUND_WEIGHT, "obstgarten": COMPOUND_WEIGHT}),
        ("garden", "english", "gardenia", {}),
        ("2024", "english", "20240 2024s", {}),
        ("painting", None, "paints", {}),
    ],
)
def test_other_forms_count_less(word: str, language: str | None, text: str, weights: dict[str, float]) -> None:
    asked = Asked((word,))
    forms = forms_of([asked], [RankedText(index_text(text))], language)[asked]
    assert forms == {asked: 1.0} | {Asked((form,)): weight for form, weight in weights.items()}


def test_a_phrase_has_no_other_forms() -> None:
    phrase = Asked(("old", "boats"))
    assert forms_of([phrase], [RankedText("older boat")], "english") == {phrase: {phrase: 1.0}}


def test_the_word_itself_beats_another_form_of_it() -> None:
    texts = {1: RankedText("two boat trips"), 2: RankedText("two boats trips")}
    boats = Asked(("boats",))
    forms = forms_of([boats], list(texts.values()), "english")[boats]
    found = scores(texts, [part_of(boats, forms, {boats: 1, Asked(("boat",)): 1}, 10)], average_length=3)
    assert found[2] > found[1] > 0


def test_a_rare_word_keeps_its_weight_beside_common_forms_of_it() -> None:
    planes = Asked(("planes",))
    part = part_of(planes, {planes: 1.0, Asked(("plane",)): STEM_WEIGHT}, {planes: 2, Asked(("plane",)): 300}, 1000)
    assert part.weight_itself == idf(2, 1000) > part.weight == idf(2 + STEM_WEIGHT * 300, 1000)


@pytest.mark.parametrize(
    ("asked", "language", "expected"),
    [
        (Asked(("where",)), "english", True),
        (Asked(("where",)), "german", False),
        (Asked(("wo",)), "german", True),
        (Asked(("harbour",)), "english", False),
        (Asked(("the", "who")), "english", False),
        (Asked(("the",), prefix=True), "english", False),
        (Asked(("什么",)), None, True),
        (Asked(("港口",)), None, False),
        (Asked(("です",)), None, True),
    ],
)
def test_it_tells_function_words(asked: Asked, language: str | None, expected: bool) -> None:
    assert is_function_word(asked, language) is expected


def test_function_words_weigh_little() -> None:
    part = Part(HARBOUR, {HARBOUR: 1.0}, 2.0, 3.0)
    assert times(part, FUNCTION_WEIGHT) == Part(HARBOUR, {HARBOUR: 1.0}, 2.0 * FUNCTION_WEIGHT, 3.0 * FUNCTION_WEIGHT)


def test_rarer_words_weigh_more_and_none_less_than_nothing() -> None:
    weights = [idf(having, 1000) for having in (1, 10, 100, 1000, 2000)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0


def test_a_message_shares_in_its_neighbours() -> None:
    own = {1: 1.0, 2: 1.0, 3: 10.0, 4: 0.0}
    found = with_neighbours(own, {1: [[3], [4]], 2: [[4], [3]], 3: [[], []]})
    assert found[1] == pytest.approx(1 + 0.3 * 10)
    assert found[2] == pytest.approx(1 + 0.15 * 10)
    assert found[3] == 10


def test_a_neighbour_that_was_not_scored_adds_nothing() -> None:
    assert with_neighbours({1: 2.0}, {1: [[99], []], 98: [[1], []]}) == {1: 2.0}


def test_a_compound_finds_the_words_it_is_made_of() -> None:
    texts = [RankedText(index_text("Die Fehler lagen an der Quelle, sagte die Werkstatt."))]
    source = Asked(("fehlerquelle",))
    forms = forms_of([source], texts, "german")[source]
    assert forms == {source: 1.0, Asked(("fehler",)): PIECE_WEIGHT, Asked(("quelle",)): PIECE_WEIGHT}
    assert forms_of([source], texts, "english")[source] == {source: 1.0}
