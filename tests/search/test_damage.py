"""Damage of an index on a real file: nobody loses a write or gets an error, nothing is left out, and it is mended."""

from __future__ import annotations

import random
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection

from memories.models import Agent, Memory, Message
from search.backends.base import KINDS
from search.corpora import CORPORA, MEMORIES, MESSAGES, Corpus
from search.models import IndexState
from search.tasks import keep_indexes
from tests.conftest import ApiClient
from tests.factories import MemoryFactory, SessionFactory
from tests.search.indexes import ask, sound, state_of
from tests.stores import NAME, default_store, make_store, make_token, tell

ROWS = 60
QUERIES = ("kestrel", "estre", "口灯塔", "灯", '"over the harbour"', "kestrel NOT lantern", "arbou", "kestr*")


@dataclass(frozen=True)
class House:
    """A store on the disk with an agent in it."""

    path: Path
    agent: Agent
    token: str

    @property
    def client(self) -> ApiClient:
        return ApiClient(self.token)

    def damage(self, *statements: str) -> None:
        with default_store(self.path):
            pass
        tell(self.path, "PRAGMA writable_schema = ON", *statements)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any) -> House:
    with django_db_blocker.unblock():
        path = make_store(tmp_path_factory.mktemp("template"))
        with default_store(path):
            principal, token = make_token()
            agent = Agent.objects.get(pk=principal.agent_id)
            SessionFactory.create(agent=agent, external_id="walk")
            for start in range(0, ROWS, 30):
                texts = [f"kestrel {n} over the harbour 港口灯塔{n}" for n in range(start, start + 30)]
                said = [{"role": "user", "content": text} for text in texts]
                answer = ApiClient(token).send("POST", "/api/sessions/walk/messages", {"messages": said})
                assert answer.status_code in (200, 201)
                for text in texts:
                    MemoryFactory.create(agent=agent, content=text)
            assert sound()
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return House(path, agent, token)


@pytest.fixture
def house(template: House, tmp_path: Path, django_db_blocker: Any) -> Iterator[House]:
    path = Path(shutil.copy(template.path, tmp_path / NAME))
    with django_db_blocker.unblock(), default_store(path):
        yield House(path, template.agent, template.token)


@pytest.fixture(
    params=[(corpus, kind) for corpus in CORPORA.values() for kind in KINDS],
    ids=lambda pair: f"{pair[0].name} {pair[1]}",
)
def index(request: Any) -> tuple[Corpus, str]:
    return request.param


def expected(corpus: Corpus, query: str) -> set[int]:
    """Return what a query of QUERIES must find: every row, all are written alike; later ones have a lantern."""
    rows = corpus.model.objects.all()
    return set(
        (rows.exclude(content__contains="lantern") if "NOT lantern" in query else rows).values_list("pk", flat=True)
    )


def assert_complete(house: House, corpus: Corpus) -> None:
    """Every query finds every row; whoever cannot promise that says so, and nobody here has to."""
    for query in QUERIES:
        hits: list[int] = []
        for offset in (0, 40, 80):
            answer = ask(house.agent, corpus, query, offset=offset, limit=40)
            assert answer.complete
            hits += [hit.id for hit in answer.hits]
        assert len(hits) == len(set(hits))
        assert set(hits) == expected(corpus, query), query


def assert_writes_go_on(house: House, number: int) -> None:
    text = f"kestrel lantern {number} over the harbour 港口灯塔"
    answer = house.client.send("POST", "/api/memories", {"content": text})
    assert answer.status_code == 201, answer.content
    said = {"messages": [{"role": "user", "content": text, "external_id": f"later {number}"}]}
    answer = house.client.send("POST", "/api/sessions/walk/messages", said)
    assert answer.status_code in (200, 201), answer.content
    assert Memory.objects.filter(content=text).count() == Message.objects.filter(content=text).count() == 1


