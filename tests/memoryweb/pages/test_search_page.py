"""The search page: both corpora, how they were found, and from a hit into the transcript."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from search import maintenance
from search.corpora import MEMORIES
from tests.factories import MemoryFactory, MessageFactory, SessionFactory
from tests.memoryweb.pages.conftest import HOSTILE, shown

pytestmark = pytest.mark.django_db


def test_it_finds_memories_and_messages_and_marks_the_words(agent: Any, reviewer: Client) -> None:
    memory = MemoryFactory.create(agent=agent, content="A kestrel lives in the tower.")
    session = SessionFactory.create(agent=agent, external_id="walk")
    MessageFactory.create(session=session, content="What is that bird?")
    message = MessageFactory.create(session=session, role="assistant", content="That is a kestrel.")
    page = shown(reviewer, "/search/?q=kestrel")
    assert page.count("<mark>kestrel</mark>") == 2
    assert f'href="/memories/{memory.pk}/"' in page
    assert f'href="/sessions/{session.pk}/?message={message.pk}#message-{message.pk}"' in page
    assert "What is that bird?" in page
    assert "Way: words" in page


@pytest.mark.parametrize(
    ("query", "memories", "messages"),
    [
        ("corpus=memories", 1, None),
        ("corpus=messages", None, 2),
        ("corpus=messages&role=user", None, 1),
        ("corpus=messages&source=telegram", None, 0),
        ("corpus=messages&since=2100-01-01", None, 0),
        ("corpus=memories&until=2000-01-01", 0, None),
        ("corpus=both&mode=scan", 1, 2),
        ("corpus=both&mode=substring&match=any&sort=oldest", 1, 2),
        ("corpus=nonsense&mode=nonsense&since=never", 1, 2),
    ],
)
def test_what_narrows(agent: Any, reviewer: Client, query: str, memories: int | None, messages: int | None) -> None:
    MemoryFactory.create(agent=agent, content="kestrel")
    session = SessionFactory.create(agent=agent)
    MessageFactory.create(session=session, content="a kestrel", role="user")
    MessageFactory.create(session=session, content="the kestrel", role="assistant")
    found = {one.corpus: one.total for one in reviewer.get(f"/search/?q=kestrel&{query}").context["found"]}
    assert (found.get("memories"), found.get("messages")) == (memories, messages)


def test_an_incomplete_answer_says_so(agent: Any, reviewer: Client, settings: Any) -> None:
    settings.SEARCH_SCAN_MS = 0
    for number in range(400):
        MemoryFactory.create(agent=agent, content=f"kestrel {number}")
    page = shown(reviewer, "/search/?q=estre&mode=scan&corpus=memories")
    assert "Not complete: not all was looked at in time." in page
    assert "Looked at back to" in page


def test_a_damaged_index_is_told(agent: Any, reviewer: Client) -> None:
    MemoryFactory.create(agent=agent, content="kestrel")
    maintenance.detach(MEMORIES, "words", "for a test")
    page = shown(reviewer, "/search/?q=kestrel&corpus=memories")
    assert "The index is damaged" in page
    assert "<mark>kestrel</mark>" in page


def test_hits_are_turned_page_by_page(agent: Any, reviewer: Client) -> None:
    ids = {MemoryFactory.create(agent=agent, content=f"kestrel {n}").pk for n in range(45)}
    found: set[int] = set()
    offset: int | None = 0
    while offset is not None:
        (one,) = reviewer.get(f"/search/?q=kestrel&corpus=memories&offset={offset}").context["found"]
        found |= {hit["id"] for hit in one.hits}
        offset = one.following
    assert found == ids
    for offset_text in ("-1", "x", "9" * 12):
        assert reviewer.get(f"/search/?q=kestrel&corpus=memories&offset={offset_text}").status_code == 200


def test_nothing_of_others(agent: Any, stranger: Client, reader: Client) -> None:
    MemoryFactory.create(agent=agent, content="kestrel")
    MessageFactory.create(session=SessionFactory.create(agent=agent), content="kestrel")
    for client in (stranger, reader):
        assert [one.total for one in client.get("/search/?q=kestrel").context["found"]] == [0, 0]
    assert stranger.get(f"/search/?q=kestrel&workspace={agent.workspace_id}").status_code == 404
    assert Client().get("/search/")["Location"].startswith("/login/")
    assert reader.post("/search/").status_code == 405


@pytest.mark.parametrize(
    "q", ["", "   ", "(((", '"', "NOT x", "*", "\x00", "x" * 5000, "<script>alert(1)</script>", "%"]
)
def test_any_words_are_answered(agent: Any, reviewer: Client, q: str) -> None:
    MemoryFactory.create(agent=agent, content=HOSTILE)
    MessageFactory.create(session=SessionFactory.create(agent=agent), content=HOSTILE, tool_name=HOSTILE[:200])
    response = reviewer.get("/search/", {"q": q})
    assert response.status_code == 200
    raw = response.content.decode()
    assert "<script>" not in raw
    assert "\u202e" not in raw


def test_it_takes_few_queries(agent: Any, reviewer: Client, django_assert_max_num_queries: Any) -> None:
    session = SessionFactory.create(agent=agent)
    for number in range(40):
        MemoryFactory.create(agent=agent, content=f"kestrel {number}")
        MessageFactory.create(session=session, content=f"kestrel {number}")
    with django_assert_max_num_queries(60):
        reviewer.get("/search/?q=kestrel")
