"""The pages where people decide, with and without scripts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from memories import revisions
from memories.access import Actor
from memories.models import AuditEntry, Membership, Memory, Status
from memories.pages import CONTENT_SECURITY_POLICY
from tests.factories import AgentFactory, CandidateFactory, MembershipFactory, MemoryFactory, UserFactory
from tests.tidy.rounds import pending, run, settings_file
from tidy import views
from tidy.models import Batch, Candidate, Looking

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


def pairs(agent: Any, number: int, **fields: Any) -> list[Candidate]:
    """Return that many open candidates to archive a memory each."""
    return [CandidateFactory.create(memory=MemoryFactory.create(agent=agent, **fields)) for _ in range(number)]


def test_the_most_important_come_first_when_asked(agent: Any) -> None:
    for place, importance in enumerate((2, 5, 1)):
        MemoryFactory.create(
            agent=agent, content=f"Mara works at Acme{place}.", importance=importance, subject=str(place)
        )
        MemoryFactory.create(
            agent=agent, content=f"Mara works at Acme{place} in Bonn.", importance=importance, subject=str(place)
        )
    run()
    page = shown(person(agent), "/review/?sort=impact")
    assert page.index("Acme1") < page.index("Acme0") < page.index("Acme2")
    assert list(pending().order_by("-impact").values_list("impact", flat=True)) == [501, 201, 101]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("agent=other", {"other"}),
        ("subject=mara", {"mara"}),
        ("status=applied&actor=user rita", {"rita"}),
        ("status=applied&auto=1", {"auto"}),
        ("status=applied&auto=0", {"rita"}),
        ("status=applied&since=2026-05-01T00:00", {"rita"}),
        ("status=applied&until=2026-05-01T00:00", {"auto"}),
        ("status=applied&since=nonsense&auto=7", {"rita", "auto"}),
    ],
)
def test_every_filter_narrows(agent: Any, query: str, expected: set[str]) -> None:
    other = AgentFactory.create(workspace=agent.workspace, name="other")
    made = {
        "other": CandidateFactory.create(memory=MemoryFactory.create(agent=other)),
        "mara": CandidateFactory.create(memory=MemoryFactory.create(agent=agent, subject="mara")),
        "rita": CandidateFactory.create(
            memory=MemoryFactory.create(agent=agent),
            status="applied",
            decided_by="user rita",
            decided_at=datetime(2026, 6, 1, tzinfo=UTC),
        ),
        "auto": CandidateFactory.create(
            memory=MemoryFactory.create(agent=agent),
            status="applied",
            auto=True,
            decided_by="tidy",
            decided_at=datetime(2026, 4, 1, tzinfo=UTC),
        ),
    }
    page = shown(person(agent), f"/review/?{query}")
    assert {name for name, one in made.items() if f'id="candidate-{one.pk}"' in page} == expected


def test_what_recall_returns_before_and_after(agent: Any, proposed: Candidate) -> None:
    source, target = (part.memory_id for part in proposed.memories.order_by("role"))
    client = person(agent)
    before = state_of_everything()
    page = shown(client, f"/review/{proposed.pk}/effect/")
    assert f'<del>Mara works at Acme.</del> <strong>no longer returned</strong> <a href="/memories/{source}/">' in page
    assert page.count(f'<a href="/memories/{target}/">') == 4
    part = client.get(f"/review/{proposed.pk}/effect/", headers={"HX-Request": "true"}).content.decode()
    assert "no longer returned" in part
    assert "<html" not in part
    assert state_of_everything() == before, "it was only tried"
    client.post(f"/review/{proposed.pk}/dismiss/")
    assert "It is decided" in shown(client, f"/review/{proposed.pk}/effect/")


def state_of_everything() -> Any:
    return (
        list(Memory.objects.order_by("pk").values()),
        list(Candidate.objects.order_by("pk").values()),
        AuditEntry.objects.count(),
    )


def test_two_that_are_never_to_be_merged_are_not_proposed_again(agent: Any, proposed: Candidate) -> None:
    client = person(agent)
    client.post(f"/review/{proposed.pk}/dismiss/", {"never": "1", "reason": "two people"})
    memory = Memory.objects.get(content="Mara works at Acme.")

    def rewrite(content: str) -> None:
        memory.refresh_from_db()
        revisions.change(memory, {"content": content}, by=Actor("agent a"), now=timezone.now(), verb="revise")

    rewrite("Mara works at Acme!")
    run()
    assert not pending().exists()
    client.post(f"/review/{proposed.pk}/revert/")
    rewrite("Mara works at Acme")
    run()
    assert pending().filter(action="merge").exists()


def test_an_approval_is_of_the_revisions_that_were_shown(agent: Any, proposed: Candidate) -> None:
    client = person(agent)
    page = shown(client)
    seen = re.search(r'name="seen" value="([^"]+)"', page)
    assert seen is not None
    assert seen[1] == " ".join(f"{one['id']}.{one['revision']}" for one in proposed.evidence["seen"])
    client.post(f"/review/{proposed.pk}/approve/", {"seen": "1.9 2.9"})
    assert "It rests on other revisions by now" in shown(client)
    proposed.refresh_from_db()
    assert proposed.status == "pending"
    client.post(f"/review/{proposed.pk}/approve/", {"seen": seen[1]})
    proposed.refresh_from_db()
    assert proposed.status == "applied"


def test_what_a_changed_memory_says_now_is_shown(agent: Any, proposed: Candidate) -> None:
    memory = Memory.objects.get(content="Mara works at Acme.")
    revisions.change(memory, {"content": "Mara left Acme."}, by=Actor("agent a"), now=timezone.now(), verb="revise")
    page = shown(person(agent), f"/review/{proposed.pk}/")
    assert "It says now" in page
    assert "<mark>left</mark>" in page
    assert ">Approve</button>" not in page


def test_who_else_looks_at_one_is_told(agent: Any, proposed: Candidate) -> None:
    mara, ben = person(agent), person(agent)
    mara.post("/review/looking/", {"id": proposed.pk}, headers={"HX-Request": "true"})
    name = Looking.objects.get().user.get_username()
    assert f"{name} is looking at it" in shown(ben)
    assert f"{name} is looking at it" in shown(ben, f"/review/looking/?id={proposed.pk}")
    assert "is looking at it" not in shown(mara)
    Looking.objects.update(at=timezone.now() - timedelta(minutes=5))
    assert "is looking at it" not in shown(ben)
    assert person(AgentFactory.create()).post("/review/looking/", {"id": proposed.pk}).status_code == 404
    assert person(agent, "reader").get(f"/review/looking/?id={proposed.pk}").status_code == 403
    assert ben.get("/review/looking/?id=x&id=99999999999999999999").status_code == 200


def test_many_are_looked_at_in_part_and_decided_together(agent: Any) -> None:
    made = pairs(agent, 25)
    elsewhere = CandidateFactory.create(memory=MemoryFactory.create(agent=agent), reason="expired")
    client = person(agent)
    query = f"workspace={agent.workspace_id}&reason=possible_event"
    page = shown(client, f"/review/bulk/?{query}&verb=approve")
    assert "Yes, approve 25 candidates" in page
    assert page.count('<article class="card candidate') == 10
    sent = {"workspace": agent.workspace_id, "reason": "possible_event", "verb": "approve", "number": "25"}
    sent["newest"] = str(made[-1].pk)
    later = CandidateFactory.create(memory=MemoryFactory.create(agent=agent))
    response = client.post("/review/bulk/", sent)
    batch = Batch.objects.get()
    assert response["Location"] == f"/review/batches/{batch.pk}/"
    assert "25 candidates were applied." in shown(client, response["Location"])
    assert batch.candidates.count() == 25
    for untouched in (elsewhere, later):
        untouched.refresh_from_db()
        assert untouched.status == "pending"


def test_another_number_than_was_confirmed_does_nothing(agent: Any) -> None:
    made = pairs(agent, 3)
    client = person(agent)
    sent = {"workspace": agent.workspace_id, "verb": "dismiss", "number": "3", "newest": str(made[-1].pk)}
    client.post(f"/review/{made[0].pk}/dismiss/")
    response = client.post("/review/bulk/", sent)
    assert response.status_code == 200
    assert "Nothing was done" in response.content.decode()
    assert "Yes, dismiss 2 candidates" in response.content.decode()
    assert Candidate.objects.filter(status="dismissed").count() == 1


def test_what_somebody_applied_in_a_time_is_taken_back_with_conflicts_named(agent: Any) -> None:
    made = pairs(agent, 4)
    mara, ben = person(agent), person(agent)
    for candidate in made[:3]:
        mara.post(f"/review/{candidate.pk}/approve/")
    ben.post(f"/review/{made[3].pk}/approve/")
    made[0].refresh_from_db()
    memory = made[0].memories.get().memory
    revisions.change(memory, {"importance": 5}, by=Actor("agent a"), now=timezone.now(), verb="revise")
    query = {"workspace": agent.workspace_id, "verb": "revert", "actor": made[0].decided_by}
    query["since"] = (timezone.now() - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")
    page = shown(ben, f"/review/bulk/?{urlencode(query)}")
    assert "Yes, revert 3 candidates" in page
    ben.post("/review/bulk/", query | {"number": "3", "newest": str(made[3].pk)})
    page = shown(ben)
    assert "2 candidates were reverted." in page
    assert f"Candidate {made[0].pk} was left alone: a memory has changed since it was applied." in page
    made[3].refresh_from_db()
    assert made[3].status == "applied"


def test_bad_bulk_requests(agent: Any) -> None:
    client = person(agent)
    for query in ("", "?workspace=x", "?workspace=999999", f"?workspace={agent.workspace_id}&verb=erase"):
        assert client.get(f"/review/bulk/{query}").status_code == 404
    assert person(agent, "reader").get(f"/review/bulk/?workspace={agent.workspace_id}").status_code == 403
    assert "There is none." in shown(client, f"/review/bulk/?workspace={agent.workspace_id}&verb=revert")


def test_looking_at_many_takes_few_queries(agent: Any, django_assert_max_num_queries: Any) -> None:
    ids = [one.pk for one in pairs(agent, 20)]
    client = person(agent)
    with django_assert_max_num_queries(10):
        client.get("/review/looking/", {"id": ids})


def test_a_full_queue_takes_few_queries(agent: Any, django_assert_max_num_queries: Any) -> None:
    pairs(agent, 30)
    client = person(agent)
    for path in ("/review/", f"/review/bulk/?workspace={agent.workspace_id}", "/review/?sort=impact&agent=x"):
        with django_assert_max_num_queries(22):
            client.get(path)
