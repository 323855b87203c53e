"""Sessions of Hermes: its state.db, an SQLite file of somebody else's.

Nothing in the file is trusted: it is opened read-only, with no function of its schema allowed to run, and only real
tables are read. Which columns there are depends on the file's age.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memories.importers.base import Bad, Document, moment
from memories.importers.session_loading import (
    Head,
    SessionLoader,
    clean,
    label,
    line_of_text,
    role_of,
    session_name,
)
from memories.models import SUMMARY, Source
from memories.transcripts import Said

NAME = "hermes"
DESCRIPTION = "the state.db of Hermes (SQLite)"
MAGIC = b"SQLite format 3\x00"
VALUE_MAX = 16 * 2**20
"""Bytes of the largest value that is read."""
SESSION_COLUMNS = (
    "id", "source", "model", "title", "parent_session_id", "started_at", "ended_at", "end_reason", "archived",
    "user_id", "chat_id", "chat_type", "thread_id", "display_name", "cwd", "git_branch", "git_repo_root",
)  # fmt: skip
KEPT_AS_METADATA = (*SESSION_COLUMNS[SESSION_COLUMNS.index("user_id") :], "end_reason")
MESSAGE_COLUMNS = (
    "id", "session_id", "role", "content", "timestamp", "tool_call_id", "tool_calls", "tool_name", "observed",
    "active", "compacted", "display_kind",
)  # fmt: skip
NEEDED = {"sessions": {"id"}, "messages": {"id", "session_id", "role", "content"}}
GROUPS = ("group", "supergroup", "channel", "forum", "thread")
"""Types of a chat in which others speak too."""
_PARTS = "\x00json:"
_SUMMARIES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]")
_STEP = 200


def recognises(document: Document) -> bool:
    """Return whether the file is a database with the tables of Hermes."""
    if not document.start.startswith(MAGIC):
        return False
    try:
        with closing(_open(document.path)) as connection:
            return all(NEEDED[table] <= columns.keys() for table, columns in _tables(connection).items())
    except sqlite3.Error:
        return False


def load(document: Document, loader: SessionLoader) -> None:
    """Import the file. What stands for lines in the report are the ids of its rows."""
    report = loader.report
    size = document.path.stat().st_size
    told = 0
    with closing(_open(document.path)) as connection:
        tables = _tables(connection)
        # Sessions and messages as they were at one moment, though their owner may go on writing.
        connection.execute("BEGIN")
        try:
            for row in _rows(connection, "sessions", tables["sessions"], SESSION_COLUMNS, order=("id",)):
                _take_session(row, loader)
            (total,) = connection.execute("SELECT count(*) FROM messages").fetchone()
            last: Head | None = None
            rows = _rows(connection, "messages", tables["messages"], MESSAGE_COLUMNS, order=("session_id", "id"))
            for number, row in enumerate(rows, start=1):
                report.lines += 1
                place = row["id"] if isinstance(row["id"], int) else number
                try:
                    last = _take_message(row, place, last, loader)
                except Bad as bad:
                    report.skip(place, bad)
                else:
                    report.found["rows with messages"] += 1
                if number % _STEP == 0:
                    now_told = size * number // max(total, number)
                    document.on_bytes(now_told - told)
                    told = now_told
        except sqlite3.Error as error:
            report.skip("the rest", Bad("the database is damaged from here on", str(error)))
    document.on_bytes(size - told)


def _open(path: Path) -> sqlite3.Connection:
    """Return a connection that cannot write and runs nothing that the file brings."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    connection = _connect(address)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        # In a directory that cannot be written to SQLite reads a WAL file's database only if it never changes.
        if path.with_name(path.name + "-wal").exists():
            raise
        connection = _connect(f"{address}&immutable=1")
    return connection


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=10)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return connection


def _tables(connection: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """Return the columns of both tables, by their names in small letters; none where there is only a view."""
    found: dict[str, dict[str, str]] = {}
    for table in NEEDED:
        # Views and virtual tables have no page of their own.
        real = connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND lower(name) = ?", (table,)
        ).fetchone()
        # Without generated columns, which would compute something.
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall() if real else []
        found[table] = {str(row[1]).lower(): str(row[1]) for row in columns}
    return found


