"""The command import_sessions: once and never twice, whatever happens in between."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from memories.importers.session_loading import CHUNK_MESSAGES
from memories.models import Agent, AuditEntry, Message, Session, Workspace
from tests.memories.importers.files import write_lines
from tests.memories.importers.transcripts import claude, said
from tests.stores import ROOT, ask, environment, make_store, manage


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a directory with two transcripts of different formats, deep down, and other files."""
    deep = tmp_path / "projects" / "garden"
    deep.mkdir(parents=True)
    write_lines(
        deep / "walk-1.jsonl", claude("user", "Plant the leeks", "a"), b"{", claude("assistant", "Done", "b", second=1)
    )
    write_lines(tmp_path / "projects" / "log.jsonl", {"session_id": "c", "role": "user", "content": "冬天种什么？"})
    (tmp_path / "projects" / "notes.txt").write_text("Dear diary")
    (tmp_path / "projects" / "loop").symlink_to(tmp_path / "projects")
    return tmp_path / "projects"


def run(path: Path, **options: Any) -> str:
    """Return what the command prints."""
    out = io.StringIO()
    call_command("import_sessions", str(path), stdout=out, **options)
    return out.getvalue()


def counts(text: str) -> dict[str, int]:
    """Return the counts of the printed report."""
    table = text.split("\nSkipped:")[0].split("\nTo know:")[0].split("\nFiles of other kinds:")[0]
    pairs = (line.rsplit(None, 1) for line in table.splitlines()[1:])
    return {name.strip(): int(count.replace(",", "")) for name, count in pairs}


def test_a_directory_is_walked_and_reported(db: None, folder: Path) -> None:
    text = run(folder)

    assert text.startswith("Format: openai, claude_code\n")
    assert counts(text) == {
        "files": 2,
        "files of other kinds": 1,
        "lines": 4,
        "lines with a message": 1,
        "lines with messages": 2,
        "sessions created": 2,
        "sessions already there": 0,
        "messages created": 3,
        "messages already there": 0,
        "messages with a new state": 0,
        "skipped": 1,
    }
    assert "         1  invalid JSON (line garden/walk-1.jsonl:2)" in text
    assert "notes.txt cannot be imported: none of its first lines is JSON" in text
    assert set(Session.objects.values_list("workspace__name", "agent__name", "scope")) == {
        ("default", "imported", "agent")
    }
    assert said("c") == [("user", "", "冬天种什么？")]


def test_options_choose_the_place(db: None, folder: Path) -> None:
    run(folder, workspace=" office ", agent="curator", scope="shared")

    assert set(Session.objects.values_list("workspace__name", "agent__name", "partition")) == {
        ("office", "curator", "shared")
    }
    assert set(Message.objects.values_list("partition", flat=True)) == {"shared"}


def test_importing_again_adds_nothing(db: None, folder: Path) -> None:
    run(folder)
    before = list(Session.objects.order_by("pk").values()), list(Message.objects.order_by("pk").values())

    again = counts(run(folder))

    assert (again["sessions created"], again["sessions already there"]) == (0, 2)
    assert (again["messages created"], again["messages already there"]) == (0, 3)
    assert (list(Session.objects.order_by("pk").values()), list(Message.objects.order_by("pk").values())) == before


def test_a_file_that_grew_adds_what_is_new(db: None, folder: Path) -> None:
    run(folder)
    with (folder / "garden" / "walk-1.jsonl").open("ab") as file:
        file.write(b'{"type":"custom-title","customTitle":"Leeks","sessionId":"walk-1"}\n')
    write_lines(folder / "more.jsonl", claude("user", "And water them", "d", second=5))

    grown = counts(run(folder))

    assert (grown["messages created"], grown["messages already there"]) == (1, 3)
    assert [text for _, _, text in said("walk-1")] == ["Plant the leeks", "Done", "And water them"]
    assert Session.objects.get(external_id="walk-1").title == "Leeks"


