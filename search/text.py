"""Text as it is compared: folded, cut into tokens, and written out for the index.

Everything here is a pure function of the text and of the Unicode tables of this Python, linear in the length of the
text. What a row gives the index and what a query asks of it come from the same functions, so the two cannot differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from unicodedata import normalize

# Raise it whenever the same text gives other tokens than before: indexes built under another name are built again.
INDEX_TEXT_VERSION = 1

# Stands between the columns of a row and between the words of alt_text: a token of the index, but of no query, so that
# no phrase reaches across.
GAP = "\ue000"

# Scripts written without spaces between words, and Korean, whose words carry endings: (first, last) code points.
CJK_RANGES: tuple[tuple[int, int], ...] = (
    (0x1100, 0x11FF),  # Hangul jamo
    (0x2E80, 0x2FD5),  # radicals
    (0x3005, 0x3007),  # 々 〆 〇
    (0x3021, 0x302F),  # Hangzhou numerals, tone marks
    (0x3031, 0x3035),  # kana repeat marks
    (0x3038, 0x303C),
    (0x3041, 0x309F),  # hiragana
    (0x30A1, 0x30FA),  # katakana, without ・
    (0x30FC, 0x30FF),
    (0x3105, 0x312F),  # Bopomofo
    (0x3131, 0x318E),  # Hangul compatibility jamo
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),  # Han compatibility
    (0x16FE0, 0x16FFF),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x3FFFD),  # Han extensions B and later
)
_LATIN_RANGES = (
    (0x61, 0x7A),
    (0xAA, 0xAA),
    (0xBA, 0xBA),
    (0xC0, 0xD6),
    (0xD8, 0xF6),
    (0xF8, 0x2AF),
    (0x1D00, 0x1DBF),
    (0x1E00, 0x1EFF),
    (0x2C60, 0x2C7F),
    (0xA722, 0xA788),
    (0xA78B, 0xA7FF),
    (0xAB30, 0xAB5A),
    (0xAB5C, 0xAB69),
)
# Once case is folded, fold leaves these as they are, and they join with no neighbour but a mark. Hangul compatibility
# jamo are among them on purpose: NFKC would glue ㄱㅏ into a syllable that nobody wrote.
_STABLE_RANGES = (
    (0x00, 0x7F),
    (0x3001, 0x3029),
    (0x3041, 0x3096),
    (0x30A1, 0x30FE),
    (0x3131, 0x3163),
    (0x3165, 0x318E),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0x20000, 0x2F7FF),
    (0x2FA20, 0x3FFFD),
)
# What fold removes: combining diacritics, Hebrew points, Arabic harakat, hamza above and kashida, and what Unicode
# calls default ignorable (soft hyphen, joiners, direction marks, variation selectors, fillers). Two of the diacritics,
# left out here, make letters of their own in Cyrillic.
_DROPPED_RANGES = (
    (0x00AD, 0x00AD),
    (0x0300, 0x0305),
    (0x0307, 0x0307),
    (0x0309, 0x036F),
    (0x0591, 0x05BD),
    (0x05BF, 0x05BF),
    (0x05C1, 0x05C2),
    (0x05C4, 0x05C5),
    (0x05C7, 0x05C7),
    (0x0610, 0x061A),
    (0x061C, 0x061C),
    (0x0640, 0x0640),
    (0x064B, 0x065F),
    (0x0670, 0x0670),
    (0x06D6, 0x06DC),
    (0x06DF, 0x06E8),
    (0x06EA, 0x06ED),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x20D0, 0x20FF),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
# Letters whose stroke or hook Unicode does not take apart, and the quotation marks and dashes that programs put in.
_LETTERS = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ħ": "h",
        "ŧ": "t",
        "ð": "d",
        "ı": "i",
        "æ": "ae",
        "œ": "oe",
        "þ": "th",
        "ٱ": "ا",
        **dict.fromkeys("‘’‛ʼ", "'"),
        **dict.fromkeys("“”„‟", '"'),
        **dict.fromkeys("‐‒–—―−", "-"),
    }
)
# Halfwidth Hangul letters as compatibility jamo: NFKC would take them for parts of syllables.
_HALFWIDTH_JAMO = {
    point: unicodedata.lookup(unicodedata.name(chr(point)).removeprefix("HALFWIDTH "))
    for point in range(0xFFA1, 0xFFDD)
    if unicodedata.name(chr(point), "").startswith("HALFWIDTH HANGUL LETTER")
}
_TRANSCRIPTIONS = str.maketrans(
    {
        **dict.fromkeys("äÄ", "ae"),
        **dict.fromkeys("öÖøØ", "oe"),
        **dict.fromkeys("üÜ", "ue"),
        **dict.fromkeys("åÅ", "aa"),
    }
)


def character_class(ranges: Iterable[tuple[int, int]]) -> str:
    """Return the inside of a character class of a regular expression."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


