"""Search among a million messages: kinds of query by relevance and newest, beside the bare FTS5 statement."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from django.db import connection

from memories.access import Principal, visible_to
from memories.models import Message, Session
from search import maintenance
from search.backends import backend
from search.backends.base import Sort
from search.backends.sqlite import words_expression
from search.corpora import MESSAGES
from search.engine import search
from search.hits import LIVE, message_hits
from search.query import parse, positive_terms
from search.routing import Mode
from search.text import tokens
from tests.benchmarks import messages
from tests.benchmarks.figures import Limit, Row, median, percentile
from tests.benchmarks.recall import timed

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench

PAGE = 20
VARIANTS = 20
SAMPLED = 4000
Aim = dict[str, float]
"""Milliseconds at most, by name of the figure."""
RELEVANCE, NEWEST, SMALL = {"p50": 10.0, "p95": 30.0}, {"p50": 3.0}, {"p95": 10.0}
QUESTIONS, CONTEXT = {"p95": 50.0}, {"p95": 20.0}
Took = tuple[float, float]
"""Milliseconds that passed, and of a processor."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Queries of one kind."""

    name: str
    queries: list[str]
    mode: Mode = "auto"


def measure(bench: Bench) -> None:
    """Add a row for each kind of query and order, in big and small workspaces, for questions, and for context."""
    store = messages.filled(bench.directory, bench.largest)
    kinds = list(kinds_of(store.big))
    for kind in kinds:
        for sort, aim in (("relevance", RELEVANCE), ("newest", NEWEST)):
            bench.say(f"search: {kind.name}, {sort}")
            bench.add(_measured(bench, store.big, store.messages, kind, sort, aim))  # type: ignore[arg-type]
    together = Kind("all kinds", [query for kind in kinds for query in kind.queries[:3] if kind.mode == "auto"])
    for name, principal in (("a hundredth of all", store.middle), (f"{messages.TINY} messages", store.tiny)):
        own = [query for kind in kinds_of(principal) for query in kind.queries[:3] if kind.mode == "auto"]
        for sort in ("relevance", "newest"):
            for whose, queries in (("words of the big one", together.queries), ("own words", own)):
                kind = Kind(f"workspace of {name}, {whose}", queries)
                bench.say(f"search: {kind.name}, {sort}")
                bench.add(_measured(bench, principal, store.messages, kind, sort, SMALL))  # type: ignore[arg-type]
    bench.say("search: questions")
    bench.add(_questions(bench, store.big, store.messages))
    bench.say("search: context")
    bench.add(_context(bench, store.big, store.messages))
    bench.add(_size(store.messages))


def kinds_of(principal: Principal) -> Iterator[Kind]:
    """Return the kinds of query with words from the store itself."""
    pick = random.Random(3)
    rows = visible_to(principal, Message).exclude(role="tool").order_by("pk")
    texts = list(rows.values_list("content", flat=True)[:SAMPLED])
    latin = [text.split() for text in texts if text.isascii() and len(text.split()) > 4]
    chinese = [part for text in texts if "，" in text for part in text.split("，") if len(part) >= 6]
    having = Counter(word for words in latin for word in set(words))
    by_number = sorted(having, key=lambda word: (-having[word], word))
    per_cent = len(latin) // 100
    usual = [word for word in by_number if per_cent <= having[word] <= 3 * per_cent]

    def some(make: Callable[[], str]) -> list[str]:
        return list(dict.fromkeys(make() for _ in range(4 * VARIANTS)))[:VARIANTS]

    def phrase() -> str:
        words = pick.choice(latin)
        place = pick.randrange(len(words) - 1)
        return f'"{words[place]} {words[place + 1]}"'

    def run(length: int) -> str:
        part = pick.choice(chinese)
        place = pick.randrange(len(part) - length + 1)
        return part[place : place + length]

    long = [word for word in by_number if len(word) >= 7 and word.islower()]
    common = by_number[:6]

    def boolean() -> str:
        one, two, three = pick.sample(common, 3)
        return pick.choice([f"{one} {two}", f"{one} OR {two}", f"{one} {two} NOT {three}", f"({one} OR {two}) {three}"])

    rare = [word for word in long if having[word] == 1] or long
    yield Kind("rare word", some(lambda: pick.choice(rare)))
    yield Kind("word", some(lambda: pick.choice(usual or by_number)))
    yield Kind("very common word", by_number[:3])
    yield Kind("common words, AND OR NOT", some(boolean))
    yield Kind("phrase", some(phrase))
    yield Kind("prefix", some(lambda: pick.choice(long)[:4] + "*"))
    for length in (1, 2, 4):
        yield Kind(f"Chinese, {length}", some(partial(run, length)))
    yield Kind("substring", some(lambda: pick.choice(long)[1:7]), mode="substring")


def _measured(bench: Bench, principal: Principal, number: int, kind: Kind, sort: Sort, aim: Aim) -> Row:
    rows = visible_to(principal, Message).filter(LIVE)
    found: list[int] = []

    def ask(query: str) -> None:
        answer = search(MESSAGES, parse(query), rows, principal, mode=kind.mode, sort=sort, limit=PAGE)
        found.append(answer.total)

    ours, bare = _in_turn(bench, kind.queries, ask, lambda query: _bare(query, kind.mode, sort))
    figures = _figures(ours, bare) | {"hits": round(median(found))}
    return _row(number, f"{kind.name}, {sort}", figures, "bare FTS5, CPU", aim)


