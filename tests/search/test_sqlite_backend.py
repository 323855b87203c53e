"""What is SQLite's own: expressions, what damage looks like, tables and their names."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection

from memories.access import visible_to
from memories.models import Message, Session
from search.backends import backend
from search.backends.base import Condition, Generation, IndexDamaged
from search.backends.sqlite import is_damage
from search.corpora import MEMORIES, MESSAGES
from search.maintenance import generation_of
from search.query import parse
from search.text import function_name
from tests.factories import MemoryFactory, MessageFactory, SessionFactory
from tests.search.indexes import principal_of, sound, state_of


def condition(agent: Any, *, partitions: Any = "own") -> Condition:
    principal = principal_of(agent)
    rows = visible_to(principal, Message)
    named = principal.partitions if partitions == "own" else partitions
    return backend().condition(MESSAGES, rows, workspace_id=principal.workspace_id, partitions=named, entries=0)


def found(agent: Any, query: str, kind: str = "words", **options: Any) -> list[int]:
    root = parse(query).root
    assert root is not None
    generation = generation_of(state_of(MESSAGES, kind))
    return [one.id for one in backend().search(generation, root, condition(agent), **{"gap": None} | options)]


@pytest.mark.parametrize(
    ("text", "damage"),
    [
        ("database disk image is malformed", True),
        ('fts5: corruption found reading blob 10 from table "search_messages_words_g1"', True),
        ("vtable constructor failed: search_messages_words_g1", True),
        ("invalid fts5 file format (found 99, expected 4 or 5) - run 'rebuild'", True),
        ("no such table: main.search_messages_words_g1_data", True),
        ("no such table: search_memories_trigram_g12", True),
        ("no such function: index_text_v0_u1_0_0_body", True),
        ("constraint failed", True),
        ("UNIQUE constraint failed: memories_message.session_id", False),
        ("CHECK constraint failed: message_trust_known", False),
        ("NOT NULL constraint failed: memories_message.role", False),
        ("no such table: memories_message", False),
        ("database is locked", False),
        ("database or disk is full", False),
        ("no such function: secret", False),
    ],
)
def test_it_knows_damage_by_what_sqlite_says(text: str, damage: bool) -> None:
    assert is_damage(DatabaseError(text)) is damage
    assert is_damage(IntegrityError(text)) is damage


@pytest.mark.django_db
def test_rows_come_newest_id_first_and_without_those_of_the_gap(agent: Any) -> None:
    session = SessionFactory.create(agent=agent)
    ids = [MessageFactory.create(session=session, content=f"kestrel {n}").pk for n in range(5)]

    assert found(agent, "kestrel") == ids[::-1]
    assert found(agent, "kestrel", gap=(ids[0], ids[2])) == [ids[4], ids[3], ids[0]]
    assert found(agent, "estre", "trigram") == ids[::-1]


@pytest.mark.django_db
def test_labels_stand_in_for_the_condition(agent: Any) -> None:
    message = MessageFactory.create(session=SessionFactory.create(agent=agent), content="kestrel")
    root = parse("kestrel").root
    assert root is not None
    generation = generation_of(state_of(MESSAGES, "words"))

    def asked(**options: Any) -> list[int]:
        return [one.id for one in backend().search(generation, root, condition(agent, **options), gap=None)]

    assert asked() == asked(partitions=None) == asked(partitions=("x", agent.partition)) == [message.pk]
    assert asked(partitions=()) == asked(partitions=("shared",)) == []


@pytest.mark.parametrize(
    "query",
    [
        " ".join(f"a{n} NOT" for n in range(31)) + " b",
        "a " + " ".join(f"NOT b{n}" for n in range(63)),
        " ".join(f"(x{n} NOT (" for n in range(15)) + " y" + "))" * 15,
        " ".join(f"(x{n} OR (" for n in range(15)) + " y" + "))" * 15,
        " AND ".join(f"(a{n} OR b{n})" for n in range(32)),
        '"' + "word " * 400 + '"',
        "灯" * 2000,
        "abc" * 600,
    ],
)
@pytest.mark.django_db
def test_no_tree_is_too_much_for_the_engine(agent: Any, query: str) -> None:
    MessageFactory.create(session=SessionFactory.create(agent=agent), content="kestrel")

    assert found(agent, query) == []
    assert found(agent, query, "trigram") == []


@pytest.mark.django_db
def test_text_with_marks_of_the_engine_is_text(agent: Any) -> None:
    session = SessionFactory.create(agent=agent)
    quotes = MessageFactory.create(session=session, content='say """ abc" OR NEAR(x) body:y * ^z').pk

    assert found(agent, "「body:y * ^z」", "trigram") == [quotes]
    assert found(agent, '「""" abc"」', "trigram") == [quotes]
    assert found(agent, "labels") == []
    assert found(agent, f"w{agent.workspace_id:x}") == []


