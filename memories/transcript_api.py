"""The JSON endpoints for transcripts."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field, TypeAdapter, ValidationError

from memories.access import Principal, agent_name
from memories.errors import Invalid
from memories.idempotency import Answer, answer_once
from memories.models import LABEL_MAX, NAME_MAX, Session
from memories.plain_text import clean_text
from memories.session_lists import SessionFilters, list_sessions
from memories.transcript_reading import (
    find_session,
    list_messages,
    list_user_messages,
    look_around,
    visible_parent,
)
from memories.transcript_schemas import (
    AppendOut,
    AroundOut,
    CompactIn,
    MessagePage,
    MessagesIn,
    MovedOut,
    RewindIn,
    Role,
    SessionId,
    SessionIn,
    SessionOut,
    SessionPage,
    SessionReceipt,
    UserMessages,
    session_json,
)
from memories.transcripts import Appended, Moved, append, compact, put_session, rewind, undo_compact, undo_rewind
from memories.wire import to_json

router = Router(tags=["transcripts"])

SourceFilters = Annotated[list[Annotated[str, Field(max_length=LABEL_MAX)]], Field(max_length=50)]
_SESSION_ID: TypeAdapter[str] = TypeAdapter(SessionId)


class SessionsQuery(Schema):
    """Which sessions to list."""

    q: Annotated[str, Field(max_length=NAME_MAX)] = ""
    source: SourceFilters = []
    exclude_source: SourceFilters = []
    include_archived: bool = False
    include_subagents: bool = False
    cursor: Annotated[str, Field(max_length=60)] | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50

    def filters(self) -> SessionFilters:
        return SessionFilters(
            q=clean_text(self.q),
            sources=tuple(clean_text(source).strip() for source in self.source),
            exclude_sources=tuple(clean_text(source).strip() for source in self.exclude_source),
            include_archived=self.include_archived,
            include_subagents=self.include_subagents,
        )


class MessagesQuery(Schema):
    """Which page of a session. after: the id or external id of a message, as next_cursor gives it."""

    after: Annotated[str, Field(min_length=1, max_length=NAME_MAX)] | None = None
    limit: Annotated[int, Field(ge=1, le=500)] = 100


class AroundQuery(Schema):
    """How much of the session to show around the message."""

    window: Annotated[int, Field(ge=0, le=100)] = 5
    bookend: Annotated[int, Field(ge=0, le=50)] = 3
    keep_roles: Annotated[list[Role], Field(max_length=10)] = []


class UserMessagesQuery(Schema):
    """How many."""

    limit: Annotated[int, Field(ge=1, le=200)] = 20


def _principal(request: HttpRequest) -> Principal:
    principal: Principal = request.auth  # type: ignore[attr-defined]
    return principal


def _answer(data: Any, status: int = 200) -> HttpResponse:
    return Answer(status, to_json(data)).as_response()


def _named(session: str) -> str:
    """Return the session's id from the address. Raises Invalid for one that cannot be."""
    try:
        return _SESSION_ID.validate_python(clean_text(session))
    except ValidationError as error:
        raise Invalid(f"session: {error.errors(include_url=False)[0]['msg']}", field="session") from None


def _session_json(principal: Principal, session: Session) -> dict[str, Any]:
    parent = visible_parent(principal, session)
    return session_json(session, parent=parent, created_by=agent_name(session.agent_id))


def _moved(principal: Principal, moved: Moved) -> HttpResponse:
    return _answer(
        {
            "action": moved.action,
            "messages": moved.messages,
            "summary_id": moved.summary_id,
            "session": _session_json(principal, moved.session),
        }
    )


@router.get("/sessions", response=SessionPage, summary="List sessions")
def get_sessions(request: HttpRequest, query: Query[SessionsQuery]) -> HttpResponse:
    """List sessions, the most recently active first. q: an id or a part of one; the best match comes first."""
    page = list_sessions(_principal(request), query.filters(), cursor=query.cursor, limit=query.limit)
    return _answer({"sessions": page.rows, "next_cursor": page.next_cursor, "truncated": page.truncated})


