"""Candidates, rounds and batches in the admin."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.test import Client

from memories.models import Memory, Status
from tests.factories import CandidateFactory, MemoryFactory, UserFactory
from tests.tidy.rounds import run, settings_file
from tidy.models import Batch, Candidate, Round

pytestmark = pytest.mark.django_db
LIST = "/admin/tidy/candidate/"


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(UserFactory.create(superuser=True, username="root"))
    return client


@pytest.fixture
def two(agent: Any) -> list[Candidate]:
    settings_file('{"autoApply": false}')
    for number in (1, 2):
        MemoryFactory.create(agent=agent, content=f"TODO: water plant {number}")
    run()
    return list(Candidate.objects.order_by("pk"))


def act(client: Client, action: str, rows: list[Candidate], **more: str) -> str:
    data = {"action": action, "_selected_action": [row.pk for row in rows], **more}
    return unescape(client.post(LIST, data, follow=True).content.decode())


def test_acting_asks_first_and_names_the_number(boss: Client, two: list[Candidate]) -> None:
    page = act(boss, "approve_selected", two)
    assert "Approve 2 candidates?" in page
    assert "TODO: water plant 1" in page
    assert not Candidate.objects.exclude(status="pending").exists()


def test_approved_dismissed_and_reverted_with_counts(boss: Client, two: list[Candidate]) -> None:
    Memory.objects.filter(content__endswith="2").update(revision=9)
    page = act(boss, "approve_selected", two, confirmed="yes")
    assert "1 done, 1 skipped: 1 a memory has changed since it was looked at." in page
    assert Memory.objects.filter(kind="task").count() == 1
    assert Candidate.objects.get(status="applied").decided_by == "user root"
    assert "1 done, 1 skipped: 1 it is not applied." in act(boss, "revert_selected", two, confirmed="yes")
    assert Memory.objects.filter(kind="task").count() == 0
    assert "1 done, 1 skipped: 1 it is no longer open." in act(boss, "dismiss_selected", two, confirmed="yes")


def test_every_page_opens_and_is_read_only(boss: Client, two: list[Candidate]) -> None:
    settings_file("{}")
    run()
    for name, row in (("candidate", two[0]), ("round", Round.objects.first()), ("batch", Batch.objects.first())):
        assert row is not None
        for path in (f"/admin/tidy/{name}/", f"/admin/tidy/{name}/{row.pk}/change/"):
            assert boss.get(path).status_code == 200
        assert boss.get(f"/admin/tidy/{name}/add/").status_code == 403
        assert boss.post(f"/admin/tidy/{name}/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    for query in ("?auto_reason__isempty=1", "?action=merge", "?auto=1", "?q=1", "?status=applied"):
        assert boss.get(LIST + query).status_code == 200


def test_the_audit_log_tells_what_was_done_by_itself_from_what_somebody_did(boss: Client, two: list[Candidate]) -> None:
    settings_file("{}")
    run()
    act(boss, "revert_selected", [two[0]], confirmed="yes")

    def verbs(query: str) -> list[tuple[str, str]]:
        rows = boss.get(f"/admin/memories/auditentry/{query}").context["cl"].result_list
        return [(row.actor, row.verb) for row in rows]

    assert verbs("?auto=true") == [("tidy", "memory.tidy.apply")]
    assert verbs("?auto=false") == [("user root", "memory.tidy.revert")]
    assert verbs("") == verbs("?auto=false") + verbs("?auto=true")


def test_hostile_text_does_nothing(boss: Client, agent: Any) -> None:
    memory = MemoryFactory.create(agent=agent, content="<script>alert(1)</script>\u202e", subject="<b>s</b>")
    candidate = CandidateFactory.create(memory=memory)
    for path in (LIST, f"{LIST}{candidate.pk}/change/"):
        shown = boss.get(path).content.decode()
        assert "<script>alert(1)" not in shown
        assert "<b>s</b>" not in shown
        assert "\u202e" not in shown
    asked = boss.post(LIST, {"action": "dismiss_selected", "_selected_action": [candidate.pk]})
    assert "<script>alert(1)" not in asked.content.decode()


def test_it_is_for_superusers(two: list[Candidate]) -> None:
    clerk = Client()
    clerk.force_login(UserFactory.create(is_staff=True))
    assert clerk.get(LIST).status_code == 403
    assert clerk.post(LIST, {"action": "approve_selected", "_selected_action": [two[0].pk]}).status_code == 403
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 2
