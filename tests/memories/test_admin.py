"""The records in the admin, through its real pages."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_q.models import Schedule

from memories import access, audit, remember, revisions
from memories.access import Actor, change_token, principal_of_superuser
from memories.admin import base, remembered, tenants
from memories.errors import Conflict, Forbidden, Invalid
from memories.models import Agent, AuditEntry, Membership, Memory, Revision, Source, Status, Token, Workspace
from memories.remember import revise
from memoryweb.models import Heartbeat
from tests.factories import (
    AgentFactory,
    MembershipFactory,
    MemoryFactory,
    MessageFactory,
    SessionFactory,
    UserFactory,
    WorkspaceFactory,
)

HOSTILE = "<script>alert('x')</script>\n<img src=x onerror=alert(1)> \u202eeulav\u2066 \u200b\U000e0041 \x07 end"
LISTS = ("workspace", "agent", "token", "memory", "revision", "session", "message", "auditentry")


class Fields(HTMLParser):
    """The fields of one form, as a browser would send them."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.form_id, self.inside = form_id, False
        self.values: dict[str, Any] = {}
        self.area: str | None = None
        self.select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "form":
            self.inside = named.get("id") == self.form_id
        name = named.get("name")
        if not self.inside or (not name and tag != "option"):
            return
        if tag == "textarea":
            self.area = name
            self.values[str(name)] = ""
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select and "selected" in named:
            self.values[self.select] = named.get("value") or ""
        elif tag == "input" and named.get("type") == "checkbox":
            if "checked" in named:
                self.values.setdefault(str(name), []).append(named.get("value") or "on")
        elif tag == "input" and named.get("type") != "submit":
            self.values[str(name)] = named.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self.area:
            text = self.values[self.area]
            # A browser drops the first line break of the element and sends all others as two characters.
            text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\n")
            self.values[self.area] = text.replace("\n", "\r\n")
            self.area = None
        if tag == "form":
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.area:
            self.values[self.area] += data


def fields_of(response: Any, form_id: str) -> dict[str, Any]:
    parser = Fields(form_id)
    parser.feed(response.content.decode())
    return parser.values


def page_of(name: str, pk: int, what: str = "change") -> str:
    return f"/admin/memories/{name}/{pk}/{what}/"


def said(response: Any) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def text_of(response: Any) -> str:
    return unescape(response.content.decode())


@pytest.fixture
def boss(db: None) -> Client:
    client = Client()
    client.force_login(UserFactory.create(superuser=True, username="root"))
    return client


def edit(client: Client, memory: Memory, **changes: Any) -> Any:
    """Return the answer to opening a memory's form, changing fields and saving."""
    values = fields_of(client.get(page_of("memory", memory.pk)), "memory_form")
    assert values["content"] or memory.status != Status.ACTIVE
    return client.post(page_of("memory", memory.pk), values | changes, follow=True)


