"""The pages where people decide, with and without scripts."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.test import Client

from memories import revisions
from memories.access import Actor
from memories.models import AuditEntry, Membership, Memory, Status
from memories.pages import CONTENT_SECURITY_POLICY
from tests.factories import AgentFactory, CandidateFactory, MembershipFactory, MemoryFactory, UserFactory
from tests.tidy.rounds import pending, run, settings_file
from tidy import views
from tidy.models import Batch, Candidate

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
    assert 'role="status" tabindex="-1" autofocus>' in row
    assert 'id="total"' not in row
    response = client.post(f"/review/{proposed.pk}/revert/", {}, headers={"HX-Request": "true"})
    assert "/approve/" in response.content.decode()


def test_htmx_gets_the_count_that_is_left_in_the_list(agent: Any) -> None:
    first, *_ = [CandidateFactory.create(memory=MemoryFactory.create(agent=agent)) for _ in range(3)]
    CandidateFactory.create(memory=MemoryFactory.create(agent=agent, subject="else"))
    kept = {"kept": f"workspace={agent.workspace_id}&status=pending&subject=", "place": "queue"}
    row = person(agent).post(f"/review/{first.pk}/dismiss/", kept, headers={"HX-Request": "true"}).content.decode()
    assert '<span class="count" id="total" hx-swap-oob="true">3</span>' in row
    kept["kept"] += "else"
    row = person(agent).post(f"/review/{first.pk}/revert/", kept, headers={"HX-Request": "true"}).content.decode()
    assert '<span class="count" id="total" hx-swap-oob="true">1</span>' in row


def test_htmx_without_a_login_is_led_to_it_and_back(proposed: Candidate) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/review/?subject=mara"}
    response = Client().post(f"/review/{proposed.pk}/approve/", headers=headers)
    assert (response.status_code, response.content) == (200, b"")
    assert response["HX-Redirect"] == "/login/?next=/review/%3Fsubject%3Dmara"
    elsewhere = {"HX-Request": "true", "HX-Current-URL": "https://evil.example/review/"}
    assert Client().get("/review/", headers=elsewhere)["HX-Redirect"] == "/login/?next=/review/"
    proposed.refresh_from_db()
    assert proposed.status == "pending"


def test_a_candidate_that_goes_meanwhile_is_not_found(
    agent: Any, proposed: Candidate, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = views._candidate

    def gone_after(*args: Any) -> Any:
        found = looked_up(*args)
        Candidate.objects.all().delete()
        return found

    monkeypatch.setattr(views, "_candidate", gone_after)
    assert person(agent).post(f"/review/{proposed.pk}/approve/").status_code == 404


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


def test_a_batch_of_many_has_pages_and_is_reverted_whole(agent: Any) -> None:
    batch = Batch.objects.create(auto=False, actor="agent \u202ebot", at=MemoryFactory.create(agent=agent).created_at)
    for _ in range(23):
        CandidateFactory.create(memory=MemoryFactory.create(agent=agent), batch=batch, status="applied")
    other = AgentFactory.create()
    CandidateFactory.create(memory=MemoryFactory.create(agent=other), batch=batch, status="applied")
    client, path = person(agent), f"/review/batches/{batch.pk}/"
    page = shown(client, path)
    assert page.count("<article") == 20
    assert "23 candidates of it are applied now." in page
    assert "agent \\u202ebot" in page
    assert shown(client, f"{path}?page=2").count("<article") == 3
    client.post(path)
    assert Candidate.objects.filter(status="reverted").count() == 23
    assert Candidate.objects.get(status="applied").workspace_id == other.workspace_id


def test_one_of_a_batch_is_decided_on_the_page_of_the_batch(agent: Any) -> None:
    batch = Batch.objects.create(auto=False, actor="agent x", at=MemoryFactory.create(agent=agent).created_at)
    candidate = CandidateFactory.create(memory=MemoryFactory.create(agent=agent), batch=batch, status="applied")
    fields = {"place": "batch", "kept": "page=2"}
    response = person(agent).post(f"/review/{candidate.pk}/revert/", fields)
    assert response["Location"] == f"/review/batches/{batch.pk}/?page=2"


def test_nothing_but_a_query_is_taken_back_from_a_form(agent: Any, proposed: Candidate) -> None:
    client = person(agent)
    for kept in ("//evil.example/", "https://evil.example/?a=b", "\r\nX-Evil: 1", "%ff", "a=" + "x" * 9_000):
        response = client.post(f"/review/{proposed.pk}/revert/", {"kept": kept, "place": "https://evil.example/"})
        assert response["Location"].startswith("/review/?")
        assert "evil" not in response["Location"].split("?")[0]
        assert "X-Evil" not in response


def test_what_changed_after_it_was_applied_is_told_beforehand(agent: Any, proposed: Candidate) -> None:
    client = person(agent)
    client.post(f"/review/{proposed.pk}/approve/")
    path = f"/review/{proposed.pk}/"
    assert "has changed since this was applied" not in shown(client, path)
    memory = Memory.objects.get(status=Status.MERGED)
    revisions.change(memory, {"importance": 5}, by=Actor("test"), now=memory.created_at, verb="revise")
    assert "has changed since this was applied" in shown(client, path)


def test_who_decided_and_why_is_shown_with_nothing_hidden(agent: Any) -> None:
    said = {"status": "dismissed", "decided_by": "agent \u202ebot", "decision_reason": "<i>as\u2066 is"}
    memory = MemoryFactory.create(agent=agent)
    CandidateFactory.create(memory=memory, decided_at=memory.created_at, **said)
    raw = person(agent).get("/review/?status=dismissed").content.decode()
    assert "agent \\u202ebot" in raw
    assert "&lt;i&gt;as\\u2066 is" in raw
    assert "\u202e" not in raw
    assert "\u2066" not in raw


def test_what_is_alike_at_length_is_folded_and_all_there(agent: Any) -> None:
    words = " ".join(f"word{number}" for number in range(300))
    for end in (".", " in Bonn."):
        MemoryFactory.create(agent=agent, content=f"{words} and Mara works at Acme{end}")
    run()
    page = shown(person(agent))
    assert page.count('<details class="alike">') == 2
    assert "characters that are the same" in page
    assert all(page.count(f"word{number}") >= 2 for number in range(300))
    assert "<mark> in Bonn</mark>" in page


def test_a_page_of_many_asks_as_little_as_one_of_few(
    agent: Any, django_assert_max_num_queries: Any, django_assert_num_queries: Any
) -> None:
    for _ in range(2):
        CandidateFactory.create(memory=MemoryFactory.create(agent=agent))
    client = person(agent)
    client.get("/review/")
    with django_assert_max_num_queries(20) as few:
        client.get("/review/")
    for _ in range(18):
        CandidateFactory.create(memory=MemoryFactory.create(agent=agent))
    with django_assert_num_queries(len(few)):
        assert client.get("/review/").content.count(b"<article") == 20


def test_what_changed_meanwhile_is_named_and_left_alone(agent: Any, proposed: Candidate) -> None:
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
    assert "&page=2" in shown(client, "/review/?page=2").split('name="kept"')[1].split(">")[0]
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


def test_a_reviewer_of_one_workspace_who_reads_another_comes_to_the_one(proposed: Candidate) -> None:
    user = MembershipFactory.create(workspace=proposed.workspace, role="reviewer").user
    read = MembershipFactory.create(user=user, workspace=AgentFactory(workspace__name="a").workspace, role="reader")
    client = Client()
    client.force_login(user)
    page = shown(client)
    assert "Mara works at Acme." in page
    assert f'value="{read.workspace_id}"' not in page
    assert client.get(f"/review/?workspace={read.workspace_id}").status_code == 403


def test_a_superuser_enters_every_workspace(agent: Any, proposed: Candidate) -> None:
    client = Client()
    client.force_login(UserFactory.create(superuser=True))
    other = AgentFactory.create()
    assert "Mara works at Acme." in shown(client, f"/review/?workspace={agent.workspace_id}")
    assert "Mara works at Acme." not in shown(client, f"/review/?workspace={other.workspace_id}")
    assert client.get("/review/?workspace=999999").status_code == 404


def test_refusals_are_pages_in_words_under_the_same_policy(agent: Any, proposed: Candidate) -> None:
    said = {
        (person(agent, "reader"), "/review/"): (403, "members with the role reviewer or admin"),
        (person(agent), "/review/999999/"): (404, "There is nothing here"),
        (person(agent), f"/review/{proposed.pk}/praise/"): (405, ""),
    }
    for (client, path), (status, words) in said.items():
        response = client.get(path)
        assert response.status_code == status
        assert words in response.content.decode()
        assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
        assert response["Cache-Control"] == "no-store"


def test_a_form_that_is_too_old_says_what_to_do(agent: Any, proposed: Candidate) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(MembershipFactory.create(workspace=agent.workspace, role="reviewer").user)
    response = client.post(f"/review/{proposed.pk}/approve/", {"csrfmiddlewaretoken": "old"})
    assert response.status_code == 403
    assert "Load the page again" in response.content.decode()


def test_somebody_without_a_workspace_is_told_so() -> None:
    client = Client()
    client.force_login(UserFactory.create())
    response = client.get("/review/")
    assert response.status_code == 403
    assert "not a member of any workspace" in response.content.decode()


def test_the_front_page_leads_to_the_queue() -> None:
    assert Client().get("/")["Location"] == "/review/"
