"""A full round of tidying over many memories with copies among them, and an incremental one, with their limits."""

from __future__ import annotations

import itertools
import random
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.core.management import call_command
from django.db import connection
from django.db.models import F

from memories import access, revisions
from memories.access import Actor
from memories.models import Agent, Memory, Workspace
from tests.benchmarks import stores
from tests.benchmarks.figures import Limit, Row
from tidy import config, rounds
from tidy.models import CandidateMemory

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench

SIZES, QUICK = (10_000, 100_000), (1000,)
COPIES = 0.05
CHANGED = 1000
NOW = datetime(2026, 11, 30, tzinfo=UTC)
FULL_AIM, STEP_AIM, MEMORY_AIM = 300.0, 10.0, 500.0
"""Seconds for 100,000 memories, seconds for 1,000 changed ones, MB."""
NAMES = (
    *("Mara", "Ben", "Lena", "Jonas", "Olga", "Pavel", "Ines", "Kaito", "Greta", "Nils"),
    *("Vera", "Tom", "Rosa", "Elif", "Dmitri", "Ana", "Luc", "Hana", "Omar", "Ivo"),
)
PLACES = (
    *("Graz", "Linz", "Bonn", "Ulm", "Oslo", "Rome", "Split", "Bari", "Leeds", "Turin"),
    *("Porto", "Riga", "Brno", "Gent", "Kiel", "Metz", "Nice", "Pisa", "Vigo", "York"),
)
THINGS = (
    *("kettle", "lamp", "boat", "ladder", "printer", "scooter", "radio", "bench"),
    *("clock", "carpet", "mirror", "drill", "stove", "fridge", "tent", "kayak"),
)
COLOURS = (
    *("red", "green", "blue", "yellow", "black"),
    *("white", "orange", "purple", "brown", "grey"),
)


def measure(bench: Bench) -> None:
    """Add rows for a full round of each size, and for one after CHANGED memories have changed."""
    file = config.path()
    file.parent.mkdir(parents=True, exist_ok=True)
    # All in one round, as after an import.
    file.write_text('{"candidateLimit": 100000}')
    for number in QUICK if bench.quick else SIZES:
        path = bench.scratch / f"tidy-{number}.sqlite3"
        stores.use(path)
        try:
            call_command("migrate", verbosity=0)
            bench.say(f"tidy: filling {number:,}")
            agent, copies = _fill(number)
            bench.say(f"tidy: a full round over {number:,}")
            bench.add(_full(number, copies))
            bench.say("tidy: an incremental round")
            bench.add(_incremental(number, agent))
        finally:
            stores.remove(path)


def _sentences(pick: random.Random) -> Iterator[str]:
    """Return sentences of everyday notes, each other than all before."""
    seen: set[str] = set()
    for number in itertools.count(2):
        name, other, place = pick.choice(NAMES), pick.choice(NAMES), pick.choice(PLACES)
        thing, colour = pick.choice(THINGS), pick.choice(COLOURS)
        day = (NOW + timedelta(days=pick.randrange(30, 900))).strftime("%-d %B %Y")
        text = pick.choice(
            (
                f"The {colour} {thing} of {name}'s neighbour stands in room {pick.randrange(2, 9999)} in {place}.",
                f"{name} doesn't lend the {colour} {thing} number {number} to {other}.",
                f"The lease of the {thing} that {name} rents from {other} in {place} ends on {day}.",
                f'The label of box {number} says "{colour} {thing}", and {name} keeps it in {place}.',
                f"{name} keeps two {thing}s and a well-used {colour} cover for {other} at shelf {number} in {place}.",
                f"{name}的{number}号箱子放在{place}的仓库里，里面有{pick.randrange(2, 99)}把钥匙。",
                f"Der Schlüssel für Schrank {number} hängt bei {name} in {place}, und {other} weiß derzeit davon.",
            )
        )
        if text not in seen:
            seen.add(text)
            yield text


def _edits() -> dict[str, Callable[[str], str]]:
    """Return ways to write a text once more: the first are the same to a person, the last ones are not."""
    return {
        "copy": lambda text: text,
        "blanks": lambda text: f"  {text}\n",
        "small letter": lambda text: text[0].lower() + text[1:],
        "no closing mark": lambda text: text.rstrip(".。"),
        "article": lambda text: text.removeprefix("The ").replace(" the ", " ", 1),
        "contraction": lambda text: text.replace("doesn't", "does not"),
        "quotes": lambda text: text.replace('"', "”"),
        "number word": lambda text: text.replace(" two ", " 2 "),
        "date": lambda text: _iso(text),
        "full width": lambda text: text.replace("，", ", "),
        "adverb": lambda text: text.replace(" derzeit", ""),
    }