def errors_of(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200
    return {name: list(errors) for name, errors in response.context["adminform"].form.errors.items()}


# The site


def test_the_site_says_whose_it_is(boss: Client) -> None:
    page = text_of(boss.get("/admin/"))
    assert "<title>Records | memoryweb</title>" in page
    assert "Django administration" not in page
    for name in LISTS:
        assert f'href="/admin/memories/{name}/"' in page
    assert "idempotency" not in page.lower()
    assert "accessfailurelog" not in page


@pytest.mark.parametrize("name", LISTS)
def test_only_superusers_see_records(name: str, db: None) -> None:
    client = Client()
    assert client.get(f"/admin/memories/{name}/")["Location"].startswith("/admin/login/")
    client.force_login(MembershipFactory.create().user)
    assert client.get(f"/admin/memories/{name}/")["Location"].startswith("/admin/login/")
    client.force_login(UserFactory.create(is_staff=True))
    assert client.get(f"/admin/memories/{name}/").status_code == 403


def test_staff_with_every_permission_is_still_no_superuser(db: None) -> None:
    memory = MemoryFactory.create()
    staff = UserFactory.create(is_staff=True)
    staff.user_permissions.set(Permission.objects.all())
    client = Client()
    client.force_login(staff)
    assert client.get(page_of("memory", memory.pk)).status_code == 403
    assert client.post(page_of("memory", memory.pk, "archive")).status_code == 403
    assert client.post(page_of("token", 1, "revoke")).status_code == 403
    assert client.get("/admin/memories/token/add/").status_code == 403
    memory.refresh_from_db()
    assert memory.status == Status.ACTIVE


def test_only_a_superuser_is_a_principal_of_every_workspace(db: None) -> None:
    agent = AgentFactory.create()
    principal = principal_of_superuser(UserFactory.create(superuser=True, username="ada"), agent.workspace_id)
    assert principal.is_admin
    assert principal.partitions is None
    assert principal.actor == Actor("user ada", "", is_person=True)
    for nobody in (UserFactory.create(is_staff=True), UserFactory.create(superuser=True, is_active=False)):
        with pytest.raises(Forbidden):
            principal_of_superuser(nobody, agent.workspace_id)


@pytest.fixture
def hostile(db: None) -> Memory:
    """A memory with a history, a token and names that are all written by somebody who means harm."""
    name = "<b>bold</b>\u202e"
    agent = AgentFactory.create(name=name, workspace=WorkspaceFactory.create(name=name + "!"))
    access.create_token(agent, actor=Actor(name))
    memory = MemoryFactory.create(
        agent=agent,
        content=HOSTILE,
        subject="<i>s</i>\u202e",
        key='"><script>',
        tags=["<u>t</u>", "\u202etag"],
        metadata={"<a>": "<b>\u202e"},
        source=Source.WEB.value,
        importance=1,
    )
    by = Actor(f"agent {name}")
    revisions.change(
        memory, {"content": HOSTILE + "2"}, by=by, now=timezone.now(), verb="revise", reason="<s>why</s>\u202e"
    )
    audit.record(
        "memory.forget", actor=f"agent {name}", target="<em>\u202e", result="<p>\u202e", workspace_id=agent.workspace_id
    )
    return memory


def every_page(memory: Memory) -> list[str]:
    token, entry = Token.objects.get(), AuditEntry.objects.order_by("-pk")[0]
    return [
        *(f"/admin/memories/{name}/" for name in LISTS),
        *(page_of("revision", pk) for pk in memory.revisions.values_list("pk", flat=True)),
        page_of("memory", memory.pk),
        page_of("token", token.pk),
        page_of("agent", memory.agent_id),
        page_of("workspace", memory.workspace_id),
        page_of("workspace", memory.workspace_id, "delete"),
        page_of("agent", memory.agent_id, "delete"),
        page_of("auditentry", entry.pk),
        "/admin/memories/token/add/",
        "/admin/",
    ]


@pytest.mark.parametrize("status", [Status.ACTIVE, Status.ARCHIVED])
def test_hostile_text_is_escaped_and_its_marks_are_shown_on_every_page(
    boss: Client, hostile: Memory, status: Status
) -> None:
    if status == Status.ARCHIVED:
        remember.forget(
            principal_of_superuser(UserFactory.create(superuser=True), hostile.workspace_id),
            hostile.pk,
            now=timezone.now(),
        )
    for path in every_page(hostile):
        response = boss.get(path)
        assert response.status_code == 200, path
        page = response.content.decode()
        for markup in (
            "<script>alert",
            "<img src=x",
            "<b>bold",
            "<i>s",
            "<u>t",
            "<s>why",
            "<em>",
            "<p>\u202e",
            '"><script>',
        ):
            assert markup not in page, (path, markup)
    listed = boss.get("/admin/memories/memory/").content.decode()
    assert "\u202e" not in listed.split("result_list")[1].split("changelist-filter")[0]
    assert "\\u202eeulav\\u2066 \\u200b\\U000e0041 \\u0007 end" in listed
    shown = text_of(boss.get(page_of("memory", hostile.pk)))
    assert "<img src=x onerror=alert(1)> \\u202eeulav\\u2066 \\u200b\\U000e0041 \\u0007 end" in shown


def test_text_without_hidden_marks_is_not_shown_twice(boss: Client) -> None:
    memory = MemoryFactory.create(content="C:\\tools\nsecond line")
    assert "Hidden marks" not in text_of(boss.get(page_of("memory", memory.pk)))


def make_rows(count: int) -> None:
    for _ in range(count):
        workspace = WorkspaceFactory.create()
        agent = AgentFactory.create(workspace=workspace)
        MembershipFactory.create(workspace=workspace)
        access.create_token(agent, actor=Actor("user root"))
        first = MemoryFactory.create(agent=agent)
        MemoryFactory.create(agent=agent, status="merged", merged_into_id=first.pk, merged_at=timezone.now())
        audit.record("memory.forget", actor="agent x", workspace_id=workspace.pk, target=f"memory {first.pk}")
        MessageFactory.create(session=SessionFactory.create(agent=agent))
        MessageFactory.create(session=SessionFactory.create(agent=agent))


@pytest.mark.parametrize("name", LISTS)
def test_a_list_asks_as_often_for_many_rows_as_for_few(
    boss: Client, name: str, django_assert_max_num_queries: Any
) -> None:
    make_rows(2)
    with CaptureQueriesContext(connection) as few:
        assert boss.get(f"/admin/memories/{name}/").status_code == 200
    make_rows(10)
    with django_assert_max_num_queries(max(len(few), 8)):
        page = boss.get(f"/admin/memories/{name}/")
    assert len(page.context["cl"].result_list) >= 12


def test_a_memorys_page_asks_as_often_for_a_long_history(boss: Client, django_assert_max_num_queries: Any) -> None:
    memory = MemoryFactory.create()
    for number in range(30):
        revisions.change(memory, {"content": f"text {number}"}, by=Actor("agent a"), now=timezone.now(), verb="revise")
        MemoryFactory.create(agent=memory.agent, status="merged", merged_into_id=memory.pk, merged_at=timezone.now())
    with django_assert_max_num_queries(10):
        page = text_of(boss.get(page_of("memory", memory.pk)))
    assert page.count("/admin/memories/revision/") == remembered.LISTED + 2  # all revisions, and the older ones
    assert "Older revisions" in page
    assert f"?merged_into__id__exact={memory.pk}" in page


def test_lists_count_and_page_no_further_than_they_must(boss: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(base, "COUNTED", 120)
    agent = AgentFactory.create()
    for number in range(130):
        MemoryFactory.create(agent=agent, content=f"note {number}")
    with CaptureQueriesContext(connection) as asked:
        page = boss.get("/admin/memories/memory/")
    assert "the newest 120 memories" in text_of(page)
    counts = [query["sql"] for query in asked if "COUNT(" in query["sql"]]
    assert counts
    assert all("LIMIT 121" in sql for sql in counts)
    assert [row.pk for row in page.context["cl"].result_list] == list(
        Memory.objects.order_by("-pk").values_list("pk", flat=True)[:50]
    )
    last = boss.get("/admin/memories/memory/?p=3")
    assert len(last.context["cl"].result_list) == 20
    assert boss.get("/admin/memories/memory/?p=4").status_code == 302


def test_long_texts_are_not_loaded_for_a_list(boss: Client) -> None:
    MemoryFactory.create(content="word " * 20_000)
    response = boss.get("/admin/memories/memory/")
    assert "word word" in text_of(response)
    assert len(response.content) < 40_000


@pytest.mark.parametrize(
    "query",
    [
        "p=0",
        "p=-1",
        "p=x",
        "p=99999999999999999999",
        "q=%00",
        "q=%25_%27%22",
        "importance=9",
        "importance=%3Cb%3E",
        "expired=maybe",
        "workspace__id__exact=x",
        "workspace__id__exact=99999999999999999999",
        "nonsense=1",
        "status__exact=%3Cscript%3E",
        "o=1.2.3",
        "all=",
    ],
)
def test_no_address_of_a_list_breaks_it(boss: Client, hostile: Memory, query: str) -> None:
    response = boss.get(f"/admin/memories/memory/?{query}", follow=True)
    assert response.status_code == 200


@pytest.mark.parametrize("pk", ["0", "x", "99999999999999999999", "1_", "%3Cscript%3E"])
def test_a_record_that_is_not_there_is_said_to_be_missing(boss: Client, pk: str) -> None:
    for name in LISTS:
        response = boss.get(f"/admin/memories/{name}/{pk}/change/", follow=True)
        assert response.status_code == 200
        assert "doesn’t exist" in said(response)[0]
    assert boss.post(f"/admin/memories/memory/{pk}/archive/").status_code in (302, 404)


def test_scheduled_tasks_are_only_looked_at(boss: Client) -> None:
    # Its form would let a person name any function of the server.
    assert boss.get("/admin/django_q/schedule/add/").status_code == 403
    task = Schedule.objects.create(func="math.floor", args="1.5")
    response = boss.post(f"/admin/django_q/schedule/{task.pk}/change/", {"func": "os.system", "args": "'id'"})
    assert response.status_code == 403
    assert boss.get(f"/admin/django_q/schedule/{task.pk}/change/").status_code == 200
    assert boss.get("/admin/django_q/schedule/").status_code == 200
    task.refresh_from_db()
    assert task.func == "math.floor"


def test_heartbeats_are_shown(boss: Client) -> None:
    Heartbeat.objects.create(name="worker", at=timezone.now() - timedelta(minutes=3), detail={"<b>": 1})
    page = text_of(boss.get("/admin/memoryweb/heartbeat/"))
    assert "worker" in page
    assert "3\xa0minutes" in page
    assert boss.get("/admin/memoryweb/heartbeat/worker/change/").status_code == 200
    assert boss.get("/admin/memoryweb/heartbeat/add/").status_code == 403


@pytest.mark.parametrize(
    "path", ["axes/accessattempt", "axes/accesslog", "django_q/success", "auth/user", "auth/group"]
)
def test_the_lists_of_other_packages_open(boss: Client, path: str) -> None:
    assert boss.get(f"/admin/{path}/").status_code == 200


# Workspaces and agents


def test_a_workspace_is_made_with_its_members(boss: Client) -> None:
    person = UserFactory.create(username="grace")
    response = boss.post(
        "/admin/memories/workspace/add/",
        {
            "name": "harbour",
            "memberships-TOTAL_FORMS": "1",
            "memberships-INITIAL_FORMS": "0",
            "memberships-0-user": str(person.pk),
            "memberships-0-role": "reviewer",
        },
    )
    assert response.status_code == 302
    workspace = Workspace.objects.get()
    assert workspace.memberships.get().user == person
    entries = list(AuditEntry.objects.order_by("id").values_list("verb", "actor", "target", "result", "workspace_id"))
    assert entries == [
        ("workspace.create", "user root", f"workspace {workspace.pk}", "", workspace.pk),
        ("membership.grant", "user root", "user grace", "role=reviewer", workspace.pk),
    ]


def member_form(member: Membership, **changes: Any) -> dict[str, Any]:
    return {
        "name": member.workspace.name,
        "memberships-TOTAL_FORMS": "1",
        "memberships-INITIAL_FORMS": "1",
        "memberships-0-id": str(member.pk),
        "memberships-0-workspace": str(member.workspace_id),
        "memberships-0-user": str(member.user_id),
        "memberships-0-role": member.role,
    } | changes


def test_what_a_member_may_do_is_changed_and_taken_back_in_the_log(boss: Client) -> None:
    member = MembershipFactory.create(user__username="grace")
    path = page_of("workspace", member.workspace_id)
    assert boss.post(path, member_form(member)).status_code == 302
    assert AuditEntry.objects.count() == 0
    assert boss.post(path, member_form(member, **{"memberships-0-role": "admin"})).status_code == 302
    assert boss.post(path, member_form(member, **{"memberships-0-DELETE": "on"})).status_code == 302
    assert list(AuditEntry.objects.order_by("id").values_list("verb", "target", "result")) == [
        ("membership.change", "user grace", "role=admin"),
        ("membership.revoke", "user grace", ""),
    ]
    assert not Membership.objects.exists()


def test_a_person_is_a_member_once(boss: Client) -> None:
    member = MembershipFactory.create()
    twice = member_form(
        member,
        **{
            "memberships-TOTAL_FORMS": "2",
            "memberships-1-workspace": str(member.workspace_id),
            "memberships-1-user": str(member.user_id),
            "memberships-1-role": "reader",
        },
    )
    response = boss.post(page_of("workspace", member.workspace_id), twice)
    assert response.status_code == 200
    assert "duplicate" in text_of(response)
    assert Membership.objects.count() == 1


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "bidi\u202e", "x" * 201, "a\x00b"])
def test_a_name_that_would_garble_a_log_is_refused(boss: Client, name: str) -> None:
    response = boss.post(
        "/admin/memories/workspace/add/",
        {"name": name, "memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"},
    )
    assert list(errors_of(response)) == ["name"]
    assert not Workspace.objects.exists()


