"""Whatever way rows come, change and go: the indexes follow in the same transaction."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction
from django.db.models.signals import post_migrate

from memories.models import Agent, Memory, Message, Session, content_hash
from search import maintenance
from search.apps import SearchConfig
from search.backends.base import KINDS
from search.corpora import MEMORIES, MESSAGES, Corpus
from search.models import IndexState
from tests.factories import AgentFactory, SessionFactory
from tests.search.indexes import found, sound

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CORPORA = pytest.mark.parametrize("corpus", [MESSAGES, MEMORIES], ids=lambda corpus: corpus.name)
OLD, NEW = "kestrel over the harbour 港口灯塔", "walnut in the orchard 果园核桃"
OLD_WORDS = ("kestrel", "harbour", "口灯", '"over the harbour"', "estre", "arbour 港")
NEW_WORDS = ("walnut", "orchard", "园核", '"in the orchard"', "alnu", "rchard 果")


def unsaved(corpus: Corpus, agent: Agent, content: str, **fields: Any) -> Any:
    """Return a row that is not saved yet, made without any verb."""
    shared = {"workspace": agent.workspace, "partition": agent.partition, "content": content}
    if corpus is MESSAGES:
        session = Session.objects.filter(agent=agent).first() or SessionFactory.create(agent=agent)
        return Message(session=session, role="user", timestamp=NOW, **shared, **fields)
    times = {"last_seen_at": NOW, "created_at": NOW, "updated_at": NOW}
    return Memory(agent=agent, content_hash=content_hash(content), **times, **shared, **fields)


def saved(corpus: Corpus, agent: Agent, content: str, **fields: Any) -> Any:
    row = unsaved(corpus, agent, content, **fields)
    row.save()
    return row


def assert_only_new(agent: Agent, corpus: Corpus, *ids: int) -> None:
    """The new words find these rows, the old words none, by words and inside words."""
    for query in OLD_WORDS:
        assert found(agent, corpus, query) == [], query
    for query in NEW_WORDS:
        assert sorted(found(agent, corpus, query)) == sorted(ids), query
    assert sound()


@CORPORA
@pytest.mark.django_db
def test_it_follows_a_save(agent: Any, corpus: Corpus) -> None:
    row = saved(corpus, agent, OLD)
    assert found(agent, corpus, "kestrel") == [row.pk]
    row.content = NEW
    row.save()

    assert_only_new(agent, corpus, row.pk)


@CORPORA
@pytest.mark.django_db
def test_it_follows_bulk_create_also_where_rows_are_there(agent: Any, corpus: Corpus) -> None:
    rows = corpus.model.objects.bulk_create([unsaved(corpus, agent, OLD), unsaved(corpus, agent, OLD)])
    assert sorted(found(agent, corpus, "harbour")) == [row.pk for row in rows]
    again = [unsaved(corpus, agent, NEW, id=row.pk) for row in rows]
    corpus.model.objects.bulk_create(again, update_conflicts=True, update_fields=["content"], unique_fields=["id"])

    assert_only_new(agent, corpus, *(row.pk for row in rows))


@CORPORA
@pytest.mark.django_db
def test_it_keeps_what_bulk_create_ignores(agent: Any, corpus: Corpus) -> None:
    row = saved(corpus, agent, NEW)
    corpus.model.objects.bulk_create([unsaved(corpus, agent, OLD, id=row.pk)], ignore_conflicts=True)

    assert_only_new(agent, corpus, row.pk)


@CORPORA
@pytest.mark.django_db
def test_it_follows_a_row_that_replaces_another(agent: Any, corpus: Corpus) -> None:
    row = saved(corpus, agent, OLD)
    names = [field.column for field in corpus.model._meta.concrete_fields if not field.generated]
    values = ", ".join("%s" if name == "content" else name for name in names)
    with connection.cursor() as cursor:
        # SQLite runs no delete trigger for what REPLACE takes away.
        cursor.execute(
            f"REPLACE INTO {corpus.table} ({', '.join(names)}) SELECT {values} FROM {corpus.table} WHERE id = %s",
            [NEW, row.pk],
        )

    assert_only_new(agent, corpus, row.pk)


@CORPORA
@pytest.mark.django_db
def test_it_follows_update_and_bulk_update(agent: Any, corpus: Corpus) -> None:
    first, second = saved(corpus, agent, OLD), saved(corpus, agent, OLD)
    corpus.model.objects.filter(pk=first.pk).update(content=NEW)
    second.content = NEW
    corpus.model.objects.bulk_update([second], ["content"])

    assert_only_new(agent, corpus, first.pk, second.pk)


@CORPORA
@pytest.mark.django_db
def test_it_follows_a_row_to_another_id_and_another_partition(agent: Any, corpus: Corpus) -> None:
    row = saved(corpus, agent, NEW)
    other = AgentFactory.create(workspace=agent.workspace)
    corpus.model.objects.filter(pk=row.pk).update(id=row.pk + 1000)
    assert_only_new(agent, corpus, row.pk + 1000)
    corpus.model.objects.filter(pk=row.pk + 1000).update(partition=other.partition)

    assert found(agent, corpus, "walnut") == found(agent, corpus, "alnu") == []
    assert_only_new(other, corpus, row.pk + 1000)


@pytest.mark.django_db
def test_it_follows_a_message_that_becomes_tool_output_and_back(agent: Any) -> None:
    row = saved(MESSAGES, agent, NEW)
    Message.objects.update(role="tool")
    assert found(agent, MESSAGES, "walnut") == found(agent, MESSAGES, "alnu") == [row.pk]
    assert sound()
    Message.objects.update(role="user", tool_name="compass")

    assert found(agent, MESSAGES, "ompas") == [row.pk]
    assert_only_new(agent, MESSAGES, row.pk)


@CORPORA
@pytest.mark.django_db
def test_it_follows_deletes(agent: Any, corpus: Corpus) -> None:
    kept = saved(corpus, agent, NEW)
    saved(corpus, agent, OLD).delete()
    saved(corpus, agent, OLD)
    corpus.model.objects.filter(content=OLD).delete()

    assert_only_new(agent, corpus, kept.pk)


@CORPORA
@pytest.mark.django_db
def test_it_follows_a_cascade(agent: Any, corpus: Corpus) -> None:
    other = AgentFactory.create()
    saved(corpus, other, OLD)
    kept = saved(corpus, agent, NEW)
    other.workspace.delete()

    assert corpus.model.objects.count() == 1
    assert_only_new(agent, corpus, kept.pk)


@pytest.mark.django_db
def test_it_follows_the_messages_of_a_deleted_session(agent: Any) -> None:
    saved(MESSAGES, agent, OLD)
    Session.objects.all().delete()
    kept = saved(MESSAGES, agent, NEW)

    assert_only_new(agent, MESSAGES, kept.pk)


@CORPORA
@pytest.mark.django_db
def test_it_takes_back_what_a_savepoint_takes_back(agent: Any, corpus: Corpus) -> None:
    row = saved(corpus, agent, NEW)
    with pytest.raises(IntegrityError), transaction.atomic():  # noqa: PT012
        corpus.model.objects.filter(pk=row.pk).update(content=OLD)
        saved(corpus, agent, OLD)
        saved(corpus, agent, OLD, id=row.pk).save(force_insert=True)
    saved_point = transaction.savepoint()
    corpus.model.objects.all().delete()
    transaction.savepoint_rollback(saved_point)

    assert_only_new(agent, corpus, row.pk)


@CORPORA
@pytest.mark.django_db(transaction=True)
def test_it_takes_back_what_a_rollback_takes_back(agent: Any, corpus: Corpus) -> None:
    row = saved(corpus, agent, NEW)
    with pytest.raises(ZeroDivisionError), transaction.atomic():  # noqa: PT012
        corpus.model.objects.filter(pk=row.pk).update(content=OLD)
        saved(corpus, agent, OLD)
        raise ZeroDivisionError

    assert_only_new(agent, corpus, row.pk)


@CORPORA
@pytest.mark.django_db
def test_it_follows_a_fixture(agent: Any, corpus: Corpus, tmp_path: Path) -> None:
    row = saved(corpus, agent, OLD)
    fixture = tmp_path / "rows.json"
    call_command("dumpdata", "memories", output=str(fixture))
    written = json.loads(fixture.read_text())
    for item in written:
        if item["model"] == corpus.model._meta.label_lower:
            item["fields"]["content"] = NEW
    fixture.write_text(json.dumps(written))
    call_command("loaddata", str(fixture), verbosity=0)

    assert_only_new(agent, corpus, row.pk)


@CORPORA
@pytest.mark.django_db(transaction=True)
def test_it_follows_a_flush(agent: Any, corpus: Corpus) -> None:
    saved(corpus, agent, OLD)
    call_command("flush", interactive=False, verbosity=0)
    assert IndexState.objects.count() == 4
    other = AgentFactory.create()
    row = saved(corpus, other, NEW)

    assert_only_new(other, corpus, row.pk)


def remake(corpus: Corpus, then: Callable[[], object] = lambda: None) -> None:
    """Have Django make the table anew, as a migration does that changes a column, and go on with ``then``."""
    field = corpus.model._meta.get_field("partition")
    longer = models.CharField(max_length=40, editable=False)
    longer.set_attributes_from_name("partition")
    longer.model = corpus.model
    with connection.schema_editor() as editor:
        editor._remake_table(corpus.model, alter_fields=[(field, longer)])
        then()


def after_migrations() -> None:
    config = SearchConfig.create("search")
    post_migrate.send(sender=config, app_config=config, verbosity=0, interactive=False, using="default")


@CORPORA
@pytest.mark.django_db(transaction=True)
def test_it_survives_a_migration_that_makes_the_table_anew(agent: Any, corpus: Corpus) -> None:
    changed, gone = saved(corpus, agent, OLD), saved(corpus, agent, OLD)
    kept = saved(corpus, agent, NEW)
    remake(corpus)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [corpus.table])
        assert cursor.fetchone()[0] == 0
    # What the migration's own code does to rows has no triggers.
    corpus.model.objects.filter(pk=changed.pk).update(content=NEW)
    corpus.model.objects.filter(pk=gone.pk).delete()
    added = saved(corpus, agent, NEW)
    after_migrations()

    assert_only_new(agent, corpus, changed.pk, kept.pk, added.pk)
    later = saved(corpus, agent, NEW)
    assert_only_new(agent, corpus, changed.pk, kept.pk, added.pk, later.pk)


@CORPORA
@pytest.mark.django_db(transaction=True)
def test_it_finds_everything_while_it_is_filled_after_such_a_migration(agent: Any, corpus: Corpus) -> None:
    row = saved(corpus, agent, OLD)
    remake(corpus)
    corpus.model.objects.filter(pk=row.pk).update(content=NEW)
    assert len(maintenance.ensure()) == 2

    for query in OLD_WORDS:
        assert found(agent, corpus, query) == [], query
    for query in NEW_WORDS:
        assert found(agent, corpus, query) == [row.pk], query


def half_built(corpus: Corpus, agent: Agent, monkeypatch: Any) -> list[Any]:
    """Return five rows; of both indexes a generation is being built that has two of them."""
    monkeypatch.setattr(maintenance, "CHUNK", 2)
    rows = [saved(corpus, agent, OLD) for _ in range(5)]
    for kind in KINDS:
        maintenance.rebuild(corpus, kind)
        assert maintenance._build_chunk(corpus.name, kind) is False
    return rows


def change_all(corpus: Corpus) -> None:
    corpus.model.objects.update(content=NEW)


def fail() -> None:
    raise ZeroDivisionError


@CORPORA
@pytest.mark.django_db(transaction=True)
def test_a_migration_that_is_rolled_back_leaves_a_build_as_it_was(agent: Any, corpus: Corpus, monkeypatch: Any) -> None:
    rows = half_built(corpus, agent, monkeypatch)
    before = list(IndexState.objects.filter(corpus=corpus.name).order_by("kind").values())

    def change_and_fail() -> None:
        change_all(corpus)
        fail()

    with pytest.raises(ZeroDivisionError):
        remake(corpus, change_and_fail)

    assert list(IndexState.objects.filter(corpus=corpus.name).order_by("kind").values()) == before
    assert maintenance.ensure() == []
    assert sorted(found(agent, corpus, "kestrel")) == [row.pk for row in rows]
    change_all(corpus)
    assert_serves_second(corpus)
    assert_only_new(agent, corpus, *(row.pk for row in rows))


@CORPORA
@pytest.mark.django_db(transaction=True)
def test_a_migration_that_dies_behind_what_it_wrote_is_caught_up_in_a_build(
    agent: Any, corpus: Corpus, monkeypatch: Any
) -> None:
    rows = half_built(corpus, agent, monkeypatch)
    remake(corpus)
    # Not atomic: this is written, without triggers, and post_migrate never comes.
    change_all(corpus)
    corpus.model.objects.filter(pk=rows[0].pk).delete()
    added = saved(corpus, agent, NEW)
    expected = [*(row.pk for row in rows[1:]), added.pk]

    assert len(maintenance.ensure()) == 2
    for query in NEW_WORDS:
        assert sorted(found(agent, corpus, query)) == expected, query
    for query in OLD_WORDS:
        assert found(agent, corpus, query) == [], query
    assert_serves_second(corpus)
    assert_only_new(agent, corpus, *expected)


@CORPORA
@pytest.mark.django_db(transaction=True)
def test_a_migration_in_the_moment_before_the_swap_is_caught_up(agent: Any, corpus: Corpus, monkeypatch: Any) -> None:
    rows = half_built(corpus, agent, monkeypatch)
    for _ in range(2):
        for kind in KINDS:
            assert maintenance._build_chunk(corpus.name, kind) is False
    remake(corpus)
    change_all(corpus)
    for kind in KINDS:
        # A worker in the middle of its task, which has looked at the triggers before.
        while not maintenance._build_chunk(corpus.name, kind):
            pass
    maintenance.ensure()

    for query in NEW_WORDS:
        assert sorted(found(agent, corpus, query)) == [row.pk for row in rows], query
    for query in OLD_WORDS:
        assert found(agent, corpus, query) == [], query
    assert maintenance.fill(seconds=20)
    assert_only_new(agent, corpus, *(row.pk for row in rows))


def assert_serves_second(corpus: Corpus) -> None:
    """Once all is filled the generation that was begun second serves."""
    assert maintenance.fill(seconds=20)
    found_states = IndexState.objects.filter(corpus=corpus.name).values_list("generation", "building", "state")
    assert set(found_states) == {(2, None, "ready")}


@CORPORA
@pytest.mark.django_db(transaction=True)
def test_no_later_migration_stumbles_over_the_triggers(agent: Any, corpus: Corpus) -> None:
    row = saved(corpus, agent, NEW)
    extra = models.CharField(max_length=5, default="x")
    extra.set_attributes_from_name("extra")
    extra.model = corpus.model
    with connection.schema_editor() as editor:
        editor.add_field(corpus.model, extra)
    with connection.schema_editor() as editor:
        editor.remove_field(corpus.model, extra)
    after_migrations()

    assert_only_new(agent, corpus, row.pk)
