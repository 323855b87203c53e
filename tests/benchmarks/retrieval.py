"""How often a question finds its answer: match=any over public question sets, where they are present.

``--data DIR`` holds ``retrieval/<set>/passages.<language>.jsonl`` (passage_id, text) and ``queries.<language>.jsonl``
(question, relevant_passage_ids), and ``locomo/messages.jsonl`` and ``queries.jsonl`` of long conversations.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import QuerySet
from tqdm import tqdm

from memories import access, transcripts
from memories.access import Actor, Principal, visible_to
from memories.models import Agent, Message, Workspace
from search import maintenance
from search.backends.sqlite import words_expression
from search.corpora import MESSAGES
from search.engine import search
from search.query import parse
from tests.benchmarks import messages, stores
from tests.benchmarks.figures import Limit, Row, percentile

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench

PLACES = (1, 5, 10)
BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
ADVERSARIAL = 5
"""The category of questions that the conversation does not answer."""
SAMPLE = 12
"""With --quick one question in so many is asked."""


@dataclass(frozen=True, slots=True)
class Said:
    """One text to find: where it belongs, its name, and when it was said."""

    session: str
    name: str
    text: str
    role: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the names of the texts that answer it."""

    question: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Set:
    """A set of questions over groups of texts; each question is asked of its own group alone.

    ``aim`` is the share of answers among the first 1, 5 and 10 to be reached.
    """

    name: str
    texts: dict[str, list[Said]]
    questions: dict[str, list[Asked]]
    aim: tuple[float | None, float | None, float | None]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _passages(data: Path, folder: str, language: str, *aim: float | None) -> Set | None:
    passages = data / "retrieval" / folder / f"passages.{language}.jsonl"
    queries = passages.with_name(f"queries.{language}.jsonl")
    if not (passages.exists() and queries.exists()):
        return None
    name = f"{folder} {language}"
    texts = [
        # Passages do not follow each other: each stands in a session of its own.
        Said(line["passage_id"], f"{name} {line['passage_id']}", line["text"], "user", BEGIN + timedelta(hours=place))
        for place, line in enumerate(_lines(passages))
    ]
    questions = [
        Asked(line["question"], frozenset(f"{name} {answer}" for answer in line["relevant_passage_ids"]))
        for line in _lines(queries)
    ]
    return Set(name, {name: texts}, {name: questions}, (*aim, None))  # type: ignore[arg-type]


def _conversations(data: Path, *, captions: bool, aim: tuple[float, float, float]) -> Set | None:
    said_there, queries = data / "locomo" / "messages.jsonl", data / "locomo" / "queries.jsonl"
    if not (said_there.exists() and queries.exists()):
        return None
    texts: dict[str, list[Said]] = defaultdict(list)
    for line in _lines(said_there):
        # A message has no field for the name of a person, so it stands before the text, as in any chat export.
        said = f"{line['speaker']}: {line['text']}"
        if captions and line["image_caption"]:
            said += f" (picture: {line['image_caption']})"
        at = datetime.fromisoformat(line["timestamp"]).replace(tzinfo=UTC)
        texts[line["conversation_id"]].append(Said(line["session_id"], line["message_id"], said, line["role"], at))
    questions: dict[str, list[Asked]] = defaultdict(list)
    for line in _lines(queries):
        if line["category"] != ADVERSARIAL and line["evidence_message_ids"]:
            asked = Asked(line["question"], frozenset(line["evidence_message_ids"]))
            questions[line["conversation_id"]].append(asked)
    return Set("locomo" + (", captions too" if captions else ""), texts, questions, aim)


def _sets(data: Path) -> Iterator[Set]:
    found = (
        _passages(data, "xquad", "en", 0.936, 0.988),
        _passages(data, "xquad", "de", 0.899, 0.975),
        _passages(data, "xquad", "zh", 0.936, 0.991),
        _passages(data, "jsquad", "ja", 0.903, 0.959),
        _conversations(data, captions=False, aim=(0.309, 0.549, 0.629)),
        _conversations(data, captions=True, aim=(0.309, 0.549, 0.629)),
    )
    return (one for one in found if one is not None)


def measure(bench: Bench) -> None:
    """Add a row for each set: the share of answers among the first 1, 5 and 10 hits, and how long a search takes."""
    sets = list(_sets(bench.data))
    if not sets:
        bench.skip(f"retrieval: skipped, there are no question sets in {bench.data} (see --data)")
        return
    store = bench.scratch / "retrieval.sqlite3"
    stores.use(store)
    try:
        call_command("migrate", verbosity=0)
        for one in sets:
            bench.say(f"retrieval {one.name}")
            row = _measured(one, every=SAMPLE if bench.quick else 1)
            bench.add(row)
            bench.say(", ".join(f"{name} {value}" for name, value in row.figures.items()))
    finally:
        stores.remove(store)