def test_an_agent_is_made_and_renamed_but_stays_in_its_workspace(boss: Client) -> None:
    workspace, other = WorkspaceFactory.create(), WorkspaceFactory.create()
    assert boss.post("/admin/memories/agent/add/", {"workspace": workspace.pk, "name": "clerk"}).status_code == 302
    agent = Agent.objects.get()
    response = boss.post(page_of("agent", agent.pk), {"workspace": other.pk, "name": "scribe"})
    assert response.status_code == 302
    agent.refresh_from_db()
    assert (agent.name, agent.workspace_id) == ("scribe", workspace.pk)
    assert list(AuditEntry.objects.order_by("id").values_list("verb", flat=True)) == ["agent.create", "agent.rename"]


def test_two_agents_of_a_workspace_cannot_have_one_name(boss: Client) -> None:
    first = AgentFactory.create(name="clerk")
    second = AgentFactory.create(name="scribe", workspace=first.workspace)
    renamed = boss.post(page_of("agent", second.pk), {"name": "clerk"})
    assert "already exists" in str(errors_of(renamed))
    added = boss.post("/admin/memories/agent/add/", {"workspace": first.workspace_id, "name": "clerk"})
    assert "already exists" in str(errors_of(added))
    assert (
        boss.post(
            "/admin/memories/agent/add/", {"workspace": WorkspaceFactory.create().pk, "name": "clerk"}
        ).status_code
        == 302
    )


def test_an_agent_of_whom_memories_are_kept_stays(boss: Client) -> None:
    memory = MemoryFactory.create(agent__name="clerk")
    for response in (
        boss.get(page_of("agent", memory.agent_id, "delete")),
        boss.post("/admin/memories/agent/", {"action": "delete_selected", "_selected_action": memory.agent_id}),
    ):
        assert response.status_code == 200
        assert "what agent “clerk” remembered; revoke its tokens to lock it out" in text_of(response)
    assert boss.post(page_of("agent", memory.agent_id, "delete"), {"post": "yes"}).status_code == 200
    assert Agent.objects.exists()


def test_an_agent_without_memories_goes_with_its_tokens(boss: Client) -> None:
    agent = AgentFactory.create()
    token, _ = access.create_token(agent, actor=Actor("user root"))
    assert token.prefix in text_of(boss.get(page_of("agent", agent.pk, "delete")))
    assert boss.post(page_of("agent", agent.pk, "delete"), {"post": "yes"}).status_code == 302
    assert not Agent.objects.exists()
    assert not Token.objects.exists()
    assert AuditEntry.objects.order_by("-id")[0].verb == "agent.delete"


def test_a_workspace_goes_after_a_list_of_what_goes_with_it(boss: Client) -> None:
    memory = MemoryFactory.create()
    access.create_token(memory.agent, actor=Actor("user root"))
    kept = MemoryFactory.create()
    path = page_of("workspace", memory.workspace_id, "delete")
    asked = text_of(boss.get(path))
    assert f"memory {memory.pk}" in asked
    assert "Are you sure" in asked
    assert boss.post(path, {"post": "yes"}).status_code == 302
    assert list(Memory.objects.values_list("pk", flat=True)) == [kept.pk]
    entry = AuditEntry.objects.order_by("-id")[0]
    assert (entry.verb, entry.workspace_id) == ("workspace.delete", memory.workspace_id)
    assert f"workspace {memory.workspace_id} (deleted)" in text_of(boss.get("/admin/memories/auditentry/"))
    assert f"workspace {memory.workspace_id} (deleted)" in text_of(boss.get(page_of("auditentry", entry.pk)))
    assert audit.verify().broken_at is None


