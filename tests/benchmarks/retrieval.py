"""How often a question finds its answer: match=any over public question sets, where they are present.

``--data DIR`` holds ``retrieval/<set>/passages.<language>.jsonl`` (passage_id, text) and ``queries.<language>.jsonl``
(question, relevant_passage_ids), and ``locomo/messages.jsonl`` and ``queries.jsonl`` of long conversations.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management import call_command
from django.db import transaction
from tqdm import tqdm

from memories import access, transcripts
from memories.access import Actor, Principal, visible_to
from memories.models import Agent, Message, Workspace
from search import maintenance
from search.corpora import MESSAGES
from search.engine import search
from search.query import parse
from tests.benchmarks import stores
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
        Said(line["passage_id"], line["passage_id"], line["text"], "user", BEGIN + timedelta(hours=place))
        for place, line in enumerate(_lines(passages))
    ]
    questions = [Asked(line["question"], frozenset(line["relevant_passage_ids"])) for line in _lines(queries)]
    return Set(name, {name: texts}, {name: questions}, (*aim, None))  # type: ignore[arg-type]


def _conversations(data: Path, *, captions: bool, aim: tuple[float, float, float]) -> Set | None:
    messages, queries = data / "locomo" / "messages.jsonl", data / "locomo" / "queries.jsonl"
    if not (messages.exists() and queries.exists()):
        return None
    texts: dict[str, list[Said]] = defaultdict(list)
    for line in _lines(messages):
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


def _measured(one: Set, *, every: int) -> Row:
    found = dict.fromkeys(PLACES, 0.0)
    any_found = dict.fromkeys(PLACES, 0)
    took: list[float] = []
    asked = 0
    for group, texts in one.texts.items():
        principal = _load(f"{one.name} {group}", texts)
        rows = visible_to(principal, Message)
        for question in tqdm(one.questions.get(group, [])[::every], desc=group, leave=False, disable=None):
            started = time.perf_counter()
            answer = search(MESSAGES, parse(question.question, match="any"), rows, principal, limit=max(PLACES))
            took.append(1000 * (time.perf_counter() - started))
            ids = [hit.id for hit in answer.hits]
            names = dict(rows.filter(pk__in=ids).values_list("pk", "external_id"))
            hits = [names[id_] for id_ in ids]
            asked += 1
            for place in PLACES:
                right = len(question.answers.intersection(hits[:place]))
                found[place] += right / len(question.answers)
                any_found[place] += right > 0
    shares = {place: round(found[place] / asked, 4) for place in PLACES}
    wanted = {place: aim for place, aim in zip(PLACES, one.aim, strict=True) if aim is not None}
    return Row(
        part="retrieval",
        memories=sum(map(len, one.texts.values())),
        case=one.name,
        figures={
            "questions": asked,
            **{f"R@{place} %": 100 * shares[place] for place in PLACES},
            "any of them @10": round(any_found[10] / asked, 4),
            "p50 ms": percentile(took, 0.5),
            "p95 ms": percentile(took, 0.95),
        },
        limit=Limit("R@5 of a prototype", wanted[5], ""),
        ratio=shares[5] / wanted[5],
        aim="R@" + "/".join(map(str, wanted)) + " " + "/".join(f"{aim:.3f}" for aim in wanted.values()),
        met=None if every > 1 else all(round(shares[place], 3) >= aim for place, aim in wanted.items()),
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
            messages = [
                transcripts.Said(said.role, said.text, timestamp=said.at, external_id=said.name) for said in in_session
            ]
            transcripts.load(session, messages, now=in_session[0].at)
    maintenance.fill(seconds=60)
    return access.principal_of_token(token)
