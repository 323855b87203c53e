"""Texts in every script, with what makes searching them hard, for properties."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from search.text import GAP, fold, fold_characters, runs

PIECES = [
    *["a", "B", "z", "7", "tea", "Leaf", "kettle", "STEAM", "x9", " ", "  ", "\n", "\t", "\u00a0", "\u3000"],
    *[
        '"',
        "*",
        "(",
        ")",
        "-",
        "_",
        ".",
        ",",
        ":",
        "'",
        "’",
        "%",
        "+",
        "&",
        "|",
        "<",
        ">",
        "{",
        "}",
        "$",
        "#",
        "@",
        "\\",
    ],
    *[" AND ", " or ", " NOT ", "NEAR(", "“", "”", "„", "«", "»", "「", "」", "…", "–"],
    *["ä", "Ö", "ü", "u\u0308", "ß", "ẞ", "é", "e\u0301", "Å", "ø", "Ł", "ﬁ", "ı", "İ", "ǅ", "ŉ", "Ｔ", "９", "Ⅷ", "½"],
    *[
        "茶",
        "葉",
        "水",
        "𠮷",
        "〇",
        "々",
        "豈",
        "⼤",
        "か",
        "が",
        "か\u3099",
        "ｶ",
        "ｶﾞ",
        "ﾊﾟ",
        "ー",
        "㎏",
        "㍻",
        "。",
        "，",
    ],
    *["차", "물", "\u110e\u1161", "\u1106\u116e\u11af", "ㅋ", "ㅏ", "ﾡ", "ㄅ", "ㆆ"],
    *["чай", "Й", "й", "ё", "ї", "τσάι", "Σ", "ς", "שָׁלוֹם", "شاي", "أ", "شَاي", "ـ", "ชา", "น้ำ", "चाय", "क्षि", "ட்"],
    *[
        "🍵",
        "👩\u200d🌾",
        "👍🏽",
        "🇯🇵",
        "❤\ufe0f",
        "€",
        "°",
        "→",
        "─",
        "\u00ad",
        "\u200b",
        "\u200d",
        "\ufeff",
        "\ufffd",
    ],
]
pieces = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
texts = pieces | anything | st.tuples(pieces, anything, pieces).map("".join)


@st.composite
def texts_and_runs(draw: st.DrawFn) -> tuple[str, str]:
    """Return a text and a run of 1 to 40 of its characters that has a letter, digit, CJK character or symbol.

    A run that is cut where two code points make one character is a run of other characters, so it is none.
    """
    text = draw(texts)
    assume(text)
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start + 1, min(start + 40, len(text))))
    run = text[start:end]
    apart = fold_characters(text[:start]) + fold_characters(run) + fold_characters(text[end:])
    assume(apart == fold_characters(text))
    # The mark that stands between columns is of no query.
    assume(any(found[0] != GAP for found in runs(fold(run))))
    return text, run


def quoted(run: str) -> str:
    """Return the query for exactly this run: in quotation marks, doubled where they stand inside."""
    return '"' + run.replace('"', '""') + '"'
