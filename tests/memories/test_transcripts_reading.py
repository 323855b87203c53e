"""Reading a session: in its order, around a message, and what the user said last."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories import transcript_reading
from memories.access import Principal, principal_of_token
from memories.models import Message, Session, Token
from memories.session_lists import SessionFilters, list_sessions
from memories.transcript_reading import (
    find_session,
    list_messages,
    list_user_messages,
    look_around,
    preview,
)
from memories.transcripts import Said, load
from tests.factories import AgentFactory, MessageFactory, SessionFactory, make_token

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ROLES = ("user", "assistant", "tool")


@pytest.fixture
def session(agent: Any) -> Session:
    return SessionFactory.create(agent=agent, external_id="a", started_at=NOON)


@pytest.fixture
def principal(agent: Any) -> Principal:
    make_token(agent)
    return principal_of_token(Token.objects.select_related("agent").latest("id"))


def fill(session: Session, *said: Said) -> list[Message]:
    return [one.message for one in load(session, said, now=NOON)]


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [message["content"] for message in messages]


def around(client: Any, message: Any, query: str = "") -> dict[str, Any]:
    response = client.get(f"/api/sessions/a/around/{message}?{query}")
    assert response.status_code == 200, response.content
    view = response.json()
    return {name: texts(part) if isinstance(part, list) else part for name, part in view.items()}


# Pages


def test_pages_neither_repeat_nor_skip_while_appends_go_on(api_client: Any, session: Session) -> None:
    fill(session, *(Said("user", str(number), timestamp=NOON + timedelta(seconds=number // 4)) for number in range(20)))
    seen: list[str] = []
    cursor: str | None = ""
    written = 20
    while cursor is not None:
        after = f"&after={cursor}" if cursor else ""
        page = api_client.get(f"/api/sessions/a/messages?limit=3{after}").json()
        seen += texts(page["messages"])
        cursor = page["next_cursor"]
        if cursor is not None and written < 30:
            fill(session, Said("user", str(written), timestamp=NOON + timedelta(minutes=1)))
            written += 1

    assert seen == [str(number) for number in range(written)]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    moments=st.lists(st.integers(0, 4), max_size=12),
    states=st.lists(st.sampled_from([(True, False), (False, True), (False, False)]), min_size=12, max_size=12),
    limit=st.integers(1, 5),
)
def test_pages_are_the_whole_in_order(
    agent: Any, principal: Principal, moments: list[int], states: list[tuple[bool, bool]], limit: int
) -> None:
    session = SessionFactory.create(agent=agent)
    said = [
        Said("user", str(place), timestamp=NOON + timedelta(seconds=moment), active=active, compacted=compacted)
        for place, (moment, (active, compacted)) in enumerate(zip(moments, states, strict=False))
    ]
    fill(session, *said)
    shown = [
        message.content
        for message in sorted(session.messages.all(), key=lambda one: (one.timestamp, one.pk))
        if message.active or message.compacted
    ]
    found: list[str] = []
    cursor: str | None = None
    for _page in range(20):
        page = list_messages(principal, session.external_id, after=cursor, limit=limit)
        assert len(page.rows) <= limit
        found += texts(page.rows)
        cursor = page.next_cursor
        if cursor is None:
            break

    assert found == shown
    session.refresh_from_db()
    assert session.message_count == len(shown)


def test_a_page_of_long_messages_ends_early(
    principal: Principal, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_reading, "PAGE_CHARS", 10)
    fill(session, *(Said("user", letter * 4) for letter in "abcdefg"), Said("user", "h" * 50), Said("user", "i"))
    pages: list[list[str]] = []
    cursor: str | None = None
    while not pages or cursor is not None:
        page = list_messages(principal, "a", after=cursor, limit=5)
        pages.append(texts(page.rows))
        cursor = page.next_cursor

    assert pages == [["aaaa", "bbbb", "cccc"], ["dddd", "eeee", "ffff"], ["gggg", "h" * 50], ["i"]]


def test_after_may_be_named_either_way_and_may_be_rewound(api_client: Any, session: Session) -> None:
    first, second, third = fill(session, *(Said("user", name, external_id=name) for name in ("m-1", "m-2", "m-3")))
    for after in (first.pk, "m-1"):
        assert texts(api_client.get(f"/api/sessions/a/messages?after={after}").json()["messages"]) == ["m-2", "m-3"]
    session.messages.filter(pk=second.pk).update(active=False)
    assert texts(api_client.get("/api/sessions/a/messages?after=m-2").json()["messages"]) == ["m-3"]
    last = api_client.get(f"/api/sessions/a/messages?after={third.pk}").json()
    assert last == {"messages": [], "next_cursor": None}


def test_a_message_of_another_session_is_no_place_to_start(api_client: Any, agent: Any, session: Session) -> None:
    mine = SessionFactory.create(agent=agent)
    elsewhere = MessageFactory.create(session=mine, external_id="m")
    foreign = MessageFactory.create()
    for name in (elsewhere.pk, "m", foreign.pk, "9" * 30, "٣", "0"):
        for path in (f"messages?after={name}", f"around/{name}"):
            response = api_client.get(f"/api/sessions/a/{path}")
            assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found"), path


def test_an_empty_session(api_client: Any, session: Session) -> None:
    assert api_client.get("/api/sessions/a/messages").json() == {"messages": [], "next_cursor": None}
    assert api_client.get("/api/sessions/a/user-messages").json() == {"messages": []}
    assert api_client.get("/api/sessions/nowhere/messages").status_code == 404


# Around a message


def test_what_stands_around_a_message(api_client: Any, session: Session) -> None:
    messages = fill(session, *(Said(ROLES[number % 2], str(number)) for number in range(20)))

    assert around(api_client, messages[10].pk, "window=2&bookend=3") == {
        "window": ["8", "9", "10", "11", "12"],
        "before": 2,
        "after": 2,
        "bookend_start": ["0", "1", "2"],
        "bookend_end": ["17", "18", "19"],
    }
    assert around(api_client, messages[2].pk) == {
        "window": ["0", "1", "2", "3", "4", "5", "6", "7"],
        "before": 2,
        "after": 5,
        "bookend_start": [],
        "bookend_end": ["17", "18", "19"],
    }
    assert around(api_client, messages[18].pk, "window=3")["bookend_end"] == []
    assert around(api_client, messages[15].pk, "window=3&bookend=2")["bookend_end"] == ["19"]
    assert around(api_client, messages[5].pk, "window=0&bookend=0") == {
        "window": ["5"],
        "before": 0,
        "after": 0,
        "bookend_start": [],
        "bookend_end": [],
    }


def test_kept_roles_are_looked_for_beyond_the_others(api_client: Any, session: Session) -> None:
    roles = ["user", "tool", "tool", "assistant", "tool", "tool", "tool", "user", "tool", "system"]
    messages = fill(session, *(Said(role, f"{role} {place}") for place, role in enumerate(roles)))

    view = around(api_client, messages[5].pk, "window=1&keep_roles=user&keep_roles=Assistant")
    assert view["window"] == ["assistant 3", "tool 5", "user 7"]
    assert (view["bookend_start"], view["bookend_end"]) == (["user 0"], [])
    only_system = around(api_client, messages[0].pk, "keep_roles=system")
    assert (only_system["window"], only_system["before"], only_system["after"]) == (["user 0", "system 9"], 0, 1)


def test_bookends_say_something(api_client: Any, session: Session) -> None:
    anchor = fill(
        session,
        Said("system", "You bake."),
        Said("user", "", external_id="empty"),
        Said("user", "switched to another model", display_kind="model_switch"),
        Said("assistant", "", tool_calls=[{"name": "oven"}]),
        Said("user", "Good morning"),
        Said("tool", "180"),
        Said("user", "here"),
        Said("tool", "200"),
        Said("assistant", "Good night"),
        Said("assistant", ""),
    )[6]

    view = around(api_client, anchor.pk, "window=0&bookend=2")
    assert (view["bookend_start"], view["bookend_end"]) == (["Good morning"], ["Good night"])


def test_digits_in_an_address_are_an_id_if_there_is_one(api_client: Any, session: Session) -> None:
    first, second = fill(session, Said("user", "first", external_id="7"), Said("user", "second"))
    third = fill(session, Said("user", "third", external_id=str(first.pk)))[0]

    assert around(api_client, first.pk, "window=0&bookend=0")["window"] == ["first"]
    session.messages.filter(pk=second.pk).update(external_id="999999")
    assert around(api_client, "999999", "window=0&bookend=0")["window"] == ["second"]
    assert third.external_id == str(first.pk)


def test_rewound_messages_leak_nowhere(api_client: Any, session: Session) -> None:
    messages = fill(
        session,
        *(Said(ROLES[number % 2], f"{'gone' if number in (0, 3, 6, 9) else 'there'} {number}") for number in range(10)),
    )
    session.messages.filter(content__startswith="gone").update(active=False)
    session.messages.filter(pk=messages[1].pk).update(active=False, compacted=True)

    assert texts(api_client.get("/api/sessions/a/messages").json()["messages"]) == [
        f"there {number}" for number in (1, 2, 4, 5, 7, 8)
    ]
    for place, message in enumerate(messages):
        for query in ("", "window=2", "keep_roles=user", "window=0"):
            view = around(api_client, message.pk, query)
            shown = [text for part in view.values() if isinstance(part, list) for text in part]
            own = [message.content] if place in (0, 3, 6, 9) else []
            # Who asks for a rewound message by its id gets that one, and no other.
            assert [text for text in shown if text.startswith("gone")] == own
    previews = [message["preview"] for message in api_client.get("/api/sessions/a/user-messages").json()["messages"]]
    assert previews == ["there 8", "there 4", "there 2"]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    size=st.integers(1, 12),
    data=st.data(),
    window=st.integers(0, 6),
    bookend=st.integers(0, 6),
    keep=st.lists(st.sampled_from(ROLES), max_size=2, unique=True),
)
def test_the_view_holds_for_every_size(
    agent: Any, principal: Principal, size: int, data: st.DataObject, window: int, bookend: int, keep: list[str]
) -> None:
    session = SessionFactory.create(agent=agent)
    kinds = data.draw(
        st.lists(
            st.tuples(st.sampled_from(ROLES), st.integers(0, 3), st.sampled_from("ccr"), st.sampled_from(["", "text"])),
            min_size=size,
            max_size=size,
        )
    )
    fill(
        session,
        *(
            Said(role, text, timestamp=NOON + timedelta(seconds=moment), active=state == "c")
            for role, moment, state, text in kinds
        ),
    )
    ordered = sorted(session.messages.all(), key=lambda one: (one.timestamp, one.pk))
    anchor = data.draw(st.sampled_from(ordered))
    view = look_around(
        principal, session.external_id, str(anchor.pk), window=window, bookend=bookend, keep_roles=tuple(keep)
    )

    place = ordered.index(anchor)
    kept = [one for one in ordered if one == anchor or (one.active and (not keep or one.role in keep))]
    middle = kept.index(anchor)
    assert view.before == kept[max(middle - window, 0) : middle]
    assert view.after == kept[middle + 1 : middle + 1 + window]
    said = [one for one in ordered if one.active and one.content and one.role in (keep or ("user", "assistant"))]
    first, last = ordered.index([*view.before, anchor][0]), ordered.index([anchor, *view.after][-1])
    assert first <= place <= last
    start, end = said[:bookend], said[-bookend:] if bookend else []
    assert view.bookend_start == [one for one in start if ordered.index(one) < first]
    assert view.bookend_end == [one for one in end if ordered.index(one) > last]
    everything = [*view.bookend_start, *view.before, view.anchor, *view.after, *view.bookend_end]
    assert len({one.pk for one in everything}) == len(everything)
    assert everything == sorted(everything, key=lambda one: (one.timestamp, one.pk))


# What the user said last


def test_user_messages_are_short_lines_newest_first(api_client: Any, session: Session) -> None:
    fill(
        session,
        Said("user", "  How\n\n much\tflour\u3000is left? ", external_id="m-1"),
        Said("assistant", "Two pounds."),
        Said("user", "x" * 80),
        Said("user", "x" * 81),
        Said("user", "hidden", display_kind="auto_continue"),
        Said("user", "summarised", active=False, compacted=True),
        Said("user", [{"type": "image", "source": "oven.jpg"}]),
    )
    found = api_client.get("/api/sessions/a/user-messages").json()["messages"]

    assert [message["preview"] for message in found] == ["", "x" * 77 + "...", "x" * 80, "How much flour is left?"]
    assert set(found[-1]) == {"id", "external_id", "timestamp", "preview"}
    assert found[-1]["external_id"] == "m-1"
    limited = api_client.get("/api/sessions/a/user-messages?limit=2").json()["messages"]
    assert limited == found[:2]


def test_a_preview_is_never_cut_inside_a_character() -> None:
    assert preview("é" * 90) == "é" * 77 + "..."
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert preview("x" * 75 + family * 3) == "x" * 75 + "..."


@given(st.text(max_size=200))
def test_a_preview_is_one_short_line(text: str) -> None:
    line = preview(text)

    assert len(line) <= 80
    assert line == " ".join(line.split())
    if len(" ".join(text.split())) <= 80:
        assert line == " ".join(text.split())


def test_a_preview_looks_past_white_space(api_client: Any, session: Session) -> None:
    fill(session, Said("user", " " * 5000 + "at last"))

    assert api_client.get("/api/sessions/a/user-messages").json()["messages"][0]["preview"] == "at last"


# How it is read


@pytest.fixture
def long_session(agent: Any, session: Session) -> Session:
    """A session of 5,000 messages beside others."""
    other = SessionFactory.create(agent=AgentFactory.create(workspace=agent.workspace), shared=True)
    for place in (other, session):
        for start in range(0, 5000 if place == session else 500, 500):
            fill(
                place,
                *(
                    Said(ROLES[number % 3], f"line {number}", timestamp=NOON + timedelta(seconds=number // 50))
                    for number in range(start, start + 500)
                ),
            )
    return session


def plans(act: Callable[[], Any]) -> list[str]:
    """Return how SQLite goes about each statement of the act."""
    with CaptureQueriesContext(connection) as captured:
        act()
    steps: list[str] = []
    with connection.cursor() as cursor:
        for query in captured.captured_queries:
            if query["sql"].startswith("SELECT"):
                cursor.execute("EXPLAIN QUERY PLAN " + query["sql"].replace("%", "%%"))
                steps += [row[3] for row in cursor.fetchall()]
    assert steps
    return steps


def test_every_read_of_a_long_session_seeks(principal: Principal, long_session: Session) -> None:
    middle = long_session.messages.get(content="line 2525")
    reads: list[Callable[[], Any]] = [
        lambda: find_session(principal, "a"),
        lambda: list_messages(principal, "a", after=None, limit=100),
        lambda: list_messages(principal, "a", after=str(middle.pk), limit=100),
        lambda: look_around(principal, "a", str(middle.pk), window=5, bookend=3, keep_roles=()),
        lambda: look_around(principal, "a", str(middle.pk), window=5, bookend=3, keep_roles=("user", "assistant")),
        lambda: list_user_messages(principal, "a", limit=20),
        lambda: list_sessions(principal, SessionFilters(sources=("cli",)), cursor=None, limit=20),
        lambda: list_sessions(principal, SessionFilters(), cursor="0.1767225600000000.9", limit=20),
    ]
    for read in reads:
        steps = plans(read)
        assert not [step for step in steps if "TEMP B-TREE" in step or step.startswith("SCAN")], steps
        assert not [step for step in steps if "message_newest" in step], steps


def test_a_read_of_a_long_session_takes_few_rows(principal: Principal, long_session: Session) -> None:
    middle = long_session.messages.get(content="line 2525")
    rows = {
        "page": list_messages(principal, "a", after=str(middle.pk), limit=10).rows,
        "previews": list_user_messages(principal, "a", limit=10),
    }
    assert [row["content"] for row in rows["page"]] == [f"line {number}" for number in range(2526, 2536)]
    assert [row["preview"] for row in rows["previews"]] == [f"line {number}" for number in range(4998, 4968, -3)]
    view = look_around(principal, "a", str(middle.pk), window=2, bookend=1, keep_roles=("tool",))
    assert [one.content for one in (*view.before, *view.after)] == [f"line {n}" for n in (2519, 2522, 2528, 2531)]
    assert [one.content for one in (*view.bookend_start, *view.bookend_end)] == ["line 2", "line 4997"]