@router.put("/sessions/{session}", response={201: SessionReceipt, 200: SessionReceipt}, summary="Begin a session")
def put_one_session(request: HttpRequest, session: str, item: SessionIn) -> HttpResponse:
    """Begin a session (201), or change the fields sent of one that is there (200)."""
    principal = _principal(request)
    put = put_session(principal, _named(session), item, now=timezone.now())
    receipt = {"session": _session_json(principal, put.session), "action": put.action}
    return _answer(receipt, 201 if put.action == "created" else 200)


@router.get("/sessions/{session}", response=SessionOut, summary="Read a session")
def get_session(request: HttpRequest, session: str) -> HttpResponse:
    """Read one session, without its messages."""
    principal = _principal(request)
    return _answer(_session_json(principal, find_session(principal, _named(session))))


@router.post("/sessions/{session}/messages", response={201: AppendOut, 200: AppendOut}, summary="Append messages")
def post_messages(request: HttpRequest, session: str, batch: MessagesIn) -> HttpResponse:
    """Append up to 1,000 messages, all or none: 201, or 200 where all of them were there already."""
    principal, now, name = _principal(request), timezone.now(), _named(session)

    def run() -> Answer:
        appended = append(principal, name, batch.messages, now=now)
        status = 201 if any(one.action == "created" for one in appended) else 200
        return Answer(status, to_json({"receipts": [_receipt_json(one) for one in appended]}))

    return answer_once(request, principal, run, now=now)


def _receipt_json(appended: Appended) -> dict[str, Any]:
    message = appended.message
    return {
        "id": message.pk,
        "external_id": message.external_id,
        "action": appended.action,
        "timestamp": message.timestamp,
    }


@router.get("/sessions/{session}/messages", response=MessagePage, summary="Read messages")
def get_messages(request: HttpRequest, session: str, query: Query[MessagesQuery]) -> HttpResponse:
    """Read a session in its order, page by page; rewound messages are left out."""
    after = None if query.after is None else clean_text(query.after)
    page = list_messages(_principal(request), _named(session), after=after, limit=query.limit)
    return _answer({"messages": page.rows, "next_cursor": page.next_cursor})


@router.get("/sessions/{session}/around/{message}", response=AroundOut, summary="Read around a message")
def get_around(request: HttpRequest, session: str, message: str, query: Query[AroundQuery]) -> HttpResponse:
    """Read the messages around one (by id, or external id), and how the session begins and ends."""
    view = look_around(
        _principal(request),
        _named(session),
        clean_text(message),
        window=query.window,
        bookend=query.bookend,
        keep_roles=tuple(dict.fromkeys(query.keep_roles)),
    )
    return _answer(view.as_json())


@router.get("/sessions/{session}/user-messages", response=UserMessages, summary="What the user said last")
def get_user_messages(request: HttpRequest, session: str, query: Query[UserMessagesQuery]) -> HttpResponse:
    """What the user said, newest first, as one line of at most 80 characters each; only what is live."""
    found = list_user_messages(_principal(request), _named(session), limit=query.limit)
    return _answer({"messages": found})


@router.post("/sessions/{session}/rewind", response=MovedOut, summary="Rewind")
def post_rewind(request: HttpRequest, session: str, wanted: RewindIn) -> HttpResponse:
    """Take everything behind a message out of the session, or take the last rewind back. Nothing is deleted."""
    principal, now, name = _principal(request), timezone.now(), _named(session)
    if wanted.undo:
        return _moved(principal, undo_rewind(principal, name, now=now))
    return _moved(principal, rewind(principal, name, wanted.after_message, now=now))


@router.post("/sessions/{session}/compact", response=MovedOut, summary="Compact")
def post_compact(request: HttpRequest, session: str, wanted: CompactIn) -> HttpResponse:
    """Mark everything through a message as summarised away, or take the last compaction back. All is still found."""
    principal, now, name = _principal(request), timezone.now(), _named(session)
    if wanted.undo:
        return _moved(principal, undo_compact(principal, name, now=now))
    return _moved(principal, compact(principal, name, wanted.through_message, now=now, summary=wanted.summary))
