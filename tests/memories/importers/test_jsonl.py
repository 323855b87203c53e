"""memoryweb's own JSON Lines coming in: exactly as they are, once, and never over what is there."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memories import remember, revisions
from memories.access import Actor
from memories.exporting import export_memories
from memories.importers.base import Report, Unreadable
from memories.importers.jsonl import Values
from memories.importers.loading import CHUNK_ITEMS
from memories.json_lines import LEFT_OUT, REFERENCES
from memories.models import ActiveCount, Agent, ImportedItem, Memory, Revision, Workspace
from memories.schemas import MemoryIn
from tests.factories import AgentFactory, MemoryFactory, WorkspaceFactory
from tests.memories.importers.files import NOW, load, reasons, write_lines
from tests.memories.importers.stores import fill, principal_of

pytestmark = pytest.mark.django_db
HEADER = {"format": "memoryweb", "version": 1}


def exported(workspace: Workspace) -> list[dict[str, Any]]:
    """Return header and memory lines of a workspace's export."""
    out = io.BytesIO()
    export_memories(out, workspace, actor=Actor("test"))
    return [json.loads(line) for line in out.getvalue().splitlines()]


def load_lines(tmp_path: Path, *lines: Any, **options: Any) -> Report:
    return load(write_lines(tmp_path / "some.jsonl", *lines), **options)


def test_a_line_written_by_hand_needs_content_alone(tmp_path: Path) -> None:
    report = load_lines(tmp_path, HEADER, {"content": "The bins go out on Monday."}, agent="keeper", scope="shared")

    assert (report.lines, report.found["memory lines"], report.created) == (2, 1, 1)
    memory = Memory.objects.get()
    assert (memory.content, memory.agent.name, memory.scope, memory.source) == (
        "The bins go out on Monday.",
        "keeper",
        "shared",
        "import",
    )
    assert (memory.kind, memory.importance, memory.created_at, memory.revision) == ("observation", 3, NOW, 1)
    assert Revision.objects.get().verb == "import"


def test_fields_of_a_line_written_by_hand_are_kept(tmp_path: Path) -> None:
    line = {
        "agent": "cook",
        "scope": "shared",
        "subject": "kitchen",
        "key": "salt",
        "kind": "fact",
        "content": "Salt is in the blue jar.",
        "tags": ["jar", "jar", "salt"],
        "importance": 5,
        "source": "owner",
        "pinned": True,
        "metadata": {"shelf": 2},
        "expires_at": "2027-01-01T00:00:00+01:00",
        "created_at": "2026-01-05T08:00:00+01:00",
    }

    load_lines(tmp_path, HEADER, line)

    memory = Memory.objects.get()
    same = ("scope", "subject", "key", "kind", "content", "tags", "importance", "source", "pinned", "metadata")
    assert {name: getattr(memory, name) for name in same} == {name: line[name] for name in same}
    assert memory.agent.name == "cook"
    assert memory.active_key == "salt"
    assert memory.created_at == memory.updated_at == memory.last_seen_at == datetime(2026, 1, 5, 7, tzinfo=UTC)
    assert memory.expires_at == datetime(2026, 12, 31, 23, tzinfo=UTC)
    assert sorted(memory.tag_rows.values_list("tag", flat=True)) == ["jar", "salt"]
    assert Revision.objects.get().after["tags"] == ["jar", "jar", "salt"]


def test_every_field_of_a_revision_is_known_to_the_format() -> None:
    assert {REFERENCES.get(name, name) for name in revisions.FIELDS} - LEFT_OUT == set(Values.model_fields)