def _iso(text: str) -> str:
    words = text.rstrip(".").split(" ")
    try:
        day = datetime.strptime(" ".join(words[-3:]), "%d %B %Y").date()
    except ValueError:
        return text
    return " ".join([*words[:-3], day.isoformat()])


def _fill(number: int) -> tuple[Agent, dict[int, str]]:
    """Return the agent, and the ids of copies with how they were made."""
    agent = Agent.objects.create(workspace=Workspace.objects.create(name="main"), name="main")
    access.create_token(agent, actor=Actor("benchmarks"))
    pick = random.Random(number)
    edits, texts, kinds = list(_edits().items()), [], []
    sentences = _sentences(pick)
    while len(texts) < number:
        text = next(sentences)
        texts.append(text)
        kinds.append("")
        if pick.random() < COPIES / (1 - COPIES):
            name, edit = pick.choice(edits)
            texts.append(edit(text))
            kinds.append(name)
    by = Actor("benchmarks")
    copies = {}
    for start in range(0, number, 1000):
        rows = [_row(agent, text) for text in texts[start : min(start + 1000, number)]]
        past = revisions.Past(1, "remember", {}, {}, by.name, "", "", NOW)
        revisions.load([(memory, [past]) for memory in rows])
        copies.update({memory.pk: kind for memory, kind in zip(rows, kinds[start:], strict=False) if kind})
    return agent, copies


def _row(agent: Agent, text: str) -> Memory:
    times: dict[str, Any] = {"created_at": NOW, "updated_at": NOW, "last_seen_at": NOW}
    return Memory(workspace_id=agent.workspace_id, agent=agent, scope="agent", content=text, subject="notes", **times)


def _full(number: int, copies: dict[int, str]) -> Row:
    seconds, queries, found = _round()
    paired = set(CandidateMemory.objects.filter(candidate__action="merge").values_list("memory_id", flat=True))
    missed = Counter(kind for pk, kind in copies.items() if pk not in paired)
    share = 1 - missed.total() / max(len(copies), 1)
    figures = {
        "seconds": seconds,
        "ms a memory": 1000 * seconds / number,
        "queries a memory": queries / number,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "copies": len(copies),
        "found %": 100 * share,
        "proposed": found.proposed,
    }
    aim = FULL_AIM * number / 100_000
    return Row(
        "tidy",
        number,
        "a full round" + (f", missed {dict(missed)}" if missed else ""),
        figures,
        Limit("aim", aim, "s"),
        ratio=seconds / aim,
        aim=f"<= {aim:.0f} s, {MEMORY_AIM:.0f} MB, 99 % found",
        met=seconds <= aim and share >= 0.99 and figures["peak MB"] <= MEMORY_AIM,
    )


def _incremental(number: int, agent: Agent) -> Row:
    pick = random.Random(number + 1)
    changed = min(CHANGED, number // 10)
    ids = pick.sample(list(Memory.objects.filter(status="active").values_list("pk", flat=True)), changed)
    Memory.objects.filter(pk__in=ids).update(revision=F("revision") + 1)
    seconds, queries, found = _round()
    figures = {
        "seconds": seconds,
        "ms a memory": 1000 * seconds / changed,
        "queries a memory": queries / changed,
        "proposed": found.proposed,
    }
    aim = STEP_AIM * changed / CHANGED
    return Row(
        "tidy",
        number,
        f"a round after {changed:,} changed",
        figures,
        Limit("aim", aim, "s"),
        ratio=seconds / aim,
        aim=f"<= {aim:.0f} s",
        met=seconds <= aim,
    )


def _round() -> tuple[float, int, rounds.Round]:
    """Return how long a round took, how many statements it ran, and the round."""
    count = 0

    def counted(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal count
        count += 1
        return execute(sql, params, many, context)

    round = rounds.start(by=Actor("benchmarks"), now=NOW)
    assert round is not None
    started = time.perf_counter()
    with connection.execute_wrapper(counted):
        while not rounds.work(round.pk, seconds=600, clock=lambda: NOW):
            pass
    seconds = time.perf_counter() - started
    round.refresh_from_db()
    return seconds, count, round
