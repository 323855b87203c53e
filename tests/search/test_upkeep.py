"""Upkeep of the indexes on real files: size, needs, merging, renewal, tearing down, comparing every word."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memories.models import Message
from search import maintenance, upkeep, verification
from search.backends import backend, fts5_records
from search.backends.base import KINDS, Generation
from search.corpora import CORPORA, MESSAGES
from search.models import IndexState
from search.tasks import keep_indexes
from search.text import function_name
from search.upkeep import Need
from tests.factories import AgentFactory, MemoryFactory, MessageFactory, SessionFactory
from tests.search.indexes import found, sound, state_of
from tests.stores import NAME, default_store, make_store, tell

ROWS = 600


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any) -> Path:
    with django_db_blocker.unblock():
        path = make_store(tmp_path_factory.mktemp("upkeep"))
        with default_store(path):
            session = SessionFactory.create(agent=AgentFactory.create())
            for number in range(ROWS):
                MessageFactory.create(session=session, content=f"kestrel {number} over the harbour 灯塔 Müller{number}")
            MemoryFactory.create(agent=session.agent, content="a heron waits")
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def store(template: Path, tmp_path: Path, django_db_blocker: Any) -> Iterator[Path]:
    path = Path(shutil.copy(template, tmp_path / NAME))
    with django_db_blocker.unblock(), default_store(path):
        yield path


def served(kind: str = "words") -> Generation:
    return maintenance.generation_of(state_of(MESSAGES, kind))


def tables(corpus_name: str = "messages") -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE %s", [f"search_{corpus_name}%"])
        return {row[0] for row in cursor.fetchall()}


def test_the_size_is_that_of_the_blocks(store: Path) -> None:
    for kind in KINDS:
        extent = backend().extent(served(kind))
        assert extent is not None
        with connection.cursor() as cursor:
            table = served(kind).table
            cursor.execute(f'SELECT sum(length(block)) FROM "{table}_data" WHERE id > 10')
            blocks = cursor.fetchone()[0]
            cursor.execute(f'SELECT count(DISTINCT segid) FROM "{table}_idx"')
            assert extent.parts == cursor.fetchone()[0]
        assert 0.4 * extent.bytes < blocks <= extent.bytes
        assert extent.entries == ROWS


def test_what_was_deleted_is_counted_until_it_is_merged(store: Path) -> None:
    # Few enough that FTS5 does not merge them away by itself.
    Message.objects.filter(pk__in=range(1, ROWS, 25)).delete()
    extent = backend().extent(served())
    assert extent is not None
    assert 0 < extent.deleted <= 1
    while not upkeep.optimize(MESSAGES, "words", anew=True):
        pass
    merged = backend().extent(served())
    assert merged is not None
    assert (merged.parts, merged.deleted) == (1, 0)
    assert sound()


@pytest.mark.parametrize(
    "record", [b"", b"\0\0\0\0", b"\0\0\0\1\1\1\1", b"\0\0\0\1\xff\xff\xff\xff\xff", b"\0" * 4 + b"\2"]
)
def test_a_damaged_record_is_no_extent_and_no_crash(store: Path, record: bytes) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f'UPDATE "{served().table}_data" SET block = %s WHERE id = {fts5_records.STRUCTURE}', [record])
    extent = backend().extent(served())
    assert extent is None or extent.parts == 0


def test_the_worker_notes_how_large_an_index_is_and_merges_it(store: Path) -> None:
    before = backend().extent(served())
    assert before is not None
    assert before.parts > 1
    while not keep_indexes().endswith("merges=0"):
        pass
    state = state_of(MESSAGES, "words")
    assert state.probed_at is not None
    assert (state.rows, state.entries) == (ROWS, ROWS)
    keep_indexes()
    after = state_of(MESSAGES, "words")
    assert after.parts is not None
    assert after.parts < before.parts
    assert upkeep.needs(after, []) == Need.NOTHING
    assert sound()


def test_an_index_whose_ranking_counts_twice_the_rows_is_renewed(store: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(upkeep, "FEW", 0)
    for turn in range(3):
        for message in Message.objects.all()[: ROWS // 2]:
            message.content = f"heron {turn} {message.pk}"
            message.save(update_fields=["content"])
    assert upkeep.probe_all() == []
    assert upkeep.needs(state_of(MESSAGES, "words"), []) == Need.REBUILD
    keep_indexes()
    state = state_of(MESSAGES, "words")
    assert (state.generation, state.building) == (2, None)
    keep_indexes()
    assert upkeep.needs(state_of(MESSAGES, "words"), upkeep.left_over()) == Need.NOTHING
    extent = backend().extent(served())
    assert extent is not None
    assert extent.entries == ROWS
    assert sound()


def test_what_is_out_of_service_goes_in_steps_that_may_be_broken_off(store: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(upkeep, "THINNED", 3)
    agent = Message.objects.first().session.agent  # type: ignore[union-attr]
    maintenance.rebuild(MESSAGES, "words")
    assert maintenance.fill(seconds=60)
    old = Generation(MESSAGES, "words", 1, function_name())
    assert maintenance.left_over() == [old]
    assert upkeep.needs(state_of(MESSAGES, "words"), maintenance.left_over()) == Need.TEARDOWN
    for _ in range(4):
        assert upkeep._tear_down_step(old, readable=True)
    # Half thinned it is still read without harm, and the next look goes on with it.
    assert backend().is_readable(old)
    assert len(found(agent, MESSAGES, "kestrel")) == 100
    assert upkeep.tear_down(seconds=60)
    assert not any("words_g1" in name for name in tables())
    assert upkeep.tear_down(seconds=60)
    assert sound()


def test_what_serves_is_never_torn_down(store: Path) -> None:
    assert not upkeep._tear_down_step(served(), readable=True)
    maintenance.rebuild(MESSAGES, "words")
    build = maintenance.build_of(state_of(MESSAGES, "words"))
    assert build is not None
    assert not upkeep._tear_down_step(build, readable=True)
    assert maintenance.fill(seconds=60)
    assert sound()


def test_the_room_of_an_index_torn_down_is_given_back(store: Path, monkeypatch: Any) -> None:
    def pages(pragma: str) -> int:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA {pragma}")
            return int(cursor.fetchone()[0])

    Message.objects.all().delete()
    for kind in KINDS:
        maintenance.rebuild(MESSAGES, kind)
    assert maintenance.fill(seconds=60)
    before = pages("page_count")
    assert upkeep.tear_down(seconds=60)
    assert pages("page_count") < before
    assert pages("freelist_count") <= 1.5 * upkeep.KEPT_FREE * pages("page_count")


def test_an_index_that_lacks_rows_without_anybody_noticing_is_filled_again(store: Path) -> None:
    table = served().table
    with connection.cursor() as cursor:
        cursor.execute(f'DELETE FROM "{table}" WHERE rowid BETWEEN 200 AND 300')
    # A sample may miss them; the count does not.
    assert "messages words" in upkeep.probe_all() or state_of(MESSAGES, "words").state == "building"
    keep_indexes()
    keep_indexes()
    assert sound()


@pytest.mark.parametrize("kind", KINDS)
def test_every_word_is_compared_with_a_copy_built_afresh(store: Path, kind: Any) -> None:
    heard: list[int] = []
    verdict = verification.compare(MESSAGES, kind, progress=heard.append)
    assert verdict.said == f"sound: all {ROWS} rows are in it, every word where a copy built afresh has it"
    assert sum(heard) == ROWS
    assert not any("fresh" in name for name in tables(""))
    # Each row is there, and the engine finds nothing wrong: one word of one row stands elsewhere.
    table = served(kind).table
    row = random.Random(1).randrange(5, ROWS - 5)
    with connection.cursor() as cursor:
        cursor.execute(f'DELETE FROM "{table}" WHERE rowid = %s', [row])
        body = "kestrel the over harbour" if kind == "words" else "kestrel over the harbourr"
        cursor.execute(f'INSERT INTO "{table}"(rowid, body) VALUES (%s, %s)', [row, body])
    assert backend().check(served(kind)) is None
    verdict = verification.compare(MESSAGES, kind)
    assert not verdict.is_sound
    assert "words stand elsewhere than in a copy built afresh" in verdict.said
    assert state_of(MESSAGES, kind).state == IndexState.State.STALE
    keep_indexes()
    assert verification.compare(MESSAGES, kind).is_sound


def test_the_comparison_from_a_shell(store: Path, capsys: Any) -> None:
    call_command("verify_index", "--full")
    assert capsys.readouterr().out.count("every word where a copy built afresh has it") == 4
    with connection.cursor() as cursor:
        cursor.execute(f'DELETE FROM "{served().table}" WHERE rowid = 7')
        cursor.execute(f"INSERT INTO \"{served().table}\"(rowid, body) VALUES (7, 'owl')")
    with pytest.raises(CommandError, match="not every index is sound"):
        call_command("verify_index", "messages", "--full")
    assert "stand elsewhere" in capsys.readouterr().out


def test_a_comparison_meets_damage_as_damage(store: Path) -> None:
    tell(store, "PRAGMA writable_schema = ON", f"UPDATE {served().table}_data SET block = zeroblob(90) WHERE id > 10")
    assert not verification.compare(MESSAGES, "words").is_sound
    keep_indexes()
    assert sound()


def test_all_corpora_have_all_kinds(store: Path) -> None:
    assert IndexState.objects.count() == len(CORPORA) * len(KINDS)