def _rows(
    connection: sqlite3.Connection,
    table: str,
    there: dict[str, str],
    wanted: tuple[str, ...],
    *,
    order: tuple[str, ...],
) -> Iterator[dict[str, Any]]:
    """Yield the rows; columns that the file lacks are None, and a value that is too large is a Bad."""
    columns = [name for name in wanted if name in there]
    shown = []
    for name in columns:
        column = _quoted(there[name])
        # octet_length reads no more than the row's header.
        shown.append(f"CASE WHEN octet_length({column}) > {VALUE_MAX} THEN NULL ELSE {column} END")
        shown.append(f"octet_length({column}) > {VALUE_MAX}")
    places = ", ".join(f"{_quoted(there[name])} COLLATE BINARY" for name in order)
    sql = f"SELECT {', '.join(shown)} FROM {table} ORDER BY {places}"  # noqa: S608 - names from the lists above
    for values in connection.execute(sql):
        row: dict[str, Any] = dict.fromkeys(wanted)
        for place, name in enumerate(columns):
            row[name] = (
                Bad(f"{name} has more than {VALUE_MAX // 2**20} MiB") if values[2 * place + 1] else values[2 * place]
            )
        yield row


def _quoted(column: str) -> str:
    """Return the column's name as SQL."""
    return '"' + column.replace('"', '""') + '"'


def _take_session(row: dict[str, Any], loader: SessionLoader) -> None:
    name = session_name(row["id"])
    if name is None:
        loader.report.note("sessions", "a session without an id was left out")
        return
    loader.report.found["sessions in the file"] += 1
    metadata = {}
    for column in KEPT_AS_METADATA:
        value = str(row[column]) if isinstance(row[column], int | float) else line_of_text(row[column])
        if value:
            metadata[column] = value
    loader.head(
        name,
        label(row["source"], NAME),
        title=line_of_text(row["title"]),
        model=line_of_text(row["model"]),
        parent=session_name(row["parent_session_id"]),
        started_at=moment(row["started_at"], now=loader.now),
        ended_at=moment(row["ended_at"], now=loader.now),
        archived=row["archived"] in (1, "1"),
        metadata=metadata,
        stands_alone=True,
    )


def _take_message(row: dict[str, Any], place: int, last: Head | None, loader: SessionLoader) -> Head:
    """Return the message's session. Raises Bad where the message cannot be imported."""
    name = session_name(row["session_id"])
    if name is None:
        raise Bad("the message belongs to no session")
    head = loader.head(name, NAME)
    if last is not None and last is not head:
        last.seen.clear()  # rows come session by session
    notes: set[str] = set()
    said = _said(row, head, notes)
    time = moment(row["timestamp"], now=loader.now)
    if time is None:
        notes.add("without a time that makes sense; it has that of the message before it")
    # Hermes writes a session's rows anew at times, with other ids and times.
    text = json.dumps([said.content, said.tool_calls], sort_keys=True)
    external_id = head.digest_id(NAME, said.role, str(row["tool_call_id"]), text)
    loader.add(head, place, replace(said, timestamp=time, external_id=external_id), size=len(text))
    for note in notes:
        loader.report.note(place, note)
    return head


def _said(row: dict[str, Any], head: Head, notes: set[str]) -> Said:
    for value in row.values():
        if isinstance(value, Bad):
            raise value
    role = role_of(row["role"])
    content = clean(_content(row["content"], notes), notes)
    calls = clean(_json(row["tool_calls"]), notes) or None
    if not calls and (not content or (isinstance(content, str) and not content.strip())):
        raise Bad("the message has neither content nor calls")
    active = row["active"] in (None, 1, "1", True)
    group = role == "user" and head.metadata.get("chat_type") in GROUPS
    kind = line_of_text(row["display_kind"], most=100)
    if isinstance(content, str) and content.lstrip().startswith(_SUMMARIES):
        kind = SUMMARY
    elif role == "session_meta":
        kind = "session-meta"
    return Said(
        role,
        content,
        tool_name=line_of_text(row["tool_name"]),
        tool_calls=calls,
        display_kind=kind,
        trust=Source.GROUP_CHAT.value if group or row["observed"] in (1, "1") else None,
        active=active,
        compacted=not active and row["compacted"] in (1, "1"),
    )


def _content(value: Any, notes: set[str]) -> str | list[Any]:
    """Return a text, or the parts that Hermes keeps as JSON. Raises Bad."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        notes.add("a number stood where the text belongs")
        return str(value)
    if isinstance(value, bytes):
        raise Bad("the content is binary")
    if not isinstance(value, str) or not value.startswith(_PARTS):
        return str(value)
    try:
        parts = json.loads(value.removeprefix(_PARTS))
    except (ValueError, RecursionError):
        notes.add("parts that are no JSON were kept as text")
        return value.removeprefix(_PARTS)
    parts = parts if isinstance(parts, list) else [parts]
    return [part if isinstance(part, str | dict) else json.dumps(part) for part in parts]


def _json(value: Any) -> Any:
    """Return what a JSON text stands for, the text itself where it is none, None for anything but a text."""
    if not isinstance(value, str):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
