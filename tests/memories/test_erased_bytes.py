"""What was erased is in no byte of the database file and its write-ahead log."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from memoryweb.sqlite import base
from memoryweb.tasks import clean_up
from tests.stores import ask, default_store, make_store, make_token

MARK = "battery7731"
LONG = " ".join(f"{MARK}-{number}" for number in range(50_000))[:50_000]
SEEDS = 200 if os.environ.get("MEMORYWEB_LONG") else 20


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any) -> Path:
    with django_db_blocker.unblock():
        return make_store(tmp_path_factory.mktemp("template"))


@pytest.fixture
def store(template: Path, tmp_path: Path, django_db_blocker: Any) -> Iterator[Path]:
    with django_db_blocker.unblock(), default_store(Path(shutil.copy(template, tmp_path))) as path:
        yield path


@pytest.fixture
def writer(store: Path) -> Client:
    _, token = make_token()
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def admin(store: Path) -> Client:
    _, token = make_token(agent="keeper", role="admin")
    return Client(headers={"Authorization": f"Bearer {token}"})


def remember(client: Client, content: str, *, key: str = "", **fields: Any) -> int:
    headers = {"Idempotency-Key": key} if key else {}
    response = client.post(
        "/api/memories", {"content": content, **fields}, content_type="application/json", headers=headers
    )
    assert response.status_code == 201, response.content
    return response.json()["memory"]["id"]


def revise(client: Client, memory: int, **fields: Any) -> None:
    assert client.patch(f"/api/memories/{memory}", fields, content_type="application/json").status_code == 200


def erase(client: Client, memory: int) -> None:
    response = client.post(f"/api/memories/{memory}/erase", {"reason": "asked to"}, content_type="application/json")
    assert response.status_code == 200, response.content


def bytes_of(store: Path) -> bytes:
    return b"".join(path.read_bytes() for path in store.parent.iterdir() if path.name.startswith(store.name))


@pytest.mark.parametrize("text", [f"The word is {MARK}.", LONG], ids=["short", "long"])
@pytest.mark.parametrize("large", [False, True], ids=["small store", "large store"])
def test_an_erased_text_is_in_no_byte_of_the_store(
    store: Path, writer: Client, admin: Client, text: str, large: bool, monkeypatch: Any
) -> None:
    if large:
        monkeypatch.setattr(base, "SMALL_FILE", 0)
    other = "The bicycle needs a new chain. " * 20
    remember(writer, other)
    memory = remember(writer, text, key="once", subject=MARK, tags=[MARK], metadata={"ключ": MARK})
    remember(writer, other + "It is in the shed.")
    revise(writer, memory, content=text + " Again.", reason=MARK)
    revise(writer, memory, content="Nothing.", subject="")
    remember(writer, other + "It is blue.")
    assert MARK.encode() in bytes_of(store)

    erase(admin, memory)

    assert text[:23].encode() not in bytes_of(store)
    if large:  # its single words wait in the index for the background worker
        assert clean_up().startswith("ok nothing is left")
    assert MARK.encode() not in bytes_of(store)
    assert ask(store, "PRAGMA integrity_check") == [("ok",)]
    assert ask(store, "PRAGMA freelist_count") == [(0,)]
    assert ask(store, "SELECT COUNT(*) FROM memories_memory WHERE content LIKE 'The bicycle%'") == [(3,)]


def test_wherever_sqlite_put_it_in_the_meantime(store: Path, writer: Client, admin: Client) -> None:
    for seed in range(SEEDS):
        chance = random.Random(seed)
        mark = f"mark{chance.getrandbits(64):016x}"
        fill_up(writer, chance)
        memory = remember(
            writer,
            text_of(mark, chance),
            key=f"request {seed}",
            subject=mark if chance.random() < 0.5 else "",
        )
        for _ in range(chance.randrange(4)):
            fill_up(writer, chance)
            revise(writer, memory, content=text_of(mark, chance))
        fill_up(writer, chance)

        erase(admin, memory)

        assert mark.encode() not in bytes_of(store), f"seed {seed}"
    assert ask(store, "PRAGMA integrity_check") == [("ok",)]


def text_of(mark: str, chance: random.Random) -> str:
    return f"{mark} " * chance.choice([1, 2, 3, 10, 50, 200, 1000, 2900]) + str(chance.random())


def fill_up(client: Client, chance: random.Random) -> None:
    for _ in range(chance.randrange(8)):
        remember(client, f"{chance.random()} " + "x" * chance.choice([5, 50, 500, 3000]))


def test_a_reader_in_the_way_does_not_undo_the_erasing(store: Path, writer: Client, admin: Client, caplog: Any) -> None:
    memory = remember(writer, LONG)
    with closing(sqlite3.connect(store, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM memories_memory").fetchone()

        erase(admin, memory)

        assert "deleted content may be left in the write-ahead log: a reader holds it" in caplog.text
    assert ask(store, "SELECT status, content FROM memories_memory") == [("erased", "")]

    erase(admin, remember(writer, "The next one takes the rest along."))
    assert MARK.encode() not in bytes_of(store)
