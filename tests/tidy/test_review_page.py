"""The pages where people decide, with and without scripts."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.test import Client

from memories.models import AuditEntry, Membership, Memory, Status
from memories.pages import CONTENT_SECURITY_POLICY
from tests.factories import AgentFactory, MembershipFactory, MemoryFactory, UserFactory
from tests.tidy.rounds import pending, run, settings_file
from tidy.models import Candidate

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert('x')</script> \u202eeulav\u2066"


@pytest.fixture
def proposed(agent: Any) -> Candidate:
    """Two memories, one of which states all of the other."""
    MemoryFactory.create(agent=agent, content="Mara works at Acme.")
    MemoryFactory.create(agent=agent, content="Mara works at Acme in Bonn.")
    run()
    return pending().get()


def person(agent: Any, role: str = "reviewer") -> Client:
    client = Client()
    client.force_login(MembershipFactory.create(workspace=agent.workspace, role=role).user)
    return client


def shown(client: Client, path: str = "/review/") -> str:
    response = client.get(path)
    assert response.status_code == 200, path
    assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    return unescape(response.content.decode())


def test_the_queue_shows_both_texts_and_what_differs(agent: Any, proposed: Candidate) -> None:
    page = shown(person(agent))
    assert "<mark> in Bonn</mark>" in page
    assert "one states all of the other" in page
    assert f"Memory {proposed.evidence['seen'][0]['id']} goes into memory {proposed.target_id}" in page
    assert "One says the same and more." in page


def test_approving_merges_and_says_so(agent: Any, proposed: Candidate) -> None:
    client = person(agent)
    kept = f"workspace={agent.workspace_id}&status=pending"
    response = client.post(f"/review/{proposed.pk}/approve/", {"reason": "same job", "kept": kept})
    assert response.status_code == 302
    assert response["Location"] == f"/review/?{kept}"
    assert f"Candidate {proposed.pk} was applied." in shown(client)

    assert Memory.objects.filter(status=Status.MERGED).count() == 1
    proposed.refresh_from_db()
    assert (proposed.status, proposed.decision_reason, proposed.auto) == ("applied", "same job", False)
    entry = AuditEntry.objects.get(verb="memory.tidy.apply", workspace=agent.workspace)
    assert entry.actor.startswith("user ")
    assert entry.result.startswith("ok auto=false applied=1 merged=1 ")


def test_htmx_gets_the_row_alone(agent: Any, proposed: Candidate) -> None:
    client = person(agent)
    response = client.post(f"/review/{proposed.pk}/dismiss/", {}, headers={"HX-Request": "true"})
    row = response.content.decode()
    assert response.status_code == 200
    assert row.strip().startswith("<article")
    assert "<html" not in row
    assert "dismissed" in row
    response = client.post(f"/review/{proposed.pk}/revert/", {}, headers={"HX-Request": "true"})
    assert "/approve/" in response.content.decode()


def test_dismissed_it_does_not_come_back(agent: Any, proposed: Candidate) -> None:
    person(agent).post(f"/review/{proposed.pk}/dismiss/")
    run()
    assert Candidate.objects.count() == 1
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 2


def test_a_batch_is_reverted_as_one(agent: Any) -> None:
    texts = ("The kettle is red.", "The lamp is green.")
    for text in texts:
        for _ in range(2):
            MemoryFactory.create(agent=agent, content=text)
    run()
    batch = Candidate.objects.filter(status="applied").first().batch_id  # type: ignore[union-attr]
    client = person(agent)
    page = shown(client, f"/review/batches/{batch}/")
    assert "Yes, revert 2 candidates" in page
    client.post(f"/review/batches/{batch}/", {"reason": "too early"})

    assert Memory.objects.filter(status=Status.ACTIVE).count() == 4
    assert set(Candidate.objects.values_list("status", flat=True)) == {"reverted"}
    assert "2 candidates were reverted." in shown(client, f"/review/batches/{batch}/")
    run()
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 4


def test_what_changed_meanwhile_is_named_and_left_alone(agent: Any, proposed: Candidate) -> None:
    from memories import revisions
    from memories.access import Actor

    memory = Memory.objects.get(content="Mara works at Acme.")
    revisions.change(memory, {"importance": 5}, by=Actor("test"), now=memory.created_at, verb="revise")
    client = person(agent)
    assert "has changed since this was proposed" in shown(client)
    client.post(f"/review/{proposed.pk}/approve/")
    assert f"a memory has changed since it was looked at. (memory {memory.pk})" in shown(client)
    assert not Memory.objects.filter(status=Status.MERGED).exists()


def test_filters_and_pages(agent: Any) -> None:
    settings_file('{"autoApply": false}')
    for number in range(25):
        MemoryFactory.create(agent=agent, content=f"TODO: water plant {number}", subject="garden" if number else "shed")
    run()
    client = person(agent)
    assert shown(client).count("<article") == 20
    assert shown(client, "/review/?page=2").count("<article") == 5
    assert shown(client, "/review/?subject=shed").count("<article") == 1
    assert shown(client, "/review/?action=merge").count("<article") == 0
    assert shown(client, "/review/?action=reclassify&reason=kind_mismatch&page=99").count("<article") == 5
    assert shown(client, "/review/?status=nonsense&action=nonsense").count("<article") == 20


def test_hostile_text_is_shown_and_does_nothing(agent: Any) -> None:
    MemoryFactory.create(agent=agent, content=f"{HOSTILE} works at Acme.", subject=HOSTILE, tags=["<b>tag</b>"])
    MemoryFactory.create(agent=agent, content=f"{HOSTILE} works at Acme in Bonn.", subject=HOSTILE)
    run()
    client = person(agent)
    raw = client.get("/review/").content.decode()
    assert "<script>alert" not in raw
    assert "<b>tag" not in raw
    assert "\u202e" not in raw
    assert "\\u202eeulav\\u2066" in raw


@pytest.mark.parametrize("verb", ["approve", "dismiss", "revert"])
def test_only_reviewers_decide(agent: Any, proposed: Candidate, verb: str) -> None:
    path = f"/review/{proposed.pk}/{verb}/"
    assert person(agent, Membership.Role.READER).post(path).status_code == 403
    assert person(AgentFactory.create()).post(path).status_code == 404
    assert person(agent).get(path).status_code == 405
    assert Client().post(path)["Location"].startswith("/login/?next=")
    assert Client(enforce_csrf_checks=True).post(path).status_code in (302, 403)
    checked = Client(enforce_csrf_checks=True)
    checked.force_login(UserFactory.create(superuser=True))
    assert checked.post(path).status_code == 403
    proposed.refresh_from_db()
    assert proposed.status == "pending"


def test_nobody_sees_another_workspace(agent: Any, proposed: Candidate) -> None:
    stranger = person(AgentFactory.create())
    assert "Acme" not in shown(stranger)
    assert stranger.get(f"/review/?workspace={agent.workspace_id}").status_code == 404
    assert stranger.get(f"/review/{proposed.pk}/").status_code == 404
    assert stranger.get("/review/batches/1/").status_code == 404
    assert person(agent).get(f"/review/{10**18 - 1}/").status_code == 404
    reader = person(agent, "reader")
    assert reader.get("/review/").status_code == 403


def test_somebody_without_a_workspace_is_told_so() -> None:
    client = Client()
    client.force_login(UserFactory.create())
    response = client.get("/review/")
    assert response.status_code == 403
    assert "not a member of any workspace" in response.content.decode()


def test_people_who_are_no_staff_log_in_and_out(agent: Any) -> None:
    user = MembershipFactory.create(workspace=agent.workspace).user
    client = Client()
    assert client.get("/review/")["Location"] == "/login/?next=/review/"
    page = client.get("/login/?next=/review/")
    assert page["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    wrong = client.post("/login/", {"username": user.username, "password": "wrong"})
    assert "do not fit together" in wrong.content.decode()
    right = {"username": user.username, "password": "correct horse battery", "next": "/review/"}
    assert client.post("/login/", right)["Location"] == "/review/"
    assert client.post("/login/", right | {"next": "https://evil.example/"})["Location"] == "/review/"
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/review/").status_code == 302


def test_the_front_page_leads_to_the_queue() -> None:
    assert Client().get("/")["Location"] == "/review/"