NO_TIME = "must be a time such as 2026-03-01T09:00:00Z"
NO_OBJECT = "Input should be a valid dictionary or instance of Values"
TOO_LARGE = "contains a number that does not fit into 64 bits"
TOO_MUCH = "Input should be less than or equal to 5"
GOOD = {
    "ref": 1,
    "content": "It is so.",
    "created_at": "2026-01-05T07:00:00Z",
    "revision": 1,
    "revisions": [
        {
            "number": 1,
            "verb": "remember",
            "before": {},
            "after": {"content": "It is so.", "expires_at": None},
            "actor": "agent cook",
            "at": "2026-01-05T07:00:00Z",
        }
    ],
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the good line with one value changed; ``path`` names it with dots."""
    line = json.loads(json.dumps(GOOD))
    *way, last = path.split(".")
    place: Any = line
    for name in way:
        place = place[int(name)] if name.isdigit() else place[name]
    place[last] = value
    return line


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"content": "broken', "invalid JSON"),
        ([1], "not a JSON object"),
        ({"subject": "nothing"}, "content must not be missing or blank"),
        (changed("content", " \n"), "content must not be missing or blank"),
        (changed("content", 5), "content: Input should be a valid string"),
        (changed("content", "x" * 100_001), "content: String should have at most 100000 characters"),
        (changed("content", "a\x00b"), "the line contains the character NUL"),
        (b'{"content": "\\udc00"}', "the line contains a lone surrogate, which is half a character"),
        (b'{"content": "\xff"}', "the line contains bytes that are not UTF-8"),
        (b'{"content": "x", "metadata": {"a": NaN}}', "the line contains NaN or Infinity, which are not JSON"),
        (b'{"content": "x", "metadata": {"a":99999999999999999999}}', f"the line {TOO_LARGE}"),
        (changed("contents", "x"), "a field that version 1 does not know"),
        (changed("importance", 6), "importance: Input should be less than or equal to 5"),
        (changed("importance", True), "importance: Input should be a valid integer"),
        (changed("pinned", 1), "pinned: Input should be a valid boolean"),
        (changed("key", ""), "key: String should have at least 1 character"),
        (changed("subject", "s" * 201), "subject: String should have at most 200 characters"),
        (changed("tags", "one"), "tags: Input should be a valid list"),
        (changed("tags", ["a", ""]), "tags: String should have at least 1 character"),
        (changed("metadata", []), "metadata: Input should be a valid dictionary"),
        (changed("status", "merged"), "a memory that is merged needs merged_at"),
        (changed("status", "archived"), "a memory that is archived needs archived_at"),
        (changed("status", "erased"), "an erased memory must carry no text"),
        (changed("status", "erased") | {"content": ""}, "the revisions of an erased memory must carry no text"),
        (changed("merged_into", 0), "merged_into: Input should be greater than or equal to 1"),
        (changed("ref", -1), "ref: Input should be greater than or equal to 1"),
        (changed("revision", 2), "its revisions must be numbered from 1 to `revision` without a gap"),
        (changed("revisions.0.number", 2), "its revisions must be numbered from 1 to `revision` without a gap"),
        (changed("revisions.0.before", None), f"revisions.before: {NO_OBJECT}"),
        (changed("revisions.0.after.merged_into_id", 4), "a field that version 1 does not know"),
        (changed("revisions.0.after.importance", 9), f"revisions.after.importance: {TOO_MUCH}"),
        (changed("revisions.0.after.expires_at", "soon"), f"revisions.after.expires_at: {NO_TIME}"),
        (changed("revisions.0.after.expires_at", "2026-01-01"), f"revisions.after.expires_at: {NO_TIME}"),
    ],
)  # fmt: skip
def test_a_bad_line_is_counted_and_loses_nothing_else(tmp_path: Path, line: Any, reason: str) -> None:
    report = load_lines(tmp_path, HEADER, {"content": "before"}, line, {"content": "after"})

    assert reasons(report) == {reason: (1, [3])}
    assert list(Memory.objects.order_by("pk").values_list("content", flat=True)) == ["before", "after"]


def test_times_without_a_zone_are_refused(tmp_path: Path) -> None:
    report = load_lines(tmp_path, HEADER, {"content": "x", "created_at": "2026-01-01T00:00:00"}, {"content": "y"})

    ((reason, (count, lines)),) = reasons(report).items()
    assert reason.startswith("created_at: must name its time zone")
    assert (count, lines) == (1, [2])


@pytest.mark.parametrize("version", [2, 99, "1", None, 1.0, True, 0])
def test_a_version_that_is_not_known_is_refused_as_a_whole(tmp_path: Path, version: Any) -> None:
    with pytest.raises(Unreadable, match=r"version .* of memoryweb's format and this program reads versions up to 1"):
        load_lines(tmp_path, {"format": "memoryweb", "version": version}, {"content": "x"})

    assert not Memory.objects.exists()
    assert not Workspace.objects.exists()


def test_a_damaged_header_loses_no_memory(tmp_path: Path) -> None:
    report = load_lines(tmp_path, b'{"format":"memoryw', {"ref": 1, "agent": "cook", "content": "x"})

    assert report.created == 1
    assert reasons(report) == {"invalid JSON": (1, [1])}
    assert report.notes["stands before any header and was read as version 1"].lines == [2]


def test_a_file_that_ends_early_says_so(tmp_path: Path) -> None:
    report = load_lines(tmp_path, HEADER | {"memories": 3}, {"content": "x"}, {"content": "y"})

    assert report.created == 2
    assert list(report.notes) == ["the file ends early: its header promises 3 memories"]


def test_importing_into_the_store_it_came_from_adds_nothing(tmp_path: Path) -> None:
    home = fill()
    lines = exported(home)
    before = list(Memory.objects.order_by("pk").values())

    report = load_lines(tmp_path, *lines)

    assert (report.created, report.present, report.skips, report.notes) == (0, len(before), 0, {})
    assert list(Memory.objects.order_by("pk").values()) == before
    assert not ImportedItem.objects.exists()


def test_what_was_erased_forgotten_or_revised_since_the_export_stays_so(tmp_path: Path) -> None:
    home = WorkspaceFactory.create(name="home")
    agent = AgentFactory.create(workspace=home)
    secret, gone, revised, kept = (MemoryFactory.create(agent=agent, content=word) for word in ("a", "b", "c", "d"))
    lines = exported(home)
    admin = principal_of(agent, role="admin")
    remember.erase(admin, secret.pk, reason="r", now=NOW)
    remember.forget(principal_of(agent), gone.pk, now=NOW)
    remember.revise(principal_of(agent), revised.pk, {"content": "c2"}, now=NOW)

    report = load_lines(tmp_path, *lines)

    assert (report.created, report.present, report.notes) == (0, 4, {})
    assert list(Memory.objects.order_by("pk").values_list("content", "status")) == [
        ("", "erased"),
        ("b", "archived"),
        ("c2", "active"),
        ("d", "active"),
    ]
    assert kept.content == "d"


def test_the_same_after_the_export_came_from_another_store(tmp_path: Path) -> None:
    home = WorkspaceFactory.create(name="home")
    agent = AgentFactory.create(workspace=home)
    for word in ("a", "b", "c"):
        MemoryFactory.create(agent=agent, content=word)
    lines = exported(home)
    load_lines(tmp_path, *lines, workspace="copy")
    copies = Memory.objects.filter(workspace__name="copy").order_by("pk")
    remember.erase(principal_of(copies[0].agent, role="admin"), copies[0].pk, reason="r", now=NOW)
    remember.forget(principal_of(copies[1].agent), copies[1].pk, now=NOW)

    report = load_lines(tmp_path, *lines, workspace="copy")

    assert (report.created, report.present) == (0, 3)
    assert [memory.status for memory in copies] == ["erased", "archived", "active"]


def test_a_later_export_adds_what_is_new_and_tells_what_changed(tmp_path: Path) -> None:
    home = WorkspaceFactory.create(name="home")
    agent = AgentFactory.create(workspace=home)
    first, second, third = (MemoryFactory.create(agent=agent, content=word) for word in ("a", "b", "c"))
    load_lines(tmp_path, *exported(home), workspace="copy")
    MemoryFactory.create(agent=agent, content="new")
    remember.revise(principal_of(agent), first.pk, {"content": "a2"}, now=NOW)
    remember.erase(principal_of(agent, role="admin"), second.pk, reason="r", now=NOW)

    report = load_lines(tmp_path, *exported(home), workspace="copy")

    assert (report.created, report.present, report.skips) == (1, 3, 0)
    assert {note: tally.lines for note, tally in report.notes.items()} == {
        "changed further in the file; the memory here was left as it is": [2],
        "erased in the file, but still here with its text": [3],
    }
    copies = Memory.objects.filter(workspace__name="copy").order_by("pk")
    assert [memory.content for memory in copies] == ["a", "b", "c", "new"]
    assert third.content == "c"


def test_two_stores_with_the_same_ids_do_not_mix_up_their_memories(tmp_path: Path) -> None:
    one = {"origin": "1.1767600000000000", "content": "a", "created_at": "2026-01-05T08:00:00Z"}
    other = one | {"content": "b"}

    assert load_lines(tmp_path, HEADER, one).created == 1
    assert load_lines(tmp_path, HEADER, other).created == 1
    assert load_lines(tmp_path, HEADER, one, other).present == 2


def test_a_memory_here_with_the_id_of_an_origin_is_not_taken_for_it(tmp_path: Path) -> None:
    here = MemoryFactory.create(agent=AgentFactory.create(workspace=WorkspaceFactory.create(name="home")))
    micros = (here.created_at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    lines = [
        {"origin": f"{here.pk}.{int(micros * 1_000_000) + 999}", "content": here.content},
        {"origin": f"{here.pk + 1}.5", "content": "x"},
        {"origin": "9" * 18 + "." + "9" * 18, "content": "y"},
    ]

    assert load_lines(tmp_path, HEADER, *lines).created == 3


def test_a_taken_key_keeps_the_row_without_it_and_says_so(tmp_path: Path) -> None:
    source = WorkspaceFactory.create(name="source")
    cook = AgentFactory.create(workspace=source, name="cook")
    there = MemoryFactory.create(agent=cook, content="The flat costs 900.", key="rent")
    remember.remember(principal_of(cook), MemoryIn(content="The flat costs 950.", key="rent"), now=NOW)
    home = WorkspaceFactory.create(name="home")
    mine = MemoryFactory.create(agent=AgentFactory.create(workspace=home, name="cook"), content="Mine.", key="rent")

    report = load_lines(tmp_path, *exported(source))

    assert (report.created, report.skips) == (1, 0)
    assert report.notes["created without its key, which another memory holds"].lines == [2]
    memory = Memory.objects.get(workspace=home, content="The flat costs 950.")
    assert (memory.key, memory.active_key, memory.kept_beside) == (None, None, mine)
    assert (memory.revision, there.key) == (3, "rent")
    last = memory.revisions.last()
    assert last is not None
    assert (last.verb, last.before["key"], last.after) == ("import", "rent", {"key": None, "kept_beside_id": mine.pk})
    assert revisions.state_at(memory, 2)["key"] == "rent"
    assert load_lines(tmp_path, *exported(source)).present == 1


def test_two_lines_with_one_key_keep_both_rows(tmp_path: Path) -> None:
    lines = [{"content": word, "key": "door"} for word in ("red", "blue")]

    report = load_lines(tmp_path, HEADER, *lines)

    assert report.created == 2
    first, second = Memory.objects.order_by("pk")
    assert (first.key, second.key, second.kept_beside) == ("door", None, first)


def test_the_key_of_an_archived_row_is_free(tmp_path: Path) -> None:
    lines = [
        {"content": "red", "key": "door", "status": "archived", "archived_at": "2026-01-01T00:00:00Z"},
        {"content": "blue", "key": "door"},
    ]

    assert load_lines(tmp_path, HEADER, *lines).notes == {}
    assert [memory.key for memory in Memory.objects.order_by("pk")] == ["door", "door"]


def test_references_reach_forward_backward_and_into_revisions(tmp_path: Path) -> None:
    moment = "2026-01-05T07:00:00Z"
    merged = {"status": "merged", "merged_at": moment}
    lines = [
        {"ref": 1, "content": "a", "merged_into": 3, **merged},
        {"ref": 2, "content": "b"},
        {"ref": 3, "content": "c", "kept_beside": 2},
        {"ref": 4, "content": "d", "merged_into": 99, **merged},
        {"ref": 5, "content": "e", "merged_into": 5, **merged},
    ]

    report = load_lines(tmp_path, HEADER, *lines)

    first, second, third, fourth, fifth = Memory.objects.order_by("pk")
    assert (first.merged_into, third.kept_beside, fourth.merged_into, fifth.merged_into) == (third, second, None, fifth)
    assert first.revisions.get().after["merged_into_id"] == third.pk
    note = "a reference to a memory that the file does not bring was left out"
    assert report.notes[note].lines == [5]


def test_references_to_a_line_that_was_bad_are_filled_in_once_it_is_mended(tmp_path: Path) -> None:
    source = WorkspaceFactory.create(name="source")
    agent = AgentFactory.create(workspace=source)
    one, two = (MemoryFactory.create(agent=agent, content=word) for word in ("one", "two"))
    fields = {"status": "merged", "merged_into_id": two.pk, "merged_at": NOW}
    revisions.change(one, fields, by=Actor("tidy"), now=NOW, verb="merge")
    header, first, second = exported(source)
    load_lines(tmp_path, header, first, second | {"importance": 9})
    assert Memory.objects.get(workspace__name="home").merged_into is None

    report = load_lines(tmp_path, header, first, second)

    assert (report.created, report.present) == (1, 1)
    one, two = Memory.objects.filter(workspace__name="home").order_by("pk")
    assert one.merged_into == two
    assert one.revisions.get(number=2).after["merged_into_id"] == two.pk
    assert one.revision == 2


def test_a_reference_that_was_taken_back_since_is_not_put_in_again(tmp_path: Path) -> None:
    lines = exported(fill("source"))
    load_lines(tmp_path, *lines)
    merged = Memory.objects.filter(workspace__name="home", status="merged").first()
    assert merged is not None
    remember.restore(principal_of(merged.agent), merged.pk, now=NOW)

    load_lines(tmp_path, *lines)

    merged.refresh_from_db()
    assert (merged.status, merged.merged_into) == ("active", None)


def test_many_references_are_written_while_the_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.importers.loading.PENDING", 20)
    last = 3 * CHUNK_ITEMS
    lines = [
        {"ref": number, "content": f"n{number}", "kept_beside": min(last, number + 40)} for number in range(1, last + 1)
    ]

    report = load_lines(tmp_path, HEADER, *lines)

    assert report.notes == {}
    for memory in Memory.objects.select_related("kept_beside"):
        number = int(memory.content[1:])
        assert memory.kept_beside.content == f"n{min(last, number + 40)}"


def test_two_exports_in_one_file_keep_their_references_apart(tmp_path: Path) -> None:
    lines = []
    for word in ("a", "b"):
        lines += [
            HEADER | {"memories": 2},
            {"ref": 1, "content": f"{word}1", "kept_beside": 2},
            {"ref": 2, "content": f"{word}2"},
        ]

    report = load_lines(tmp_path, *lines)

    assert (report.created, report.notes, report.found["headers"]) == (4, {}, 2)
    assert [memory.kept_beside.content for memory in Memory.objects.filter(content__endswith="1")] == ["a2", "b2"]


def test_lines_in_any_order_keep_their_references(tmp_path: Path) -> None:
    lines = [{"ref": number, "content": f"n{number}", "kept_beside": number % 5 + 1} for number in (4, 1, 5, 3, 2)]

    load_lines(tmp_path, HEADER, *lines)

    pairs = {memory.content: memory.kept_beside.content for memory in Memory.objects.all()}
    assert pairs == {"n1": "n2", "n2": "n3", "n3": "n4", "n4": "n5", "n5": "n1"}


def test_agents_are_made_where_missing_and_found_where_there(tmp_path: Path) -> None:
    home = WorkspaceFactory.create(name="home")
    cook = AgentFactory.create(workspace=home, name="cook")

    load_lines(tmp_path, HEADER, {"content": "x", "agent": "cook"}, {"content": "y", "agent": "料理人"})

    assert list(Agent.objects.order_by("pk").values_list("name", "workspace")) == [
        ("cook", home.pk),
        ("料理人", home.pk),
    ]
    assert Memory.objects.get(content="x").agent == cook


def test_equal_text_without_origin_makes_no_second_row_unless_less_trusted_text_is_there(tmp_path: Path) -> None:
    home = WorkspaceFactory.create(name="home")
    agent = AgentFactory.create(workspace=home, name="imported")
    MemoryFactory.create(agent=agent, content="known")
    MemoryFactory.create(agent=agent, content="doubtful", source="web")
    MemoryFactory.create(agent=agent, content="archived", status="archived", archived_at=NOW)
    lines = [{"content": word} for word in ("known", " known ", "doubtful", "archived")]

    report = load_lines(tmp_path, HEADER, *lines)

    assert (report.created, report.present) == (2, 2)
    assert load_lines(tmp_path, HEADER, *lines).present == 4


def test_restricted_and_active_are_counted(tmp_path: Path) -> None:
    lines = [{"content": f"n{number}", "source": "web" if number % 2 else "owner"} for number in range(7)]

    load_lines(tmp_path, HEADER, *lines)

    assert sorted(ActiveCount.objects.values_list("restricted", "rows")) == [(False, 4), (True, 3)]
