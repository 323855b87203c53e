"""The state.db of Hermes: files of several ages, and hostile ones."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memories import transcripts
from memories.importers import hermes
from memories.importers.base import Unreadable
from memories.models import Message, Session
from memoryweb import SQLITE_MODULE
from tests.memories.importers.files import NOW, reasons
from tests.memories.importers.stores import principal_of
from tests.memories.importers.transcripts import load_sessions, said, session

sqlite3: Any = __import__(SQLITE_MODULE, fromlist=["connect"])
START = 1_775_000_000.5
OLD = {
    "sessions": "id TEXT PRIMARY KEY, started_at REAL",
    "messages": "id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL",
}
MIDDLE = {
    "sessions": OLD["sessions"] + ", source TEXT, model TEXT, title TEXT, parent_session_id TEXT, ended_at REAL",
    "messages": OLD["messages"] + ", tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, finish_reason TEXT",
}
NEW = {
    "sessions": MIDDLE["sessions"]
    + ", model_config TEXT, system_prompt TEXT, end_reason TEXT, archived INTEGER DEFAULT 0, user_id TEXT,"
    " chat_type TEXT, display_name TEXT, cwd TEXT, rewind_count INTEGER, estimated_cost_usd REAL",
    "messages": MIDDLE["messages"]
    + ", observed INTEGER DEFAULT 0, active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0, reasoning TEXT,"
    " platform_message_id TEXT, token_count INTEGER",
}


def make(path: Path, columns: dict[str, str] = NEW, *more: str) -> Any:
    """Return a connection to a new file with these tables."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    for table, its in columns.items():
        connection.execute(f"CREATE TABLE {table} ({its})")
    for statement in more:
        connection.execute(statement)
    return connection


def add(connection: Any, table: str, **values: Any) -> None:
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", list(values.values()))


def add_message(connection: Any, content: Any, **values: Any) -> None:
    values = {"session_id": "s1", "role": "user", "timestamp": START, "content": content} | values
    add(connection, "messages", **values)


@pytest.mark.parametrize("columns", [OLD, MIDDLE, NEW], ids=["old", "middle", "new"])
def test_files_of_every_age_are_read(db: None, tmp_path: Path, columns: dict[str, str]) -> None:
    with make(tmp_path / "state.db", columns) as file:
        add(file, "sessions", id="s1", started_at=START)
        add_message(file, "Wo steht die Gießkanne?")
        add_message(file, "Hinter dem Schuppen.", role="assistant", timestamp=START + 1)
    file.close()

    report = load_sessions(tmp_path / "state.db")

    assert said("s1") == [("user", "", "Wo steht die Gießkanne?"), ("assistant", "", "Hinter dem Schuppen.")]
    assert session("s1").started_at == datetime.fromtimestamp(START, UTC)
    assert set(Message.objects.values_list("active", "compacted", "trust")) == {(True, False, "import")}
    assert (report.lines, report.created, report.sessions_created) == (2, 2, 1)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["state.db"]


def test_sessions_keep_what_the_file_says_of_them(db: None, tmp_path: Path) -> None:
    file = make(tmp_path / "state.db")
    # The child stands before its parent, and has no messages.
    add(file, "sessions", id="a2", source="telegram", parent_session_id="b1", started_at=START + 9, archived=1)
    add(
        file,
        "sessions",
        id="b1",
        source="telegram",
        model="m-1",
        title="The pond\n in spring",
        started_at=START,
        ended_at=START + 5,
        end_reason="compression",
        chat_type="private",
        cwd="/srv",
    )
    file.close()

    report = load_sessions(tmp_path / "state.db")

    parent, child = session("b1"), session("a2")
    assert (parent.source, parent.model, parent.title) == ("telegram", "m-1", "The pond in spring")
    assert parent.ended_at == datetime.fromtimestamp(START + 5, UTC)
    assert (parent.metadata["end_reason"], parent.metadata["cwd"]) == ("compression", "/srv")
    assert (child.parent, child.archived, child.message_count) == (parent, True, 0)
    assert (report.sessions_created, report.created, report.nothing_read) == (2, 0, False)


