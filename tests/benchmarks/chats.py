"""Real chats, taken in and searched through a running server as their owner would.

``--data DIR`` holds them under ``formats``: a chat in Chinese and its translation, whose lines are lists of turns of
messages (role, content, timestamp), and Claude Code's own file of a session.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from django.core.management import call_command
from django.db import connection

from memories import access
from memories.access import Actor
from memories.models import Agent, Message, Workspace
from search.text import is_cjk, tokens
from tests.benchmarks import stores
from tests.benchmarks.figures import Limit, Row, median, percentile
from tests.benchmarks.servers import APP, running

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench

CHATS = {
    "Chinese chat": "formats/hermes/vectorize-io__hindsight/hermes_session_2026-05-15.txt",
    "its translation": "formats/hermes/vectorize-io__hindsight/hermes_session_2026-05-15_en.txt",
}
CLAUDE = "formats/claude_code_jsonl/d-kimuson__claude-code-viewer"
PAGE = 100
ASKED = 400
LENGTHS = (1, 2, 3, 4, 6, 8, 12)


def measure(bench: Bench) -> None:
    """Add a row for each chat: how many of its messages were found by a run of their own text, and how fast."""
    if not (bench.data / CHATS["Chinese chat"]).exists():
        bench.skip(f"chats: {bench.data} has none")
        return
    store = bench.scratch / "chats.sqlite3"
    stores.use(store)
    call_command("migrate", verbosity=0)
    agent = Agent.objects.create(workspace=Workspace.objects.create(name="main"), name="main")
    _, token = access.create_token(agent, actor=Actor("benchmarks"))
    call_command(
        "import_sessions",
        str(bench.data / CLAUDE),
        agent="main",
        workspace="main",
        stdout=StringIO(),
        stderr=StringIO(),
    )
    imported = list(Message.objects.values_list("session__external_id", flat=True).distinct())
    connection.close()
    with (
        running(APP, store, workers=2) as server,
        httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}, timeout=30) as client,
    ):
        for name, file in CHATS.items():
            bench.say(f"chats: {name}")
            session = name.replace(" ", "-")
            written = _write(client, session, list(_messages(bench.data / file)))
            bench.add(_row(name, written, _searched(client, [session])))
        bench.say("chats: Claude Code")
        bench.add(_row("Claude Code's session", len(_texts(client, imported)), _searched(client, imported)))


def _messages(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text().splitlines():
        for turn in json.loads(line) if line.strip() else ():
            yield from turn


def _write(client: httpx.Client, session: str, messages: list[dict[str, Any]]) -> int:
    """Return how many messages were taken in, 100 at a time."""
    client.put(f"/api/sessions/{session}", json={"source": "chat"}).raise_for_status()
    for start in range(0, len(messages), 100):
        some = messages[start : start + 100]
        client.post(f"/api/sessions/{session}/messages", json={"messages": some}).raise_for_status()
    return len(messages)


def _texts(client: httpx.Client, sessions: list[str]) -> list[tuple[int, str]]:
    """Return id and text of every message, read page by page."""
    found = []
    for session in sessions:
        after: str | None = None
        while True:
            parameters = {"limit": "200"} | ({"after": after} if after else {})
            page = client.get(f"/api/sessions/{session}/messages", params=parameters).raise_for_status().json()
            found += [(message["id"], message["content"]) for message in page["messages"]]
            after = page["next_cursor"]
            if after is None:
                break
    return found


@dataclass
class Searched:
    """Queries asked, how many found the message they come from, how many looked at everything, and milliseconds."""

    asked: int = 0
    found: int = 0
    complete: int = 0
    took: list[float] = field(default_factory=list)


def _searched(client: httpx.Client, sessions: list[str]) -> Searched:
    """Return what came of asking for a run of the text of up to ASKED messages."""
    pick = random.Random(7)
    texts = [(id_, text) for id_, text in _texts(client, sessions) if tokens(text)]
    searched = Searched()
    for id_, text in pick.sample(texts, min(ASKED, len(texts))):
        hits, whole, took = _all_hits(client, _run_of(text, pick), sessions)
        searched.asked += 1
        searched.found += id_ in hits
        searched.complete += whole
        searched.took += took
    return searched


def _run_of(text: str, pick: random.Random) -> str:
    """Return one to twelve characters of CJK from the text, or one to three of its words."""
    word = pick.choice(tokens(text))
    if is_cjk(word):
        runs = "".join(character if is_cjk(character) else " " for character in text).split()
        run = pick.choice(runs)
        length = min(len(run), pick.choice(LENGTHS))
        start = pick.randrange(len(run) - length + 1)
        return run[start : start + length]
    words = [one for one in text.split() if any(map(str.isalnum, one))]
    start = pick.randrange(len(words))
    return '"' + " ".join(words[start : start + pick.randint(1, 3)]).replace('"', "") + '"'


def _all_hits(client: httpx.Client, query: str, sessions: list[str]) -> tuple[set[int], bool, list[float]]:
    """Return the ids on all pages, whether the search was complete, and what each page took in milliseconds."""
    ids: set[int] = set()
    took: list[float] = []
    offset: int | None = 0
    whole = True
    while offset is not None:
        parameters: dict[str, Any] = {"q": query, "limit": PAGE, "offset": offset, "session": sessions}
        response = client.get("/api/search/messages", params=parameters).raise_for_status()
        answer = response.json()
        took.append(response.elapsed.total_seconds() * 1000)
        ids |= {hit["id"] for hit in answer["results"]}
        whole, offset = whole and answer["complete"], answer["next_offset"]
    return ids, whole, took


def _row(name: str, messages: int, searched: Searched) -> Row:
    return Row(
        "chats",
        messages,
        name,
        {
            "found": searched.found,
            "complete": searched.complete,
            "p50 ms": median(searched.took),
            "p95 ms": percentile(searched.took, 0.95),
        },
        Limit("queries, each a run of one message's text", searched.asked, ""),
        ratio=searched.found / searched.asked,
        aim="all found",
        met=searched.found == searched.asked,
    )
