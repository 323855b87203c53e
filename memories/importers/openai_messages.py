"""Messages in the shape of OpenAI's API, as many programs write them: JSON Lines, or one JSON document.

A line is a conversation (``{"messages": [...]}``) or one message. Names of fields differ from program to program; the
lists below hold those that are understood, first come, first served.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from memories.importers.base import BOM, Bad, Document, moment, parse_line
from memories.importers.loading import digest
from memories.importers.session_loading import (
    Head,
    SessionLoader,
    clean,
    label,
    line_of_text,
    message_name,
    role_of,
    session_name,
)
from memories.transcripts import Said

NAME = "openai"
DESCRIPTION = 'messages in the shape of OpenAI\'s API (JSON Lines: {"messages": [...]} or one message a line)'
LISTS = ("messages", "conversations", "conversation", "turns")
WRAPPERS = ("body", "request")
SESSION_IDS = ("session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "threadId", "chat_id")
OWN_IDS = (*SESSION_IDS, "custom_id", "id", "uuid")
MESSAGE_IDS = ("message_id", "messageId", "id", "uuid")
PARENTS = ("parent_session_id", "parentSessionId", "parent_conversation_id")
TIMES = ("timestamp", "created_at", "createdAt", "create_time", "created", "time", "date", "ts")
STARTS = ("started_at", "session_start", "start_time", *TIMES)
ENDS = ("ended_at", "session_end", "end_time")
SOURCES = ("source", "platform", "channel")
CONTENTS = ("content", "value", "text")
ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant", "ai": "assistant", "model": "assistant"}
NOT_LIVE = ("compacted", "rewound", "inactive", "deleted")
"""States of a message that is no longer part of its conversation; a compacted one was summarised away."""
DOCUMENT_MAX = 64 * 2**20
"""Bytes of a file that is one JSON document over several lines."""


def recognises(document: Document) -> bool:
    """Return whether one of the first lines, or the whole file, is of this shape."""
    values = [value for _, _, value in _items(document)] or document.first_values
    return any(_messages_of(value) is not None or _is_message(value) for value in values)


def load(document: Document, loader: SessionLoader) -> None:
    """Import the file. Of one JSON document the report counts conversations instead of lines."""
    file, report = _File(document, loader), loader.report
    items = list(_items(document))
    report.lines += len(items)
    for line, size, value in items or document.values(report):
        try:
            what = file.take(value, line, size)
        except Bad as bad:
            report.skip(line, bad)
        else:
            report.found[what] += 1
    if items:
        document.on_bytes(document.path.stat().st_size)


def _items(document: Document) -> list[tuple[int, int, Any]]:
    """Return number, length and value of what a file holds that is one JSON document over several lines, else none."""
    size = document.path.stat().st_size
    first = document.start.lstrip().partition(b"\n")[0]
    if size > DOCUMENT_MAX or first[:1] not in (b"{", b"[") or len(first) == len(document.start):
        return []
    try:
        parse_line(first)
    except Bad:
        pass
    else:
        return []
    document.file.seek(0)
    try:
        found = parse_line(document.file.read().removeprefix(BOM))
    except Bad:
        return []
    values = found if isinstance(found, list) and not all(map(_is_message, found)) else [found]
    return [(number, size // len(values), value) for number, value in enumerate(values, start=1)]


def _messages_of(value: Any) -> list[Any] | None:
    """Return the messages of a conversation, None where it is none."""
    if isinstance(value, list):
        return value if value and all(map(_is_message, value)) else None
    if not isinstance(value, dict):
        return None
    for name in LISTS:
        found = value.get(name)
        if isinstance(found, list) and any(map(_is_message, found)):
            return found
    for name in WRAPPERS:
        inner = _messages_of(value.get(name)) if isinstance(value.get(name), dict) else None
        if inner is not None:
            return [*inner, *_answers(value)]
    return None


def _answers(value: dict[str, Any]) -> list[Any]:
    """Return the messages of the response that is logged beside a request."""
    response = value.get("response")
    while isinstance(response, dict) and isinstance(response.get("body"), dict):
        response = response["body"]
    choices = response.get("choices") if isinstance(response, dict) else None
    found = (
        [choice.get("message") for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    )
    return [message for message in found if _is_message(message)]


def _is_message(value: Any) -> bool:
    """Return whether the value is a message, on its own or inside ``message``."""
    if not isinstance(value, dict):
        return False
    inner = value.get("message")
    if isinstance(inner, dict) and _role(inner) is not None:
        return True
    return _role(value) is not None and any(
        name in value for name in (*CONTENTS, "tool_calls", "function_call", "refusal")
    )


def _role(value: dict[str, Any]) -> str | None:
    author = value.get("author")
    found = value.get("role", value.get("from", author.get("role") if isinstance(author, dict) else author))
    if not isinstance(found, str):
        return None
    return ROLES.get(found.strip().lower(), found)


def _first(value: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((value[name] for name in names if value.get(name) not in (None, "")), None)


class _File:
    """One file, as far as it was read."""

    def __init__(self, document: Document, loader: SessionLoader) -> None:
        self.loader = loader
        self.name = session_name(document.path.stem) or "messages"
        self.tools: dict[tuple[str, str], str] = {}

    def take(self, value: Any, line: int, size: int) -> str:
        """Return what the line was. Raises Bad where nothing of it is imported."""
        messages = _messages_of(value)
        if messages is None:
            if not _is_message(value):
                raise Bad("the line is neither a conversation nor a message")
            self._take_message(self._head(value, self.name), value, line, size)
            return "lines with a message"
        about = value if isinstance(value, dict) else {}
        named = session_name(_first(about, OWN_IDS))
        # A line without a name is known by what it says.
        head = self._head(about, named or digest(NAME, json.dumps(messages, sort_keys=True, default=vars)))
        if named is None and head.last_time is not None:
            self.loader.report.note(line, "the same conversation stood further up")
            return "lines with a conversation"
        # A later line may repeat a conversation with what was added to it.
        head.seen.clear()
        for message in messages:
            try:
                if not _is_message(message):
                    raise Bad("the message has no role or no content")
                self._take_message(head, message, line, size // len(messages))
            except Bad as bad:
                self.loader.report.skip(line, bad)
        return "lines with a conversation"

    def _head(self, value: dict[str, Any], name: str) -> Head:
        inner = value["message"] if isinstance(value.get("message"), dict) else {}
        body: dict[str, Any] = next((value[name] for name in WRAPPERS if isinstance(value.get(name), dict)), {})
        name = session_name(_first(value, SESSION_IDS)) or session_name(_first(inner, SESSION_IDS)) or name
        head = self.loader.head(name, label(_first(value, SOURCES), NAME))
        now = self.loader.now
        head.title = line_of_text(value.get("title")) or head.title
        head.model = line_of_text(_first(value, ("model",)) or body.get("model")) or head.model
        head.parent = head.parent or session_name(_first(value, PARENTS))
        if head.started_at is None:
            head.started_at = moment(_first(value, STARTS), now=now)
        if _first(value, ENDS) is not None:
            head.ended_at = moment(_first(value, ENDS), now=now)
        return head

    def _take_message(self, head: Head, outer: dict[str, Any], line: int, size: int) -> None:
        notes: set[str] = set()
        inner = outer.get("message")
        value = inner if isinstance(inner, dict) and _role(inner) is not None else outer
        role = role_of(_role(value))
        content = clean(_content(value), notes)
        calls = value.get("tool_calls") or value.get("function_call")
        calls = (
            clean([calls] if isinstance(calls, dict) else calls, notes)
            if isinstance(calls, str | list | dict)
            else None
        )
        if not calls and (not content or (isinstance(content, str) and not content.strip())):
            raise Bad("the message has neither content nor calls")
        raw_time = _first(outer, TIMES) if outer is value else _first(outer, TIMES) or _first(value, TIMES)
        time = moment(raw_time, now=self.loader.now)
        if raw_time is not None and time is None:
            notes.add("without a time that makes sense; it has that of the message before it")
        state = str(value.get("state", outer.get("state", ""))).lower()
        active = state not in NOT_LIVE and value.get("active") not in (False, 0)
        said = Said(
            role,
            content,
            time,
            tool_name=self._tool_name(head, role, value),
            tool_calls=calls,
            active=active,
            compacted=not active and (state == "compacted" or value.get("compacted") in (True, 1)),
            display_kind=line_of_text(value.get("display_kind"), most=100),
        )
        self._note_tools(head, calls)
        name = message_name(_first(value, MESSAGE_IDS)) or (
            message_name(_first(outer, MESSAGE_IDS[:2])) if outer is not value else None
        )
        if name is None:
            text = json.dumps([content, calls], sort_keys=True)
            name = head.digest_id(NAME, role, str(value.get("tool_call_id")), text)
        self.loader.add(head, line, replace(said, external_id=name), size=size)
        for note in notes:
            self.loader.report.note(line, note)

    def _note_tools(self, head: Head, calls: Any) -> None:
        for call in calls if isinstance(calls, list) else []:
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and isinstance(call.get("id"), str):
                self.tools[head.external_id, call["id"]] = line_of_text(function.get("name"))

    def _tool_name(self, head: Head, role: str, value: dict[str, Any]) -> str:
        """Return the tool that a result is of: as it says, or as the call said whose id it has."""
        if role not in ("tool", "function"):
            return ""
        called = self.tools.pop((head.external_id, str(value.get("tool_call_id"))), "")
        return line_of_text(_first(value, ("tool_name", "name"))) or called


def _content(value: dict[str, Any]) -> str | list[Any]:
    """Return the text or the parts. Raises Bad."""
    found = _first(value, (*CONTENTS, "refusal"))
    if found is None:
        return ""
    if isinstance(found, dict):
        inner = found.get("parts")
        found = inner if isinstance(inner, list) else [found]
    if isinstance(found, list):
        return [part for part in found if isinstance(part, str | dict)]
    if not isinstance(found, str):
        raise Bad("the content is neither a text nor a list of parts")
    return found
