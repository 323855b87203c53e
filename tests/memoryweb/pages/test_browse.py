"""The list of memories: filters, words, paging, and several at once."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from memories.models import Memory
from memoryweb.pages import browse
from tests.factories import AgentFactory, MembershipFactory, MemoryFactory
from tests.memoryweb.pages.conftest import HOSTILE, HTMX, shown, superuser

pytestmark = pytest.mark.django_db


def test_it_lists_the_newest_first_with_the_true_total(agent: Any, reviewer: Client) -> None:
    for number in range(1, 4):
        MemoryFactory.create(agent=agent, content=f"memory number {number}")
    MemoryFactory.create(content="of somebody else")
    page = shown(reviewer, "/memories/")
    assert page.index("memory number 3") < page.index("memory number 2") < page.index("memory number 1")
    assert '<span class="count">3</span>' in page
    assert "of somebody else" not in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kind=task", {"task"}),
        ("subject=mara", {"mara"}),
        ("tag=food", {"food"}),
        ("agent=other", {"other"}),
        ("scope=shared", {"shared"}),
        ("source=web", {"web"}),
        ("min_importance=5", {"important"}),
        ("status=archived", {"archived"}),
        ("key=rent", {"keyed"}),
        ("pinned=1", {"pinned"}),
        ("q=kestrel&pinned=1", set()),
        ("q=kestrel&key=rent", set()),
        ("since=2030-01-02", {"late"}),
        ("until=2020-01-01", {"early"}),
        ("kind=task&subject=mara", set()),
        ("q=kestrel", {"words"}),
        ("q=estre", {"words"}),
        ("q=kestrel&kind=task", set()),
        ("q=kestrel&until=2020-01-01&min_importance=5&source=web&agent=other", set()),
        ("status=nonsense&min_importance=nine&since=yesterday", {"task", "words", "late", "early"}),
    ],
)
def test_every_filter_narrows(agent: Any, reviewer: Client, query: str, expected: set[str]) -> None:
    other = AgentFactory.create(workspace=agent.workspace, name="other")
    rows: dict[str, dict[str, Any]] = {
        "task": {"kind": "task"},
        "mara": {"subject": "mara"},
        "food": {"tags": ["food"]},
        "other": {"agent": other},
        "shared": {"scope": "shared"},
        "web": {"source": "web"},
        "important": {"importance": 5},
        "keyed": {"key": "rent"},
        "pinned": {"pinned": True},
        "archived": {"status": "archived", "archived_at": datetime(2026, 1, 1, tzinfo=UTC)},
        "late": {"now": datetime(2030, 6, 1, tzinfo=UTC)},
        "early": {"now": datetime(2019, 6, 1, tzinfo=UTC)},
        "words": {"content": "a kestrel, words"},
    }
    for name, fields in rows.items():
        MemoryFactory.create(**{"agent": agent, "content": f"it is {name}"} | fields)
    page = shown(reviewer, f"/memories/?{query}")
    listed = {name for name in rows if f"it is {name}" in page}
    listed |= {"words"} if "kestrel</mark>, words" in page or "k<mark>estre</mark>l, words" in page else set()
    listed |= {"words"} if "a kestrel, words" in page else set()
    assert listed >= expected
    if "nonsense" not in query:
        assert listed == expected


def test_words_are_marked_and_the_way_to_them_is_told(agent: Any, reviewer: Client) -> None:
    MemoryFactory.create(agent=agent, content="A kestrel \x02hides\x03 over <b>harbours</b>")
    page = reviewer.get("/memories/?q=kestrel").content.decode()
    assert "<mark>kestrel</mark>" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "words" in page
    assert " ms" in page


def test_more_than_a_page_follows(agent: Any, reviewer: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(browse, "PER_PAGE", 3)
    ids = [MemoryFactory.create(agent=agent, content=f"kestrel {n}").pk for n in range(7)]
    for query in ("", "&q=kestrel"):
        found: list[int] = []
        after: str | None = ""
        while after is not None:
            page = shown(reviewer, f"/memories/?after={after}{query}", **(HTMX if after else {}))
            found += [int(one) for one in re.findall(r'name="id" value="(\d+)"', page)]
            following = re.search(r'hx-get="\?[^"]*after=(\d+)', page)
            after = None if following is None else following[1]
        assert sorted(found) == ids
        assert "<html" not in page
    for after in ("x", "-1", "9" * 30):
        assert reviewer.get(f"/memories/?after={after}").status_code == 200


def test_those_that_are_ticked_are_archived_and_come_back(agent: Any, reviewer: Client) -> None:
    memories = [MemoryFactory.create(agent=agent) for _ in range(3)]
    foreign = MemoryFactory.create()
    ids = [memories[0].pk, memories[1].pk, foreign.pk, "x"]
    sent = {"workspace": agent.workspace_id, "id": ids, "verb": "archive", "reason": "old", "kept": "kind=task"}
    response = reviewer.post("/memories/act/", sent)
    assert (response.status_code, response["Location"]) == (302, "/memories/?kind=task")
    page = shown(reviewer, "/memories/")
    assert "2 memories were archived." in page
    assert f"Memory {foreign.pk}: It is not there any more." in page
    assert Memory.objects.filter(status="archived", archive_reason="old").count() == 2
    reviewer.post("/memories/act/", sent | {"verb": "restore"})
    assert Memory.objects.filter(status="active").count() == 4


def test_who_may_not_changes_nothing(agent: Any, reader: Client, stranger: Client, reviewer: Client) -> None:
    memory = MemoryFactory.create(agent=agent, scope="shared")
    sent = {"workspace": agent.workspace_id, "id": [memory.pk], "verb": "archive"}
    for client in (reader, stranger):
        assert client.post("/memories/act/", sent).status_code == 403
    assert reviewer.post("/memories/act/", sent | {"verb": "erase"}).status_code == 403
    assert reviewer.post("/memories/act/", sent | {"workspace": "x"}).status_code == 403
    assert reviewer.get("/memories/act/").status_code == 405
    assert Memory.objects.get().status == "active"
    page = shown(reader, "/memories/")
    assert 'type="checkbox"' not in page


def test_a_reader_sees_no_private_ones(agent: Any, reader: Client) -> None:
    MemoryFactory.create(agent=agent, content="private thing")
    MemoryFactory.create(agent=agent, content="shared thing", scope="shared")
    for query in ("", "?q=thing"):
        page = shown(reader, f"/memories/{query}")
        assert "private" not in page.replace("private thing", "private") or "shared" in page
        assert "private thing" not in page


def test_the_workspace_that_was_looked_at_is_kept(agent: Any, db: None) -> None:
    other = AgentFactory.create()
    MemoryFactory.create(agent=agent, content="in the first")
    MemoryFactory.create(agent=other, content="in the second")
    client = superuser()
    assert "in the second" in shown(client, f"/memories/?workspace={other.workspace_id}")
    assert "in the second" in shown(client, "/memories/")
    assert client.get("/memories/?workspace=999999").status_code == 404
    assert client.get("/memories/?workspace=x").status_code == 404


def test_a_member_of_nothing_is_told_so(db: None) -> None:
    client = Client()
    person = MembershipFactory.create()
    client.force_login(person.user)
    person.delete()
    for path in ("/", "/memories/", "/search/", "/sessions/", "/audit/", "/review/"):
        assert "not a member of any workspace" in shown(client, path, status=403)


def test_hostile_text_does_nothing(agent: Any, reviewer: Client) -> None:
    MemoryFactory.create(agent=agent, content=HOSTILE, subject=HOSTILE[:200], tags=[HOSTILE[:100]])
    for query in ("", "?q=script", "?q=%3Cscript%3E&subject=%22%3E%3Cscript%3E"):
        raw = reviewer.get(f"/memories/{query}").content.decode()
        assert "<script>" not in raw
        assert "<img" not in raw
        assert "\u202e" not in raw


def test_many_memories_take_few_queries(agent: Any, reviewer: Client, django_assert_max_num_queries: Any) -> None:
    for number in range(60):
        MemoryFactory.create(agent=agent, content=f"kestrel {number}", subject=f"subject {number}")
    for query in ("", "?q=kestrel", "?tag=x&subject=y"):
        with django_assert_max_num_queries(25):
            reviewer.get(f"/memories/{query}")
