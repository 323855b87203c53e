"""The first page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryweb.models import Heartbeat
from memoryweb.pages.charts import Bar, bars, columns
from search import maintenance
from search.corpora import MEMORIES
from tests.conftest import ApiClient
from tests.factories import CandidateFactory, MemoryFactory
from tests.memoryweb.pages.conftest import shown

pytestmark = pytest.mark.django_db


def test_it_counts_what_there_is(agent: Any, reviewer: Client) -> None:
    for kind in ("fact", "fact", "task"):
        MemoryFactory.create(agent=agent, kind=kind)
    for auto, status in ((True, "applied"), (True, "reverted"), (False, "applied")):
        memory = MemoryFactory.create(agent=agent, status="archived", archived_at=timezone.now())
        CandidateFactory.create(memory=memory, auto=auto, status=status, reason="one_off_event")
    CandidateFactory.create(memory=MemoryFactory.create(agent=agent))
    MemoryFactory.create(kind="contact")
    page = shown(reviewer, "/")
    assert '<p class="figure"><a href="/memories/">4</a></p>' in page
    assert '<p class="figure"><a href="/review/">1</a></p>' in page
    assert "fact: 2; task: 1" in page or "fact: 2; observation: 1; task: 1" in page
    assert "active: 4; archived: 3" in page
    assert "an event that is over: 1 / 1" in page
    assert '<a href="/review/?reason=possible_event">it may be an event that is over</a>' in page
    assert "contact" not in page
    today = timezone.localdate()
    assert f"{today:%m-%d}: 7" in page


def test_a_reader_sees_no_proposals_and_only_what_is_shared(agent: Any, reader: Client) -> None:
    CandidateFactory.create(memory=MemoryFactory.create(agent=agent))
    MemoryFactory.create(agent=agent, scope="shared")
    page = shown(reader, "/")
    assert '<p class="figure"><a href="/memories/">1</a></p>' in page
    assert "Waiting for people" not in page
    assert ">Review</a>" not in page


def test_it_tells_how_worker_and_indexes_are(agent: Any, reviewer: Client) -> None:
    assert "was never seen" in shown(reviewer, "/")
    Heartbeat.objects.create(name="worker", at=timezone.now())
    assert "works</p>" in shown(reviewer, "/")
    MemoryFactory.create(agent=agent)
    maintenance.detach(MEMORIES, "words", "for a test")
    assert 'class="figure bad' in shown(reviewer, "/")


def test_it_tells_how_long_answers_take(agent: Any, reviewer: Client, api_client: ApiClient) -> None:
    api_client.get("/api/recall")
    api_client.get("/api/search/memories?q=kestrel")
    page = shown(reviewer, "/")
    assert '<th scope="row">recall</th>' in page
    assert '<th scope="row">search in memories</th>' in page
    assert re.search(r"≤ [\d.]+ ms", page)


def test_strangers_and_methods(agent: Any, stranger: Client) -> None:
    assert stranger.get(f"/?workspace={agent.workspace_id}").status_code == 404
    assert Client().get("/")["Location"] == "/login/?next=/"
    assert stranger.post("/").status_code == 405


def test_it_takes_few_queries(agent: Any, reviewer: Client, django_assert_max_num_queries: Any) -> None:
    for number in range(30):
        CandidateFactory.create(memory=MemoryFactory.create(agent=agent, subject=str(number)))
    with django_assert_max_num_queries(25):
        reviewer.get("/")


def test_charts_can_be_read_without_seeing_them() -> None:
    drawn = bars("How many <b>", [Bar("<i>tea</i>", 1200, 3), Bar("milk", 0)], name="drinks")
    assert 'role="img" aria-labelledby="drinks-title drinks-said"' in drawn
    assert '<title id="drinks-title">How many &lt;b&gt;</title>' in drawn
    assert "&lt;i&gt;tea&lt;/i&gt;: 1,200 / 3; milk: 0" in drawn
    assert "<i>" not in drawn
    empty = columns("Nothing", [], name="empty")
    assert "<svg" in empty
    assert "nan" not in empty.lower()


def test_numbers_are_grouped_as_the_reader_does(agent: Any, reviewer: Client) -> None:
    drawn = bars("Tee", [Bar("Tee", 1234567)], name="tea")
    assert "1,234,567" in drawn
    from django.utils import translation

    with translation.override("de"):
        drawn = bars("Tee", [Bar("Tee", 1234567, 1)], name="tea")
    assert "1.234.567" in drawn
    assert not re.search(r'(x|y|width)="[\d]*,', drawn), "a coordinate has a point in every language"