def test_selected_workspaces_go_the_same_way(boss: Client) -> None:
    memory = MemoryFactory.create()
    data = {"action": "delete_selected", "_selected_action": memory.workspace_id}
    assert "Are you sure" in text_of(boss.post("/admin/memories/workspace/", data))
    assert boss.post("/admin/memories/workspace/", data | {"post": "yes"}).status_code == 302
    assert not Workspace.objects.exists()
    assert AuditEntry.objects.get().verb == "workspace.delete"


def test_a_workspace_too_full_to_list_stays(boss: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(tenants, "LISTED_BEFORE_DELETION", 3)
    agent = AgentFactory.create()
    for _ in range(3):
        MemoryFactory.create(agent=agent)
    path = page_of("workspace", agent.workspace_id, "delete")
    page = text_of(boss.get(path))
    assert "Are you sure" not in page
    assert "more than 3 records of workspace" in page
    assert boss.post(path, {"post": "yes"}).status_code == 200
    assert Workspace.objects.exists()


# Tokens


def add_token(client: Client, of: Agent, /, **fields: Any) -> Any:
    values = {"agent": of.pk, "role": "agent", "sources": Source.values, "may_write_shared": "on"}
    return client.post("/admin/memories/token/add/", values | fields)


def secret_in(response: Any) -> str:
    return response.content.decode().split('<code class="token-text">')[1].split("</code>")[0]


def test_a_new_token_is_shown_once_and_opens_the_door(boss: Client, caplog: Any) -> None:
    agent = AgentFactory.create()
    with caplog.at_level(logging.DEBUG):
        response = add_token(boss, agent)
    assert response.status_code == 200
    secret = secret_in(response)
    token = access.token_for(secret, now=timezone.now())
    assert token is not None
    assert token.agent == agent
    assert response.content.decode().count(secret) == 1
    assert "no-store" in response["Cache-Control"]
    assert response["Referrer-Policy"] == "no-referrer"
    assert "Location" not in response
    # Nowhere else: not in what the browser or the server keeps, not on any later page.
    assert secret not in str([cookie.OutputString() for cookie in response.cookies.values()])
    assert secret not in str([session.get_decoded() for session in Session.objects.all()])
    assert secret not in str(list(LogEntry.objects.values()) + list(AuditEntry.objects.values()))
    assert secret not in str(list(Token.objects.values()))
    assert secret not in "\n".join(record.getMessage() for record in caplog.records)
    for path in (
        "/admin/memories/token/",
        page_of("token", token.pk),
        page_of("token", token.pk, "history"),
        "/admin/",
    ):
        page = boss.get(path).content.decode()
        assert secret not in page
        assert token.digest not in page
    assert AuditEntry.objects.get().verb == "token.create"
    assert AuditEntry.objects.get().actor == "user root"


def test_a_token_gets_what_the_form_says(boss: Client) -> None:
    ends = timezone.now() + timedelta(days=2)
    response = add_token(
        boss,
        AgentFactory.create(),
        role="reader",
        sources=["tool", "web"],
        may_write_shared="",
        instance="on",
        expires_at_0=ends.strftime("%Y-%m-%d"),
        expires_at_1="12:00:00",
    )
    token = access.token_for(secret_in(response), now=timezone.now())
    assert token is not None
    assert (token.role, token.sources, token.may_write_shared, token.instance) == (
        "reader",
        ["tool", "web"],
        False,
        True,
    )
    assert token.expires_at is not None
    assert token.expires_at.strftime("%Y-%m-%d %H:%M") == ends.strftime("%Y-%m-%d 12:00")


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"agent": ""}, "agent"),
        ({"agent": "999"}, "agent"),
        ({"role": "king"}, "role"),
        ({"sources": ["nonsense"]}, "sources"),
        ({"expires_at_0": "2020-01-01", "expires_at_1": "00:00"}, "expires_at"),
        ({"expires_at_0": "soon", "expires_at_1": ""}, "expires_at"),
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(boss: Client, fields: dict[str, Any], wrong: str) -> None:
    response = add_token(boss, AgentFactory.create(), **fields)
    assert wrong in errors_of(response)
    assert not Token.objects.exists()


def test_agents_are_told_apart_by_workspace_and_chosen_by_the_link(boss: Client) -> None:
    agent = AgentFactory.create(name="clerk", workspace__name="harbour")
    page = text_of(boss.get(f"/admin/memories/token/add/?agent={agent.pk}"))
    assert f'<option value="{agent.pk}" selected>harbour / clerk</option>' in page
    assert f'href="/admin/memories/token/add/?agent={agent.pk}"' in text_of(boss.get(page_of("agent", agent.pk)))


def make(agent: Agent | None = None, **fields: Any) -> Token:
    token, _ = access.create_token(agent or AgentFactory.create(), actor=Actor("test"), **fields)
    AuditEntry.objects.all().delete()
    return token


def test_the_list_tells_the_state_of_each_token(boss: Client) -> None:
    now = timezone.now()
    live, old, gone = make(sources=["tool"]), make(expires_at=now + timedelta(hours=1)), make(instance=True)
    Token.objects.filter(pk=old.pk).update(expires_at=now - timedelta(seconds=1))
    access.revoke_token(gone, actor=Actor("test"), now=now)
    states = {
        state: [token.pk for token in boss.get(f"/admin/memories/token/?state={state}").context["cl"].result_list]
        for state in ("live", "expired", "revoked")
    }
    assert states == {"live": [live.pk], "expired": [old.pk], "revoked": [gone.pk]}
    page = text_of(boss.get("/admin/memories/token/"))
    for text in (live.prefix, "tool", "agent, instance", "live", "expired", "revoked"):
        assert text in page


def save_token(client: Client, token: Token, **changes: Any) -> Any:
    values = fields_of(client.get(page_of("token", token.pk)), "token_form")
    return client.post(page_of("token", token.pk), values | changes, follow=True)


def test_a_token_may_be_narrowed_and_the_log_says_so(boss: Client) -> None:
    token = make(sources=["owner", "agent", "web"], expires_at=timezone.now() + timedelta(days=9))
    response = save_token(
        boss, token, sources=["web"], may_write_shared="", expires_at_0="2099-01-02", expires_at_1="03:04:05"
    )
    assert "was changed successfully" in said(response)[0]
    before = token.expires_at
    token.refresh_from_db()
    assert (token.sources, token.may_write_shared) == (["web"], False)
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.actor, entry.target) == ("token.change", "user root", f"token {token.prefix}")
    assert before is not None
    assert entry.result == (
        f"expires_at={before.isoformat(timespec='seconds')}->2099-01-02T03:04:05+00:00"
        " may_write_shared=true->false sources_removed=owner,agent"
    )