def test_a_dry_run_reports_the_same_and_writes_nothing(db: None, folder: Path) -> None:
    write_lines(folder / "twice.jsonl", claude("user", "Plant the leeks", "a"))
    dry = run(folder, dry_run=True)

    assert not Session.objects.exists()
    assert not Workspace.objects.exists()
    assert not AuditEntry.objects.exists()
    assert dry.replace("would be ", "").split() == run(folder).split()
    assert run(folder, dry_run=True).replace("would be ", "").split() == run(folder).split()


def test_another_agents_session_of_the_same_name_is_another_one(db: None, folder: Path) -> None:
    run(folder, agent="one")
    run(folder, agent="two")

    assert Session.objects.filter(external_id="walk-1").count() == 2
    assert Message.objects.count() == 6


def test_the_audit_log_has_counts_and_no_text(db: None, folder: Path) -> None:
    run(folder)

    entry = AuditEntry.objects.get(verb="session.import")
    assert entry.actor == "command import_sessions"
    assert entry.workspace == Workspace.objects.get()
    assert entry.counts == {
        "files": 2,
        "sessions_created": 2,
        "sessions_present": 0,
        "lines": 4,
        "created": 3,
        "present": 0,
        "skipped": 1,
        "notes": entry.counts["notes"],
    }
    assert entry.result.startswith("format=openai,claude_code interrupted=false files=2 sessions_created=2")


def test_what_is_no_transcript_is_refused(db: None, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no file"):
        run(tmp_path / "none.jsonl")
    (tmp_path / "notes.txt").write_text("Dear diary")
    with pytest.raises(
        CommandError, match=r"none of its first lines is JSON\. Allowed are:\n  - the state.db of Hermes"
    ):
        run(tmp_path / "notes.txt")
    with pytest.raises(CommandError, match=r"holds no transcript\. Allowed are:"):
        run(tmp_path)
    with pytest.raises(CommandError, match="nothing could be read"):
        run(write_lines(tmp_path / "x", claude("user", None, "a")))
    assert not Agent.objects.exists()


def test_names_that_cannot_be_are_refused(db: None, folder: Path) -> None:
    with pytest.raises(CommandError, match="--agent: "):
        run(folder, agent=" ")


def dump(store: Path) -> list[Any]:
    """Return all that an import writes and that two runs have in common."""
    session = (
        "SELECT external_id, source, title, message_count, started_at, last_active_at, metadata FROM memories_session"
    )
    message = (
        "SELECT s.external_id, m.external_id, m.role, m.content, m.timestamp, m.active FROM memories_message m"
        " JOIN memories_session s ON s.id = m.session_id ORDER BY 1, m.timestamp, m.id"
    )
    return [ask(store, f"{session} ORDER BY 1"), ask(store, message)]


@pytest.mark.processes
def test_killed_at_any_moment_and_run_again_is_as_good_as_one_run(
    tmp_path: Path, django_db_setup: None, django_db_blocker: Any
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for number in range(3):
        lines = [
            claude("user", f"Reihe {number}, 第{place}棵", f"m{place}", second=place, sessionId=f"walk-{number}")
            for place in range(900)
        ]
        title = {"type": "custom-title", "customTitle": f"Row {number}", "sessionId": f"walk-{number}"}
        write_lines(files / f"walk-{number}.jsonl", *lines, title)
    with django_db_blocker.unblock():
        stores = [make_store(tmp_path / name) for name in ("whole", "broken")]
    whole = manage(stores[0].parent, "import_sessions", str(files))
    assert whole.returncode == 0, whole.stderr

    killed = 0
    for aim in (1, 2 * CHUNK_MESSAGES, 4 * CHUNK_MESSAGES):
        process = subprocess.Popen(
            [sys.executable, "manage.py", "import_sessions", str(files)],
            cwd=ROOT,
            env=environment(stores[1].parent),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and ask(stores[1], "SELECT count(*) FROM memories_message")[0][0] < aim:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        killed += process.wait(timeout=60) == -signal.SIGKILL
    assert killed >= 2
    broken = manage(stores[1].parent, "import_sessions", str(files))

    assert broken.returncode == 0, broken.stderr
    assert dump(stores[1]) == dump(stores[0])
    assert ask(stores[1], "SELECT count(*) FROM memories_message") == [(2700,)]
    assert "B/s" not in broken.stderr, "a progress bar belongs on a terminal"
