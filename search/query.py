"""The query language: one parser, one syntax tree, the same for every path to the rows.

Words are ANDed (``match="any"``: ORed). ``"phrases"``, typographic quotes too; ``pre*``; AND and OR in any case between
two operands, NOT in capitals, parentheses around whole terms; NOT binds tighter than AND, AND tighter than OR;
``NEAR(a b, n)`` is its words ANDed. What is left over (operators without operands, brackets without partners, lone
quotes) is repaired, never an error. Everything else is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal
from unicodedata import normalize

from memories.plain_text import clean_text, cut
from search.text import GAP, fold, is_cjk, is_symbol, runs

Match = Literal["all", "any"]

MAX_LENGTH = 2_048  # characters
MAX_TERMS = 64
MAX_LEVELS = 16
# With match=any a run of CJK characters is asked for by its pairs: this many in one query.
MAX_PAIRS = 256


@dataclass(frozen=True, slots=True)
class Term:
    """One word, phrase or other piece of text that a row has or has not."""

    # As typed, without quotes and stars.
    text: str
    # Substring meaning: stands somewhere in fold(row text).
    folded: str
    # Words meaning: stand side by side in one column of the words index; empty for a term of symbols alone.
    tokens: tuple[str, ...]
    # The last token need only begin one of the row's: pre*, or a single CJK character at the end.
    prefix: bool = False
    quoted: bool = False
    # Tokens and symbols in order where the term has symbols, else empty. No index holds symbols: read the text.
    symbols: tuple[str, ...] = ()
    # Words meaning and substring meaning are the same: one run of CJK characters, or symbols alone.
    anywhere: bool = False


@dataclass(frozen=True, slots=True)
class And:
    """Two parts or more; the first is never a Not."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Two parts or more, none of them a Not."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Stands only inside an And, beside something that is not negated."""

    part: Node


Node = Term | And | Or | Not


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked, ready to be compiled."""

    # None where there is nothing to search for; reasons say why.
    root: Node | None
    match: Match = "all"
    # The query was longer than MAX_LENGTH, and its end does not count.
    truncated: bool = False
    # Of: no_terms, only_negations, negation_dropped (it stood alone under OR), too_many_terms, too_deep.
    reasons: tuple[str, ...] = ()
    # As typed, as far as it counts.
    text: str = field(default="", compare=False)


def parse(text: str, *, match: Match = "all") -> Query:
    """Return the query that a text means; every text means one."""
    typed, truncated = _shortened(clean_text(text))
    items = list(_items(typed, match, unclosed=truncated))
    if not any(isinstance(item, _Operand) for item in items):
        items = list(_items(typed, match, unclosed=truncated, operators=False))
    reasons: dict[str, None] = {}
    items = _limited(items, reasons)
    root = _tree(items, match, reasons)
    return Query(root=root, match=match, truncated=truncated, reasons=tuple(reasons), text=typed)


def terms(root: Node | None) -> tuple[Term, ...]:
    """Return the distinct terms in order, negated ones too."""
    return tuple(dict.fromkeys(_walk(root, negated=True)))


def positive_terms(root: Node | None) -> tuple[Term, ...]:
    """Return the distinct terms in order, without those under a Not."""
    return tuple(dict.fromkeys(_walk(root, negated=False)))


_TAIL = 3
"""Characters of the words after a space that are worth asking the words index for."""


def superset(root: Node | None, keep: Callable[[Term], bool]) -> Node | None:
    """Return a tree of the kept terms alone, without Not, that everything matches which matches the root.

    None where no such tree says anything. An index that knows only some terms finds the candidates by it; whether they
    match is then read from their text.
    """
    match root:
        case Term():
            return root if keep(root) else None
        case And(parts):
            kept = [part for part in (superset(part, keep) for part in parts) if part is not None]
            return _and_node(kept) if kept else None
        case Or(parts):
            needed = [superset(part, keep) for part in parts]
            return None if None in needed else _or_node([part for part in needed if part is not None])
        case _:
            return None