def test_saving_a_token_as_it_is_changes_nothing(boss: Client) -> None:
    token = make(sources=["agent"], expires_at=timezone.now() + timedelta(days=1, microseconds=7))
    save_token(boss, token)
    assert not AuditEntry.objects.exists()
    before = token.expires_at
    token.refresh_from_db()
    assert token.expires_at == before


def test_a_token_never_gains_rights(boss: Client) -> None:
    token = make(sources=["web"], may_write_shared=False, role="reader")
    other = AgentFactory.create()
    response = save_token(boss, token, sources=["web", "owner"])
    assert "sources" in errors_of(response)
    save_token(
        boss, token, may_write_shared="on", role="admin", instance="on", agent=other.pk, revoked_at_0="", digest="x"
    )
    after = Token.objects.get()
    for name in ("sources", "may_write_shared", "role", "instance", "agent_id", "digest", "prefix", "revoked_at"):
        assert getattr(after, name) == getattr(token, name), name
    assert not AuditEntry.objects.exists()


def test_the_verb_itself_refuses_more_rights_and_dead_tokens(db: None) -> None:
    now, by = timezone.now(), Actor("user root")
    token = make(sources=["web"], may_write_shared=False)
    same = {"expires_at": None, "may_write_shared": False, "sources": ["web"]}
    with pytest.raises(Forbidden):
        change_token(token, actor=by, now=now, **same | {"may_write_shared": True})
    with pytest.raises(Forbidden):
        change_token(token, actor=by, now=now, **same | {"sources": ["web", "owner"]})
    with pytest.raises(Invalid):
        change_token(token, actor=by, now=now, **same | {"expires_at": now - timedelta(days=1)})
    assert change_token(token, actor=by, now=now, **same) is False
    access.revoke_token(token, actor=by, now=now)
    with pytest.raises(Conflict):
        change_token(token, actor=by, now=now, **same | {"sources": []})


def test_a_form_that_comes_after_the_end_says_why_nothing_was_saved(boss: Client) -> None:
    token = make()
    values = fields_of(boss.get(page_of("token", token.pk)), "token_form")
    access.revoke_token(token, actor=Actor("user other"), now=timezone.now())
    response = boss.post(page_of("token", token.pk), values | {"sources": ["web"]})
    assert "is revoked" in str(errors_of(response))
    assert "is revoked" in text_of(response)


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_a_closed_token_is_only_looked_at(boss: Client, end: str) -> None:
    token = make()
    if end == "revoked":
        access.revoke_token(token, actor=Actor("test"), now=timezone.now())
    else:
        Token.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    page = text_of(boss.get(page_of("token", token.pk)))
    assert 'name="_save"' not in page
    assert end in page


def test_tokens_are_revoked_and_the_count_says_how_many(boss: Client) -> None:
    tokens = [make(), make(), make()]
    access.revoke_token(tokens[0], actor=Actor("test"), now=timezone.now())
    AuditEntry.objects.all().delete()
    data = {"action": "revoke", "_selected_action": [token.pk for token in tokens]}
    response = boss.post("/admin/memories/token/", data, follow=True)
    assert said(response) == ["2 revoked, 1 skipped: 1 revoked before."]
    assert not Token.objects.filter(revoked_at=None).exists()
    assert list(AuditEntry.objects.values_list("verb", "actor")) == [("token.revoke", "user root")] * 2


def test_a_token_is_revoked_from_its_page(boss: Client) -> None:
    token, secret = access.create_token(AgentFactory.create(), actor=Actor("test"))
    path = page_of("token", token.pk, "revoke")
    assert f'action="{path}"' in text_of(boss.get(page_of("token", token.pk)))
    assert boss.get(path).status_code == 405
    assert said(boss.post(path, follow=True)) == ["1 revoked, 0 skipped."]
    assert access.token_for(secret, now=timezone.now()) is None
    assert boss.post(page_of("token", 999, "revoke")).status_code == 404


def test_tokens_are_not_deleted(boss: Client) -> None:
    token = make()
    assert boss.post(page_of("token", token.pk, "delete"), {"post": "yes"}).status_code == 403
    boss.post("/admin/memories/token/", {"action": "delete_selected", "_selected_action": token.pk, "post": "yes"})
    assert Token.objects.exists()


def test_buttons_need_the_csrf_token(boss: Client) -> None:
    memory, token = MemoryFactory.create(), make()
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = boss.cookies
    for path in (
        page_of("token", token.pk, "revoke"),
        page_of("memory", memory.pk, "archive"),
        page_of("memory", memory.pk),
    ):
        assert strict.post(path).status_code == 403


# Memories


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=pier", ["pier"]),
        ("q=PIER", ["pier"]),
        ("q=boats", ["pier"]),
        ("q=the-key", ["crane"]),
        ("q=码头", ["码头"]),
        ("q=100%25", ["percent"]),
        ("q=nothing", []),
        ("status__exact=archived", ["old"]),
        ("expired=yes", ["expired"]),
        ("expired=yes&q=pier", []),
        ("kind__exact=decision", ["crane"]),
        ("source__exact=web", ["web"]),
        ("restricted=yes", ["web"]),
        ("scope__exact=shared", ["crane"]),
        ("importance=5", ["pier"]),
        ("pinned__exact=1", ["pier"]),
    ],
)
def test_memories_are_found_by_text_and_filters(boss: Client, query: str, found: list[str]) -> None:
    agent = AgentFactory.create()
    past = timezone.now() - timedelta(days=1)
    named = {
        "pier": MemoryFactory.create(agent=agent, content="At the pier.", subject="boats", importance=5, pinned=True),
        "crane": MemoryFactory.create(agent=agent, content="Crane", key="the-key", kind="decision", shared=True),
        "old": MemoryFactory.create(agent=agent, content="Old", archived=True),
        "expired": MemoryFactory.create(agent=agent, content="Gone by", expires_at=past),
        "web": MemoryFactory.create(agent=agent, content="From outside", source="web", importance=2),
        "码头": MemoryFactory.create(agent=agent, content="码头四号"),
        "percent": MemoryFactory.create(agent=agent, content="It is 100% sure"),
    }
    response = boss.get(f"/admin/memories/memory/?{query}")
    assert [row.pk for row in response.context["cl"].result_list] == [named[name].pk for name in found]


def test_expired_restricted_and_pinned_memories_are_marked(boss: Client) -> None:
    MemoryFactory.create(expires_at=timezone.now() - timedelta(days=1), source="stranger", importance=2, pinned=True)
    page = text_of(boss.get("/admin/memories/memory/"))
    for mark in ("active, expired", "stranger (restricted)", "2, pinned"):
        assert mark in page


