"""The audit log on a page."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from memories import audit
from memories.models import AuditEntry
from memoryweb.pages import audit as audit_page
from tests.factories import AgentFactory
from tests.memoryweb.pages.conftest import HOSTILE, HTMX, shown, superuser

pytestmark = pytest.mark.django_db


def note(agent: Any, verb: str, actor: str, **fields: Any) -> AuditEntry:
    return audit.record(verb, actor=actor, workspace_id=agent.workspace_id, **fields)


def test_it_lists_the_newest_first_and_nothing_of_others(agent: Any, admin: Client) -> None:
    note(agent, "memory.forget", "user ada", target="memory 7", result="ok", counts={"rows": 3})
    note(agent, "memory.tidy.apply", "tidy")
    note(AgentFactory.create(), "memory.erase", "user eve")
    page = shown(admin, "/audit/")
    assert page.index("memory.tidy.apply") < page.index("memory.forget")
    assert "memory 7" in page
    assert "rows=3" in page
    assert "user eve" not in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("who=auto", {"a"}),
        ("who=people", {"b"}),
        ("who=agents", {"c"}),
        ("actor=user ada", {"b"}),
        ("verb=memory.forget", {"c"}),
        ("verb=memory.*", {"a", "b", "c"}),
        ("since=2030-01-01", {"b"}),
        ("until=2020-01-01", {"a"}),
        ("who=nobody&since=x", {"a", "b", "c"}),
    ],
)
def test_every_filter_narrows(agent: Any, admin: Client, query: str, expected: set[str]) -> None:
    note(agent, "memory.tidy.apply", "tidy", target="a", at=datetime(2019, 1, 1, tzinfo=UTC))
    note(agent, "memory.restore", "user ada", target="b", at=datetime(2031, 1, 1, tzinfo=UTC))
    note(agent, "memory.forget", "agent scribe", target="c")
    entries = admin.get(f"/audit/?{query}").context["entries"]
    assert {entry.target for entry in entries} == expected


def test_it_goes_on(agent: Any, admin: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(audit_page, "PER_PAGE", 2)
    for number in range(5):
        note(agent, "x", "tidy", target=f"number {number}")
    found: list[int] = []
    after: int | None = None
    while True:
        page = shown(admin, "/audit/" + (f"?after={after}" if after else ""), **(HTMX if after else {}))
        found += [int(one) for one in re.findall(r"<td>number (\d+)</td>", page)]
        following = re.search(r'hx-get="\?after=(\d+)"', page)
        if following is None:
            break
        after = int(following[1])
    assert found == [4, 3, 2, 1, 0]
    assert "<html" not in page


def test_only_admins_read_it(agent: Any, reviewer: Client, reader: Client, stranger: Client) -> None:
    for client in (reviewer, reader):
        assert "members with the role admin" in shown(client, "/audit/", status=403)
    assert stranger.get(f"/audit/?workspace={agent.workspace_id}").status_code == 404
    assert Client().get("/audit/")["Location"].startswith("/login/")
    assert stranger.post("/audit/").status_code == 405


def test_who_runs_the_server_reads_its_own_entries_too(agent: Any, admin: Client) -> None:
    audit.record("index.rebuild", actor="user root", target="messages words")
    assert "index.rebuild" in shown(superuser(), "/audit/?instance=on")
    assert "index.rebuild" not in shown(admin, "/audit/?instance=on")


def test_hostile_text_does_nothing(agent: Any, admin: Client) -> None:
    note(agent, HOSTILE[:60], f"agent {HOSTILE[:200]}", target=HOSTILE[:200], result=HOSTILE, counts={HOSTILE: HOSTILE})
    raw = admin.get("/audit/?actor=%22%3E%3Cscript%3E").content.decode() + admin.get("/audit/").content.decode()
    assert "<script>alert" not in raw
    assert "<img" not in raw
    assert "\u202e" not in raw
