"""/indexes/ and index_status: what people see of the indexes, and what they can do to them."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ

from memories.access import Actor, create_token
from memories.models import AuditEntry
from memories.pages import CONTENT_SECURITY_POLICY
from memoryweb.models import Heartbeat
from search import maintenance
from search.corpora import MEMORIES
from search.models import IndexRun, IndexState
from search.status import statuses
from search.tasks import keep_indexes
from tests.conftest import ApiClient
from tests.factories import AgentFactory, MembershipFactory, MemoryFactory, UserFactory

pytestmark = pytest.mark.django_db
ROOM = "/indexes/"


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(UserFactory.create(superuser=True, username="root"))
    return client


def words() -> IndexState:
    return IndexState.objects.get(corpus="memories", kind="words")


def shown(client: Client, **headers: str) -> str:
    response = client.get(ROOM, headers=headers)
    assert response.status_code == 200
    assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    return unescape(response.content.decode())


def press(client: Client, verb: str, state: IndexState) -> str:
    response = client.post(f"{ROOM}{state.pk}/{verb}/", follow=True)
    assert response.redirect_chain == [(ROOM, 302)]
    return unescape(response.content.decode())


def test_each_index_is_shown_and_nothing_moves_while_nothing_is_built(boss: Client) -> None:
    page = shown(boss)
    assert page.count("<progress") == 4
    assert page.count('value="100"') == 4
    assert "hx-trigger" not in page


def test_a_rebuild_is_begun_watched_paused_and_finished(boss: Client) -> None:
    MemoryFactory.create(content="kestrel")
    page = press(boss, "rebuild", words())
    assert "The index memories words is being built anew." in page
    assert 'hx-trigger="every 2s"' in page
    assert "serves, a new one is built beside it" in page
    assert "0 of 1" in page

    assert "waits." in press(boss, "pause", words())
    assert "hx-trigger" not in shown(boss)
    keep_indexes()
    assert words().building == 2
    assert "goes on." in press(boss, "resume", words())
    keep_indexes()
    page = shown(boss)
    assert "hx-trigger" not in page
    assert "verified, and serving" in page
    assert "user root" in page
    verbs = list(AuditEntry.objects.order_by("pk").values_list("verb", flat=True))
    assert verbs == ["index.rebuild", "index.pause", "index.resume"]


def test_htmx_gets_the_moving_part_alone(boss: Client) -> None:
    part = shown(boss, **{"HX-Request": "true"})
    assert part.strip().startswith('<div id="moving"')
    assert "<html" not in part


def test_verify_and_optimize_say_what_came_of_it(boss: Client) -> None:
    MemoryFactory.create(content="kestrel")
    assert "The index memories words is sound: all 1 rows are in it." in press(boss, "verify", words())
    assert "The index memories words is merged." in press(boss, "optimize", words())
    assert "There was nothing to do for the index memories words." in press(boss, "pause", words())


def test_damage_is_said_in_words_and_shown_as_text(boss: Client) -> None:
    maintenance.detach(MEMORIES, "words", "<b>row\u202e 7</b>")
    raw = boss.get(ROOM).content.decode()
    assert "damaged; searches read the rows until it is built anew" in unescape(raw)
    assert "<b>row" not in raw
    assert "\u202e" not in raw


@pytest.mark.parametrize("verb", ["rebuild", "pause", "resume", "verify", "optimize"])
def test_it_is_for_the_superuser(boss: Client, verb: str) -> None:
    path = f"{ROOM}{words().pk}/{verb}/"
    member = Client()
    member.force_login(MembershipFactory.create(role="admin").user)
    assert member.get(ROOM).status_code == 403
    assert member.post(path).status_code == 403
    assert Client().post(path)["Location"].startswith("/login/")
    assert boss.get(path).status_code == 405
    assert boss.post(f"{ROOM}{words().pk}/explode/").status_code == 404
    assert boss.post(f"{ROOM}99999/{verb}/").status_code == 404
    checked = Client(enforce_csrf_checks=True)
    checked.force_login(UserFactory.create(superuser=True))
    assert checked.post(path).status_code == 403
    assert words().building is None


def test_rate_and_time_left_come_from_the_run() -> None:
    now = timezone.now()
    maintenance.rebuild(MEMORIES, "words")
    IndexState.objects.filter(pk=words().pk).update(build_progress=300, build_high_water=900)
    IndexRun.objects.update(started_at=now - timedelta(seconds=10))
    one = next(one for one in statuses(now=now) if one.pk == words().pk)
    assert (one.percent, one.filled, one.wanted, one.rate, one.left) == (33, 300, 900, 30.0, timedelta(seconds=20))
    maintenance.pause(MEMORIES, "words")
    one = next(one for one in statuses(now=now) if one.pk == words().pk)
    assert (one.rate, one.left, one.words) == (None, None, "building is paused")


def test_the_command_says_the_same_and_watching_ends(boss: Client, monkeypatch: Any) -> None:
    def said(*options: str) -> str:
        out = StringIO()
        call_command("index_status", *options, stdout=out)
        return out.getvalue()

    assert "memories words: serves, 100 %; needs nothing" in said()
    assert said("--watch") == said()
    maintenance.rebuild(MEMORIES, "words")
    assert "memories words: serves, a new one is built beside it, 99 %, 0 of 0 rows; needs nothing" in said()
    from search.management.commands import index_status

    monkeypatch.setattr(index_status.time, "sleep", lambda seconds: maintenance.fill(seconds=5))
    assert "memories words: serves, 100 %" in said("--watch")


def test_size_worker_and_waiting_tasks_are_shown(boss: Client) -> None:
    assert "The worker was never seen." in shown(boss)
    Heartbeat.objects.create(name="worker", at=timezone.now())
    MemoryFactory.create(content="kestrel")
    keep_indexes()
    page = shown(boss)
    assert "The worker works." in page
    assert "No task waits." in page
    assert re.search(r"<dt>size</dt><dd>[\d.]+\sKB, 1 part</dd>", page), page
    assert page.count("<dt>needs</dt><dd>nothing</dd>") == 4
    OrmQ.objects.create(key="memoryweb", payload="", lock=timezone.now() - timedelta(seconds=90))
    assert "The oldest waiting task has waited 90 s." in shown(boss)
    Heartbeat.objects.update(at=timezone.now() - timedelta(minutes=10))
    assert "The worker does not work" in shown(boss)


def test_programs_see_the_same(db: None) -> None:
    _, secret = create_token(AgentFactory.create(), actor=Actor("test"), instance=True)
    client = ApiClient(secret)
    MemoryFactory.create(content="kestrel")
    keep_indexes()
    answer = client.send("POST", "/api/indexes/memories/rebuild").json()
    one = next(index for index in answer["indexes"] if index["kind"] == "words")
    assert (one["building"], one["build_percent"], one["needs"], one["percent"]) == (2, 0, "nothing", 100)
    assert one["bytes"] > 0
    assert answer["oldest_task_seconds"] >= 0
    keep_indexes()
    runs = client.get("/api/indexes/runs", {"limit": 1}).json()
    assert (runs["runs"][0]["state"], runs["runs"][0]["corpus"]) == ("done", "memories")
    older = client.get("/api/indexes/runs", {"cursor": runs["next_cursor"]}).json()
    assert {run["id"] for run in older["runs"]} & {runs["runs"][0]["id"]} == set()
    assert client.get("/api/indexes/runs", {"cursor": "x"}).status_code == 422
    assert ApiClient(None).get("/api/indexes/runs").status_code == 401
