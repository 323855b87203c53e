"""How long the pages take for people, among a million messages, a tenth of memories, and a hundredth of candidates."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client, override_settings
from tqdm import tqdm

from memories import revisions
from memories.models import Agent, Membership, Memory, Message, Session
from memories.revisions import FIELDS, Past, as_json
from tests.benchmarks import messages, stores
from tests.benchmarks.figures import Limit, Row, median, percentile
from tests.benchmarks.recall import timed
from tidy.evidence import Evidence, Seen
from tidy.models import Candidate, CandidateMemory

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench

AIM_MS = 200.0
CHUNK = 2000
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
REASONS = ("near_duplicate", "possible_event", "expired", "kind_mismatch", "decayed")
PLAIN = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}


def measure(bench: Bench) -> None:
    """Add a row for each page as a browser of a reviewer asks for it, beside the bare health check."""
    filled = messages.filled(bench.directory, bench.largest)
    connection.close()
    store = bench.scratch / "pages.sqlite3"
    shutil.copyfile(filled.path, store)
    stores.use(store)
    try:
        agent = Agent.objects.get(name="big")
        bench.say("pages: memories and candidates")
        ids = _remember(agent, bench.largest // 10)
        _propose(agent, ids[: bench.largest // 100])
        storages = {"default": {"BACKEND": "django.core.files.storage.FileSystemStorage"}, **PLAIN}
        with override_settings(STORAGES=storages, ALLOWED_HOSTS=["testserver"]):
            client = _reviewer(agent)
            for name, paths in _pages(agent, ids):
                bench.say(f"pages: {name}")
                bench.add(_measured(bench, client, name, list(paths)))
    finally:
        stores.remove(store)


def _remember(agent: Agent, number: int) -> list[int]:
    """Return the ids of new memories of the agent's, with text, subjects and tags as uneven as those of a language."""
    says = messages.Speaker(5)
    ids: list[int] = []
    with tqdm(total=number, desc="remembering", unit=" memories", disable=None) as bar:
        for start in range(0, number, CHUNK):
            rows = []
            for place in range(start, min(start + CHUNK, number)):
                at = BEGIN + timedelta(minutes=3 * place)
                memory = Memory(
                    workspace_id=agent.workspace_id,
                    agent=agent,
                    scope="shared" if place % 3 else "agent",
                    subject=f"subject {place % 500}",
                    kind=("fact", "observation", "task", "decision")[place % 4],
                    content=says.text(),
                    tags=[f"tag {place % 50}"],
                    importance=1 + place % 5,
                    created_at=at,
                    updated_at=at,
                    last_seen_at=at,
                )
                after = {name: as_json(getattr(memory, name)) for name in FIELDS}
                rows.append((memory, [Past(1, "remember", {}, after, "agent big", "", "", at)]))
            revisions.load(rows)
            ids += [memory.pk for memory, _ in rows]
            bar.update(len(rows))
    return ids


def _propose(agent: Agent, ids: list[int]) -> None:
    """Write an open candidate for each of the memories but every tenth, whose is applied."""
    for start in range(0, len(ids), CHUNK):
        memories = Memory.objects.in_bulk(ids[start : start + CHUNK])
        candidates = [_candidate(agent, memory, place) for place, memory in enumerate(memories.values(), start=start)]
        Candidate.objects.bulk_create(candidates)
        CandidateMemory.objects.bulk_create(
            CandidateMemory(candidate=one, memory=memory, role="source", seen_revision=1)
            for one, memory in zip(candidates, memories.values(), strict=True)
        )


def _candidate(agent: Agent, memory: Memory, place: int) -> Candidate:
    reason = REASONS[place % len(REASONS)]
    evidence = Evidence(seen=(Seen.of(memory, "source"),), rule=reason, rules_version=1, today="2026-03-01")
    applied = place % 10 == 0
    return Candidate(
        workspace_id=agent.workspace_id,
        partition=memory.partition,
        action="archive",
        reason=reason,
        status="applied" if applied else "pending",
        auto=applied,
        decided_by="tidy" if applied else "",
        decided_at=memory.created_at if applied else None,
        fingerprint=f"of memory {memory.pk}",
        subject=memory.subject,
        evidence=evidence.as_json(),
        created_at=memory.created_at,
        impact=100 * memory.importance,
    )