def tails(root: Node | None) -> Node | None:
    """Return a tree that matches by words whatever the root matches as a substring; None where none does.

    A term with a space in it may begin and end inside a word, but what follows its first space begins with one: every
    text that has ``tea kettle`` anywhere has a word that begins with ``kettle``.
    """
    kept = superset(root, lambda term: _tail(term) is not None)
    return None if kept is None else _each_term(kept, lambda term: _tail(term) or term)


def _tail(term: Term) -> Term | None:
    rest = term.folded.partition(" ")[2]
    tail = _term(rest, quoted=True, star=True) if rest else None
    return tail if tail is not None and not tail.symbols and len("".join(tail.tokens)) >= _TAIL else None


def _each_term(root: Node, change: Callable[[Term], Term]) -> Node:
    match root:
        case Term():
            return change(root)
        case And(parts):
            return _and_node([_each_term(part, change) for part in parts])
        case Or(parts):
            return _or_node([_each_term(part, change) for part in parts])
        case _:
            return root


def shape(root: Node | None) -> str:
    """Return the form of the query without its text, as logs may keep it: ``AND(word, phrase3, NOT(prefix))``."""
    match root:
        case Term():
            if not root.tokens:
                return "symbol"
            if is_cjk(root.folded[0]) and root.anywhere:
                return f"cjk{len(root.folded)}"
            kind = f"phrase{len(root.tokens)}" if len(root.tokens) > 1 else "prefix" if root.prefix else "word"
            return f"{kind}+symbol" if root.symbols else kind
        case Not(part):
            return f"NOT({shape(part)})"
        case And(parts):
            return f"AND({', '.join(map(shape, parts))})"
        case Or(parts):
            return f"OR({', '.join(map(shape, parts))})"
        case None:
            return "nothing"


def words_of(folded: str) -> list[str]:
    """Return the words and symbols that a folded piece of a query asks for, CJK runs in one piece."""
    return [run[0] for run in runs(folded) if run[0] != GAP]


def _walk(root: Node | None, *, negated: bool) -> Iterator[Term]:
    match root:
        case Term():
            yield root
        case And(parts) | Or(parts):
            for part in parts:
                yield from _walk(part, negated=negated)
        case Not(part) if negated:
            yield from _walk(part, negated=negated)


# From text to items


class _Bracket(Enum):
    OPEN = auto()
    # The words up to the closing one are ANDed, whatever the query's own match.
    OPEN_ALL = auto()
    CLOSE = auto()


@dataclass(frozen=True, slots=True)
class _Operator:
    kind: Literal["AND", "OR", "NOT"]
    word: Term
    # In capitals: never a word when operands are missing.
    loud: bool


@dataclass(frozen=True, slots=True)
class _Operand:
    """What one typed term became: itself, or with match=any the parts of which any will do."""

    terms: tuple[Term, ...]


_Item = _Bracket | _Operator | _Operand

_OPENING = "(（"
_CLOSING = ")）"
_STARS = "*＊"
_SENTENCE_MARKS = ".,;:!?…。，、；：！？"
_QUOTES = {
    '"': '"',
    "“": '”"',
    "„": '“”"',
    "‟": '”"',
    "”": "”",
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
    "〝": "〞〟",
    "＂": "＂",
}
_CLOSING_QUOTES = {opening: re.compile(f"[{closing}]") for opening, closing in _QUOTES.items()}
_QUOTE_MARKS = "".join({*_QUOTES, *"".join(_QUOTES.values())})
_CHUNK = re.compile(f"[^\\s{_QUOTE_MARKS}]+")
_SPACE = re.compile(r"\s+")
_NEAR = re.compile(r"NEAR[(（]([^()（）]*)[)）]?")
_NEAR_DISTANCE = re.compile(r",\s*\d*\s*\Z")
_ENDING = re.compile(f"[{_CLOSING}][{_CLOSING}{_STARS}{re.escape(_SENTENCE_MARKS)}]*\\Z")
_POSSESSIVE = re.compile(r"(.+)['’]s", re.IGNORECASE)


