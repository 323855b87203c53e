"""Several writers of one session at once, on a real file."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from memories.access import Principal
from memories.errors import Conflict
from memories.models import Message, Session
from memories.transcript_reading import list_messages
from memories.transcript_schemas import MessageIn, SessionIn
from memories.transcripts import append, put_session
from tests.stores import default_store, make_store, make_token

WRITERS, EACH = 4, 12


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any) -> Path:
    with django_db_blocker.unblock():
        return make_store(tmp_path_factory.mktemp("template"))


@pytest.fixture
def principal(template: Path, tmp_path: Path, django_db_blocker: Any) -> Iterator[Principal]:
    with django_db_blocker.unblock(), default_store(Path(shutil.copy(template, tmp_path))):
        principal, _secret = make_token()
        put_session(principal, "a", SessionIn(source="cli"), now=timezone.now())
        yield principal


def at_once(*runs: Callable[[], Any]) -> list[Any]:
    """Return what each gave, all run at the same time in threads of their own."""
    start = threading.Barrier(len(runs))

    def closing_connection(run: Callable[[], Any]) -> Any:
        start.wait()
        try:
            return run()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(runs)) as pool:
        return [future.result() for future in [pool.submit(closing_connection, run) for run in runs]]


def say(principal: Principal, *messages: MessageIn) -> list[str]:
    return [one.action for one in append(principal, "a", messages, now=timezone.now())]


def test_a_reader_that_follows_misses_nothing(principal: Principal) -> None:
    written = threading.Event()

    def write(writer: int) -> None:
        for number in range(EACH):
            say(principal, MessageIn(role="user", content=f"{writer} {number}"))

    def write_all() -> None:
        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(lambda writer: at_once(lambda: write(writer)), range(WRITERS)))
        written.set()

    def follow() -> list[str]:
        seen: list[str] = []
        after: str | None = None
        while True:
            ended = written.is_set()
            page = list_messages(principal, "a", after=after, limit=5)
            seen += [row["content"] for row in page.rows]
            after = str(page.rows[-1]["id"]) if page.rows else after
            if ended and not page.rows:
                return seen

    _nothing, seen = at_once(write_all, follow)
    assert len(seen) == len(set(seen)) == WRITERS * EACH
    assert seen == list(Message.objects.order_by("id").values_list("content", flat=True))
    for writer in range(WRITERS):
        assert [text for text in seen if text.startswith(f"{writer} ")] == [f"{writer} {n}" for n in range(EACH)]
    assert Session.objects.get().message_count == WRITERS * EACH


def test_a_message_sent_by_several_at_once_is_there_once(principal: Principal) -> None:
    messages = [MessageIn(role="user", content=f"line {n}", external_id=f"m{n}") for n in range(EACH)]
    results = at_once(*[lambda: say(principal, *messages)] * WRITERS)

    assert sorted(set(map(tuple, results))) == [("created",) * EACH, ("unchanged",) * EACH]
    assert [set(result) for result in results].count({"created"}) == 1
    assert Message.objects.count() == Session.objects.get().message_count == EACH


def test_of_two_contents_under_one_id_the_first_stays(principal: Principal) -> None:
    def attempt(writer: int) -> str:
        try:
            say(
                principal,
                MessageIn(role="user", content="before"),
                MessageIn(role="user", content=f"by {writer}", external_id="m"),
            )
        except Conflict as refusal:
            return refusal.code
        return "written"

    results = at_once(*(lambda writer=writer: attempt(writer) for writer in range(WRITERS)))  # type: ignore[misc]

    assert sorted(results) == ["external_id_taken"] * (WRITERS - 1) + ["written"]
    assert Message.objects.count() == 2


def test_a_session_begun_by_several_at_once_is_one(principal: Principal) -> None:
    def begin() -> str:
        return put_session(principal, "new", SessionIn(source="cli"), now=timezone.now()).action

    assert sorted(at_once(*[begin] * WRITERS)) == ["created"] + ["unchanged"] * (WRITERS - 1)
