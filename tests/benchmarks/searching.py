"""Search among 200,000 messages: nine kinds of query by relevance and newest, beside the bare FTS5 statement."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management import call_command
from django.db import connection
from tqdm import tqdm

from memories import access
from memories.access import Actor, Principal, visible_to
from memories.models import Agent, Message, Session, Token, Workspace
from search import maintenance
from search.backends.base import Sort
from search.corpora import MESSAGES
from search.engine import search
from search.hits import LIVE
from search.query import parse, positive_terms
from search.routing import Mode
from search.text import tokens
from tests.benchmarks import stores
from tests.benchmarks.figures import Limit, Row, median, percentile
from tests.benchmarks.recall import timed

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench

MESSAGES_MANY, MESSAGES_QUICK = 200_000, 10_000
PER_SESSION = 40
PAGE = 20
VARIANTS = 20
VOCABULARY, CHARACTERS = 40_000, 3_000
FILLER = 2
"""Part of a store's name: raise it when the filler writes something else."""
CHUNK = 2000
SAMPLED = 4000
Took = tuple[float, float]
"""Milliseconds that passed, and of a processor."""
_SYLLABLES = [first + vowel for first in ("br", "st", "tr", *"bdfghklmnprstvwz") for vowel in "aeiou"]


class Speaker:
    """Says texts whose words are as unevenly common as those of a language: four fifths Latin, one fifth Chinese."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.words = ["".join(self.pick.choices(_SYLLABLES, k=1 + place % 4)) + "n" for place in range(VOCABULARY)]
        self.characters = [chr(0x4E00 + 6 * number) for number in range(CHARACTERS)]
        self.word_ends = list(itertools.accumulate(1 / (3 + place) for place in range(VOCABULARY)))
        self.character_ends = list(itertools.accumulate(1 / (20 + place) for place in range(CHARACTERS)))

    def text(self) -> str:
        """Return a text of a few words to a few hundred."""
        length = int(8 + 112 * self.pick.random() ** 2)
        if self.pick.random() < 0.2:
            said = self.pick.choices(self.characters, cum_weights=self.character_ends, k=length)
            return "，".join("".join(said[start : start + 12]) for start in range(0, length, 12))
        return " ".join(self.pick.choices(self.words, cum_weights=self.word_ends, k=length))


@dataclass(frozen=True, slots=True)
class Kind:
    """Queries of one kind."""

    name: str
    queries: list[str]
    mode: Mode = "auto"


def measure(bench: Bench) -> None:
    """Add a row for each kind of query and order, and for questions (match=any)."""
    number = MESSAGES_QUICK if bench.quick else MESSAGES_MANY
    principal = _filled(bench.directory, number)
    for kind in _kinds(principal):
        for sort in ("relevance", "newest"):
            bench.say(f"search: {kind.name}, {sort}")
            bench.add(_measured(bench, principal, number, kind, sort))  # type: ignore[arg-type]
    bench.say("search: questions")
    bench.add(_questions(bench, principal, number))


def _filled(directory: Path, number: int) -> Principal:
    """Return the main agent of the store of so many messages, built now unless the directory has it."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"messages-{number}-{FILLER}-{stores.schema()}.sqlite3"
    if not path.exists():
        building = directory / f"building-{os.getpid()}-{path.name}"
        stores.use(building)
        try:
            _build(number)
            connection.close()
            building.replace(path)
        finally:
            stores.remove(building)
    stores.use(path)
    return access.principal_of_token(Token.objects.select_related("agent").get(agent__name="main"))