def _shortened(text: str) -> tuple[str, bool]:
    if len(text) <= MAX_LENGTH:
        return text, False
    head = text[:MAX_LENGTH]
    if not text[MAX_LENGTH].isspace():
        # The last word goes, unless there is no other.
        kept = head[: max((space.start() for space in _SPACE.finditer(head)), default=0)]
        head = kept if kept.strip() else cut(text, MAX_LENGTH)
    return head, True


def _items(text: str, match: Match, *, unclosed: bool = False, operators: bool = True) -> Iterator[_Item]:
    position = 0
    while position < len(text):
        if space := _SPACE.match(text, position):
            position = space.end()
        elif text[position] in _QUOTE_MARKS:
            end = _phrase_end(text, position, unclosed)
            if end is None:  # a quotation mark without a partner separates, and that is all
                position += 1
                continue
            phrase = text[position + 1 : end]
            position = min(end + 1, len(text))
            stars = len(text) - position - len(text[position:].lstrip(_STARS))
            position += stars
            yield from _operands(phrase, match, quoted=True, star=stars > 0)
        elif operators and (near := _NEAR.match(text, position)):
            yield _Bracket.OPEN_ALL
            yield from _items(_NEAR_DISTANCE.sub("", near[1]), "all", operators=False)
            yield _Bracket.CLOSE
            position = near.end()
        else:
            chunk = _CHUNK.match(text, position)
            assert chunk is not None
            opening, body, closing = _brackets(chunk[0])
            if opening:
                yield from [_Bracket.OPEN] * opening
                position += opening
                continue
            operator = _operator(body) if operators else None
            if operator is None and operators and (word := _operator_before_bracket(body)):
                operator = _operator(word)
                position += len(word)
            else:
                position = chunk.end()
                if operator is None:
                    yield from _text(body, match)
                yield from [_Bracket.CLOSE] * closing
            if operator is not None:
                yield operator


def _phrase_end(text: str, position: int, unclosed: bool) -> int | None:
    """Return where the phrase ends that the quotation mark at this position opens; None if it opens none."""
    mark = text[position]
    before = text[position - 1] if position else " "
    if mark not in _QUOTES or (mark == '"' and before.isalnum() and not is_cjk(before)):
        return None  # inches: 5" pipe
    if closing := _CLOSING_QUOTES[mark].search(text, position + 1):
        return closing.start()
    return len(text) if unclosed else None


def _brackets(chunk: str) -> tuple[int, str, int]:
    """Return how many parentheses open and close groups at the ends of a chunk, and what is between.

    Only those around whole terms do; ``f(x)``, ``load();`` and ``(re)start`` are text.
    """
    partner: dict[int, int] = {}
    waiting: list[int] = []
    for position, mark in enumerate(chunk):
        if mark in _OPENING:
            waiting.append(position)
        elif mark in _CLOSING and waiting:
            partner[position] = waiting.pop()
    opened_by = {opening: closing for closing, opening in partner.items()}
    ending = _ENDING.search(chunk)
    tail = ending.start() if ending else len(chunk)
    opening = 0
    while opening < len(chunk) and chunk[opening] in _OPENING and opened_by.get(opening, tail) >= tail:
        opening += 1
    closing = [
        position
        for position in range(tail, len(chunk))
        if chunk[position] in _CLOSING and partner.get(position, -1) < opening
    ]
    return opening, chunk[opening : closing[0] if closing else len(chunk)], len(closing)


def _operator(body: str) -> _Operator | None:
    word = normalize("NFKC", body)
    kind = word.upper()
    if kind not in ("AND", "OR", "NOT") or (kind == "NOT" and word != "NOT"):
        return None
    term = _term(body)
    assert term is not None
    return _Operator(kind=kind, word=term, loud=word == kind)  # type: ignore[arg-type]


