"""Messages in the shape of OpenAI's API, as different programs write them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memories.importers.base import Unreadable
from memories.models import Message, Session
from tests.memories.importers.files import reasons, write_lines
from tests.memories.importers.transcripts import load_sessions, said, session

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hi"},
]


def load(tmp_path: Path, *lines: Any, name: str = "talk.jsonl") -> Any:
    return load_sessions(write_lines(tmp_path / name, *lines))


def test_a_line_with_messages_is_a_session(db: None, tmp_path: Path) -> None:
    line = {
        "id": "conv-1",
        "title": "Greeting",
        "model": "m-1",
        "source": "kiosk",
        "created_at": "2026-02-01T10:00:00Z",
        "messages": TALK,
    }

    report = load(tmp_path, line)

    found = session("conv-1")
    assert (found.title, found.model, found.source) == ("Greeting", "m-1", "kiosk")
    assert found.started_at == found.last_active_at == datetime(2026, 2, 1, 10, tzinfo=UTC)
    assert said("conv-1") == [(one["role"], "", one["content"]) for one in TALK]
    assert (report.sessions_created, report.created, report.found) == (1, 3, {"lines with a conversation": 1})


def test_conversations_without_a_name_are_known_by_what_they_say(db: None, tmp_path: Path) -> None:
    other = [*TALK, {"role": "user", "content": "Bye"}]

    report = load(tmp_path, {"messages": TALK}, {"messages": other}, {"messages": TALK})
    again = load(tmp_path, {"messages": other}, {"messages": TALK}, name="moved.jsonl")

    assert (report.sessions_created, report.created) == (2, 7)
    assert report.notes["the same conversation stood further up"].lines == [3]
    assert (again.sessions_created, again.sessions_present, again.created, again.present) == (0, 2, 0, 7)


def test_a_named_conversation_that_is_repeated_with_more_grows(db: None, tmp_path: Path) -> None:
    grown = [*TALK, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Still here"}]

    report = load(tmp_path, {"session_id": "c", "messages": TALK}, {"session_id": "c", "messages": grown})

    assert [text for _, _, text in said("c")] == ["Be brief.", "Hi", "Hi", "Hi", "Still here"]
    assert (report.created, report.present) == (5, 3)


@pytest.mark.parametrize(
    "name", ["session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "chat_id"]
)
def test_one_message_a_line_is_grouped_by_its_session(db: None, tmp_path: Path, name: str) -> None:
    load(
        tmp_path,
        {name: "one", "role": "user", "content": "A", "timestamp": 1770000000},
        {name: "two", "role": "user", "content": "B", "timestamp": 1770000001},
        {name: "one", "message": {"role": "assistant", "content": "C"}, "created_at": "2026-02-02T04:00:00+01:00"},
    )

    assert [text for _, _, text in said("one")] == ["A", "C"]
    assert [text for _, _, text in said("two")] == ["B"]


def test_messages_without_a_session_are_that_of_the_file(db: None, tmp_path: Path) -> None:
    load(tmp_path, *TALK[1:])
    report = load(tmp_path, *TALK[1:], {"role": "user", "content": "Hi"}, {"role": "user", "content": "More"})

    assert [text for _, _, text in said("talk")] == ["Hi", "Hi", "Hi", "More"]
    assert (report.created, report.present) == (2, 2)


def test_messages_keep_the_ids_they_have(db: None, tmp_path: Path) -> None:
    load(
        tmp_path,
        {"session_id": "c", "id": 7, "role": "user", "content": "A"},
        {"session_id": "c", "uuid": "u", **TALK[1]},
    )

    assert list(Message.objects.order_by("id").values_list("external_id", flat=True)) == ["7", "u"]


def test_calls_and_their_results_are_kept(db: None, tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": '{"harbour": "Husum"}'}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "High at noon"},
        {"role": "assistant", "function_call": {"name": "ferry", "arguments": '{"to": "Föhr"}'}},
        {"role": "function", "name": "ferry", "content": "At two"},
    ]

    load(tmp_path, {"id": "c", "messages": messages})

    rows = list(Message.objects.order_by("id"))
    assert [row.tool_name for row in rows] == ["", "tide", "", "ferry"]
    assert [row.tool_text for row in rows] == ["tide\nHusum", "", "ferry\nFöhr", ""]
    assert rows[0].tool_calls == [call]


@pytest.mark.parametrize(
    "line",
    [
        {"id": "c", "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
        {"id": "c", "turns": [{"author": {"role": "user"}, "text": "Hi"}, {"author": "bot", "text": "Hello"}]},
        {
            "custom_id": "c",
            "body": {"model": "m-1", "messages": [{"role": "USER", "content": [{"type": "text", "text": "Hi"}]}]},
            "response": {"body": {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}},
        },
        {
            "session_id": "c",
            "messages": [{"role": "user", "content": {"text": "Hi"}}, {"role": "ai", "refusal": "Hello"}],
        },
    ],
)
def test_other_names_for_the_same_are_understood(db: None, tmp_path: Path, line: dict[str, Any]) -> None:
    load(tmp_path, line)

    assert said("c") == [("user", "", "Hi"), ("assistant", "", "Hello")]


def test_states_of_messages_are_kept(db: None, tmp_path: Path) -> None:
    states = ["active", "compacted", "rewound", "seen"]

    load(tmp_path, {"id": "c", "messages": [{"role": "user", "content": state, "state": state} for state in states]})

    assert list(Message.objects.order_by("id").values_list("active", "compacted")) == [
        (True, False),
        (False, True),
        (False, False),
        (True, False),
    ]


@pytest.mark.parametrize("several", [False, True])
def test_one_json_document_over_many_lines_is_read_too(db: None, tmp_path: Path, several: bool) -> None:
    conversation = {"session_id": "c", "session_start": "2026-02-01T10:00:00", "messages": TALK}
    path = tmp_path / "talk.json"
    path.write_text(
        json.dumps([conversation, {**conversation, "session_id": "d"}] if several else conversation, indent=1)
    )

    report = load_sessions(path)

    assert set(Session.objects.values_list("external_id", flat=True)) == ({"c", "d"} if several else {"c"})
    assert len(said("c")) == 3
    assert report.lines == 1 + several


def test_bad_lines_and_bad_messages_lose_no_other(db: None, tmp_path: Path) -> None:
    report = load(
        tmp_path,
        {
            "id": "c",
            "messages": [{"role": "user", "content": "A"}, "text", {"role": "user"}, {"role": "user", "content": ""}],
        },
        b"{",
        {"messages": []},
        {"role": "a whole sentence", "content": "B"},
        {"role": "user", "content": 5},
        {"role": "user", "content": "C"},
    )

    assert said("c") == [("user", "", "A")]
    assert said("talk") == [("user", "", "C")]
    assert reasons(report) == {
        "the message has no role or no content": (2, [1]),
        "the message has neither content nor calls": (1, [1]),
        "invalid JSON": (1, [2]),
        "the line is neither a conversation nor a message": (1, [3]),
        "the message has no role such as user, assistant, system or tool": (1, [4]),
        "the content is neither a text nor a list of parts": (1, [5]),
    }


@pytest.mark.parametrize(
    "line",
    [
        {"type": "entity", "name": "Ilse", "observations": ["x"]},
        {"type": "response_item", "payload": {"role": "user", "content": "x"}},
        {"mapping": {}, "title": "x"},
        {"role": "admin"},
    ],
)
def test_other_json_is_not_taken_for_messages(db: None, tmp_path: Path, line: dict[str, Any]) -> None:
    with pytest.raises(Unreadable, match="its first JSON line is an object with the fields"):
        load(tmp_path, line)
