"""Every text is a query, and one tree says what it means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.query import (
    MAX_LENGTH,
    MAX_LEVELS,
    MAX_PAIRS,
    MAX_TERMS,
    And,
    Match,
    Node,
    Not,
    Or,
    Term,
    parse,
    positive_terms,
    shape,
    superset,
    terms,
)
from search.text import GAP
from tests.search.texts import texts


def written(root: Node | None) -> str:
    """Return the tree with brackets everywhere: tokens, a star for a prefix, symbols where there are any."""
    match root:
        case None:
            return ""
        case Term():
            return " ".join(root.symbols or root.tokens) + ("*" if root.prefix else "")
        case Not(part):
            return f"not[{written(part)}]"
        case And(parts):
            return f"[{' & '.join(map(written, parts))}]"
        case Or(parts):
            return f"[{' | '.join(map(written, parts))}]"


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        # words, phrases, prefixes
        ("Green TEA", "[green & tea]"),
        ("green tea green", "[green & tea]"),
        ('"green tea" pot', "[green tea & pot]"),
        (
            "“green tea” „schwarzer Tee“ «thé vert» 「緑茶」 『紅茶』",
            "[green tea & schwarzer tee & the vert & 緑茶 & 紅茶]",
        ),
        ('“green tea"', "green tea"),
        ('"green""tea"', "[green & tea]"),
        ('"green tea', "[green & tea]"),
        ('tea"', "tea"),
        ('5" pot 7" lid', "[5 & pot & 7 & lid]"),
        ('ask"now" and', "[ask & now & and]"),
        ('他说"喝茶"', "[他说 & 喝茶]"),
        ("tea* pot**", "[tea* & pot*]"),
        ("*pot", "pot"),
        ('"green te"*', "green te*"),
        ("tea-po*", "tea po*"),
        ("*", ""),
        ("brew * tea", "[brew & tea]"),
        ("ｔｅａ　ｐｏｔ＊", "[tea & pot*]"),
        # terms with marks are one phrase
        ("tea-pot v4.7 don't a_b x:y", "[tea pot & v4 7 & don t & a b & x y]"),
        ("--no-milk C++ 80% .teaignore @pot #tea $CUP", "[no milk & c & 80 & teaignore & pot & tea & cup]"),
        ("brew - tea + & | ~ % ...", "[brew & tea]"),
        ("tea: pot", "[tea & pot]"),
        ("C:\\tea\\pot", "c tea pot"),
        ("pour(tea) steep(); (re)heat f((x", "[pour tea & steep & re heat & f x]"),
        ('{"tea": true}', "[tea & true]"),
        # CJK
        ("茶", "茶*"),
        ("绿茶", "绿茶"),
        ("明前龙井", "明前 前龙 龙井"),
        ("绿茶* 茶*", "[绿茶 & 茶*]"),
        ("A茶", "a 茶*"),
        ("泡Tea喝", "泡 tea 喝*"),
        ("绿茶-红茶", "绿茶 茶 红茶"),
        ("绿茶，红茶", "绿茶 茶 红茶"),
        ("绿茶　红茶", "[绿茶 & 红茶]"),
        ("ｻｰﾊﾞｰ", "サー ーバ バー"),
        ('"녹차 물"', "녹차 차 물*"),
        # symbols
        ("🍵", "🍵"),
        ("🍵tea 25°C", "[🍵 tea & 25 ° c]"),
        ("👩\u200d🌾 ❤\ufe0f", "[👩 🌾 & ❤]"),
        # operators
        ("tea AND pot", "[tea & pot]"),
        ("tea or pot", "[tea | pot]"),
        ("tea Or pot aNd cup", "[tea | [pot & cup]]"),
        ("tea pot OR cup lid", "[[tea & pot] | [cup & lid]]"),
        ("tea NOT milk", "[tea & not[milk]]"),
        ("tea not milk", "[tea & not & milk]"),
        ("tea AND NOT milk", "[tea & not[milk]]"),
        ("tea NOT milk sugar", "[tea & sugar & not[milk]]"),
        ("tea OR coffee NOT milk", "[tea | [coffee & not[milk]]]"),
        ("NOT milk tea", "[tea & not[milk]]"),
        ("(tea OR coffee) NOT milk", "[[tea | coffee] & not[milk]]"),
        ("tea NOT (milk OR sugar)", "[tea & not[[milk | sugar]]]"),
        ("tea NOT(milk)", "[tea & not[milk]]"),
        ("tea AND(milk OR sugar)", "[tea & [milk | sugar]]"),
        ("（茶 OR 水） 杯", "[[茶* | 水*] & 杯*]"),
        ("((tea)", "tea"),
        ("tea) pot", "[tea & pot]"),
        ("(tea pot)* cup", "[tea & pot & cup]"),
        ("(tea OR pot). cup", "[[tea | pot] & cup]"),
        ("(pour(tea) OR cup)", "[pour tea | cup]"),
        ("() tea", "tea"),
        ('"AND" "NOT"', "[and & not]"),
        ("(tea OR (pot OR cup))", "[tea | pot | cup]"),
        ("(tea (pot cup))", "[tea & pot & cup]"),
        # repaired
        ("OR tea", "tea"),
        ("tea AND", "tea"),
        ("tea NOT", "tea"),
        ("tea AND OR", "tea"),
        ("OR AND tea", "tea"),
        ("tea AND AND pot", "[tea & pot]"),
        ("tea AND OR pot", "[tea | pot]"),
        ("tea NOT NOT pot", "[tea & not[pot]]"),
        ("tea NOT OR pot", "[tea | pot]"),
        ("tea AND - OR pot", "[tea | pot]"),
        # an operator's word without operands is a word
        ("or", "or"),
        ("not", "not"),
        ("OR", "or"),
        ("NOT", "not"),
        ("AND OR", "[and & or]"),
        ("and tea", "[and & tea]"),
        ("tea or", "[tea & or]"),
        ("to tea or not to tea", "[[to & tea] | [not & to & tea]]"),
        ("(or)", "or"),
        # negation
        ("tea OR NOT milk", "tea"),
        ("NOT milk", ""),
        ("NOT (NOT milk)", "milk"),
        ("tea (NOT milk)", "[tea & not[milk]]"),
        ("tea AND (NOT milk OR NOT sugar)", "[tea & not[[milk & sugar]]]"),
        # NEAR
        ("NEAR(tea pot, 5)", "[tea & pot]"),
        ('NEAR("green tea" pot)', "[green tea & pot]"),
        ("NEAR(tea pot", "[tea & pot]"),
        ("(NEAR(tea pot, 2) OR cup)", "[[tea & pot] | cup]"),
        ("near(tea pot)", "[near tea & pot]"),
        ("NEAR tea", "[near & tea]"),
    ],
)
def test_what_a_query_means(query: str, tree: str) -> None:
    assert written(parse(query).root) == tree


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        ("how hot must green tea be", "[how | hot | must | green | tea | be]"),
        ("tea and milk or sugar", "[tea | milk | sugar]"),
        ("tea AND milk sugar", "[[tea & milk] | sugar]"),
        ("tea milk NOT sugar", "[[tea | milk] & not[sugar]]"),
        ("NOT sugar tea milk", "[[tea | milk] & not[sugar]]"),
        ("NOT sugar", ""),
        ('"green tea" tea-pot', "[green tea | tea pot]"),
        ("Ada's pot", "[ada | pot]"),
        ("NEAR(tea pot, 2) cup", "[[tea & pot] | cup]"),
        ("绿茶", "绿茶"),
        ("绿茶怎么泡", "[绿茶 | 茶怎 | 怎么 | 么泡]"),
        ("用teapot泡绿茶", "[teapot | 泡绿 | 绿茶]"),
        ('"绿茶怎么泡"', "绿茶 茶怎 怎么 么泡"),
        ("and", "and"),
    ],
)
def test_what_a_question_means_of_which_any_word_will_do(query: str, tree: str) -> None:
    assert written(parse(query, match="any").root) == tree


@pytest.mark.parametrize(
    ("query", "folded"),
    [
        ("Tea-Pot", ["tea-pot"]),
        ("--no-milk C++ 80% .teaignore", ["--no-milk", "c++", "80%", ".teaignore"]),
        ("It boiled. Really?", ["it", "boiled", "really"]),
        ('"It boiled."', ["it boiled."]),
        ('" green\n\ttea "', ["green tea"]),
        ("Straße café", ["strasse", "cafe"]),
        ("(tea) pot* *cup", ["tea", "pot", "cup"]),
        ("pour(tea)", ["pour(tea)"]),
    ],
)
def test_as_a_substring_a_term_is_what_was_typed(query: str, folded: list[str]) -> None:
    assert [term.folded for term in terms(parse(query).root)] == folded


@pytest.mark.parametrize(
    ("query", "reasons"),
    [
        ("", ("no_terms",)),
        (" \t\n\u3000", ("no_terms",)),
        ('"" () * % _ ,。 !?', ("no_terms",)),
        ("\ufffd", ("no_terms",)),
        ("NOT milk", ("only_negations",)),
        ("NOT milk NOT sugar", ("only_negations",)),
        ("tea OR NOT milk", ("negation_dropped",)),
        ("tea", ()),
    ],
)
def test_reasons(query: str, reasons: tuple[str, ...]) -> None:
    found = parse(query)

    assert found.reasons == reasons
    assert (found.root is None) == bool({"no_terms", "only_negations"} & set(reasons))


def test_the_first_characters_count_up_to_a_white_space() -> None:
    start = "tea " * (MAX_LENGTH // 4 - 1)

    assert not parse("a" * MAX_LENGTH).truncated
    long = parse(f"{start}potpourri cup")
    assert long.truncated
    assert written(long.root) == "tea"
    exact = parse(f"{start}pot cup")
    assert exact.truncated
    assert written(exact.root) == "[tea & pot]"
    one_word = parse("x" * 3000)
    assert one_word.truncated
    assert [term.folded for term in terms(one_word.root)] == ["x" * MAX_LENGTH]
    assert parse("\n" * 3000 + "tea").reasons == ("no_terms",)
    phrase = parse('"' + "green tea " * 300 + '"')
    assert len(terms(phrase.root)) == 1
    assert terms(phrase.root)[0].quoted


def test_of_too_many_terms_the_longest_stay() -> None:
    words = [f"w{number}" for number in range(MAX_TERMS + 36)]

    found = parse(" OR ".join([*words, "lapsang"]))

    assert found.reasons == ("too_many_terms",)
    assert len(terms(found.root)) == MAX_TERMS
    assert "lapsang" in [term.folded for term in terms(found.root)]
    assert parse(" ".join(words[:MAX_TERMS] * 3)).reasons == ()


def test_a_question_asks_for_no_more_pairs_than_allowed() -> None:
    question = "".join(chr(0x4E00 + number) for number in range(MAX_PAIRS * 2))

    found = parse(question, match="any")

    assert found.reasons == ("too_many_terms",)
    assert len(terms(found.root)) == MAX_PAIRS


def test_deeper_levels_are_read_as_if_not_bracketed() -> None:
    deepest = "(tea OR " * MAX_LEVELS
    assert parse(f"{deepest}cup{')' * MAX_LEVELS}").reasons == ()
    deeper = parse(f"{'(' * 1000}tea OR pot{')' * 1000} cup")
    assert deeper.reasons == ("too_deep",)
    assert written(deeper.root) == "[[tea | pot] & cup]"


@pytest.mark.parametrize(
    "piece", ['"', "(", ")", "*", "„", "“", "NEAR(", "(a ", "NOT ", "a OR ", '"a" ', "((a)b)", "茶", "é\u0301"]
)
@pytest.mark.parametrize("match", ["all", "any"])
def test_no_query_is_too_long(piece: str, match: Match) -> None:
    assert parse(piece * 100_000, match=match).truncated


def test_nul_and_lone_surrogates_are_no_part_of_a_query() -> None:
    assert written(parse("gr\x00een \udc80 tea\ud800").root) == "[green & tea]"


def test_no_query_asks_for_the_gap_between_columns() -> None:
    assert parse(GAP).root is None
    assert written(parse(f"green{GAP}tea").root) == "green tea"


def well_formed(root: Node) -> bool:
    match root:
        case Term():
            return bool(root.tokens or root.symbols) and root.folded != "" and GAP not in root.tokens
        case And(parts):
            inner = [part.part if isinstance(part, Not) else part for part in parts]
            return (
                len(set(parts)) == len(parts) > 1
                and not isinstance(parts[0], Not)
                and not any(isinstance(part, And) for part in parts)
                and all(map(well_formed, inner))
            )
        case Or(parts):
            return (
                len(set(parts)) == len(parts) > 1
                and not any(isinstance(part, Or | Not) for part in parts)
                and all(map(well_formed, parts))
            )
        case _:
            return False


@given(texts | st.text(max_size=60), st.sampled_from(["all", "any"]))
def test_every_text_is_a_query(text: str, match: Match) -> None:
    query = parse(text, match=match)

    assert query.match == match
    assert query.root is None or well_formed(query.root)
    assert (query.root is None) == bool({"no_terms", "only_negations"} & set(query.reasons))
    assert set(positive_terms(query.root)) <= set(terms(query.root))


def test_a_superset_keeps_what_every_match_has() -> None:
    def kept(query: str) -> str:
        return written(superset(parse(query).root, lambda term: len(term.folded) >= 3))

    assert kept("tea or pot") == "[tea | pot]"
    assert kept("tea OR x") == ""
    assert kept("x tea") == "tea"
    assert kept("tea NOT pot") == "tea"
    assert kept("(tea OR pot) (cup OR x)") == "[tea | pot]"
    assert kept("x") == kept("") == ""


def test_a_shape_shows_the_form_and_no_text() -> None:
    query = 'tea pot* "green tea" NOT 绿茶 (茶 OR 🍵 OR 25°C)'

    assert shape(parse(query).root) == "AND(word, prefix, phrase2, OR(cjk1, symbol, phrase2+symbol), NOT(cjk2))"
    assert shape(None) == "nothing"