def _questions(bench: Bench, principal: Principal, number: int) -> Row:
    rows = visible_to(principal, Message).filter(LIVE)
    pick = random.Random(4)
    texts = list(visible_to(principal, Message).filter(pk__lte=SAMPLED).values_list("content", flat=True))
    latin = [text.split() for text in texts if text.isascii() and len(text.split()) > 8]
    questions = [" ".join(pick.sample(pick.choice(latin), 8)) for _ in range(VARIANTS)]

    def bare(query: str) -> None:
        words = " OR ".join(f'"{token}"' for token in tokens(query))
        _run(f"{{body}} : ({words})", "words", "relevance")

    ours, theirs = _in_turn(
        bench, questions, lambda query: search(MESSAGES, parse(query, match="any"), rows, principal, limit=PAGE), bare
    )
    figures = _figures(ours, theirs)
    return _row(number, "question of 8 words, any", figures, "bare FTS5 of all words with OR, CPU", QUESTIONS)


def _context(bench: Bench, principal: Principal, number: int) -> Row:
    """Measure the context of a page of hits in one long session, beside loading those hits alone."""
    rows = visible_to(principal, Message).filter(LIVE, session__external_id=messages.LONG)
    texts = list(rows.order_by("pk").values_list("content", flat=True)[:SAMPLED])
    words = Counter(word for text in texts if text.isascii() for word in text.split())
    queries = [word for word, _ in words.most_common(VARIANTS)]
    ids = {query: _ids_found(principal, query) for query in queries}
    ours, bare = _in_turn(
        bench,
        queries,
        lambda query: message_hits(principal, ids[query], None, fields=("id", "context"), include_inactive=False),
        lambda query: message_hits(principal, ids[query], None, fields=("id",), include_inactive=False),
    )
    figures = _figures(ours, bare) | {"hits": PAGE}
    return _row(number, f"context of {PAGE} hits in a session of {number // 50:,}", figures, "without context", CONTEXT)


def _ids_found(principal: Principal, query: str) -> list[Any]:
    rows = visible_to(principal, Message).filter(
        LIVE, session_id=Session.objects.only("pk").get(external_id=messages.LONG).pk
    )
    return list(search(MESSAGES, parse(query), rows, principal, limit=PAGE).hits)


def _size(number: int) -> Row:
    """Measure how large the indexes are beside the text."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(octet_length(content)) FROM memories_message")
        text = cursor.fetchone()[0]
    found = {
        kind: backend().extent(maintenance.generation_of(one)) for kind, one in maintenance.states(MESSAGES).items()
    }
    sizes = {f"{kind} MB": extent.bytes / 1e6 for kind, extent in found.items() if extent is not None}
    total = sum(sizes.values())
    ratio = total / (text / 1e6)
    limit = Limit("the text", text / 1e6, "MB")
    return Row("search", number, "size of the indexes", dict(sizes), limit, ratio, "2.5 times the text", ratio <= 2.5)


def _figures(ours: list[Took], bare: list[Took]) -> dict[str, float]:
    sides = {"": ours, "bare ": bare}
    return {
        f"{side}{name}": value
        for side, took in sides.items()
        for name, value in (
            ("p50 ms", median([wall for wall, _ in took])),
            ("p95 ms", percentile([wall for wall, _ in took], 0.95)),
            ("cpu ms", median([cpu for _, cpu in took])),
        )
    }


def _row(number: int, case: str, figures: dict[str, float], what: str, aim: Aim) -> Row:
    bare = figures.pop("bare cpu ms")
    wanted = ", ".join(f"{name} {most:g} ms" for name, most in aim.items())
    met = all(figures[f"{name} ms"] <= most for name, most in aim.items())
    return Row("search", number, case, dict(figures), Limit(what, bare, "ms"), figures["cpu ms"] / bare, wanted, met)


def _in_turn(
    bench: Bench, queries: list[str], ours: Callable[[str], Any], bare: Callable[[str], Any]
) -> tuple[list[Took], list[Took]]:
    """Return how long each side took, asked in turn, so that other work disturbs both."""
    for query in queries[:2]:
        ours(query)
        bare(query)
    sides: tuple[list[Took], list[Took]] = ([], [])
    deadline = time.perf_counter() + bench.seconds
    for query in itertools.cycle(queries):
        for took, call in zip(sides, (ours, bare), strict=True):
            took.append(timed(partial(call, query)))
        if time.perf_counter() > deadline and len(sides[0]) >= len(queries):
            return sides
    raise AssertionError("no queries")


def _bare(query: str, mode: Mode, sort: Sort) -> None:
    root = parse(query).root
    assert root is not None
    if mode == "substring":
        (term,) = positive_terms(root)
        grams = {term.folded[start : start + 3] for start in range(len(term.folded) - 2)}
        _run(" AND ".join(f'"{gram}"' for gram in sorted(grams)), "trigram", sort)
    else:
        _run(words_expression(root, "body"), "words", sort)


@lru_cache
def _table(kind: str) -> str:
    state = next(state for name, state in maintenance.states(MESSAGES).items() if name == kind)
    return maintenance.generation_of(state).table


def _run(expression: str, kind: str, sort: Sort) -> None:
    table = _table(kind)
    ranked = sort == "relevance" and kind == "words"
    order = f"bm25({table}, 1, 0, 0)" if ranked else f"{table}.rowid DESC"
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY {order} LIMIT {PAGE}"
    connection.connection.execute(sql, [expression]).fetchall()