def measure_planted(bench: Bench) -> None:
    """Add a row for each set of passages again, each passage in the place of a message among all of a filled store.

    Beside ours stands what FTS5's own ranking of every row that has any of the words finds.
    """
    sets = [one for one in _sets(bench.data) if one.name.startswith("xquad")]
    if not sets:
        bench.skip(f"planted: skipped, there are no passages in {bench.data} (see --data)")
        return
    filled = messages.filled(bench.directory, bench.largest)
    connection.close()
    store = bench.scratch / "planted.sqlite3"
    shutil.copyfile(filled.path, store)
    stores.use(store)
    try:
        _plant(filled.big, [said for one in sets for texts in one.texts.values() for said in texts])
        for one in sets:
            bench.say(f"planted {one.name}")
            questions = [question for asked in one.questions.values() for question in asked]
            tally = _asked(questions[:: SAMPLE if bench.quick else 1], filled.big)
            some = questions[::SAMPLE]
            ours, theirs = _asked(some, filled.big), _asked(some, filled.big, find=_full_or)
            figures = tally.figures | {
                "of some R@5 %": ours.percent(5),
                "full OR R@5 %": theirs.percent(5),
                "full OR p50 ms": percentile(theirs.took, 0.5),
            }
            limit = Limit("full OR, R@5 of some", theirs.percent(5), "%")
            ratio = ours.percent(5) / theirs.percent(5)
            met = ours.percent(5) >= theirs.percent(5) - 2
            bench.add(Row("planted", filled.messages, one.name, figures, limit, ratio, "R@5 within .02", met))
            bench.say(", ".join(f"{name} {value}" for name, value in figures.items()))
    finally:
        stores.remove(store)


def _plant(principal: Principal, texts: list[Said]) -> None:
    """Let the texts stand in the places of messages of the principal's, spread over all of them."""
    roles = visible_to(principal, Message).filter(role="user").order_by("pk").values_list("pk", flat=True)
    places = random.Random(7).sample(list(roles), len(texts))
    with transaction.atomic():
        for place, said in zip(places, texts, strict=True):
            Message.objects.filter(pk=place).update(content=said.text, external_id=said.name)


def _full_or(question: str, rows: QuerySet[Message], principal: Principal) -> list[int]:
    root = parse(question, match="any").root
    if root is None:
        return []
    table = maintenance.generation_of(maintenance.states(MESSAGES)["words"]).table
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH %s ORDER BY bm25({table}, 1, 0, 0) LIMIT {max(PLACES)}"
    with connection.cursor() as cursor:
        cursor.execute(sql, [words_expression(root, "body")])
        return [int(id_) for (id_,) in cursor.fetchall()]


def _search(question: str, rows: QuerySet[Message], principal: Principal) -> list[int]:
    answer = search(MESSAGES, parse(question, match="any"), rows, principal, limit=max(PLACES))
    return [hit.id for hit in answer.hits]


@dataclass
class Tally:
    """What share of the answers was found among the first so many, and how long it took."""

    found: dict[int, float] = field(default_factory=lambda: dict.fromkeys(PLACES, 0.0))
    any_found: int = 0
    asked: int = 0
    took: list[float] = field(default_factory=list)

    def percent(self, place: int) -> float:
        return round(100 * self.found[place] / self.asked, 2)

    @property
    def figures(self) -> dict[str, float]:
        return {
            "questions": self.asked,
            **{f"R@{place} %": self.percent(place) for place in PLACES},
            "any of them @10": round(self.any_found / self.asked, 4),
            "p50 ms": percentile(self.took, 0.5),
            "p95 ms": percentile(self.took, 0.95),
        }


def _asked(
    questions: Sequence[Asked],
    principal: Principal,
    tally: Tally | None = None,
    *,
    find: Callable[[str, QuerySet[Message], Principal], list[int]] = _search,
) -> Tally:
    """Return how well the questions are answered, added to ``tally``."""
    tally = tally or Tally()
    rows = visible_to(principal, Message)
    for question in tqdm(questions, leave=False, disable=None):
        started = time.perf_counter()
        ids = find(question.question, rows, principal)
        tally.took.append(1000 * (time.perf_counter() - started))
        names = dict(rows.filter(pk__in=ids).values_list("pk", "external_id"))
        hits = [names[id_] for id_ in ids if id_ in names]
        tally.asked += 1
        for place in PLACES:
            right = len(question.answers.intersection(hits[:place]))
            tally.found[place] += right / len(question.answers)
        tally.any_found += not question.answers.isdisjoint(hits[: max(PLACES)])
    return tally


def _measured(one: Set, *, every: int) -> Row:
    tally = Tally()
    for group, texts in one.texts.items():
        _asked(one.questions.get(group, [])[::every], _load(f"{one.name} {group}", texts), tally)
    wanted = {place: aim for place, aim in zip(PLACES, one.aim, strict=True) if aim is not None}
    return Row(
        part="retrieval",
        memories=sum(map(len, one.texts.values())),
        case=one.name,
        figures=tally.figures,
        limit=Limit("R@5 of a prototype", wanted[5], ""),
        ratio=tally.percent(5) / 100 / wanted[5],
        aim="R@" + "/".join(map(str, wanted)) + " " + "/".join(f"{aim:.3f}" for aim in wanted.values()),
        met=None if every > 1 else all(round(tally.percent(n) / 100, 3) >= aim for n, aim in wanted.items()),
    )


def _load(name: str, texts: list[Said]) -> Principal:
    """Return who sees these texts and nothing else, once they are indexed."""
    workspace = Workspace.objects.create(name=name)
    agent = Agent.objects.create(workspace=workspace, name="reader")
    token, _ = access.create_token(agent, actor=Actor("benchmarks"))
    sessions: dict[str, list[Said]] = defaultdict(list)
    for said in texts:
        sessions[said.session].append(said)
    with transaction.atomic():
        for external_id, in_session in sessions.items():
            session = transcripts.begin(
                workspace_id=workspace.pk,
                agent_id=agent.pk,
                scope="agent",
                external_id=external_id,
                fields={"source": "benchmarks"},
                now=in_session[0].at,
            )
            said_there = [
                transcripts.Said(said.role, said.text, timestamp=said.at, external_id=said.name) for said in in_session
            ]
            transcripts.load(session, said_there, now=in_session[0].at)
    maintenance.fill(seconds=60)
    return access.principal_of_token(token)
