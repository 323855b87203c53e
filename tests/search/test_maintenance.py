"""Indexes are made, filled, mended: whatever was there before, wherever it was interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from memories.models import Message
from search import maintenance, upkeep, verification
from search.backends import backend
from search.backends.base import KINDS, Generation
from search.corpora import CORPORA, MESSAGES, Corpus
from search.models import IndexState
from search.tasks import keep_indexes
from search.text import function_name
from tests.factories import AgentFactory, MemoryFactory, MessageFactory, SessionFactory
from tests.search.indexes import ask, found, sound, state_of
from tests.stores import NAME, ROOT, default_store, environment, make_store

EACH = pytest.mark.parametrize(
    ("corpus", "kind"),
    [(corpus, kind) for corpus in CORPORA.values() for kind in KINDS],
    ids=[f"{name} {kind}" for name in CORPORA for kind in KINDS],
)


@pytest.fixture
def rows(agent: Any) -> dict[str, list[int]]:
    """Five messages and five memories about kestrels, by corpus."""
    session = SessionFactory.create(agent=agent)
    return {
        "messages": [MessageFactory.create(session=session, content=f"kestrel {n} nests 灯塔").pk for n in range(5)],
        "memories": [MemoryFactory.create(agent=agent, content=f"kestrel {n} nests 灯塔").pk for n in range(5)],
    }


def empty(corpus: Corpus, kind: str, *, progress: int = 0) -> None:
    """Leave an index as one that was only filled up to ``progress``."""
    state = state_of(corpus, kind)
    table = f'"{maintenance.generation_of(state).table}"'
    last = corpus.model.objects.latest("pk").pk
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table} WHERE rowid > %s", [progress])
    state.state, state.progress, state.high_water = "building", progress, last
    state.save()


def assert_finds(agent: Any, corpus: Corpus, ids: list[int]) -> None:
    for query in ("kestrel", "estre", "灯塔", "塔"):
        assert sorted(found(agent, corpus, query)) == sorted(ids), query


@EACH
@pytest.mark.django_db
def test_rows_that_were_there_before_an_index_are_found_at_once_and_filled_in(
    agent: Any, rows: Any, corpus: Corpus, kind: str
) -> None:
    backend().drop(maintenance.generation_of(state_of(corpus, kind)))
    IndexState.objects.filter(corpus=corpus.name, kind=kind).delete()
    assert maintenance.ensure() == [f"{corpus.name} {kind}: made"]

    assert (state_of(corpus, kind).state, state_of(corpus, kind).percent) == ("building", 0)
    assert_finds(agent, corpus, rows[corpus.name])
    assert ask(agent, corpus, "kestrel").index_state == "rebuilding"
    assert maintenance.fill(seconds=20)
    assert sound()
    assert_finds(agent, corpus, rows[corpus.name])


@EACH
@pytest.mark.parametrize("part", range(6))
@pytest.mark.django_db
def test_every_row_is_found_once_however_far_it_is_filled(
    agent: Any, rows: Any, corpus: Corpus, kind: str, part: int
) -> None:
    ids = rows[corpus.name]
    empty(corpus, kind, progress=[0, *ids][part])
    added = (
        MessageFactory.create(session=Message.objects.get(pk=ids[0]).session, content="kestrel returns 灯塔")
        if corpus is MESSAGES
        else MemoryFactory.create(agent=agent, content="kestrel returns 灯塔")
    )
    corpus.model.objects.filter(pk=ids[0]).update(content="walnut")
    corpus.model.objects.filter(pk=ids[4]).delete()

    assert_finds(agent, corpus, [*ids[1:4], added.pk])
    assert found(agent, corpus, "walnut") == [ids[0]]
    assert maintenance.fill(seconds=20)
    assert sound()
    assert_finds(agent, corpus, [*ids[1:4], added.pk])


@pytest.mark.django_db
def test_it_says_how_far_it_is(agent: Any, rows: Any) -> None:
    ids = rows["messages"]
    empty(MESSAGES, "words", progress=ids[1])
    answer = ask(agent, MESSAGES, "kestrel")

    assert (answer.index_state, answer.index_percent) == ("rebuilding", 100 * ids[1] // ids[4])
    assert not verification.verify(MESSAGES, "words").is_sound
    seen: list[int] = []
    assert maintenance.fill(seconds=20, progress=lambda state: seen.append(state.percent))
    assert seen[-1] == 100
    assert seen == sorted(seen)


@EACH
@pytest.mark.django_db
def test_a_row_without_its_table_starts_from_empty(agent: Any, rows: Any, corpus: Corpus, kind: str) -> None:
    backend().drop(maintenance.generation_of(state_of(corpus, kind)))
    assert maintenance.ensure() == [f"{corpus.name} {kind}: damaged, made anew"]
    assert maintenance.fill(seconds=20)

    assert state_of(corpus, kind).generation == 2
    assert sound()
    assert_finds(agent, corpus, rows[corpus.name])


@EACH
@pytest.mark.django_db
def test_a_table_without_its_row_is_dropped(agent: Any, rows: Any, corpus: Corpus, kind: str) -> None:
    IndexState.objects.filter(corpus=corpus.name, kind=kind).delete()
    stray = Generation(corpus, kind, 10, function_name())
    backend().create(stray)
    assert maintenance.ensure() == [f"{corpus.name} {kind}: made"]

    assert state_of(corpus, kind).generation == 11
    assert upkeep.tear_down(seconds=20)
    assert backend().generations(corpus, kind) == [11]
    assert maintenance.fill(seconds=20)
    assert sound()
    assert_finds(agent, corpus, rows[corpus.name])


@pytest.mark.django_db
def test_dropping_the_first_generation_leaves_the_tenth_alone(agent: Any, rows: Any) -> None:
    first, tenth = (Generation(MESSAGES, "words", number, function_name()) for number in (1, 10))
    backend().create(tenth)
    backend().drop(first)

    assert backend().is_whole(tenth)
    assert not backend().repair(tenth)
    assert not backend().is_whole(first)
    assert backend().generations(MESSAGES, "words") == [10]


@EACH
@pytest.mark.parametrize("event", ["insert", "update", "delete"])
@pytest.mark.django_db
def test_a_missing_trigger_is_made_again_and_what_it_missed_is_caught_up(
    agent: Any, rows: Any, corpus: Corpus, kind: str, event: str
) -> None:
    ids = rows[corpus.name]
    with connection.cursor() as cursor:
        cursor.execute(f'DROP TRIGGER "search_{corpus.name}_{kind}_g1_{event}"')
    corpus.model.objects.filter(pk=ids[0]).update(content="walnut")
    corpus.model.objects.filter(pk=ids[1]).delete()
    if corpus is MESSAGES:
        added = MessageFactory.create(session=SessionFactory.create(agent=agent), content="kestrel returns 灯塔")
    else:
        added = MemoryFactory.create(agent=agent, content="kestrel returns 灯塔")
    assert maintenance.ensure() == [f"{corpus.name} {kind}: triggers made anew"]

    for _ in range(2):
        assert_finds(agent, corpus, [*ids[2:], added.pk])
        assert found(agent, corpus, "walnut") == found(agent, corpus, "alnu") == [ids[0]]
        assert maintenance.fill(seconds=20)
    assert sound()


@pytest.mark.django_db
def test_a_trigger_that_says_something_else_is_made_again(agent: Any, rows: Any) -> None:
    name = "search_messages_words_g1_insert"
    with connection.cursor() as cursor:
        cursor.execute(f'DROP TRIGGER "{name}"')
        cursor.execute(f'CREATE TRIGGER "{name}" AFTER INSERT ON memories_message BEGIN SELECT 1; END')
    MessageFactory.create(session=SessionFactory.create(agent=agent), content="walnut")
    assert maintenance.ensure() == ["messages words: triggers made anew"]
    maintenance.fill(seconds=20)

    assert sound()
    assert len(found(agent, MESSAGES, "walnut")) == 1


@EACH
@pytest.mark.django_db(transaction=True)
def test_an_index_of_another_text_function_is_built_anew_and_no_write_waits_for_it(
    agent: Any, rows: Any, client_for: Any, corpus: Corpus, kind: str
) -> None:
    state = state_of(corpus, kind)
    older = Generation(corpus, kind, 1, "index_text_v0_u1_0_0")
    backend().detach(older)
    backend().repair(older)
    IndexState.objects.filter(pk=state.pk).update(function=older.function)
    # This process has no such function any more.
    if corpus is MESSAGES:
        added = MessageFactory.create(session=SessionFactory.create(agent=agent), content="kestrel returns 灯塔").pk
    else:
        added = client_for(agent).remember("kestrel returns 灯塔")["memory"]["id"]
    assert_finds(agent, corpus, [*rows[corpus.name], added])
    maintenance.ensure()
    assert maintenance.fill(seconds=20)

    assert state_of(corpus, kind).function == function_name()
    assert sound()


@pytest.mark.django_db
def test_progress_never_passes_the_high_water() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        IndexState.objects.update(progress=5, high_water=4)


@pytest.mark.django_db
def test_damage_of_an_index_that_no_longer_serves_is_nothing_to_the_one_that_does(agent: Any, rows: Any) -> None:
    maintenance.start_over(MESSAGES, "words")
    maintenance.detach(MESSAGES, "words", "seen by somebody late", number=1)

    assert (state_of(MESSAGES, "words").state, state_of(MESSAGES, "words").generation) == ("building", 2)
    maintenance.detach(MESSAGES, "words", "seen just now", number=2)
    assert state_of(MESSAGES, "words").state == "stale"


@EACH
@pytest.mark.django_db
def test_verifying_tells_what_is_missing_and_has_it_put_right(agent: Any, rows: Any, corpus: Corpus, kind: str) -> None:
    ids = rows[corpus.name]
    with connection.cursor() as cursor:
        cursor.execute(f'DELETE FROM "search_{corpus.name}_{kind}_g1" WHERE rowid = %s', [ids[2]])
        cursor.execute(f'INSERT INTO "search_{corpus.name}_{kind}_g1"(rowid, body) VALUES (%s, %s)', [10**9, "walnut"])
    verdict = verification.verify(corpus, kind)

    assert (verdict.is_sound, verdict.missing, verdict.orphans) == (False, 1, 1)
    assert verdict.said == "not sound: 1 rows missing, 1 entries without a row"
    assert_finds(agent, corpus, ids)
    keep_indexes()
    assert sound()


@pytest.mark.django_db
def test_verifying_what_is_not_there_says_so() -> None:
    IndexState.objects.all().delete()

    assert verification.verify(MESSAGES, "words").said == "not sound: there is none yet"
    assert upkeep.optimize(MESSAGES, "words")
    keep_indexes()
    assert sound()


@pytest.mark.django_db
def test_merging_changes_no_answer(agent: Any) -> None:
    session = SessionFactory.create(agent=agent)
    ids = [MessageFactory.create(session=session, content=f"kestrel {n} nests 灯塔").pk for n in range(60)]
    Message.objects.filter(pk__in=ids[::2]).delete()
    for kind in KINDS:
        assert upkeep.optimize(MESSAGES, kind)

    assert sound()
    assert_finds(agent, MESSAGES, ids[1::2])


@pytest.mark.django_db
def test_a_second_look_of_the_worker_has_nothing_to_do(agent: Any, rows: Any) -> None:
    keep_indexes()
    assert keep_indexes() == "ok mended=0 filled=true cleared=true merges=0"
    assert {state.generation for state in IndexState.objects.all()} == {1}


FILLER = """
import django
django.setup()
from search import maintenance
maintenance.CHUNK = 5
print("filling", flush=True)
maintenance.fill(seconds=60, progress=lambda state: print(state.progress, flush=True))
"""


@pytest.fixture
def store(tmp_path: Path, django_db_setup: None, django_db_blocker: Any) -> Iterator[Path]:
    with django_db_blocker.unblock():
        make_store(tmp_path)
        with default_store(tmp_path / NAME):
            yield tmp_path


@pytest.mark.processes
def test_killed_while_filling_it_goes_on_where_it_was(store: Path) -> None:
    agent = AgentFactory.create()
    session = SessionFactory.create(agent=agent)
    for n in range(300):
        MessageFactory.create(session=session, content=f"kestrel {n} nests 灯塔")
        MemoryFactory.create(agent=agent, content=f"kestrel {n} nests 灯塔")
    for corpus in CORPORA.values():
        for kind in KINDS:
            maintenance.start_over(corpus, kind)
    settings = environment(store, DJANGO_SETTINGS_MODULE="memoryweb.settings")
    kills = 0
    for lines in (1, 7, 20, 45, 70):
        filler = subprocess.Popen([sys.executable, "-c", FILLER], cwd=ROOT, env=settings, stdout=subprocess.PIPE)
        assert filler.stdout is not None
        for _ in range(lines):
            filler.stdout.readline()
        os.kill(filler.pid, signal.SIGKILL)
        kills += filler.wait(timeout=20) == -signal.SIGKILL
        for corpus in CORPORA.values():
            answer = ask(agent, corpus, "kestrel")
            assert (answer.total, answer.complete) == (300, True)
    assert kills >= 3
    started = {str(state): state.progress for state in IndexState.objects.all()}
    assert any(started.values())
    while not maintenance.fill(seconds=5):
        time.sleep(0.01)

    assert sound()
    for corpus in CORPORA.values():
        assert len({*found(agent, corpus, "kestrel 灯塔"), *found(agent, corpus, "kestrel", offset=100)}) == 200