def assert_healed(house: House, corpus: Corpus, kind: str) -> None:
    assert "filled=true cleared=true" in keep_indexes()
    assert sound()
    number = state_of(corpus, kind).generation
    assert number == 2
    with connection.cursor() as cursor:
        name = f"search_{corpus.name}_{kind}_g1"
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE substr(tbl_name, 1, %s) = %s OR name LIKE %s",
            [len(name), name, f"{name}%"],
        )
        assert cursor.fetchall() == []
    for one in CORPORA.values():
        assert_complete(house, one)
    others = IndexState.objects.exclude(corpus=corpus.name, kind=kind)
    assert {state.generation for state in others} == {1}


STATEMENTS = {
    "without its blocks": "DROP TABLE {g}_data",
    "without its directory": "DROP TABLE {g}_idx",
    "without its sizes": "DROP TABLE {g}_docsize",
    "without its settings": "DROP TABLE {g}_config",
    "gone as a whole": "DROP TABLE {g}",
    "structure zeroed": "UPDATE {g}_data SET block = zeroblob(length(block)) WHERE id = 10",
    "structure garbled": "UPDATE {g}_data SET block = x'00000001ffeeddccbbaa99' WHERE id = 10",
    "structure lost": "DELETE FROM {g}_data WHERE id = 10",
    "blocks zeroed": "UPDATE {g}_data SET block = zeroblob(length(block)) WHERE id > 10",
    "blocks garbled": "UPDATE {g}_data SET block = randomblob(length(block)) WHERE id > 10",
    "blocks lost": "DELETE FROM {g}_data WHERE id > 10",
    "sizes lost": "DELETE FROM {g}_docsize",
    "averages zeroed": "UPDATE {g}_data SET block = zeroblob(length(block)) WHERE id = 1",
    "averages garbled": "UPDATE {g}_data SET block = x'ff' WHERE id = 1",
    "averages lost": "DELETE FROM {g}_data WHERE id = 1",
    "another format": "UPDATE {g}_config SET v = 99 WHERE k = 'version'",
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_reading_a_damaged_index_finds_everything_and_it_is_mended(
    house: House, index: tuple[Corpus, str], statement: str
) -> None:
    corpus, kind = index
    house.damage(statement.format(g=f"search_{corpus.name}_{kind}_g1"))

    assert_complete(house, corpus)
    assert_writes_go_on(house, 1)
    assert_complete(house, corpus)
    assert_healed(house, corpus, kind)


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_writing_to_a_damaged_index_keeps_every_row_and_it_is_mended(
    house: House, index: tuple[Corpus, str], statement: str
) -> None:
    corpus, kind = index
    house.damage(statement.format(g=f"search_{corpus.name}_{kind}_g1"))

    for number in range(3):
        assert_writes_go_on(house, number)
    assert_complete(house, corpus)
    assert_healed(house, corpus, kind)


def pages_of(data: bytes, root: int) -> list[int]:
    """Return the pages of a b-tree, its root first. https://sqlite.org/fileformat2.html#b_tree_pages"""
    size = struct.unpack(">H", data[16:18])[0]
    size = 65536 if size == 1 else size
    start = (root - 1) * size
    if data[start] not in (2, 5):
        return [root]
    cells = struct.unpack(">H", data[start + 3 : start + 5])[0]
    pointers = struct.unpack(f">{cells}H", data[start + 12 : start + 12 + 2 * cells])
    children = [struct.unpack(">I", data[start + 8 : start + 12])[0]]
    children += [struct.unpack(">I", data[start + at : start + at + 4])[0] for at in pointers]
    return [root, *(page for child in children for page in pages_of(data, child))]


def spoil(house: House, table: str, how: str) -> None:
    """Overwrite the pages of a table in the file, with zeros or with anything."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("SELECT rootpage FROM sqlite_master WHERE name = %s", [table])
        (root,) = cursor.fetchone()
    connection.close()
    data = bytearray(house.path.read_bytes())
    size = struct.unpack(">H", data[16:18])[0]
    for page in pages_of(bytes(data), root):
        data[(page - 1) * size : page * size] = bytes(size) if how == "zeroed" else random.Random(page).randbytes(size)
    house.path.write_bytes(data)


@pytest.mark.parametrize("first", ["search", "write"])
@pytest.mark.parametrize("part", ["data", "idx", "docsize", "config"])
@pytest.mark.parametrize("how", ["zeroed", "random"])
def test_pages_of_an_index_that_went_bad(
    house: House, index: tuple[Corpus, str], part: str, how: str, first: str
) -> None:
    corpus, kind = index
    spoil(house, f"search_{corpus.name}_{kind}_g1_{part}", how)

    if first == "write":
        assert_writes_go_on(house, 1)
    assert_complete(house, corpus)
    assert_writes_go_on(house, 2)
    assert_complete(house, corpus)
    assert_healed(house, corpus, kind)


def test_two_indexes_damaged_at_once(house: House) -> None:
    house.damage("DROP TABLE search_messages_words_g1_data", "DROP TABLE search_messages_trigram_g1_idx")

    assert_writes_go_on(house, 1)
    assert {state.state for state in IndexState.objects.filter(corpus="messages")} == {"stale"}
    assert {state.state for state in IndexState.objects.filter(corpus="memories")} == {"ready"}
    assert_complete(house, MESSAGES)
    keep_indexes()
    assert sound()
    assert_complete(house, MESSAGES)


def test_every_index_damaged_at_once(house: House) -> None:
    house.damage(*(f"DELETE FROM search_{name}_{kind}_g1_data" for name in CORPORA for kind in KINDS))

    assert_writes_go_on(house, 1)
    for corpus in CORPORA.values():
        assert_complete(house, corpus)
    assert {state.state for state in IndexState.objects.all()} == {"stale"}
    keep_indexes()
    assert sound()


def test_changes_and_deletes_go_on_too(house: House) -> None:
    house.damage("DELETE FROM search_memories_words_g1_data", "DELETE FROM search_memories_trigram_g1_data")
    memory = Memory.objects.latest("pk")
    client = house.client

    assert client.send("PATCH", f"/api/memories/{memory.pk}", {"content": "walnut in the orchard"}).status_code == 200
    assert client.send("DELETE", f"/api/memories/{memory.pk}").status_code == 200
    assert [hit.id for hit in ask(house.agent, MEMORIES, "walnut").hits] == [memory.pk]
    assert memory.pk not in [hit.id for hit in ask(house.agent, MEMORIES, "kestrel").hits]
    keep_indexes()
    assert sound()


def test_the_caller_is_told_how_the_index_is(house: House) -> None:
    house.damage("DROP TABLE search_messages_words_g1_config")
    answer = house.client.get("/api/search/messages", {"q": "kestrel", "limit": 1}).json()

    assert answer["index"]["state"] == "damaged"
    assert answer["route"] == "scan+trigram"
    assert (answer["complete"], len(answer["results"])) == (True, 1)
    keep_indexes()
    answer = house.client.get("/api/search/messages", {"q": "kestrel", "limit": 1}).json()
    assert (answer["index"]["state"], answer["route"].split("+")[0]) == ("ready", "words")


@pytest.mark.parametrize("corpus", CORPORA.values(), ids=CORPORA)
@pytest.mark.parametrize("how", ["zeroed", "random"])
def test_damage_of_the_table_itself_is_raised_and_detaches_nothing(house: House, corpus: Corpus, how: str) -> None:
    spoil(house, corpus.table, how)
    client = house.client

    path, body = (
        ("/api/sessions/walk/messages", {"messages": [{"role": "user", "content": "kestrel", "external_id": "later"}]})
        if corpus is MESSAGES
        else ("/api/memories", {"content": "kestrel lantern"})
    )
    with pytest.raises(DatabaseError, match="malformed"):
        client.send("POST", path, body)
    for query in ("kestrel", "estre"):
        with pytest.raises(DatabaseError, match="malformed"):
            ask(house.agent, corpus, query)
    assert {state.state for state in IndexState.objects.all()} == {"ready"}
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'search_%%'")
        assert cursor.fetchone()[0] == 12