def _operator_before_bracket(body: str) -> str | None:
    return next((word for word in ("NOT", "AND", "OR") if body.startswith((f"{word}(", f"{word}（"))), None)


def _text(body: str, match: Match) -> Iterator[_Operand]:
    body = body.lstrip(_STARS)
    bare = body.rstrip(_STARS)
    yield from _operands(bare, match, star=len(bare) < len(body))


def _operands(text: str, match: Match, *, quoted: bool = False, star: bool = False) -> Iterator[_Operand]:
    if match == "any" and not quoted:
        if possessive := _POSSESSIVE.fullmatch(text):
            text = possessive[1]
        parts = _parts(text, star=star)
    else:
        term = _term(text, quoted=quoted, star=star)
        parts = [term] if term else []
    if parts:
        yield _Operand(tuple(parts))


def _term(text: str, *, quoted: bool = False, star: bool = False) -> Term | None:
    """Return the term that a text is, None if it has no letter, digit, CJK character or symbol."""
    folded = fold(text if quoted else text.rstrip(_SENTENCE_MARKS))
    words = words_of(folded)
    if not words:
        return None
    letters = [word for word in words if not is_symbol(word)]
    with_symbols = len(letters) < len(words)
    return Term(
        text=text,
        folded=folded,
        tokens=_phrase(letters),
        prefix=_is_open(words[-1], star),
        quoted=quoted,
        symbols=_phrase(words) if with_symbols else (),
        anywhere="".join(words) == folded and (not letters or (len(words) == 1 and is_cjk(words[0]))),
    )


def _phrase(words: list[str]) -> tuple[str, ...]:
    """Return the tokens of words that stand side by side: the end of the last CJK run may go on in the row."""
    found: list[str] = []
    for position, word in enumerate(words):
        if not is_cjk(word) or len(word) == 1:
            found.append(word)
            continue
        found += [word[start : start + 2] for start in range(len(word) - 1)]
        if position < len(words) - 1:
            found.append(word[-1])
    return tuple(found)


def _is_open(word: str, star: bool) -> bool:
    if is_symbol(word):
        return False
    return len(word) == 1 if is_cjk(word) else star


def _parts(text: str, *, star: bool) -> list[Term]:
    """Return a term for match=any: itself, or where it has a longer CJK run its words and the run's pairs.

    A question in Chinese or Japanese is one long run, which no answer repeats.
    """
    term = _term(text, star=star)
    if term is None:
        return []
    words = words_of(term.folded)
    if not any(is_cjk(word) and len(word) > 2 for word in words):
        return [term]
    pieces: list[str] = []
    for word in words:
        pieces += [word[start : start + 2] for start in range(len(word) - 1)] if is_cjk(word) else [word]
    return [piece for piece in map(_term, pieces) if piece]


def _limited(items: list[_Item], reasons: dict[str, None]) -> list[_Item]:
    """Return the items with no more terms than allowed; the longest stay, since they say the most."""
    operands = list(dict.fromkeys(item for item in items if isinstance(item, _Operand)))
    if len(operands) > MAX_TERMS:
        reasons["too_many_terms"] = None
        operands = sorted(operands, key=lambda operand: -sum(len(term.folded.encode()) for term in operand.terms))
    kept = set(operands[:MAX_TERMS])
    pairs = dict.fromkeys(term for item in operands[:MAX_TERMS] if len(item.terms) > 1 for term in item.terms)
    if len(pairs) > MAX_PAIRS:
        reasons["too_many_terms"] = None
    dropped = set(list(pairs)[MAX_PAIRS:])
    limited: list[_Item] = []
    for item in items:
        if not isinstance(item, _Operand):
            limited.append(item)
        elif item in kept and (left := tuple(term for term in item.terms if term not in dropped)):
            limited.append(_Operand(left))
    return limited


# From items to the tree

# A node, and whether it is negated: a Not is built only once something stands beside it.
_Signed = tuple[Node, bool]


