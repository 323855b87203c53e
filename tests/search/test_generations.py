"""A generation is built beside the one that serves: nothing is missed, and every kill is survived."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django_q.models import OrmQ

from memories.access import Actor
from memories.models import Memory, Message
from search import acts, maintenance, tasks, upkeep
from search.backends import backend
from search.backends.base import Generation
from search.corpora import CORPORA, MESSAGES, Corpus
from search.models import IndexRun, IndexState
from search.tasks import keep_indexes
from search.text import function_name
from tests.factories import AgentFactory, MemoryFactory, MessageFactory, SessionFactory
from tests.search.indexes import ask, found, sound, state_of
from tests.search.test_maintenance import EACH, FILLER, ROOT, assert_finds, environment, rows, store

__all__ = ["rows", "store"]  # fixtures


def tables(corpus: Corpus, kind: str) -> list[int]:
    return backend().generations(corpus, kind)  # type: ignore[arg-type]


def begin(corpus: Corpus, kind: str) -> IndexState:
    maintenance.rebuild(corpus, kind, by="user rita")  # type: ignore[arg-type]
    state = state_of(corpus, kind)
    assert (state.state, state.generation, state.building, state.percent) == ("ready", 1, 2, 100)
    return state


@EACH
@pytest.mark.django_db
def test_searches_and_writes_go_on_while_it_is_built(
    agent: Any, rows: Any, corpus: Corpus, kind: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(maintenance, "CHUNK", 2)
    ids = rows[corpus.name]
    begin(corpus, kind)
    assert maintenance._build_chunk(corpus.name, kind) is False
    added = (
        MessageFactory.create(session=Message.objects.get(pk=ids[0]).session, content="kestrel returns 灯塔")
        if corpus is MESSAGES
        else MemoryFactory.create(agent=agent, content="kestrel returns 灯塔")
    )
    corpus.model.objects.filter(pk__in=[ids[0], ids[3]]).update(content="walnut")
    corpus.model.objects.filter(pk=ids[4]).delete()
    expected = [*ids[1:3], added.pk]
    assert_finds(agent, corpus, expected)
    assert ask(agent, corpus, "kestrel").index_state == "ready"

    assert maintenance.fill(seconds=20)
    state = state_of(corpus, kind)
    assert (state.generation, state.building, state.state) == (2, None, "ready")
    assert sound()
    assert_finds(agent, corpus, expected)
    assert sorted(found(agent, corpus, "walnut")) == [ids[0], ids[3]]
    run = IndexRun.objects.get(corpus=corpus.name, kind=kind, generation=2)
    assert (run.state, run.rows, run.started_by) == ("done", 5, "user rita")
    keep_indexes()
    assert tables(corpus, kind) == [2]


@EACH
@pytest.mark.django_db
def test_a_rebuild_that_is_under_way_is_not_begun_twice(agent: Any, rows: Any, corpus: Corpus, kind: str) -> None:
    begin(corpus, kind)
    maintenance.rebuild(corpus, kind)  # type: ignore[arg-type]
    assert state_of(corpus, kind).building == 2
    assert tables(corpus, kind) == [1, 2]


@EACH
@pytest.mark.django_db
def test_a_build_without_its_tables_is_begun_anew(agent: Any, rows: Any, corpus: Corpus, kind: str) -> None:
    state = begin(corpus, kind)
    build = maintenance.build_of(state)
    assert build is not None
    backend().drop(build)
    assert maintenance.ensure() == [f"{corpus.name} {kind}: half written, begun anew beside"]
    assert maintenance.fill(seconds=20)
    assert sound()
    assert_finds(agent, corpus, rows[corpus.name])


@EACH
@pytest.mark.django_db
def test_tables_that_no_state_tells_of_are_removed(agent: Any, rows: Any, corpus: Corpus, kind: str) -> None:
    backend().create(Generation(corpus, kind, 7, function_name()))  # type: ignore[arg-type]
    keep_indexes()
    assert tables(corpus, kind) == [1]
    assert sound()


@EACH
@pytest.mark.django_db
def test_a_build_whose_triggers_are_gone_reads_all_rows_again(agent: Any, rows: Any, corpus: Corpus, kind: str) -> None:
    state = begin(corpus, kind)
    maintenance._build_chunk(corpus.name, kind)
    build = maintenance.build_of(state)
    assert build is not None
    backend().detach(build)
    corpus.model.objects.filter(pk=rows[corpus.name][0]).update(content="walnut")
    assert maintenance.ensure() == [f"{corpus.name} {kind}: triggers of the one being built made anew"]
    assert maintenance.fill(seconds=20)
    assert sound()
    assert found(agent, corpus, "walnut") == rows[corpus.name][:1]
    assert_finds(agent, corpus, rows[corpus.name][1:])


@EACH
@pytest.mark.django_db
def test_where_the_serving_one_breaks_the_build_takes_its_place(
    agent: Any, rows: Any, corpus: Corpus, kind: str
) -> None:
    begin(corpus, kind)
    maintenance.detach(corpus, kind, "seen by a search", number=1)  # type: ignore[arg-type]
    assert_finds(agent, corpus, rows[corpus.name])
    assert maintenance.ensure() == [f"{corpus.name} {kind}: damaged, the one that is being built takes its place"]
    state = state_of(corpus, kind)
    assert (state.generation, state.building, state.state) == (2, None, "building")
    assert_finds(agent, corpus, rows[corpus.name])
    assert maintenance.fill(seconds=20)
    assert sound()
    assert tables(corpus, kind) == [1, 2]
    assert upkeep.tear_down(seconds=20)
    assert tables(corpus, kind) == [2]


@EACH
@pytest.mark.django_db
def test_a_build_that_does_not_find_its_rows_is_given_up(agent: Any, rows: Any, corpus: Corpus, kind: str) -> None:
    state = begin(corpus, kind)
    while state_of(corpus, kind).build_progress < state.build_high_water:
        maintenance._build_chunk(corpus.name, kind)
    build = maintenance.build_of(state)
    assert build is not None
    with connection.cursor() as cursor:
        cursor.execute(f'DELETE FROM "{build.table}" WHERE rowid = %s', [rows[corpus.name][2]])
        cursor.execute(
            f'INSERT INTO "{build.table}"(rowid, body) VALUES (%s, %s)', [rows[corpus.name][2], "something else"]
        )
    assert maintenance.fill(seconds=20)
    state = state_of(corpus, kind)
    assert (state.generation, state.building, state.state) == (1, None, "ready")
    run = IndexRun.objects.get(corpus=corpus.name, kind=kind, generation=2)
    assert (run.state, run.said) == ("cancelled", f"row {rows[corpus.name][2]} is not found by its own text")
    keep_indexes()
    assert tables(corpus, kind) == [1]
    assert sound()


@EACH
@pytest.mark.django_db(transaction=True)
def test_a_write_that_fails_at_a_build_gives_it_up_and_is_kept(corpus: Corpus, kind: str) -> None:
    agent = AgentFactory.create()
    session = SessionFactory.create(agent=agent)
    state = begin(corpus, kind)
    build = maintenance.build_of(state)
    assert build is not None
    with connection.cursor() as cursor:
        cursor.execute(f'DROP TABLE "{build.table}_data"')
    connection.close()
    from memories import remember, transcripts
    from memories.access import create_token, principal_of_token
    from memories.schemas import MemoryIn

    if corpus is MESSAGES:
        said = [transcripts.Said("user", "kestrel")]
        transcripts.load(session, said, now=session.started_at)
        assert Message.objects.count() == 1
    else:
        token, _ = create_token(agent, actor=Actor("test"))
        remember.remember(principal_of_token(token), MemoryIn(content="kestrel"), now=session.started_at)
        assert Memory.objects.count() == 1
    state = state_of(corpus, kind)
    assert (state.generation, state.building, state.state) == (1, None, "ready")
    assert len(found(agent, corpus, "kestrel")) == 1
    keep_indexes()
    assert sound()


@pytest.mark.django_db
def test_the_worker_is_called_at_once_and_goes_on_in_short_tasks(agent: Any, rows: Any, monkeypatch: Any) -> None:
    acts.rebuild(MESSAGES, "words", actor=Actor("user rita"))
    acts.rebuild(MESSAGES, "trigram", actor=Actor("user rita"))
    assert [task.func() for task in OrmQ.objects.all()] == ["search.tasks.keep_indexes"]
    OrmQ.objects.all().delete()
    monkeypatch.setattr(tasks, "SECONDS", 0.0)
    assert "filled=false" in keep_indexes()
    assert OrmQ.objects.count() == 1
    OrmQ.objects.all().delete()
    monkeypatch.undo()
    assert "filled=true cleared=true" in keep_indexes()
    assert not OrmQ.objects.exists()


@pytest.mark.django_db
def test_what_is_paused_waits_and_goes_on(agent: Any, rows: Any) -> None:
    assert not maintenance.pause(MESSAGES, "words")
    begin(MESSAGES, "words")
    assert maintenance.pause(MESSAGES, "words")
    assert maintenance.fill(seconds=5)
    assert state_of(MESSAGES, "words").build_progress == 0
    MessageFactory.create(session=Message.objects.first().session, content="kestrel")  # type: ignore[union-attr]
    assert maintenance.resume(MESSAGES, "words")
    assert maintenance.fill(seconds=20)
    assert sound()


@pytest.mark.django_db
def test_how_far_a_build_is_never_passes_how_far_it_goes() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        IndexState.objects.update(build_progress=5, build_high_water=4)


@pytest.mark.processes
def test_killed_while_building_beside_it_goes_on_and_all_searches_are_whole(store: Any) -> None:
    agent = AgentFactory.create()
    session = SessionFactory.create(agent=agent)
    for n in range(300):
        MessageFactory.create(session=session, content=f"kestrel {n} nests 灯塔")
        MemoryFactory.create(agent=agent, content=f"kestrel {n} nests 灯塔")
    for corpus in CORPORA.values():
        for kind in ("words", "trigram"):
            begin(corpus, kind)
    plain = environment(store, DJANGO_SETTINGS_MODULE="memoryweb.settings")
    kills = 0
    for turn, lines in enumerate((1, 7, 20, 45, 70, 100)):
        filler = subprocess.Popen([sys.executable, "-c", FILLER], cwd=ROOT, env=plain, stdout=subprocess.PIPE)
        assert filler.stdout is not None
        for _ in range(lines):
            filler.stdout.readline()
        MessageFactory.create(session=session, content=f"kestrel later {turn} 灯塔")
        Message.objects.filter(content=f"kestrel {turn} nests 灯塔").delete()
        os.kill(filler.pid, signal.SIGKILL)
        kills += filler.wait(timeout=20) == -signal.SIGKILL
        for corpus in CORPORA.values():
            answer = ask(agent, corpus, "kestrel")
            assert (answer.total, answer.complete, answer.index_state) == (300, True, "ready")
    assert kills >= 3
    while not maintenance.fill(seconds=5):
        time.sleep(0.01)
    keep_indexes()
    assert sound()
    assert {state.generation for state in IndexState.objects.all()} == {2}
    assert {run.state for run in IndexRun.objects.filter(generation=2)} == {"done"}
