"""The task that cleans a large store after an erase, when there is time for it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from memories.remember import erase, remember
from memories.schemas import MemoryIn
from memoryweb import tasks
from memoryweb.sqlite import base
from tests.stores import ask, default_store, make_store, make_token


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any) -> Path:
    with django_db_blocker.unblock():
        return make_store(tmp_path_factory.mktemp("template"))


@pytest.fixture
def store(template: Path, tmp_path: Path, django_db_blocker: Any, monkeypatch: Any) -> Iterator[Path]:
    """A store that counts as large."""
    monkeypatch.setattr(base, "SMALL_FILE", 0)
    with django_db_blocker.unblock(), default_store(Path(shutil.copy(template, tmp_path))) as path:
        yield path


def erase_one() -> None:
    principal, _ = make_token()
    admin, _ = make_token(role="admin")
    memory = remember(principal, MemoryIn(content="The word is battery."), now=timezone.now()).memory
    erase(admin, memory.pk, reason="asked to", now=timezone.now())


def times_rewritten(store: Path) -> int:
    """Return SQLite's counter in the header that VACUUM raises like a change of the schema."""
    return ask(store, "PRAGMA schema_version")[0][0]


def test_it_writes_the_store_anew_once_after_erasing(store: Path) -> None:
    assert tasks.clean_up() == "ok nothing was erased"
    before = times_rewritten(store)
    erase_one()
    erase_one()
    assert times_rewritten(store) == before

    assert tasks.clean_up().startswith("ok nothing is left of what was erased up to audit entry ")
    assert times_rewritten(store) > before

    before = times_rewritten(store)
    assert tasks.clean_up() == "ok nothing was erased"
    assert times_rewritten(store) == before
    erase_one()
    assert tasks.clean_up() != "ok nothing was erased"
    assert ask(store, "PRAGMA integrity_check") == [("ok",)]


def test_it_tries_again_where_a_reader_was_in_the_way(store: Path) -> None:
    erase_one()
    with closing(sqlite3.connect(store, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM memories_memory").fetchone()
        remember(make_token()[0], MemoryIn(content="The lamp is old."), now=timezone.now())

        assert tasks.clean_up().startswith("copies of what was erased may be left")
    assert tasks.clean_up().startswith("ok nothing is left")


def test_a_store_that_is_too_large_is_told(store: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(tasks, "REWRITTEN_UP_TO", 4096)
    erase_one()

    assert "the store is larger than 1 GB" in tasks.clean_up()