def _with_category(*categories: str) -> list[tuple[int, int]]:
    """Return the ranges of code points above ASCII of these general categories, the large uniform blocks left out."""
    found: list[tuple[int, int]] = []
    blocks = ((0x80, 0x3400), (0x4DC0, 0x4E00), (0xA000, 0xAC00), (0xD7A4, 0xD800), (0xE000, 0x20000))
    for first, end in blocks:
        for point in range(first, end):
            if unicodedata.category(chr(point)) in categories:
                if found and found[-1][1] == point - 1:
                    found[-1] = (found[-1][0], point)
                else:
                    found.append((point, point))
    return found


_SYMBOL_RANGES = [
    *_with_category("So", "Sm", "Sc"),
    (0x1F3FB, 0x1F3FF),  # skin tones
]
_NOT_SYMBOLS = "\ufffc\ufffd"  # they stand where something is missing
# Classes with many ranges beyond U+FFFF are slow in Python's regular expressions: those marks stand apart, and are
# tried only where such a character stands.
_ALL_MARKS = _with_category("Mn", "Mc", "Me")
MARKS = character_class(mark for mark in _ALL_MARKS if mark[1] < 0x10000)
_HIGH_MARKS = f"(?=[\U00010000-\U0001ffff])[{character_class(mark for mark in _ALL_MARKS if mark[0] >= 0x10000)}]"
CJK = character_class(CJK_RANGES)
_LATIN = character_class(_LATIN_RANGES)
_STABLE = character_class(_STABLE_RANGES)
# What may join the character before it: marks, jamo, halfwidth voicing marks; some more beyond U+FFFF do no harm.
_JOINING = MARKS + character_class(
    [
        *(dropped for dropped in _DROPPED_RANGES if dropped[1] < 0x10000),
        (0x1160, 0x11FF),
        (0xD7B0, 0xD7FF),
        (0xFF9E, 0xFF9F),
        (0x10000, 0x1FFFF),
        (0xE0000, 0xE0FFF),
    ]
)

_JOINS = re.compile(f"[{_JOINING}]")
_UNSTABLE = re.compile(f"[^{_STABLE}]+")
# Pieces that fold apart from what is around them. A compatibility jamo is never the base of one.
_BASE = f"(?![\u3131-\u318e])[{_STABLE}]"
UNSTABLE_WITH_BASE = re.compile(f"{_BASE}[{_JOINING}]+[^{_STABLE}]*|[^{_STABLE}]+")
_DROPPED = re.compile(f"[{character_class(_DROPPED_RANGES)}]|(?<![иу])\u0306|(?<!і)\u0308")
WIDE_SPACE = re.compile(r"[^\S ]\s*| \s+")
_RUN = re.compile(
    f"[{CJK}]+"
    f"|\\d*+[{_LATIN}][{_LATIN}\\d{MARKS}]*"
    f"|\\d*+[^\\W\\d_{_LATIN}{CJK}](?:[^\\W_{_LATIN}{CJK}]+|[{MARKS}]+|{_HIGH_MARKS})*"
    f"|\\d[\\d{MARKS}]*"
    f"|{GAP}"
)
_CJK_START = re.compile(f"[{CJK}]")
_SYMBOL = re.compile(f"(?![{CJK}{_NOT_SYMBOLS}])[{character_class(_SYMBOL_RANGES)}]")
_RUN_OR_SYMBOL = re.compile(f"{_SYMBOL.pattern}|{_RUN.pattern}")
_UMLAUT = re.compile("[äöüåøÄÖÜÅØ]|[aouAOU]\u0308|[aA]\u030a")
_WORD = re.compile(
    "[A-Za-z0-9\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]++(?:[-'’.,/@:+&_][A-Za-z0-9\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]++)*+"
)
_ASCII_BREAKS = bytes(point if chr(point).isalnum() else 0x20 for point in range(128)) + bytes(128)


