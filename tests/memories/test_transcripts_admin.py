"""Sessions and messages in the admin: looked at, never written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client

from memories import audit
from memories.models import Message, Session
from memories.transcripts import Said, load
from tests.factories import AgentFactory, MemoryFactory, MessageFactory, SessionFactory, UserFactory

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOSTILE = "<script>alert('x')</script>\n<img src=x onerror=alert(1)> \u202eeulav\u2066 \x07"


@pytest.fixture
def boss(db: None) -> Client:
    client = Client()
    client.force_login(UserFactory.create(superuser=True, username="root"))
    return client


def page(client: Client, name: str, pk: int | str = "", query: str = "") -> str:
    path = f"/admin/memories/{name}/{f'{pk}/change/' if pk else ''}"
    response = client.get(f"{path}?{query}")
    assert response.status_code == 200, path
    return unescape(response.content.decode())


def rows(client: Client, name: str, query: str) -> list[Any]:
    return list(client.get(f"/admin/memories/{name}/?{query}").context["cl"].result_list)


def test_hostile_text_is_shown_and_does_nothing(boss: Client) -> None:
    session = SessionFactory.create(
        external_id="<b>id</b>\u202e", source="<i>s</i>", model="<u>m</u>", title=HOSTILE, metadata={"<a>": "<em>"}
    )
    said = Said(
        "user", [HOSTILE], tool_name="<tt>t</tt>", tool_calls=[{"name": HOSTILE}], external_id="<q>", display_kind="<k>"
    )
    message = load(session, [said], now=NOON)[0].message
    for name, pk in (("session", ""), ("message", ""), ("session", session.pk), ("message", message.pk)):
        shown = boss.get(f"/admin/memories/{name}/{f'{pk}/change/' if pk else ''}").content.decode()
        for markup in ("<script>alert", "<img src=x", "<b>id", "<i>s", "<u>m", "<em>", "<tt>", "<q>", "<k>"):
            assert markup not in shown, (name, pk, markup)
    text = page(boss, "message", message.pk)
    assert "<img src=x onerror=alert(1)> \\u202eeulav\\u2066 \\u0007" in text
    assert "<b>id</b>\\u202e" in page(boss, "session", session.pk)


def test_a_sessions_page_leads_to_its_messages_and_relatives(boss: Client) -> None:
    parent = SessionFactory.create()
    session = SessionFactory.create(agent=parent.agent, parent_id=parent.pk)
    messages = [MessageFactory.create(session=session, timestamp=NOON - timedelta(hours=hour)) for hour in range(3)]
    MessageFactory.create(session=parent)
    shown = page(boss, "session", session.pk)

    assert f'href="/admin/memories/message/?session__id__exact={session.pk}">3</a>' in shown
    assert f'href="/admin/memories/session/{parent.pk}/change/"' in shown
    assert rows(boss, "message", f"session__id__exact={session.pk}") == messages  # the newest first
    assert rows(boss, "session", f"parent__id__exact={parent.pk}") == [session]


def test_a_messages_page_shows_all_of_it(boss: Client) -> None:
    session = SessionFactory.create()
    calls = [{"function": {"name": "weigh", "arguments": '{"what": "Mehl"}'}}]
    message = load(session, [Said("assistant", "Let me see.", tool_calls=calls)], now=NOON)[0].message
    memory = MemoryFactory.create(agent=session.agent, message_id=message.pk)
    shown = page(boss, "message", message.pk)

    for text in ("Let me see.", "weigh\nMehl", '"arguments"', f'href="/admin/memories/memory/{memory.pk}/change/"'):
        assert text in shown
    assert f'href="/admin/memories/message/{message.pk}/change/"' in page(boss, "memory", memory.pk)


def test_filters_and_search(boss: Client) -> None:
    session = SessionFactory.create(source="telegram", title="The oven", archived=True)
    other = SessionFactory.create(source="cli", external_id="bread-1")
    live = MessageFactory.create(session=session, content="Is it warm?")
    gone = MessageFactory.create(session=session, rewound=True, role="assistant")
    away = MessageFactory.create(session=other, compacted_away=True, role="tool", display_kind="summary", trust="web")

    for query, found in {
        "source=telegram": [session],
        "q=OVEN": [session],
        "q=bread": [other],
        "archived__exact=0": [other],
    }.items():
        assert rows(boss, "session", query) == found, query
    for query, found in {
        "state=live": [live],
        "state=rewound": [gone],
        "state=compacted": [away],
        "state=odd": [away, gone, live],
        "role=tool": [away],
        "display_kind=summary": [away],
        "trust__exact=web": [away],
        "q=warm": [live],
        f"workspace__id__exact={session.workspace_id}": [gone, live],
    }.items():
        assert rows(boss, "message", query) == found, query


def test_nothing_is_written_there(boss: Client) -> None:
    message = MessageFactory.create()
    for name, pk in (("session", message.session_id), ("message", message.pk)):
        assert boss.get(f"/admin/memories/{name}/add/").status_code == 403
        assert boss.get(f"/admin/memories/{name}/{pk}/delete/").status_code == 403
        assert boss.post(f"/admin/memories/{name}/{pk}/change/", {"title": "x", "content": "x"}).status_code == 403
        assert boss.post(
            f"/admin/memories/{name}/", {"action": "delete_selected", "_selected_action": [pk]}, follow=True
        ).status_code in (200, 403)
    assert (Session.objects.count(), Message.objects.count()) == (1, 1)


def test_a_long_text_is_not_loaded_for_a_list(boss: Client) -> None:
    load(SessionFactory.create(), [Said("user", "word " * 50_000, tool_calls="call " * 50_000)], now=NOON)

    assert len(boss.get("/admin/memories/message/").content) < 40_000


def test_the_audit_log_leads_to_the_session(boss: Client) -> None:
    session = SessionFactory.create()
    audit.record("session.rewind", actor="agent x", workspace_id=session.workspace_id, target=f"session {session.pk}")

    assert f'href="/admin/memories/session/{session.pk}/change/"' in page(boss, "auditentry")


def test_an_agent_that_has_said_something_stays(boss: Client) -> None:
    session = SessionFactory.create(agent=AgentFactory.create(name="clerk"))
    response = boss.post(f"/admin/memories/agent/{session.agent_id}/delete/", {"post": "yes"}, follow=True)

    assert "what agent “clerk” remembered; revoke its tokens to lock it out" in unescape(response.content.decode())
    assert Session.objects.count() == 1
    MessageFactory.create(session=session)
    response = boss.post(f"/admin/memories/workspace/{session.workspace_id}/delete/", {"post": "yes"}, follow=True)
    assert response.status_code == 200
    assert (Session.objects.count(), Message.objects.count()) == (0, 0)
