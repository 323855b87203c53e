"""Transcripts on pages: the list, a session from its beginning and around a message."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from memories.models import Message, Session
from memoryweb.pages import transcripts
from tests.factories import AgentFactory, MemoryFactory, MessageFactory, SessionFactory
from tests.memoryweb.pages.conftest import HOSTILE, HTMX, shown, superuser

pytestmark = pytest.mark.django_db
TALK = re.compile(r'<ol class="talk" id="talk">(.*?)</ol>', re.DOTALL)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def talk(agent: Any, number: int, **fields: Any) -> Session:
    session: Session = SessionFactory.create(agent=agent, **fields)
    for place in range(number):
        MessageFactory.create(
            session=session,
            role=("user", "assistant", "tool")[place % 3],
            content=f"said {place}.",
            timestamp=START + timedelta(minutes=place),
        )
    return session


def said(page: str) -> list[int]:
    """Return the messages on a page by their numbers, those of the bookends aside."""
    return [int(one) for one in re.findall(r'<div class="text whole" dir="auto">said (\d+)\.', page)]


def test_the_list_shows_the_most_recent_first_and_finds_names(agent: Any, reviewer: Client) -> None:
    talk(agent, 1, external_id="breakfast", title="At breakfast", source="cli")
    talk(agent, 2, external_id="dinner", source="telegram")
    SessionFactory.create(external_id="of others")
    page = shown(reviewer, "/sessions/")
    assert page.index("dinner") < page.index("At breakfast")
    assert "of others" not in page
    assert "At breakfast" not in shown(reviewer, "/sessions/?q=dinn")
    assert "dinner" not in shown(reviewer, "/sessions/?source=cli")
    assert reviewer.get("/sessions/?after=nonsense").status_code == 200
    assert reviewer.post("/sessions/").status_code == 405


def test_archived_sessions_are_shown_when_asked(agent: Any, reviewer: Client) -> None:
    talk(agent, 0, external_id="old one", archived=True)
    assert "old one" not in shown(reviewer, "/sessions/")
    assert "old one" in shown(reviewer, "/sessions/?archived=on")


def test_a_session_shows_roles_tools_and_memories(agent: Any, reviewer: Client) -> None:
    session = SessionFactory.create(agent=agent, title="Walk")
    asked = MessageFactory.create(session=session, role="user", content="Where is the key?")
    MessageFactory.create(session=session, role="tool", tool_name="shell", content="ls: key.txt")
    memory = MemoryFactory.create(agent=agent, message=asked)
    page = shown(reviewer, f"/sessions/{session.pk}/")
    assert "Where is the key?" in page
    assert re.search(r"<details>\s*<summary>ls: key.txt</summary>", page)
    assert f'<a href="/memories/{memory.pk}/">' in page
    assert 'class="turn user"' in page


def test_marks_of_compacted_and_rewound_ones(agent: Any, reviewer: Client, reader: Client) -> None:
    session = SessionFactory.create(agent=agent, scope="shared")
    MessageFactory.create(session=session, content="it was summarised", active=False, compacted=True)
    MessageFactory.create(session=session, content="it was taken back", active=False)
    MessageFactory.create(session=session, content="so far", display_kind="summary")
    page = shown(reviewer, f"/sessions/{session.pk}/")
    assert '<span class="tag">compacted</span>' in page
    assert "it was taken back" not in page
    assert '<span class="tag">rewound</span>' in shown(reviewer, f"/sessions/{session.pk}/?rewound=1")
    assert "it was taken back" not in shown(reader, f"/sessions/{session.pk}/?rewound=1")


def test_all_messages_come_in_order_however_one_turns(agent: Any, reviewer: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(transcripts, "PER_PAGE", 10)
    monkeypatch.setattr(transcripts, "FOLDED", 10**6)
    session = talk(agent, 34)
    for headers in ({}, HTMX):
        found: list[int] = []
        query = ""
        while True:
            page = shown(reviewer, f"/sessions/{session.pk}/{query}", **headers)
            found += said(TALK.findall(page)[0] if not headers else page)
            later = re.search(r'hx-get="\?after=(\d+)', page)
            if later is None:
                break
            query = f"?after={later[1]}"
        assert found == list(range(34))
    last = Message.objects.get(content="said 33.")
    found, query = [33], f"?before={last.pk}"
    while True:
        page = shown(reviewer, f"/sessions/{session.pk}/{query}", **HTMX)
        found = said(page) + found
        earlier = re.search(r'hx-get="\?before=(\d+)', page)
        if earlier is None:
            break
        query = f"?before={earlier[1]}"
    assert found == list(range(34))


def test_around_a_message_with_the_beginning_and_the_end(agent: Any, reviewer: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(transcripts, "WINDOW", 4)
    session = talk(agent, 60)
    sought = Message.objects.get(content="said 30.")
    page = shown(reviewer, f"/sessions/{session.pk}/?message={sought.pk}")
    assert said(TALK.findall(page)[0]) == list(range(26, 35))
    assert re.search(rf'class="turn user sought" id="message-{sought.pk}" aria-current="true"', page)
    beginning = page.split("How it begins")[1].split("</ol>")[0]
    assert [n for n in range(60) if f"said {n}." in beginning] == [0, 1, 3]
    ending = page.split("How it ends")[1]
    assert [n for n in range(60) if f">said {n}." in ending] == [55, 57, 58]


def test_messages_of_other_sessions_lead_nowhere(agent: Any, reviewer: Client) -> None:
    session, other = talk(agent, 3), talk(AgentFactory.create(), 3)
    foreign = other.messages.first()
    assert foreign is not None
    page = shown(reviewer, f"/sessions/{session.pk}/?message={foreign.pk}")
    assert said(page) == [0, 1, 2]
    for query in ("message=x", "after=-1", "before=99999999999999999999"):
        assert reviewer.get(f"/sessions/{session.pk}/?{query}").status_code == 200


def test_others_have_no_such_session(agent: Any, stranger: Client, reader: Client) -> None:
    session = talk(agent, 1)
    for client in (stranger, reader):
        assert client.get(f"/sessions/{session.pk}/").status_code == 404
    assert Client().get(f"/sessions/{session.pk}/")["Location"].startswith("/login/")
    assert superuser().get(f"/sessions/{session.pk}/").status_code == 200


def test_hostile_text_does_nothing(agent: Any, reviewer: Client) -> None:
    parent = SessionFactory.create(agent=agent, external_id="parent \u202e", title=HOSTILE[:200])
    session = SessionFactory.create(
        agent=agent, title=HOSTILE[:200], source=HOSTILE[:100], model=HOSTILE[:200], parent=parent
    )
    MessageFactory.create(
        session=session,
        role=HOSTILE[:100],
        content=HOSTILE,
        tool_name=HOSTILE[:200],
        tool_calls=[{"name": HOSTILE, "arguments": {"x": HOSTILE}}],
        display_kind="x<b>",
    )
    for path in ("/sessions/", f"/sessions/{session.pk}/", f"/sessions/{parent.pk}/"):
        raw = reviewer.get(path).content.decode()
        assert "<script>alert" not in raw
        assert "<img" not in raw
        assert "<b>" not in raw
        assert "\u202e" not in raw


def test_a_long_session_takes_few_queries(agent: Any, reviewer: Client, django_assert_max_num_queries: Any) -> None:
    session = talk(agent, 120)
    sought = Message.objects.get(content="said 60.")
    for query in ("", f"?message={sought.pk}"):
        with django_assert_max_num_queries(25):
            reviewer.get(f"/sessions/{session.pk}/{query}")