def _build(number: int) -> None:
    call_command("migrate", verbosity=0)
    agents = []
    for name, share in (("main", 0.8), ("second", 0.15), ("third", 0.05)):
        agent = Agent.objects.create(workspace=Workspace.objects.create(name=name), name=name)
        access.create_token(agent, actor=Actor("benchmarks"))
        agents.append((agent, share))
    raw = stores.quick_connection()
    stores.drop_triggers(raw)
    write = Speaker(number)
    pick, begin = random.Random(number + 1), datetime(2024, 1, 1, tzinfo=UTC)
    messages: list[Message] = []
    for place in tqdm(range(number // PER_SESSION), desc=f"filling {number:,}", unit=" sessions", disable=None):
        agent = pick.choices([agent for agent, _ in agents], [share for _, share in agents])[0]
        at = begin + timedelta(hours=place)
        session = Session(
            workspace_id=agent.workspace_id,
            agent=agent,
            partition=agent.partition,
            external_id=f"session {place}",
            source=pick.choice(["cli", "telegram", "web"]),
            started_at=at,
            last_active_at=at + timedelta(minutes=PER_SESSION),
            created_at=at,
            updated_at=at,
        )
        session.save()
        messages += [
            Message(
                session=session,
                workspace_id=agent.workspace_id,
                partition=agent.partition,
                role=("user", "assistant", "assistant", "tool")[turn % 4],
                content=write.text(),
                timestamp=at + timedelta(minutes=turn),
            )
            for turn in range(PER_SESSION)
        ]
        if len(messages) >= CHUNK:
            Message.objects.bulk_create(messages)
            messages.clear()
    Message.objects.bulk_create(messages)
    stores.index()
    raw.execute("PRAGMA journal_mode = WAL")
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _kinds(principal: Principal) -> Iterator[Kind]:
    """Return the kinds of query with words from the store itself."""
    pick = random.Random(3)
    rows = visible_to(principal, Message).exclude(role="tool").order_by("pk")
    texts = list(rows.values_list("content", flat=True)[:SAMPLED])
    latin = [text.split() for text in texts if text.isascii() and len(text.split()) > 4]
    chinese = [part for text in texts if not text.isascii() for part in text.split("，") if len(part) >= 6]
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

    long = [word for word in by_number if len(word) >= 7]
    yield Kind("rare word", some(lambda: pick.choice([word for word in long if having[word] == 1])))
    yield Kind("word", some(lambda: pick.choice(usual)))
    yield Kind("very common word", by_number[:3])
    yield Kind("phrase", some(phrase))
    yield Kind("prefix", some(lambda: pick.choice(long)[:4] + "*"))
    for length in (1, 2, 4):
        yield Kind(f"Chinese, {length}", some(partial(run, length)))
    yield Kind("substring", some(lambda: pick.choice(long)[1:7]), mode="substring")


def _measured(bench: Bench, principal: Principal, number: int, kind: Kind, sort: Sort) -> Row:
    rows = visible_to(principal, Message).filter(LIVE)
    found: list[int] = []

    def ask(query: str) -> None:
        answer = search(MESSAGES, parse(query), rows, principal, mode=kind.mode, sort=sort, limit=PAGE)
        found.append(answer.total)

    ours, bare = _in_turn(bench, kind.queries, ask, lambda query: _bare(query, kind.mode, sort))
    figures = _figures(ours, bare) | {"hits": round(median(found))}
    return _row(number, f"{kind.name}, {sort}", figures, "bare FTS5, CPU")


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
    return _row(number, "question of 8 words, any", _figures(ours, theirs), "bare FTS5 of all words with OR, CPU")


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


def _row(number: int, case: str, figures: dict[str, float], what: str) -> Row:
    bare = figures.pop("bare cpu ms")
    return Row("search", number, case, dict(figures), Limit(what, bare, "ms"), ratio=figures["cpu ms"] / bare)


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
    term = positive_terms(parse(query).root)[0]
    if mode == "substring":
        grams = {term.folded[start : start + 3] for start in range(len(term.folded) - 2)}
        _run(" AND ".join(f'"{gram}"' for gram in sorted(grams)), "trigram", sort)
    else:
        _run(f'body : "{" ".join(term.tokens)}"{" *" if term.prefix else ""}', "words", sort)


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