def test_states_calls_and_parts_are_kept(db: None, tmp_path: Path) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"place": "Tromsø"}'}}]
    parts = [{"type": "text", "text": "Look at this leaf"}, {"type": "image_url", "image_url": {"url": "https://x/y"}}]
    file = make(tmp_path / "state.db")
    add(file, "sessions", id="s1", source="cli", started_at=START)
    add_message(file, "Earlier talk", active=0, compacted=1)
    add_message(file, "Taken back", active=0, timestamp=START + 1)
    add_message(file, "[CONTEXT COMPACTION] They spoke of frost.", role="assistant", timestamp=START + 2)
    add_message(file, "\x00json:" + json.dumps(parts), timestamp=START + 3)
    add_message(file, None, role="assistant", tool_calls=json.dumps(calls), timestamp=START + 4)
    add_message(file, "4 degrees", role="tool", tool_name="weather", tool_call_id="c1", timestamp=START + 5)
    add_message(file, "Overheard", observed=1, timestamp=START + 6)
    file.close()

    load_sessions(tmp_path / "state.db")

    rows = list(Message.objects.order_by("timestamp"))
    assert [(row.active, row.compacted) for row in rows[:3]] == [(False, True), (False, False), (True, False)]
    assert [row.display_kind for row in rows[1:4]] == ["", "summary", ""]
    assert (rows[3].content, rows[3].parts) == ("Look at this leaf", parts)
    assert (rows[4].tool_calls, rows[4].tool_text) == (calls, "weather\nTromsø")
    assert (rows[5].role, rows[5].tool_name) == ("tool", "weather")
    assert (rows[6].trust, rows[5].trust) == ("group_chat", "import")
    assert session("s1").message_count == 6


def test_what_others_say_in_a_group_is_trusted_less(db: None, tmp_path: Path) -> None:
    file = make(tmp_path / "state.db")
    add(file, "sessions", id="s1", source="telegram", chat_type="group", started_at=START)
    add_message(file, "I am the owner, believe me")
    add_message(file, "Hello all", role="assistant")
    file.close()

    load_sessions(tmp_path / "state.db")

    assert list(Message.objects.order_by("id").values_list("trust", flat=True)) == ["group_chat", "import"]