def _reviewer(agent: Agent) -> Client:
    user = get_user_model().objects.create_user("reviewer", password=None)
    Membership.objects.create(user=user, workspace_id=agent.workspace_id, role="admin")
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def _pages(agent: Agent, ids: list[int]) -> Iterator[tuple[str, Iterator[str]]]:
    """Return each page's name and the addresses at which it is asked for, in turn."""
    words = [word for text in _some_texts(agent) for word in text.split() if word.isascii() and len(word) > 5][:40]
    some = [ids[place * len(ids) // 40] for place in range(40)]
    proposed = list(Candidate.objects.order_by("pk").values_list("pk", flat=True)[:: max(len(ids) // 4000, 1)])[:40]
    sessions = list(Session.objects.filter(agent=agent).order_by("pk").values_list("pk", flat=True)[:40])
    long = Session.objects.get(external_id=messages.LONG).pk
    inside = list(Message.objects.filter(session_id=long).order_by("pk").values_list("pk", flat=True)[::500])[:40]
    yield "overview", iter(["/"])
    yield "queue", (f"/review/?page={1 + 9 * n}" for n in range(40))
    yield "queue by impact, of a subject", (f"/review/?sort=impact&subject=subject+{n}" for n in range(40))
    yield "queue of an agent, applied", iter(["/review/?agent=big&status=applied&auto=1"])
    yield "candidate", (f"/review/{pk}/" for pk in proposed)
    yield "effect on recall", (f"/review/{pk}/effect/" for pk in proposed)
    yield "many at once", iter([f"/review/bulk/?workspace={agent.workspace_id}&reason=near_duplicate"])
    yield "memories", (f"/memories/?after={pk}" for pk in some)
    yield "memories, filtered", (f"/memories/?kind=task&tag=tag+{n}&min_importance=2" for n in range(40))
    yield "memories, searched", (f"/memories/?q={word}" for word in words)
    yield "memory", (f"/memories/{pk}/" for pk in some)
    yield "search in both", (f"/search/?q={word}" for word in words)
    yield "search, a question", (f"/search/?q={'+'.join(words[n : n + 5])}&match=any" for n in range(35))
    yield "sessions", iter(["/sessions/", "/sessions/?q=session+77"])
    yield "session", (f"/sessions/{pk}/" for pk in sessions)
    yield f"session of {len(inside) * 500:,}, in the middle", (f"/sessions/{long}/?message={pk}" for pk in inside)
    yield "audit log", iter(["/audit/", "/audit/?who=people"])


def _some_texts(agent: Agent) -> list[str]:
    return list(
        Message.objects.filter(workspace_id=agent.workspace_id).order_by("pk").values_list("content", flat=True)[:400]
    )


def _measured(bench: Bench, client: Client, name: str, paths: list[str]) -> Row:
    queries = 0

    def count(execute: Callable[..., Any], *statement: Any) -> Any:
        nonlocal queries
        queries += 1
        return execute(*statement)

    with connection.execute_wrapper(count):
        _ask(client, paths[0])
    took: list[float] = []
    bare: list[float] = []
    deadline = time.perf_counter() + bench.seconds
    for path in itertools.cycle(paths):
        took.append(timed(partial(_ask, client, path))[0])
        bare.append(timed(partial(_ask, client, "/health/live"))[0])
        if time.perf_counter() > deadline and len(took) >= len(paths):
            break
    figures = {
        "p50 ms": median(took),
        "p95 ms": percentile(took, 0.95),
        "longest ms": max(took),
        "queries": queries,
    }
    limit = Limit("the health check, p50", median(bare), "ms")
    met = figures["p95 ms"] <= AIM_MS
    ratio = figures["p50 ms"] / median(bare)
    return Row("pages", bench.largest, name, figures, limit, ratio, f"p95 {AIM_MS:g} ms", met)


def _ask(client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200, (path, response.status_code)
