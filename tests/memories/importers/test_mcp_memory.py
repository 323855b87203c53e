"""The JSON Lines of the MCP memory server, in the shapes in which they are found."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memories.importers.mcp_memory import ODD_TIME, shape_of
from memories.models import ImportedItem, Memory, MemoryTag, Revision
from tests.memories.importers.files import NOW, entity, load, reasons, relation, write_lines

pytestmark = pytest.mark.django_db


def test_lines_with_a_type(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "memory.jsonl",
        entity("Ilse", "Plays the viola", "住在河边的房子里"),
        entity("Orchestra", "Meets on Tuesdays", entityType="group"),
        relation("Ilse", "plays_in", "Orchestra"),
    )

    report = load(path)

    assert (report.lines, report.created, report.present, report.skips) == (3, 4, 0, 0)
    assert report.found == {"entities": 2, "observations": 3, "relations": 1}
    assert list(Memory.objects.order_by("pk").values_list("subject", "content", "kind", "tags")) == [
        ("Ilse", "Plays the viola", "observation", ["person"]),
        ("Ilse", "住在河边的房子里", "observation", ["person"]),
        ("Orchestra", "Meets on Tuesdays", "observation", ["group"]),
        ("Ilse", "Ilse plays in Orchestra", "relationship", []),
    ]
    assert set(Memory.objects.values_list("source", "scope", "importance", "created_at")) == {
        ("import", "agent", 3, NOW)
    }
    assert Memory.objects.order_by("pk").last().metadata == {
        "from": "Ilse",
        "relation_type": "plays_in",
        "to": "Orchestra",
    }
    assert list(MemoryTag.objects.order_by("pk").values_list("tag", flat=True)) == ["person", "person", "group"]


def test_lines_without_a_type_with_times_in_seconds_and_milliseconds(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "memory.jsonl",
        {"name": "Boiler", "entityType": "Device", "observations": ["Serviced in spring"], "createdAt": 1768098907},
        {
            "name": "Roof",
            "entityType": "Part",
            "observations": ["Leaks near the chimney"],
            "createdAt": 1768098907123,
            "createdBy": "Tomas",
            "updatedAt": 1768354862,
            "updatedBy": "Ilse",
        },
        {"name": "Fence", "entityType": "Part", "observations": ["Painted green"], "updatedAt": 1768313916},
        {
            "from": "Boiler",
            "to": "Roof",
            "relationType": "vents_through",
            "createdBy": "Tomas",
            "createdAt": 1768108033,
        },
    )

    report = load(path)

    assert (report.created, report.skips) == (4, 0)
    boiler, roof, fence, vents = Memory.objects.order_by("pk")
    assert boiler.created_at == datetime(2026, 1, 11, 2, 35, 7, tzinfo=UTC)
    assert roof.created_at == datetime(2026, 1, 11, 2, 35, 7, 123000, tzinfo=UTC)
    assert roof.updated_at == roof.last_seen_at == datetime.fromtimestamp(1768354862, UTC)
    assert roof.metadata["entity_fields"] == {
        "createdAt": 1768098907123,
        "createdBy": "Tomas",
        "updatedAt": 1768354862,
        "updatedBy": "Ilse",
    }
    assert fence.created_at == fence.updated_at == datetime.fromtimestamp(1768313916, UTC)
    assert vents.metadata["relation_fields"] == {"createdBy": "Tomas", "createdAt": 1768108033}
    assert vents.created_at == datetime.fromtimestamp(1768108033, UTC)


def test_observations_that_are_objects(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "memory.jsonl",
        {
            "name": "Greenhouse",
            "entityType": "default",
            "observations": [
                {"text": "Tomatoes went in", "timestamp": "2025-04-11T15:54:05.242Z", "version": "1.0"},
                {"text": "Heating is off", "timestamp": "2025-05-02T08:00:00+02:00"},
                {"text": "No time here"},
            ],
            "_type": "entity",
            "_savedAt": "2025-05-13T14:03:13.260Z",
        },
    )

    load(path)

    tomatoes, heating, untimed = Memory.objects.order_by("pk")
    assert tomatoes.created_at == tomatoes.updated_at == datetime(2025, 4, 11, 15, 54, 5, 242000, tzinfo=UTC)
    assert tomatoes.metadata == {
        "entity": "Greenhouse",
        "entity_type": "default",
        "entity_fields": {"_savedAt": "2025-05-13T14:03:13.260Z"},
        "observation_fields": {"timestamp": "2025-04-11T15:54:05.242Z", "version": "1.0"},
    }
    assert heating.created_at == datetime(2025, 5, 2, 6, tzinfo=UTC)
    assert untimed.created_at == datetime(2025, 5, 13, 14, 3, 13, 260000, tzinfo=UTC)


def test_each_memory_has_its_first_revision_and_ledger_entry(tmp_path: Path) -> None:
    load(write_lines(tmp_path / "memory.jsonl", entity("Ilse", "Plays the viola", createdAt=1768098907)))

    memory, revision, item = Memory.objects.get(), Revision.objects.get(), ImportedItem.objects.get()
    assert (revision.number, revision.verb, revision.before, revision.actor) == (1, "import", {}, "test")
    assert revision.after["content"] == "Plays the viola"
    assert revision.after["source"] == "import"
    assert revision.created_at == memory.created_at
    assert (item.source, item.memory, item.partition) == ("mcp_memory", memory, memory.partition)
    assert "Ilse" not in item.external_id


@pytest.mark.parametrize("observations", [[], None])
def test_an_entity_without_observations_is_one_memory_that_names_it(tmp_path: Path, observations: Any) -> None:
    path = write_lines(
        tmp_path / "memory.jsonl",
        {"name": "Dr. Vogel", "entityType": "dentist", "observations": observations},
        {"name": "Untyped", "observations": []},
    )

    assert load(path).created == 2
    assert list(Memory.objects.order_by("pk").values_list("content", "subject", "kind")) == [
        ("Dr. Vogel (dentist)", "Dr. Vogel", "other"),
        ("Untyped", "Untyped", "other"),
    ]


def test_one_bad_observation_does_not_lose_the_others(tmp_path: Path) -> None:
    bad = [
        b'"\\ud800 alone"',
        b'"a\\u0000b"',
        b"NaN",
        b"7",
        b"null",
        b'""',
        b'"  "',
        b'"\xff\xfe"',
        b'{"note": "x"}',
        b"[]",
    ]
    line = (
        b'{"type":"entity","name":"Shed","entityType":"place","observations":["first",' + b",".join(bad) + b',"last"]}'
    )

    report = load(write_lines(tmp_path / "memory.jsonl", line))

    assert (report.created, report.skips, report.found["observations"]) == (2, 10, 12)
    assert list(Memory.objects.order_by("pk").values_list("content", flat=True)) == ["first", "last"]
    assert reasons(report) == {
        "an observation contains a lone surrogate, which is half a character": (1, [1]),
        "an observation contains the character NUL": (1, [1]),
        "an observation contains NaN or Infinity, which are not JSON": (1, [1]),
        "an observation is not text": (3, [1]),
        "an observation is blank": (2, [1]),
        "an observation contains bytes that are not UTF-8": (1, [1]),
        "an observation has no text": (1, [1]),
    }


def test_text_of_100000_characters_is_taken_and_one_more_is_not(tmp_path: Path) -> None:
    report = load(write_lines(tmp_path / "memory.jsonl", entity("Diary", "界" * 100_000, "界" * 100_001)))

    assert report.created == 1
    assert reasons(report) == {"an observation is longer than 100,000 characters": (1, [1])}
    assert report.details == ["line 1: an observation is longer than 100,000 characters: 100,001 characters"]


@pytest.mark.parametrize(
    ("line", "count", "reason"),
    [
        (b'{"type":"entity"', 1, "invalid JSON"),
        (b"not json at all", 1, "invalid JSON"),
        (b"[1, 2]", 1, "neither an entity nor a relation"),
        (b'"text"', 1, "neither an entity nor a relation"),
        (b'{"type":"entity","title":"x"}', 1, "neither an entity nor a relation"),
        (b'{"type":"relation","from":"a"}', 1, "neither an entity nor a relation"),
        (b'{"name":"","entityType":"t","observations":["a","b"]}', 2, "the entity's name is blank"),
        (b'{"name":7,"entityType":"t","observations":["a"]}', 1, "the entity's name is not text"),
        (b'{"name":"a\\u0000","entityType":"t"}', 1, "the entity's name contains the character NUL"),
        (b'{"name":"a","entityType":["t"],"observations":["x"]}', 1, "the entity's type is not text"),
        (b'{"name":"a","entityType":"t","observations":"x"}', 1, "the entity's observations are no list"),
        (b'{"name":"a","entityType":"t","observations":{"b":1}}', 1, "the entity's observations are no list"),
        (b'{"from":"a","to":"","relationType":"r"}', 1, "the relation's end is blank"),
        (b'{"from":null,"to":"b","relationType":"r"}', 1, "the relation's start is not text"),
        (b'{"from":"a","to":"b","relationType":" "}', 1, "the relation's type is missing or blank"),
        (
            b'{"from":"a","to":"b","relationType":"r","weight":Infinity}',
            1,
            "the relation contains NaN or Infinity, which are not JSON",
        ),
        (
            b'{"from":"a","to":"b","relationType":"r","weight":1' + b"0" * 30 + b"}",
            1,
            "the relation contains a number that does not fit into 64 bits",
        ),
        (b'{"from":"a","to":"b","relationType":"r","x":' + b"9" * 5000 + b"}", 1, "invalid JSON"),
        (b'{"from":"a","to":"b","relationType":"r","w":1e999}', 1, "the relation contains a number that is too large"),
        (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 1, "nested deeper than 100 levels"),
        (
            b'{"from":"a","to":"b","relationType":"r","x":' + b"[" * 150 + b"]" * 150 + b"}",
            1,
            "the relation is nested deeper than 100 levels",
        ),
        (
            b'{"from":"a","to":"b","relationType":"r","x":"' + b"y" * 17_000 + b'"}',
            1,
            "the fields beside the text take more than 16,384 characters",
        ),
    ],
)
def test_a_bad_line_is_counted_and_loses_nothing_else(tmp_path: Path, line: bytes, count: int, reason: str) -> None:
    path = write_lines(tmp_path / "memory.jsonl", entity("Before", "kept"), line, entity("After", "kept too"))

    report = load(path)

    assert reasons(report) == {reason: (count, [2])}
    assert (report.lines, report.created) == (3, 2)


def test_parts_that_read_alike_stay_apart(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "memory.jsonl",
        relation("Anna Maria", "knows", "Peter"),
        relation("Anna", "Maria knows", "Peter"),
        relation("Anna", "Maria_knows", "Peter"),
    )

    # The last two read the same under the same subject, so the second of them makes no new row.
    report = load(path)

    assert (report.created, report.present) == (2, 1)
    assert ImportedItem.objects.count() == 3


def test_names_that_no_subject_can_hold_are_kept_whole_in_the_metadata(tmp_path: Path) -> None:
    long = "Anlage " * 60
    path = write_lines(tmp_path / "memory.jsonl", entity(long, "is long"), entity("two\nlines", "is odd"))

    load(path)

    first, second = Memory.objects.order_by("pk")
    assert first.subject == long[:200]
    assert first.metadata["entity"] == long
    assert second.subject == "two lines"
    assert second.metadata["entity"] == "two\nlines"


@pytest.mark.parametrize("odd", [-5, 12, "yesterday", "0001-01-01T00:00:00Z", True, "2999-01-01"])
def test_times_that_make_no_sense_stay_in_the_metadata(tmp_path: Path, odd: Any) -> None:
    report = load(write_lines(tmp_path / "memory.jsonl", entity("Clock", "ticks", createdAt=odd)))

    memory = Memory.objects.get()
    assert memory.created_at == NOW
    assert memory.metadata["entity_fields"] == {"createdAt": odd}
    assert report.notes[ODD_TIME].lines == [1]


def test_equal_text_of_one_subject_makes_one_memory(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "memory.jsonl",
        entity("Cat", "sleeps on the stove", "sleeps on the stove", " sleeps on the stove "),
        entity("Dog", "sleeps on the stove"),
    )

    report = load(path)

    assert (report.created, report.present) == (2, 2)


def test_what_is_remembered_already_is_linked_and_not_doubled(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "one.jsonl", entity("Cat", "is grey"))
    other = write_lines(tmp_path / "two.jsonl", entity("Cat", {"content": "is grey", "by": "Ilse"}))
    load(path)

    report = load(other)

    assert (report.created, report.present) == (0, 1)
    assert Memory.objects.get().seen_count == 1


def test_scope_and_agent_are_the_callers(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "memory.jsonl", entity("Cat", "is grey"))

    load(path, agent="curator", scope="shared", workspace="office")

    memory = Memory.objects.get()
    assert (memory.scope, memory.partition, memory.agent.name) == ("shared", "shared", "curator")
    assert memory.workspace.name == "office"


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ({"type": "entity", "name": "a", "observations": []}, "entity"),
        ({"_type": "relation", "from": "a", "to": "b", "relationType": "r"}, "relation"),
        ({"name": "a", "entity_type": "t"}, "entity"),
        ({"from": "a", "to": "b", "relation_type": "r"}, "relation"),
        ({"type": "_aim", "source": "x"}, None),
        ({"name": "a"}, None),
        ({"type": "relation", "name": "a", "observations": []}, None),
        ([], None),
        ("entity", None),
    ],
)
def test_shapes(value: Any, shape: str | None) -> None:
    assert shape_of(value) == shape