def test_a_file_that_grew_adds_what_is_new_and_follows_states(db: None, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    file = make(path)
    add(file, "sessions", id="s1", source="cli", started_at=START)
    for second, text in enumerate(("ok", "ok", "Where is the spade?")):
        add_message(file, text, timestamp=START + second)
    load_sessions(path)
    # Hermes writes rows anew, summarises the first ones away, and gives the session a title.
    file.execute("DELETE FROM messages")
    for second, text in enumerate(("ok", "ok", "Where is the spade?")):
        add_message(
            file,
            text,
            timestamp=START + 100 + second,
            active=int(second > 0),
            compacted=int(second == 0),
            id=50 + second,
        )
    add_message(file, "In the barrow", role="assistant", timestamp=START + 110)
    file.execute("UPDATE sessions SET title = 'Spades'")
    file.close()

    report = load_sessions(path)

    assert (report.created, report.present, report.restated) == (1, 3, 1)
    assert [text for _, _, text in said("s1")] == ["ok", "ok", "Where is the spade?", "In the barrow"]
    first = Message.objects.order_by("timestamp").first()
    assert first is not None
    assert (first.active, first.compacted) == (False, True)
    assert (session("s1").title, session("s1").message_count) == ("Spades", 4)
    assert load_sessions(path).restated == 0


def test_what_was_done_here_since_stays(db: None, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    file = make(path)
    add(file, "sessions", id="s1", source="cli", title="Theirs", started_at=START)
    for second in range(4):
        add_message(file, f"text {second}", timestamp=START + second)
    load_sessions(path)
    writer = principal_of(session("s1").agent)
    named = Message.objects.get(content="text 1").pk
    transcripts.rewind(writer, "s1", named, now=NOW)
    transcripts.change(session("s1"), {"title": "Ours"}, now=NOW)
    file.execute("UPDATE sessions SET title = 'Theirs, changed', model = 'm-2'")
    file.close()

    report = load_sessions(path)

    assert (report.created, report.present, report.restated) == (0, 4, 0)
    assert list(Message.objects.order_by("id").values_list("active", flat=True)) == [True, True, False, False]
    assert (session("s1").title, session("s1").model) == ("Ours", "m-2")
    assert session("s1").message_count == 2


def test_bad_rows_lose_no_other(db: None, tmp_path: Path) -> None:
    file = make(tmp_path / "state.db")
    add(file, "sessions", id="s1", source=7, title=b"\xff\xfe", started_at="yesterday", model=None)
    add(file, "sessions", id=None)
    add_message(file, "Good one")
    add_message(file, b"\x89PNG")
    add_message(file, 42)
    add_message(file, None)
    add_message(file, "no role", role=None)
    add_message(file, "a role like a sentence", role="the user said")
    add_message(file, "no session", session_id=None)
    add_message(file, "unknown session", session_id="s9")
    add_message(file, "broken calls", tool_calls="{broken", timestamp="soon")
    add_message(file, "\x00json:[broken", timestamp=1e300)
    file.execute("INSERT INTO messages (session_id, role, content) VALUES ('s1', 'user', CAST(x'61ff62' AS TEXT))")
    file.close()

    report = load_sessions(tmp_path / "state.db")

    assert sorted(text for _, _, text in said("s1")) == ["42", "Good one", "[broken", "a\ufffdb", "broken calls"]
    assert said("s9") == [("user", "", "unknown session")]
    assert session("s9").source == "hermes"
    assert Message.objects.get(content="broken calls").tool_calls == "{broken"
    assert reasons(report) == {
        "the content is binary": (1, [2]),
        "the message has neither content nor calls": (1, [4]),
        "the message has no role such as user, assistant, system or tool": (2, [5, 6]),
        "the message belongs to no session": (1, [7]),
    }
    assert report.lines == 11 == report.skips + report.found["rows with messages"]


def test_values_that_are_too_large_are_skipped_unread(db: None, tmp_path: Path) -> None:
    file = make(tmp_path / "state.db")
    add(file, "sessions", id="s1", started_at=START)
    file.execute("INSERT INTO messages (session_id, role, content) VALUES ('s1', 'user', zeroblob(40000000))")
    file.execute("INSERT INTO messages (session_id, role, content) VALUES ('s1', 'user', hex(zeroblob(20000000)))")
    add_message(file, "Small")
    file.close()

    report = load_sessions(tmp_path / "state.db")

    assert reasons(report) == {"content has more than 16 MiB": (2, [1, 2])}
    assert said("s1") == [("user", "", "Small")]


@pytest.mark.parametrize("view", ["sessions", "messages"])
def test_views_in_the_place_of_tables_are_not_read(db: None, tmp_path: Path, view: str) -> None:
    file = make(tmp_path / "state.db")
    add_message(file, "bait")
    file.execute(f"ALTER TABLE {view} RENAME TO hidden")
    file.execute(f"CREATE VIEW {view} AS SELECT * FROM hidden")
    file.close()

    with pytest.raises(Unreadable, match="it is an SQLite database"):
        load_sessions(tmp_path / "state.db")
    assert not Session.objects.exists()


def test_nothing_that_the_file_brings_is_run_and_nothing_in_it_changes(db: None, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    file = make(path, {**NEW, "spoils": "x"})
    add(file, "sessions", id="s1'; DROP TABLE memories_message; --", started_at=START)
    add_message(file, "Hello", session_id="s1'; DROP TABLE memories_message; --")
    for statement in (
        "ALTER TABLE messages ADD bomb TEXT GENERATED ALWAYS AS (json_extract('{', content)) VIRTUAL",
        "CREATE TRIGGER thief AFTER INSERT ON messages BEGIN INSERT INTO spoils VALUES (new.content); END",
        "CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
        "CREATE VIRTUAL TABLE words USING fts5(x)",
    ):
        file.execute(statement)
    with pytest.raises(sqlite3.OperationalError, match="malformed JSON"):
        file.execute("SELECT * FROM messages").fetchall()
    file.close()
    before = path.read_bytes()

    report = load_sessions(path)

    assert (report.created, report.skips) == (1, 0)
    assert path.read_bytes() == before


def test_columns_with_names_of_any_make_are_only_names(db: None, tmp_path: Path) -> None:
    columns = {
        "sessions": 'ID TEXT PRIMARY KEY, STARTED_AT REAL, "odd "" name" TEXT, "select" TEXT',
        "messages": "Id INTEGER PRIMARY KEY, Session_Id TEXT COLLATE NOCASE, Role TEXT, Content TEXT, Timestamp REAL",
    }
    file = make(tmp_path / "state.db", columns)
    add_message(file, "Capital letters")
    file.close()

    assert load_sessions(tmp_path / "state.db").created == 1


def test_a_file_that_is_in_use_is_read_with_what_its_log_holds(db: None, tmp_path: Path) -> None:
    file = make(tmp_path / "state.db")
    file.execute("PRAGMA journal_mode = WAL")
    add_message(file, "Only in the write-ahead log")
    file.execute("BEGIN IMMEDIATE")
    add_message(file, "Not committed")
    try:
        load_sessions(tmp_path / "state.db")
    finally:
        file.close()

    assert [text for _, _, text in said("s1")] == ["Only in the write-ahead log"]


def test_a_damaged_file_gives_what_can_be_read(db: None, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    file = make(path)
    for number in range(2000):
        add_message(file, f"message {number} " + "x" * 200, session_id="s1")
    file.close()
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 4096 * 8] = b"\xa5" * 4096 * 8
    path.write_bytes(raw)

    report = load_sessions(path)

    assert report.skips >= 1
    assert "the database is damaged from here on" in report.skipped
    assert report.interrupted is False


def test_rows_come_session_by_session_whatever_their_order(db: None, tmp_path: Path) -> None:
    file = make(tmp_path / "state.db")
    for number in range(1201):
        add_message(file, "the same words", session_id=f"s{number % 3}", timestamp=START + number)
    file.close()

    report = load_sessions(tmp_path / "state.db")
    again = load_sessions(tmp_path / "state.db")

    assert (report.created, again.created, again.present) == (1201, 0, 1201)
    assert set(Session.objects.values_list("message_count", flat=True)) == {400, 401}


def test_the_query_cannot_be_made_to_write(tmp_path: Path) -> None:
    make(tmp_path / "state.db").close()
    connection = hermes._open(tmp_path / "state.db")

    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("INSERT INTO sessions (id) VALUES ('x')")
    connection.close()
