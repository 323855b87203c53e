"""Exporting memories, and getting the same store and the same bytes back."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories import revisions
from memories.access import Actor
from memories.exporting import CHUNK, export_memories, written_aside
from memories.json_lines import LEFT_OUT
from memories.models import (
    ActiveCount,
    Agent,
    AuditEntry,
    ImportedItem,
    Memory,
    MemoryTag,
    Revision,
    Workspace,
)
from tests.factories import AgentFactory, MemoryFactory
from tests.memories.importers.files import load, write_lines
from tests.memories.importers.stores import fill

pytestmark = pytest.mark.django_db


def exported(workspace: Workspace, **options: Any) -> bytes:
    """Return the export of a workspace."""
    out = io.BytesIO()
    export_memories(out, workspace, actor=Actor("test"), **options)
    return out.getvalue()


def lines_of(raw: bytes) -> list[dict[str, Any]]:
    """Return the memory lines of an export."""
    return [json.loads(line) for line in raw.splitlines()[1:]]


def copied(raw: bytes, directory: Path, workspace: str) -> Workspace:
    """Return the workspace that the export was imported into."""
    path = directory / f"{workspace}.jsonl"
    path.write_bytes(raw)
    report = load(path, workspace=workspace)
    assert (report.present, report.skips, report.notes) == (0, 0, {})
    return Workspace.objects.get(name=workspace)


def test_export_import_export_gives_the_same_bytes(tmp_path: Path) -> None:
    first = exported(fill())

    second = exported(copied(first, tmp_path, "copy"))
    third = exported(copied(second, tmp_path, "copy of the copy"))

    assert second == first
    assert third == first
    lines = lines_of(first)
    assert {line["status"] for line in lines} == {"active", "archived", "merged", "erased"}
    verbs = {revision["verb"] for line in lines for revision in line["revisions"]}
    assert verbs == {"remember", "revise", "forget", "restore", "merge", "erase"}
    assert {line["agent"] for line in lines} == {"cook", "Gärtnerin 🌱"}
    assert any(line["kept_beside"] for line in lines)
    assert any(line["merged_into"] and line["merged_into"] > line["ref"] for line in lines), "references point forward"


def test_the_copy_has_every_field_revision_tag_and_count(tmp_path: Path) -> None:
    home = fill()
    copy = copied(exported(home), tmp_path, "copy")

    def rows(workspace: Workspace) -> list[Any]:
        memories = list(Memory.objects.filter(workspace=workspace).order_by("pk").select_related("agent"))
        places = {memory.pk: place for place, memory in enumerate(memories)}
        skipped = {"id", "workspace", "agent", "partition", "merged_into", "kept_beside"}
        names = [field.attname for field in Memory._meta.concrete_fields if field.name not in skipped]
        return [
            {name: getattr(memory, name) for name in names}
            | {
                "agent": memory.agent.name,
                "private": memory.partition == memory.agent.partition,
                "merged_into": places.get(memory.merged_into_id),
                "kept_beside": places.get(memory.kept_beside_id),
                "tag_rows": sorted(memory.tag_rows.values_list("tag", flat=True)),
                "revisions": [
                    {
                        "values": [
                            {
                                name: places.get(value) if name.endswith("_id") else value
                                for name, value in side.items()
                                if name not in LEFT_OUT
                            }
                            for side in (revision.before, revision.after)
                        ],
                        "number": revision.number,
                        "verb": revision.verb,
                        "said": (revision.actor, revision.reason, revision.request_id),
                        "at": revision.created_at,
                    }
                    for revision in memory.revisions.all()
                ],
            }
            for memory in memories
        ]

    assert rows(copy) == rows(home)
    counted = list(ActiveCount.objects.order_by("workspace", "partition", "kind", "importance", "restricted").values())
    kept = [{name: row[name] for name in row if name != "id"} for row in counted if row["rows"]]
    revisions.recount()
    anew = ActiveCount.objects.order_by("workspace", "partition", "kind", "importance", "restricted").values()
    assert kept == [{name: row[name] for name in row if name != "id"} for row in anew]
    assert MemoryTag.objects.filter(workspace=copy).count() == MemoryTag.objects.filter(workspace=home).count()


def test_old_states_of_a_copy_can_be_restored(tmp_path: Path) -> None:
    copy = copied(exported(fill()), tmp_path, "copy")
    rent = Memory.objects.get(workspace=copy, active_key="rent")
    plums = Memory.objects.get(workspace=copy, content="The plums are ripe in August.")

    assert revisions.state_at(rent, 1)["content"] == "The flat costs 900 a month."
    assert revisions.state_at(plums, 2)["merged_into_id"] == plums.merged_into_id
    assert plums.merged_into.workspace == copy
    assert revisions.change(rent, revisions.state_at(rent, 1), by=Actor("test"), now=rent.created_at, verb="restore")


def test_the_file_is_readable_and_in_a_fixed_order() -> None:
    raw = exported(fill())

    header, *lines = raw.split(b"\n")
    assert lines.pop() == b""
    assert json.loads(header) == {"format": "memoryweb", "version": 1, "memories": len(lines)}
    assert [json.loads(line)["ref"] for line in lines] == list(range(1, len(lines) + 1))
    assert "冬天要给玫瑰盖上稻草。".encode() in raw
    assert b"\\u" not in raw
    rent = next(json.loads(line) for line in lines if b'"key":"rent"' in line)
    assert list(rent["metadata"]) == ["a", "b"]
    assert list(rent["metadata"]["a"]) == ["y", "z"]
    assert rent["created_at"].endswith("Z")
    assert rent["revision"] == len(rent["revisions"]) == 2
    assert rent["revisions"][1]["before"] == {"content": "The flat costs 900 a month.", "tags": []}
    names = {name for line in lines for name in json.loads(line)}
    assert not any(name.endswith("id") for name in names)


def test_an_erased_memory_goes_out_without_text_and_comes_back_erased(tmp_path: Path) -> None:
    raw = exported(fill())

    (line,) = [line for line in lines_of(raw) if line["status"] == "erased"]
    assert "7731" not in json.dumps(line)
    assert "alarm" not in json.dumps(line)
    assert (line["content"], line["key"], line["tags"], line["metadata"]) == ("", None, [], {})
    copy = copied(raw, tmp_path, "copy")
    memory = Memory.objects.get(workspace=copy, status="erased")
    assert (memory.content, memory.content_hash, memory.revision) == ("", "", 3)
    assert not memory.tag_rows.exists()


text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=40)
written = text.filter(str.strip)
# SQLite's JSON functions, which Django's JSON fields check values with, read numbers as 64 bits.
scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    scalars | text, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "content": written,
                "subject": st.just("") | written,
                "tags": st.lists(written, max_size=3),
                "metadata": st.dictionaries(text, values, max_size=3),
                "importance": st.integers(1, 5),
                "scope": st.sampled_from(["agent", "shared"]),
                "pinned": st.booleans(),
            }
        ),
        max_size=4,
    ),
    revised=written,
)
def test_any_text_tag_and_metadata_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], revised: str
) -> None:
    Workspace.objects.filter(name="copy").delete()
    agent = AgentFactory.create()
    memories = [MemoryFactory.create(agent=agent, **row) for row in rows]
    for memory in memories[:1]:
        revisions.change(memory, {"content": revised}, by=Actor("test"), now=memory.created_at, verb="revise")
    first = exported(agent.workspace)
    copy = tmp_path_factory.mktemp("copies")
    if not rows:
        assert load(write_lines(copy / "x", first.rstrip()), workspace="copy").created == 0
        return

    assert exported(copied(first, copy, "copy")) == first
    for row, memory in zip(rows[1:], Memory.objects.filter(workspace__name="copy").order_by("pk")[1:], strict=True):
        assert {name: getattr(memory, name) for name in row} == row
    Memory.objects.filter(workspace__name="copy").delete()


def test_what_other_imports_remember_goes_along(tmp_path: Path) -> None:
    graph = write_lines(tmp_path / "memory.jsonl", {"name": "Cat", "entityType": "pet", "observations": ["is grey"]})
    load(graph)
    copied(exported(Workspace.objects.get(name="home")), tmp_path, "copy")

    report = load(graph, workspace="copy")

    assert (report.created, report.present) == (0, 1)


def test_one_agent_alone(tmp_path: Path) -> None:
    home = fill()
    cook = Agent.objects.get(name="cook")
    path = tmp_path / "cook.jsonl"
    errors = io.StringIO()
    # A reference out of the file: a cook's memory beside the gardener's.
    beside = Memory.objects.filter(agent=cook, status="active").first()
    other = Memory.objects.filter(agent__name="Gärtnerin 🌱").first()
    assert beside is not None
    assert other is not None
    revisions.change(beside, {"kept_beside_id": other.pk}, by=Actor("test"), now=beside.created_at, verb="revise")

    call_command("export_memories", str(path), workspace="home", agent="cook", stderr=errors)

    lines = lines_of(path.read_bytes())
    assert {line["agent"] for line in lines} == {"cook"}
    assert len(lines) == Memory.objects.filter(agent=cook).count()
    assert "2 references to memories of other agents were left out" in errors.getvalue()
    assert exported(copied(path.read_bytes(), tmp_path, "copy")) == path.read_bytes()
    assert home.memories.count() > len(lines)


def test_no_other_workspace_is_in_it() -> None:
    fill("home")
    MemoryFactory.create(content="the neighbours' own")

    assert b"neighbours" not in exported(Workspace.objects.get(name="home"))


def test_it_is_written_for_the_owner_alone(tmp_path: Path) -> None:
    fill()
    path = tmp_path / "out.jsonl"
    before = os.umask(0)
    try:
        call_command("export_memories", str(path), workspace="home", stderr=io.StringIO())
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_file_is_replaced_only_when_asked(tmp_path: Path) -> None:
    fill()
    path = tmp_path / "out.jsonl"
    path.write_text("something else")

    with pytest.raises(CommandError, match="exists; --force replaces it"):
        call_command("export_memories", str(path), workspace="home", stderr=io.StringIO())
    assert path.read_text() == "something else"

    call_command("export_memories", str(path), workspace="home", force=True, stderr=io.StringIO())
    assert path.read_bytes() == exported(Workspace.objects.get(name="home"))


@pytest.mark.parametrize("force", [False, True])
def test_a_directory_or_device_is_never_replaced(tmp_path: Path, force: bool) -> None:
    fill()

    for place in (tmp_path, Path("/dev/null")):
        with pytest.raises(CommandError, match="no regular file; use - for standard output"):
            call_command("export_memories", str(place), workspace="home", force=force, stderr=io.StringIO())


def test_a_link_keeps_pointing_at_the_new_file(tmp_path: Path) -> None:
    fill()
    link, real = tmp_path / "latest.jsonl", tmp_path / "real.jsonl"
    real.write_text("old")
    link.symlink_to(real)

    call_command("export_memories", str(link), workspace="home", force=True, stderr=io.StringIO())

    assert link.is_symlink()
    assert real.read_bytes().startswith(b'{"format":"memoryweb"')


def test_a_broken_off_export_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old")

    def break_off() -> None:
        with written_aside(path, force=True) as out:
            out.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()

    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    fill()

    with pytest.raises(CommandError, match=r"none/out\.jsonl cannot be written: No such file"):
        call_command("export_memories", str(tmp_path / "none" / "out.jsonl"), workspace="home", stderr=io.StringIO())


def test_unknown_names_are_refused() -> None:
    fill()

    with pytest.raises(CommandError, match="there is no workspace 'hme'"):
        call_command("export_memories", "-", workspace="hme")
    with pytest.raises(CommandError, match="there is no agent 'cok' in the workspace 'home'"):
        call_command("export_memories", "-", workspace="home", agent="cok")


def test_standard_output_holds_the_export_alone() -> None:
    fill()
    out, errors = io.StringIO(), io.StringIO()

    call_command("export_memories", "-", workspace="home", stdout=out, stderr=errors)

    assert out.getvalue().encode() == exported(Workspace.objects.get(name="home"))
    assert "memories with" in errors.getvalue()


def test_the_audit_log_tells_of_it() -> None:
    home = fill()

    call_command("export_memories", "-", workspace="home", stdout=io.StringIO(), stderr=io.StringIO())

    entry = AuditEntry.objects.get(verb="memory.export")
    assert (entry.actor, entry.workspace) == ("command export_memories", home)
    assert entry.counts == {"memories": home.memories.count(), "revisions": Revision.objects.count()}


def test_it_writes_nothing_but_the_audit_entry() -> None:
    home = fill()

    with CaptureQueriesContext(connection) as queries:
        exported(home)

    writes = {query["sql"].split()[2] for query in queries if query["sql"].startswith(("INSERT", "UPDATE", "DELETE"))}
    assert writes == {'"memories_auditentry"'}
    assert not ImportedItem.objects.exists()


def test_what_is_written_meanwhile_does_not_mix_with_it() -> None:
    home = fill()
    count = home.memories.count()
    first = Memory.objects.filter(workspace=home, status="active").order_by("pk").last()
    assert first is not None

    def write(total: int) -> None:
        MemoryFactory.create(agent=first.agent, content="came too late")

    raw = exported(home, on_start=write)

    assert len(lines_of(raw)) == count
    assert b"came too late" not in raw


def test_a_revision_that_is_newer_than_its_row_waits_for_the_next_export() -> None:
    memory = MemoryFactory.create()
    first = memory.revisions.get()
    Revision.objects.create(memory=memory, number=2, verb="revise", before={}, after={}, created_at=first.created_at)

    (line,) = lines_of(exported(memory.workspace))

    assert (line["revision"], len(line["revisions"])) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_it_shows_the_store_as_it_was_at_the_beginning() -> None:
    agent = AgentFactory.create()
    memories = [MemoryFactory.create(agent=agent, content=f"n{number}") for number in range(CHUNK + 50)]
    changed: list[bool] = []

    def revise_the_last() -> None:
        try:
            changed.append(
                revisions.change(
                    memories[-1], {"content": "new"}, by=Actor("x"), now=memories[-1].created_at, verb="revise"
                )
            )
        finally:
            connections.close_all()

    def write() -> None:
        if not changed:
            thread = threading.Thread(target=revise_the_last)
            thread.start()
            thread.join(timeout=30)

    last = lines_of(exported(agent.workspace, on_memory=write))[-1]

    assert changed == [True]
    assert (last["content"], last["revision"], len(last["revisions"])) == (f"n{CHUNK + 49}", 1, 1)
    assert lines_of(exported(agent.workspace))[-1]["content"] == "new"


@pytest.mark.processes
def test_a_reader_who_leaves_early_is_no_traceback(tmp_path: Path) -> None:
    environment = os.environ | {"DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "memoryweb.settings"}
    manage = [sys.executable, str(Path(__file__).parents[2] / "manage.py")]
    lines = [{"name": f"n{number}", "observations": ["word " * 1000]} for number in range(300)]
    path = write_lines(tmp_path / "memory.jsonl", *lines)
    subprocess.run([*manage, "migrate", "-v0"], env=environment, check=True, timeout=120)
    subprocess.run([*manage, "import_memories", path], env=environment, check=True, timeout=120, capture_output=True)

    process = subprocess.Popen(
        [*manage, "export_memories"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(100)
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()

    assert process.wait(timeout=60) != 0
    assert "cannot be written: Broken pipe" in errors
    assert "Traceback" not in errors