def fold(text: str) -> str:
    """Return the text as every comparison sees it: NFKC, case folded, without diacritics or invisible characters.

    Each run of white space becomes one space, none is left at the ends; typographic quotes and dashes become plain
    ones. Idempotent. Kana voicing marks, Hangul, and the vowel signs of Indic scripts and Thai stay; so do й ў ї.
    """
    folded = fold_characters(text)
    if WIDE_SPACE.search(folded):
        folded = WIDE_SPACE.sub(" ", folded)
    return folded.strip()


def fold_characters(text: str) -> str:
    """Return the text folded, its white space as it was."""
    folded = text.casefold()
    if not folded.isascii():
        unstable = UNSTABLE_WITH_BASE if _JOINS.search(folded) else _UNSTABLE
        folded = unstable.sub(_fold_unstable, folded)
    return folded


def tokens(text: str) -> list[str]:
    """Return the words of the text in order, as the index has them.

    A word is a run of letters, digits and marks, cut where CJK, Latin and other scripts meet. A CJK run stands as its
    overlapping pairs of characters and then its last character alone.
    """
    return index_text(text).split()


def index_text(text: str) -> str:
    """Return the tokens with one space between them: what the body column is given.

    A tokenizer that takes spaces alone for separators reads it exactly (FTS5's ``ascii`` does).
    """
    return index_folded(fold(text))


def index_folded(folded: str) -> str:
    """Return the index text of a text that is folded already."""
    if folded.isascii():
        return " ".join(folded.encode().translate(_ASCII_BREAKS).decode().split())
    found = _RUN.findall(folded)
    return " ".join([_pairs(run) if not run.isascii() and _CJK_START.match(run) else run for run in found])


def symbol_text(folded: str) -> str:
    """Return the index text of a folded text with each of its symbols as a token of its own; no index has these."""
    return " ".join([_pairs(run) if _CJK_START.match(run) else run for run in _RUN_OR_SYMBOL.findall(folded)])


def has_symbols(folded: str) -> bool:
    """Return whether a folded text has emoji or other symbols that count as content; ASCII has none."""
    return not folded.isascii() and _SYMBOL.search(folded) is not None


def runs(folded: str) -> Iterator[re.Match[str]]:
    """Return the words of a folded text, CJK runs in one piece, symbols as words of their own, as matches."""
    return _RUN_OR_SYMBOL.finditer(folded)


def is_cjk(run: str) -> bool:
    """Return whether a run is of the scripts that the index keeps as pairs of characters."""
    return _CJK_START.match(run) is not None


def is_symbol(run: str) -> bool:
    """Return whether a run is a symbol."""
    return _SYMBOL.match(run) is not None


def alt_text(text: str) -> str:
    """Return the words that have ä ö ü å ø with these written out (Müller: mueller), GAP between words.

    Words joined by a mark stay side by side (Müller-Straße: mueller strasse). Empty for most texts.
    """
    return f" {GAP} ".join([index_text(written) for _, _, written in transcriptions(text)])


def transcriptions(text: str) -> Iterator[tuple[int, int, str]]:
    """Return start, end and transcription of each word of the text that has ä ö ü å ø."""
    if text.isascii() or not _UMLAUT.search(text):
        return
    for word in _WORD.finditer(text):
        if not word[0].isascii() and _UMLAUT.search(word[0]):
            yield word.start(), word.end(), normalize("NFC", word[0]).translate(_TRANSCRIPTIONS)


def function_name(version: int = INDEX_TEXT_VERSION) -> str:
    """Return the name of the database's index_text function, with all that its results rest on."""
    return f"index_text_v{version}_u{unicodedata.unidata_version.replace('.', '_')}"


def _pairs(run: str) -> str:
    count = len(run)
    if count == 1:
        return run
    pieces = [" "] * (3 * count - 2)
    pieces[0::3] = run
    pieces[1::3] = run[1:]
    return "".join(pieces)


def _fold_unstable(match: re.Match[str]) -> str:
    piece = match[0]
    return _fold_short(piece) if len(piece) < 16 else _fold_piece(piece)


def _fold_piece(piece: str) -> str:
    written = piece.translate(_HALFWIDTH_JAMO)
    if written != piece:
        return UNSTABLE_WITH_BASE.sub(_fold_unstable, written)
    folded = normalize("NFKD", piece).casefold()
    return normalize("NFC", _DROPPED.sub("", folded)).translate(_LETTERS)


_fold_short = lru_cache(maxsize=16_384)(_fold_piece)
