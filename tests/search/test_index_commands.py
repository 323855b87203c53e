"""rebuild_index, verify_index and optimize_index: what they do and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from search.corpora import CORPORA
from search.models import IndexState
from tests.factories import AgentFactory, MemoryFactory, MessageFactory, SessionFactory
from tests.search.indexes import found, sound
from tests.stores import NAME, ask, default_store, make_store, manage, tell

INDEXES = ["memories trigram", "memories words", "messages trigram", "messages words"]


@pytest.fixture
def rows(agent: Any) -> None:
    session = SessionFactory.create(agent=agent)
    for n in range(3):
        MessageFactory.create(session=session, content=f"kestrel {n}")
        MemoryFactory.create(agent=agent, content=f"kestrel {n}")


def said(*command: str) -> list[str]:
    out = StringIO()
    call_command(*command, stdout=out)
    return sorted(out.getvalue().splitlines())


@pytest.mark.django_db
def test_rebuild_index_builds_all_anew(agent: Any, rows: None) -> None:
    assert said("rebuild_index") == [f"{name}: serving, 100 %" for name in INDEXES]

    assert {state.generation for state in IndexState.objects.all()} == {2}
    assert sound()
    for corpus in CORPORA.values():
        assert len(found(agent, corpus, "kestrel")) == len(found(agent, corpus, "estre")) == 3


@pytest.mark.django_db
def test_rebuild_index_leaves_the_other_corpus_alone(rows: None) -> None:
    said("rebuild_index", "messages")

    numbers = {str(state): state.generation for state in IndexState.objects.all()}
    assert numbers == {"memories trigram": 1, "memories words": 1, "messages trigram": 2, "messages words": 2}
    assert sound()


@pytest.mark.django_db
def test_verify_index_says_that_all_is_sound(rows: None) -> None:
    assert said("verify_index") == [f"{name}: sound: all 3 rows are in it" for name in INDEXES]
    assert said("verify_index", "memories") == [f"{name}: sound: all 3 rows are in it" for name in INDEXES[:2]]


@pytest.mark.django_db
def test_verify_index_fails_where_rows_are_missing(rows: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM search_messages_words_g1 WHERE rowid = (SELECT min(id) FROM memories_message)")
    out = StringIO()
    with pytest.raises(CommandError, match="rebuild_index"):
        call_command("verify_index", stdout=out)

    assert "messages words: not sound: 1 rows missing, 0 entries without a row" in out.getvalue()
    assert out.getvalue().count("not sound") == 1


@pytest.mark.django_db
def test_optimize_index_changes_no_answer(agent: Any, rows: None) -> None:
    assert said("optimize_index") == [f"{name}: merged" for name in INDEXES]
    assert said("optimize_index", "memories") == [f"{name}: merged" for name in INDEXES[:2]]

    assert sound()
    assert len(found(agent, CORPORA["messages"], "kestrel")) == 3


@pytest.mark.parametrize("command", ["rebuild_index", "verify_index", "optimize_index"])
@pytest.mark.django_db
def test_an_unknown_corpus_is_refused_with_those_there_are(command: str) -> None:
    with pytest.raises(CommandError, match=r"invalid choice: 'letters' \(choose from '?messages'?, '?memories'?\)"):
        call_command(command, "letters")


@pytest.fixture
def store(tmp_path: Path, django_db_setup: None, django_db_blocker: Any) -> Iterator[Path]:
    with django_db_blocker.unblock():
        make_store(tmp_path)
        with default_store(tmp_path / NAME):
            session = SessionFactory.create(agent=AgentFactory.create())
            for n in range(3):
                MessageFactory.create(session=session, content=f"kestrel {n}")
        yield tmp_path


@pytest.mark.processes
def test_from_a_shell_damage_is_reported_and_mended(store: Path) -> None:
    tell(store / NAME, "PRAGMA writable_schema = ON", "DELETE FROM search_messages_words_g1_data WHERE id > 10")
    ran = manage(store, "verify_index", "messages")
    assert ran.returncode == 1
    assert "messages words: not sound:" in ran.stdout
    assert "messages trigram: sound: all 3 rows are in it" in ran.stdout
    assert "rebuild_index" in ran.stderr
    assert "Traceback" not in ran.stderr
    # Merging what is damaged waits for the next build.
    assert manage(store, "optimize_index").returncode == 0

    ran = manage(store, "rebuild_index", "messages")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "messages words: serving, 100 %")
    assert manage(store, "verify_index").returncode == 0
    assert ask(store / NAME, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'search_messages_words_g1%'") == [(0,)]
    # Nobody looks at a progress bar in a pipe.
    assert ran.stderr == ""