def test_a_search_reads_only_the_newest_rows_of_what_is_filtered(boss: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(base, "SEARCHED", 3)
    here, there = AgentFactory.create(), AgentFactory.create()
    MemoryFactory.create(agent=here, content="needle here")
    for _ in range(5):
        MemoryFactory.create(agent=there)
    assert not boss.get("/admin/memories/memory/?q=needle").context["cl"].result_list
    filtered = boss.get(f"/admin/memories/memory/?q=needle&workspace__id__exact={here.workspace_id}")
    assert len(filtered.context["cl"].result_list) == 1


def test_every_field_is_shown(boss: Client) -> None:
    first = MemoryFactory.create(key="k", source="owner")
    memory = MemoryFactory.create(
        agent=first.agent,
        content="The text",
        subject="the subject",
        tags=["one", "two"],
        metadata={"shelf": 4},
        kept_beside_id=first.pk,
        archived=True,
    )
    merged = MemoryFactory.create(
        agent=first.agent, status="merged", merged_into_id=memory.pk, merged_at=timezone.now()
    )
    page = text_of(boss.get(page_of("memory", memory.pk)))
    for text in (
        *("The text", "the subject", "one, two", '{"shelf":4}', "archived", "forgotten"),
        *(memory.workspace.name, memory.agent.name, memory.partition, f"memory {first.pk}", f"memory {merged.pk}"),
    ):
        assert text in page, text
    assert f'href="{page_of("memory", memory.pk)}"' in text_of(boss.get(page_of("memory", merged.pk)))
    assert f'href="{page_of("revision", memory.revisions.get().pk)}"' in page


def test_a_correction_is_a_revision_by_the_person(boss: Client) -> None:
    memory = MemoryFactory.create(content="The boat leaves at six.", subject="boats", tags=["a"], metadata={"n": 1.5})
    values = fields_of(boss.get(page_of("memory", memory.pk)), "memory_form")
    response = boss.post(
        page_of("memory", memory.pk),
        values
        | {
            "content": "The boat leaves at seven.\r\nNot earlier.",
            "subject": "times",
            "key": "boat",
            "kind": "fact",
            "tags": " b \r\n\r\nc\r\nb",
            "importance": "5",
            "pinned": "on",
            "expires_at_0": "2099-05-06",
            "expires_at_1": "07:08:09",
            "metadata": '{"n": 2}',
            "reason": "the timetable changed",
        },
        headers={"X-Request-Id": "trace-9"},
    )
    assert response.status_code == 302
    memory.refresh_from_db()
    assert memory.content == "The boat leaves at seven.\nNot earlier."
    assert (memory.subject, memory.key, memory.kind, memory.tags) == ("times", "boat", "fact", ["b", "c"])
    assert (memory.importance, memory.pinned, memory.metadata) == (5, True, {"n": 2})
    assert memory.expires_at is not None
    assert memory.expires_at.isoformat() == "2099-05-06T07:08:09+00:00"
    revision = memory.revisions.get(number=2)
    assert (revision.verb, revision.actor, revision.reason, revision.request_id) == (
        "revise",
        "user root",
        "the timetable changed",
        "trace-9",
    )
    assert revision.before["content"] == "The boat leaves at six."
    entry = LogEntry.objects.get()
    assert entry.object_repr == f"memory {memory.pk}"
    assert "boat" not in entry.change_message.replace("boats", "")


def test_only_what_was_changed_is_in_the_revision(boss: Client) -> None:
    ends = timezone.now() + timedelta(days=1, microseconds=5)
    memory = MemoryFactory.create(
        content="  first\n\nlast \n",
        subject="s",
        tags=["x", "y"],
        metadata={"b": {"a": "ü", "z": None}},
        expires_at=ends,
    )
    response = edit(boss, memory, importance="4")
    assert "was changed successfully" in said(response)[0]
    assert list(memory.revisions.get(number=2).after) == ["importance"]
    memory.refresh_from_db()
    assert memory.content == "  first\n\nlast \n"
    assert memory.expires_at == ends


@pytest.mark.parametrize(
    "content",
    [
        "plain",
        "\nstarts with a line break",
        "a\r\nb",
        "a\rb",
        "tab\tand \u202ebidi",
        "x" * 100_000,
        "🛶" * 100_000,
        "<&>\"'",
        "  ",
    ],
)
def test_saving_a_memory_as_it_is_makes_no_revision(boss: Client, content: str) -> None:
    memory = MemoryFactory.create(content=content)
    response = edit(boss, memory)
    assert response.status_code == 200
    memory.refresh_from_db()
    assert (memory.revision, memory.content) == (1, content)


def test_the_longest_text_of_any_script_can_be_saved(boss: Client) -> None:
    memory = MemoryFactory.create(content="x")
    response = edit(boss, memory, content="🛶" * 100_000)
    assert "was changed successfully" in said(response)[0]
    memory.refresh_from_db()
    assert memory.content == "🛶" * 100_000
    assert 'enctype="multipart/form-data"' in text_of(boss.get(page_of("memory", memory.pk)))


@pytest.mark.parametrize(
    ("changes", "wrong", "message"),
    [
        ({"content": ""}, "content", "required"),
        ({"content": " \r\n "}, "content", "blank"),
        ({"content": "x" * 100_001}, "content", "Must have at most 100000 characters."),
        ({"content": "a\x00b"}, "content", "Null characters"),
        ({"subject": "x" * 201}, "subject", "at most 200 characters"),
        ({"subject": "a\tb"}, "subject", "control characters"),
        ({"key": "k" * 201}, "key", "at most 200 characters"),
        ({"kind": "poem"}, "kind", "poem"),
        ({"kind": ""}, "kind", "required"),
        ({"tags": "ok\r\n" + "t" * 101}, "tags", "Line 2: must have at most 100 characters."),
        ({"tags": "\r\n".join(str(number) for number in range(51))}, "tags", "at most 50 lines"),
        ({"importance": "9"}, "importance", "9"),
        ({"importance": "x"}, "importance", "x"),
        ({"expires_at_0": "tomorrow", "expires_at_1": "noon"}, "expires_at", "valid"),
        ({"expires_at_0": "2026-01-01", "expires_at_1": ""}, "expires_at", "valid"),
        ({"metadata": "{"}, "metadata", "JSON"),
        ({"metadata": "[1]"}, "metadata", "dict"),
        ({"metadata": '{"a": NaN}'}, "metadata", "NaN"),
        ({"metadata": '{"a": %s}' % ("[" * 5000)}, "metadata", ""),
        ({"metadata": '{"a": 1e999}'}, "metadata", "too large"),
        ({"metadata": json.dumps({"a": "x" * 17_000})}, "metadata", "16384"),
        ({"reason": "r" * 201}, "reason", "at most 200 characters"),
        ({"seen_revision": ""}, "seen_revision", "required"),
        ({"seen_revision": "x"}, "seen_revision", "number"),
    ],
)
def test_a_wrong_value_is_an_error_of_its_field(
    boss: Client, changes: dict[str, Any], wrong: str, message: str
) -> None:
    memory = MemoryFactory.create(content="as it was", key="before")
    response = edit(boss, memory, **changes)
    errors = errors_of(response)
    assert list(errors) == [wrong]
    assert message in errors[wrong][0]
    memory.refresh_from_db()
    assert (memory.content, memory.revision) == ("as it was", 1)


def test_the_api_and_the_form_want_the_same_of_metadata(boss: Client) -> None:
    memory = MemoryFactory.create(metadata={"a": 1})
    assert "was changed successfully" in said(edit(boss, memory, metadata=""))[0]
    memory.refresh_from_db()
    assert memory.metadata == {}


def test_a_key_in_use_is_an_error_of_the_key(boss: Client) -> None:
    holder = MemoryFactory.create(key="taken")
    memory = MemoryFactory.create(agent=holder.agent, content="mine")
    response = edit(boss, memory, key="taken", content="changed too")
    assert f"belongs to memory {holder.pk}" in errors_of(response)["key"][0]
    assert "changed too" in text_of(response)
    memory.refresh_from_db()
    assert (memory.key, memory.content, memory.revision) == (None, "mine", 1)
    assert not LogEntry.objects.exists()


def test_a_memory_changed_meanwhile_is_a_conflict_and_nothing_is_lost(boss: Client) -> None:
    memory = MemoryFactory.create(content="first")
    values = fields_of(boss.get(page_of("memory", memory.pk)), "memory_form")
    revisions.change(memory, {"content": "the agent's"}, by=Actor("agent a"), now=timezone.now(), verb="revise")
    response = boss.post(page_of("memory", memory.pk), values | {"content": "the person's"})
    assert "changed while this page was open" in errors_of(response)["__all__"][0]
    page = text_of(response)
    assert "changed while this page was open" in page
    assert "the person's" in page
    memory.refresh_from_db()
    assert memory.content == "the agent's"
    again = boss.post(page_of("memory", memory.pk), values | {"content": "the person's", "seen_revision": "2"})
    assert again.status_code == 302


@pytest.mark.parametrize("status", [Status.ARCHIVED, Status.MERGED, Status.ERASED])
def test_what_is_not_active_is_looked_at_and_a_late_form_is_told_so(boss: Client, status: Status) -> None:
    memory = MemoryFactory.create()
    values = fields_of(boss.get(page_of("memory", memory.pk)), "memory_form")
    principal = principal_of_superuser(UserFactory.create(superuser=True), memory.workspace_id)
    now = timezone.now()
    match status:
        case Status.ARCHIVED:
            remember.forget(principal, memory.pk, now=now)
        case Status.MERGED:
            fields = {
                "status": "merged",
                "merged_at": now,
                "merged_into_id": MemoryFactory.create(agent=memory.agent).pk,
            }
            revisions.change(memory, fields, by=principal.actor, now=now, verb="tidy.apply")
        case Status.ERASED:
            remember.erase(principal, memory.pk, now=now, reason="a secret")
    assert 'name="_save"' not in text_of(boss.get(page_of("memory", memory.pk)))
    for seen in ("1", "2"):
        response = boss.post(page_of("memory", memory.pk), values | {"content": "too late", "seen_revision": seen})
        assert errors_of(response)["__all__"]
    assert not Revision.objects.filter(memory=memory, verb="revise").exists()


def test_a_person_may_raise_what_a_stranger_said(boss: Client) -> None:
    memory = MemoryFactory.create(source="stranger", importance=2)
    assert "was changed successfully" in said(edit(boss, memory, importance="5", pinned="on"))[0]
    memory.refresh_from_db()
    assert (memory.importance, memory.pinned) == (5, True)


def test_nothing_else_of_a_memory_can_be_set(boss: Client) -> None:
    memory = MemoryFactory.create()
    other = AgentFactory.create()
    edit(
        boss,
        memory,
        **{
            "workspace": other.workspace_id,
            "agent": other.pk,
            "scope": "shared",
            "partition": "shared",
            "source": "owner",
        },
        **{
            "status": "erased",
            "seen_count": "9",
            "revision": "9",
            "created_at_0": "2020-01-01",
            "created_at_1": "00:00",
        },
    )
    after = Memory.objects.get()
    for name in (
        "workspace_id",
        "agent_id",
        "scope",
        "partition",
        "source",
        "status",
        "seen_count",
        "revision",
        "created_at",
    ):
        assert getattr(after, name) == getattr(memory, name), name


def test_memories_are_neither_added_nor_deleted(boss: Client) -> None:
    memory = MemoryFactory.create()
    assert boss.get("/admin/memories/memory/add/").status_code == 403
    assert boss.get(page_of("memory", memory.pk, "delete")).status_code == 403
    boss.post("/admin/memories/memory/", {"action": "delete_selected", "_selected_action": memory.pk, "post": "yes"})
    assert Memory.objects.exists()


def act(client: Client, action: str, *memories: Memory, **fields: Any) -> list[str]:
    data = {"action": action, "_selected_action": [memory.pk for memory in memories], **fields}
    return said(client.post("/admin/memories/memory/", data, follow=True))


def erased(memory: Memory) -> Memory:
    principal = principal_of_superuser(UserFactory.create(superuser=True), memory.workspace_id)
    remember.erase(principal, memory.pk, now=timezone.now(), reason="a secret")
    return memory


def test_selected_memories_of_all_workspaces_are_archived(boss: Client) -> None:
    here, there, before = MemoryFactory.create(), MemoryFactory.create(), MemoryFactory.create(archived=True)
    merged = MemoryFactory.create(agent=here.agent, status="merged", merged_into_id=here.pk, merged_at=timezone.now())
    messages = act(
        boss, "archive", here, there, before, merged, erased(MemoryFactory.create()), reason="spring cleaning"
    )
    assert messages == ["2 archived, 3 skipped: 1 archived before, 1 merged into another, 1 erased."]
    for memory in (here, there):
        memory.refresh_from_db()
        assert (memory.status, memory.archive_reason) == ("archived", "spring cleaning")
        revision = memory.revisions.get(number=2)
        assert (revision.verb, revision.actor, revision.reason) == ("forget", "user root", "spring cleaning")
    assert AuditEntry.objects.filter(verb="memory.forget", actor="user root").count() == 2


def test_selected_memories_are_restored(boss: Client) -> None:
    agent = AgentFactory.create()
    gone = MemoryFactory.create(agent=agent, archived=True)
    beaten = MemoryFactory.create(agent=agent, key="k", archived=True)
    MemoryFactory.create(agent=agent, key="k")
    active = MemoryFactory.create(agent=agent)
    messages = act(boss, "restore", gone, beaten, active)
    assert messages == ["1 restored, 2 skipped: 1 active already, 1 key in use by another memory."]
    gone.refresh_from_db()
    assert (gone.status, gone.archive_reason) == ("active", "")
    assert act(boss, "restore", active) == ["0 restored, 1 skipped: 1 active already."]


def test_too_many_selected_memories_are_left_alone(boss: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(remembered, "ACTED_ON", 2)
    memories = [MemoryFactory.create() for _ in range(3)]
    assert act(boss, "archive", memories[0], select_across="1") == ["Nothing was done: at most 2 memories at once."]
    assert not Memory.objects.exclude(status="active").exists()


@pytest.mark.parametrize("reason", ["r" * 201, "two\nlines"])
def test_a_reason_that_cannot_be_kept_stops_the_action(boss: Client, reason: str) -> None:
    memory = MemoryFactory.create()
    messages = act(boss, "archive", memory, reason=reason)
    assert len(messages) == 1
    assert messages[0].startswith("Nothing was done, because of the reason: ")
    memory.refresh_from_db()
    assert memory.status == "active"


def test_a_memory_is_archived_and_restored_from_its_page(boss: Client) -> None:
    memory = MemoryFactory.create()
    path = page_of("memory", memory.pk)
    assert f'action="{path.replace("change", "archive")}"' in text_of(boss.get(path))
    assert said(boss.post(path.replace("change", "archive"), {"seen_revision": "1"}, follow=True)) == [
        "The memory was archived."
    ]
    assert f'action="{path.replace("change", "restore")}"' in text_of(boss.get(path))
    assert said(boss.post(path.replace("change", "restore"), {"seen_revision": "2"}, follow=True)) == [
        "The memory was restored."
    ]
    assert list(memory.revisions.order_by("number").values_list("verb", "actor"))[1:] == [
        ("forget", "user root"),
        ("restore", "user root"),
    ]
    assert said(boss.post(path.replace("change", "restore"), follow=True)) == ["It was so already."]


def test_a_button_on_an_old_page_changes_nothing(boss: Client) -> None:
    memory = MemoryFactory.create()
    revisions.change(memory, {"importance": 5}, by=Actor("agent a"), now=timezone.now(), verb="revise")
    messages = said(boss.post(page_of("memory", memory.pk, "archive"), {"seen_revision": "1"}, follow=True))
    assert messages == [f"Memory {memory.pk} is at revision 2, not 1: read it again."]
    messages = said(boss.post(page_of("memory", memory.pk, "archive"), {"seen_revision": "x"}, follow=True))
    assert messages == ["The button sent something that is no revision."]
    memory.refresh_from_db()
    assert memory.status == "active"
    assert boss.get(page_of("memory", memory.pk, "archive")).status_code == 405
    assert boss.post(page_of("memory", 999, "restore")).status_code == 404


# Revisions and the audit log


def test_a_revision_shows_both_texts_and_leads_back(boss: Client) -> None:
    memory = MemoryFactory.create(content="before it", tags=["old"])
    principal = principal_of_superuser(UserFactory.create(superuser=True), memory.workspace_id)
    revise(principal, memory.pk, {"content": "after it", "tags": ["new"]}, now=timezone.now())
    first, second = memory.revisions.order_by("number")
    page = text_of(boss.get(page_of("revision", second.pk)))
    for text in ("before it", "after it", '["old"]', '["new"]'):
        assert text in page
    assert "Bring the memory back" not in page
    response = boss.get(page_of("revision", first.pk))
    assert "Bring the memory back to this revision" in text_of(response)
    data = {"revision": "1", "seen_revision": "2"}
    assert said(boss.post(page_of("memory", memory.pk, "restore"), data, follow=True)) == ["The memory was restored."]
    memory.refresh_from_db()
    assert (memory.content, memory.tags, memory.revision) == ("before it", ["old"], 3)
    messages = said(boss.post(page_of("memory", memory.pk, "restore"), {"revision": "77"}, follow=True))
    assert messages == [f"Memory {memory.pk} has revisions 1 to 3."]


def test_revisions_are_listed_by_memory(boss: Client) -> None:
    memory, other = MemoryFactory.create(), MemoryFactory.create()
    for query in (f"memory__id__exact={memory.pk}", f"q={memory.pk}"):
        rows = boss.get(f"/admin/memories/revision/?{query}").context["cl"].result_list
        assert [row.memory_id for row in rows] == [memory.pk]
    assert boss.get("/admin/memories/revision/?q=words").status_code == 200
    assert other.revisions.count() == 1


@pytest.mark.parametrize("name", ["revision", "auditentry"])
def test_what_was_done_is_only_read(boss: Client, hostile: Memory, name: str) -> None:
    model: Any = {"revision": Revision, "auditentry": AuditEntry}[name]
    pk = model.objects.values_list("pk", flat=True)[0]
    before = list(model.objects.values())
    assert boss.get(f"/admin/memories/{name}/add/").status_code == 403
    assert boss.post(page_of(name, pk), {"verb": "nothing"}).status_code == 403
    assert boss.post(page_of(name, pk, "delete"), {"post": "yes"}).status_code == 403
    boss.post(f"/admin/memories/{name}/", {"action": "delete_selected", "_selected_action": pk, "post": "yes"})
    assert list(model.objects.values()) == before
    assert 'name="_save"' not in text_of(boss.get(page_of(name, pk)))


def test_audit_entries_are_filtered_by_actor_verb_and_time(boss: Client) -> None:
    now = timezone.now()
    old = audit.record("memory.forget", actor="agent clerk", target="memory 7", at=now - timedelta(days=40))
    new = audit.record("token.create", actor="user grace", request_id="trace-1", at=now)

    def found(query: str) -> list[int]:
        return [row.pk for row in boss.get(f"/admin/memories/auditentry/?{query}").context["cl"].result_list]

    assert found("") == [new.pk, old.pk]
    assert found("verb=memory.forget") == [old.pk]
    assert found("actor=user+grace") == [new.pk]
    assert found("actor=nobody") == []
    day = (now - timedelta(days=1)).strftime("%Y-%m-%d")
    assert found(f"at__gte={day}+00:00:00%2B00:00") == [new.pk]
    assert found("q=memory+7") == [old.pk]
    assert found("q=trace-1") == [new.pk]
    page = text_of(boss.get("/admin/memories/auditentry/"))
    assert 'href="?verb=memory.forget"' in page
    assert 'href="?actor=user+grace"' in page or 'href="?actor=user%20grace"' in page
    assert f'href="{page_of("memory", 7)}"' in page


def test_only_lately_seen_values_are_offered_and_others_still_filter(boss: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(base, "LATELY", 2)
    rare = audit.record("token.revoke", actor="user ada")
    for _ in range(2):
        audit.record("memory.forget", actor="agent clerk")
    page = boss.get("/admin/memories/auditentry/")
    assert 'href="?verb=token.revoke"' not in text_of(page)
    response = boss.get("/admin/memories/auditentry/?verb=token.revoke")
    assert [row.pk for row in response.context["cl"].result_list] == [rare.pk]