@dataclass(slots=True)
class _Group:
    match: Match
    alternatives: list[list[_Signed]] = field(default_factory=list)
    excluded: list[_Signed] = field(default_factory=list)
    pending: list[_Operator] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not self.alternatives and not self.excluded

    def add(self, node: _Signed) -> None:
        """Take an operand, joined by the operators since the one before."""
        operators, self.pending = self.pending, []
        quiet = next((index for index, operator in enumerate(operators) if not operator.loud), None)
        if self.empty and quiet is not None:
            # Nothing stands before this "and": it is a word.
            self.pending = operators[:quiet]
            self.add((operators[quiet].word, False))
            self.pending = operators[quiet + 1 :]
            self.add(node)
            return
        negated = bool(operators) and operators[-1].kind == "NOT"
        signed = (node[0], node[1] != negated)
        # In a question, which match=any is for, "and" and "or" are no more than words of the sentence.
        kinds = {operator.kind for operator in operators if operator.loud or self.match == "all"}
        if self.match == "any" and negated and not kinds & {"AND", "OR"}:
            self.excluded.append(signed)
        elif "OR" in kinds or not self.alternatives:
            self.alternatives.append([signed])
        elif "AND" in kinds or self.match == "all":
            self.alternatives[-1].append(signed)
        else:
            self.alternatives.append([signed])

    def close(self, reasons: dict[str, None]) -> _Signed | None:
        """Return what the group means; operators at its end have no operand."""
        for quiet in [operator for operator in self.pending if not operator.loud]:
            self.pending = []
            self.add((quiet.word, False))
        either = [_all_of(parts) for parts in self.alternatives]
        parts = [*([_any_of(either, reasons)] if either else []), *self.excluded]
        return _all_of(parts) if parts else None


def _tree(items: Iterable[_Item], match: Match, reasons: dict[str, None]) -> Node | None:
    stack = [_Group(match)]
    too_deep = 0
    for item in items:
        if isinstance(item, _Operand):
            stack[-1].add((_or_node(list(item.terms)), False))
        elif isinstance(item, _Operator):
            stack[-1].pending.append(item)
        elif item is not _Bracket.CLOSE:
            if len(stack) > MAX_LEVELS:
                too_deep += 1
                reasons["too_deep"] = None
            else:
                stack.append(_Group("all" if item is _Bracket.OPEN_ALL else match))
        elif too_deep:
            too_deep -= 1
        elif len(stack) > 1:
            _close(stack, reasons)
    while len(stack) > 1:
        _close(stack, reasons)
    whole = stack[0].close(reasons)
    if whole is None:
        reasons["no_terms"] = None
        return None
    node, negated = whole
    if negated:
        reasons["only_negations"] = None
        return None
    return node


def _close(stack: list[_Group], reasons: dict[str, None]) -> None:
    node = stack.pop().close(reasons)
    if node is not None:
        stack[-1].add(node)


def _all_of(parts: list[_Signed]) -> _Signed:
    wanted = [node for node, negated in parts if not negated]
    unwanted = [node for node, negated in parts if negated]
    if not wanted:
        return _or_node(unwanted), True
    return _and_node([*wanted, *(Not(node) for node in dict.fromkeys(unwanted))]), False


def _any_of(parts: list[_Signed], reasons: dict[str, None]) -> _Signed:
    wanted = [node for node, negated in parts if not negated]
    if not wanted:
        return _and_node([node for node, _ in parts]), True
    if len(wanted) < len(parts):
        reasons["negation_dropped"] = None
    return _or_node(wanted), False


def _and_node(parts: list[Node]) -> Node:
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, And) else (part,))]
    distinct = dict.fromkeys([part for part in flat if not isinstance(part, Not)])
    unwanted = dict.fromkeys([part for part in flat if isinstance(part, Not)])
    both = (*distinct, *unwanted)
    return both[0] if len(both) == 1 else And(both)


def _or_node(parts: list[Node] | list[Term]) -> Node:
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,))]
    distinct = tuple(dict.fromkeys(flat))
    return distinct[0] if len(distinct) == 1 else Or(distinct)
