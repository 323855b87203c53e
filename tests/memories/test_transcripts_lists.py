"""Lists of sessions: the most recently active first, filters, and looking for an id."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories import session_lists
from memories.access import principal_of_member
from memories.models import Membership, Session
from memories.session_lists import SessionFilters, list_sessions
from memories.transcripts import Said, load
from tests.factories import AgentFactory, MembershipFactory, SessionFactory

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def begin(agent: Any, name: str, *, day: int = 0, parent: Session | None = None, **fields: Any) -> Session:
    started_at = NOON + timedelta(days=day)
    more = {"parent_id": parent.pk} if parent else {}
    return SessionFactory.create(agent=agent, external_id=name, started_at=started_at, **more, **fields)


def listed(client: Any, query: str = "") -> list[str]:
    response = client.get(f"/api/sessions?{query}")
    assert response.status_code == 200, response.content
    return [session["external_id"] for session in response.json()["sessions"]]


def matches(client: Any, q: str, **more: Any) -> list[tuple[str, str, str]]:
    response = client.get("/api/sessions", {"q": q, **more})
    assert response.status_code == 200, response.content
    return [(one["external_id"], one["match"], one["matched"]) for one in response.json()["sessions"]]


def paged(client: Any, query: str, limit: int) -> list[str]:
    names: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = client.get(f"/api/sessions?{query}&limit={limit}{f'&cursor={cursor}' if cursor else ''}").json()
        assert len(page["sessions"]) <= limit
        names += [session["external_id"] for session in page["sessions"]]
        cursor = page["next_cursor"]
    return names


# The plain list


def test_what_was_active_last_comes_first(api_client: Any, agent: Any) -> None:
    old = begin(agent, "old", day=0)
    begin(agent, "new", day=2)
    begin(agent, "shared", day=1, shared=True)
    assert listed(api_client) == ["new", "shared", "old"]

    load(old, [Said("user", "awake again", timestamp=NOON + timedelta(days=3))], now=NOON)
    assert listed(api_client) == ["old", "new", "shared"]


def test_every_filter(api_client: Any, agent: Any) -> None:
    begin(agent, "cli", day=5)
    begin(agent, "chat", day=4, source="telegram")
    begin(agent, "cron", day=3, source="cron")
    begin(agent, "put away", day=2, archived=True)
    begin(agent, "helper", day=1, source="subagent")
    for query, names in {
        "": ["cli", "chat", "cron"],
        "source=cli": ["cli"],
        "source=cli&source=cron": ["cli", "cron"],
        "exclude_source=cron": ["cli", "chat"],
        "exclude_source=cron&exclude_source=cli": ["chat"],
        "source=cron&exclude_source=cron": [],
        "include_archived=1": ["cli", "chat", "cron", "put away"],
        "include_subagents=1": ["cli", "chat", "cron", "helper"],
        "include_archived=true&include_subagents=true": ["cli", "chat", "cron", "put away", "helper"],
        "source=subagent": ["helper"],
        "source=nowhere": [],
        "limit=2": ["cli", "chat"],
        "q=%20": ["cli", "chat", "cron"],
    }.items():
        assert listed(api_client, query) == names, query
        assert paged(api_client, query.replace("limit=2", ""), 2)[:2] == names[:2], query


def test_pages_hold_each_session_once(api_client: Any, agent: Any) -> None:
    made = [begin(agent, str(number), day=number // 3, scope=("agent", "shared")[number % 2]) for number in range(11)]
    names = [
        session.external_id for session in sorted(made, key=lambda one: (one.last_active_at, one.pk), reverse=True)
    ]
    SessionFactory.create(external_id="foreign", shared=True)
    SessionFactory.create(agent=AgentFactory.create(workspace=agent.workspace), external_id="private")
    for limit in (1, 2, 3, 10, 11, 12):
        assert paged(api_client, "", limit) == names


def test_a_session_written_to_meanwhile_is_never_repeated(api_client: Any, agent: Any) -> None:
    made = [begin(agent, str(number), day=number) for number in range(6)]
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = api_client.get(f"/api/sessions?limit=2{f'&cursor={cursor}' if cursor else ''}").json()
        seen += [session["external_id"] for session in page["sessions"]]
        cursor = page["next_cursor"]
        for session in (made[5], made[3]):
            session.refresh_from_db()
            load(session, [Said("user", "on it goes", timestamp=session.last_active_at + timedelta(days=30))], now=NOON)

    assert seen == ["5", "4", "2", "1", "0"]
    assert listed(api_client)[:2] == ["5", "3"]


def test_people_see_every_agents_sessions_in_pages(agent: Any) -> None:
    membership = MembershipFactory.create(workspace=agent.workspace)
    for number in range(5):
        begin(AgentFactory.create(workspace=agent.workspace), str(number), day=number)
    SessionFactory.create(external_id="foreign", shared=True)
    person = principal_of_member(membership)
    first = list_sessions(person, SessionFilters(), cursor=None, limit=3)
    second = list_sessions(person, SessionFilters(), cursor=first.next_cursor, limit=3)

    assert [row["external_id"] for row in (*first.rows, *second.rows)] == ["4", "3", "2", "1", "0"]
    membership.role = Membership.Role.READER
    assert list_sessions(principal_of_member(membership), SessionFilters(), cursor=None, limit=3).rows == []


# Looking for an id


def test_equal_then_prefix_then_substring_then_most_recent(api_client: Any, agent: Any) -> None:
    begin(agent, "my-run", day=9)
    begin(agent, "run", day=1)
    begin(agent, "run-2", day=2)
    begin(agent, "RUN-3", day=3)
    begin(agent, "overrun", day=8)
    begin(agent, "walk", day=10)

    expected = [
        ("run", "exact", "run"),
        ("RUN-3", "prefix", "RUN-3"),
        ("run-2", "prefix", "run-2"),
        ("my-run", "substring", "my-run"),
        ("overrun", "substring", "overrun"),
    ]
    assert matches(api_client, "run") == expected
    assert matches(api_client, " RuN ") == expected
    for limit in (1, 2, 5):
        assert paged(api_client, "q=run", limit) == [name for name, _match, _matched in expected]
    assert matches(api_client, "nothing") == []


@pytest.mark.parametrize(
    ("name", "q"),
    [
        ("Größe-ÄÖÜ", "äö"),
        ("Größe", "GRÖSSE"),
        ("会议记录-7", "议记"),
        ("отчёт", "ОТЧЁТ"),
        ("100%_done", "%_d"),
        ("a\\b", "\\"),
        ('it\'s "quoted"', "'s \""),
        ("🥖 bread", "🥖"),
    ],
)
def test_ids_of_every_script_are_found_whatever_their_case(api_client: Any, agent: Any, name: str, q: str) -> None:
    begin(agent, name)
    begin(agent, "100 done")

    assert [found for found, _match, _matched in matches(api_client, q)] == [name]


def test_filters_hold_for_a_search_too(api_client: Any, agent: Any) -> None:
    begin(agent, "run-1", source="telegram")
    begin(agent, "run-2", archived=True, day=1)
    begin(agent, "run-3", source="subagent", day=2)

    assert [name for name, *_ in matches(api_client, "run")] == ["run-1"]
    assert [name for name, *_ in matches(api_client, "run", include_archived=1)] == ["run-2", "run-1"]
    assert [name for name, *_ in matches(api_client, "run", include_subagents=1)] == ["run-3", "run-1"]
    assert matches(api_client, "run", source="cli") == []
    assert matches(api_client, "run", exclude_source="telegram") == []


def test_others_sessions_are_not_found(api_client: Any, agent: Any) -> None:
    begin(AgentFactory.create(workspace=agent.workspace), "run-1")
    begin(AgentFactory.create(), "run-2", shared=True)
    begin(AgentFactory.create(workspace=agent.workspace), "run-3", shared=True)

    assert [name for name, *_ in matches(api_client, "run")] == ["run-3"]


# Continuations


def test_an_old_id_finds_the_newest_continuation(api_client: Any, agent: Any) -> None:
    root = begin(agent, "root", day=0)
    middle = begin(agent, "middle", day=1, parent=root)
    begin(agent, "a side branch", day=2, parent=root, archived=True)
    begin(agent, "tip", day=5, parent=middle)
    begin(agent, "older tip", day=4, parent=middle)
    Session.objects.filter(external_id="a side branch").update(started_at=NOON)

    assert matches(api_client, "root") == [("tip", "exact", "root")]
    assert matches(api_client, "middle") == [("tip", "exact", "middle")]
    assert matches(api_client, "tip") == [("tip", "exact", "tip"), ("older tip", "substring", "older tip")]
    # The plain list shows each as it is.
    assert listed(api_client) == ["tip", "older tip", "middle", "root"]


def test_a_continuation_comes_once_and_where_it_is_best_found(api_client: Any, agent: Any) -> None:
    session = begin(agent, "talk", day=0)
    for number in range(1, 6):
        session = begin(agent, f"talk-{number}", day=number, parent=session)
    begin(agent, "smalltalk", day=9)
    begin(agent, "talking", day=8)

    expected = [("talk-5", "exact", "talk"), ("talking", "prefix", "talking"), ("smalltalk", "substring", "smalltalk")]
    assert matches(api_client, "talk") == expected
    assert matches(api_client, "talk-") == [("talk-5", "prefix", "talk-5")]
    for limit in (1, 2, 3):
        assert paged(api_client, "q=talk", limit) == ["talk-5", "talking", "smalltalk"]


def test_the_way_leads_over_archived_ancestors_to_what_is_shown(api_client: Any, agent: Any) -> None:
    root = begin(agent, "root", day=0, archived=True)
    middle = begin(agent, "middle", day=1, parent=root, archived=True)
    tip = begin(agent, "tip", day=2, parent=middle)
    begin(agent, "end", day=3, parent=tip, archived=True)

    assert matches(api_client, "root") == [("tip", "exact", "root")]
    assert matches(api_client, "root", include_archived=1) == [("end", "exact", "root")]
    assert matches(api_client, "end") == []


def test_a_sub_agents_session_continues_nothing(api_client: Any, agent: Any) -> None:
    root = begin(agent, "root", day=0)
    helper = begin(agent, "helper", day=1, parent=root, source="subagent")
    begin(agent, "helper goes on", day=2, parent=helper, source="subagent")

    assert matches(api_client, "root") == [("root", "exact", "root")]
    assert matches(api_client, "root", include_subagents=1) == [("root", "exact", "root")]
    found = matches(api_client, "helper", include_subagents=1)
    assert found == [("helper goes on", "exact", "helper")]


def test_a_continuation_that_is_not_to_be_seen_is_none(api_client: Any, agent: Any, client_for: Any) -> None:
    root = begin(agent, "root", day=0, shared=True)
    begin(agent, "private tip", day=1, parent=root)
    other = client_for(AgentFactory.create(workspace=agent.workspace))

    assert matches(api_client, "root") == [("private tip", "exact", "root")]
    assert matches(other, "root") == [("root", "exact", "root")]


def test_loops_end(api_client: Any, agent: Any) -> None:
    for name, parent in (("a-1", None), ("a-2", "a-1"), ("a-3", "a-2"), ("a-1", "a-3"), ("lonely", None)):
        body = {"source": "cli", "parent": parent}
        assert api_client.send("PUT", f"/api/sessions/{name}", body).status_code in (200, 201)
    Session.objects.filter(external_id="lonely").update(parent=Session.objects.get(external_id="lonely"))

    found = matches(api_client, "a-")
    assert {name for name, _match, _matched in found} == {"a-1", "a-2", "a-3"}
    assert matches(api_client, "a-1") == [("a-3", "exact", "a-1")]
    assert matches(api_client, "lonely") == [("lonely", "exact", "lonely")]


def test_a_hundred_continuations_are_followed(api_client: Any, agent: Any) -> None:
    session = begin(agent, "root", day=0)
    for number in range(1, 103):
        session = begin(agent, f"part {number}", day=number, parent=session)

    assert matches(api_client, "root") == [("part 100", "exact", "root")]
    assert matches(api_client, "part 2") == [("part 102", "exact", "part 2")]


def test_beyond_the_best_matches_the_answer_says_so(
    api_client: Any, agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_lists, "MATCHES_MAX", 3)
    for number in range(5):
        begin(agent, f"run {number}", day=number)
    page = api_client.get("/api/sessions?q=run").json()
    assert ([one["external_id"] for one in page["sessions"]], page["truncated"]) == (["run 4", "run 3", "run 2"], True)
    assert api_client.get("/api/sessions?q=run 4").json()["truncated"] is False


def test_looking_for_an_id_reads_an_index_and_few_rows(agent: Any, api_client: Any) -> None:
    for number in range(30):
        begin(agent, f"run {number}", day=number)
    person = principal_of_member(MembershipFactory.create(workspace=agent.workspace))
    with CaptureQueriesContext(connection) as captured:
        list_sessions(person, SessionFilters(q="run 2"), cursor=None, limit=5)
    steps: list[str] = []
    with connection.cursor() as cursor:
        for query in captured.captured_queries:
            cursor.execute("EXPLAIN QUERY PLAN " + query["sql"].replace("%", "%%"))
            steps += [row[3] for row in cursor.fetchall()]

    assert len(captured) <= 4
    assert any("COVERING INDEX session_named" in step for step in steps)
    assert any("session_continued (parent_id=?)" in step for step in steps)
    assert not [step for step in steps if step.startswith("SCAN") or "session_recent" in step]