@pytest.mark.django_db
def test_a_condition_takes_no_joins(agent: Any) -> None:
    principal = principal_of(agent)
    joined = visible_to(principal, Message).filter(session__source="cli")
    with pytest.raises(ValueError, match="without joins"):
        backend().condition(MESSAGES, joined, workspace_id=principal.workspace_id, partitions=None, entries=0)
    inside = visible_to(principal, Message).filter(session_id__in=Session.objects.filter(source="cli").values("pk"))
    assert "IN (SELECT" in backend().condition(MESSAGES, inside, workspace_id=1, partitions=None, entries=0).sql


@pytest.mark.django_db
def test_a_row_that_is_lost_is_noticed(agent: Any) -> None:
    memory = MemoryFactory.create(agent=agent, content="kestrel")
    short = MemoryFactory.create(agent=agent, content="..")
    for kind in ("words", "trigram"):
        generation = generation_of(state_of(MEMORIES, kind))
        assert set(backend().samples(generation, gap=None, most=5)) == {memory.pk, short.pk}
        assert backend().samples(generation, gap=(0, memory.pk), most=5) == [short.pk]
        assert backend().lost(generation, [memory.pk, short.pk, short.pk + 5]) == []
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {generation.table} WHERE rowid IN (%s, %s)", [memory.pk, short.pk])
        assert backend().lost(generation, [memory.pk, short.pk]) == [memory.pk, short.pk]


@pytest.mark.django_db
def test_rows_made_by_hand_with_ids_below_the_newest_are_in_it(agent: Any) -> None:
    session = SessionFactory.create(agent=agent)
    newest = MessageFactory.create(session=session, content="kestrel")
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO memories_message (
                id, session_id, workspace_id, partition, role, content, tool_name, tool_text, timestamp, active,
                compacted, display_kind, trust
            )
            SELECT %s, session_id, workspace_id, partition, role, 'walnut', tool_name, tool_text, timestamp, active,
                compacted, display_kind, trust
            FROM memories_message
            """,
            [newest.pk + 500],
        )
    assert found(agent, "walnut") == found(agent, "alnu", "trigram") == [newest.pk + 500]
    assert sound()


@pytest.mark.django_db
def test_a_generation_that_is_not_there_is_damage(agent: Any) -> None:
    root = parse("kestrel").root
    assert root is not None
    gone = Generation(MESSAGES, "words", 7, function_name())
    with pytest.raises(IndexDamaged) as raised:
        list(backend().search(gone, root, condition(agent), gap=None))
    assert raised.value.generation == gone
    assert not backend().is_whole(gone)
    assert backend().is_readable(gone)
    backend().drop(gone)
    backend().drop(gone, readable=False)
    assert sound()


@pytest.mark.django_db
def test_flags_cost_the_index_nothing(agent: Any) -> None:
    message = MessageFactory.create(session=SessionFactory.create(agent=agent), content="kestrel")

    def changes() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT total_changes()")
            return int(cursor.fetchone()[0])

    before = changes()
    Message.objects.filter(pk=message.pk).update(active=False, compacted=True)
    assert changes() - before == 1
    Message.objects.filter(pk=message.pk).update(content="walnut")
    assert changes() - before > 3
