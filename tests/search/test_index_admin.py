"""The indexes in the admin: how far each is, and the buttons."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.test import Client

from memories.models import AuditEntry
from search.models import IndexRun, IndexState
from search.tasks import keep_indexes
from tests.factories import MemoryFactory, UserFactory
from tests.search.indexes import sound

LIST = "/admin/search/indexstate/"


@pytest.fixture
def boss(db: None) -> Client:
    client = Client()
    client.force_login(UserFactory.create(superuser=True, username="root"))
    return client


def words() -> IndexState:
    return IndexState.objects.get(corpus="memories", kind="words")


def press(client: Client, button: str, state: IndexState) -> str:
    response = client.post(f"{LIST}{state.pk}/{button}/", follow=True)
    assert response.redirect_chain == [(f"{LIST}{state.pk}/change/", 302)]
    return unescape(response.content.decode())


def test_the_list_shows_how_far_each_is(boss: Client) -> None:
    IndexState.objects.filter(pk=words().pk).update(state="building", progress=30, high_water=40)
    shown = unescape(boss.get(LIST).content.decode())

    assert shown.count("<progress") == 4
    assert '<progress max="100" value="75"></progress> 75 %' in shown
    assert "being filled" in shown


def test_an_index_is_built_anew_at_the_press_of_a_button(boss: Client) -> None:
    MemoryFactory.create(content="kestrel")
    before = words()
    assert "is being built anew" in press(boss, "rebuild", before)

    after = words()
    assert (after.generation, after.state, after.building) == (before.generation, "ready", before.generation + 1)
    assert "beside the one that serves" in boss.get(LIST).content.decode()
    keep_indexes()
    assert (words().generation, words().building, words().percent) == (before.generation + 1, None, 100)
    run = IndexRun.objects.get(corpus="memories", kind="words")
    assert (run.state, run.started_by, run.rows) == ("done", "user root", 1)
    assert "verified, and serving" in boss.get("/admin/search/indexrun/").content.decode()
    assert sound()
    entry = AuditEntry.objects.get(verb="index.rebuild")
    assert (entry.actor, entry.target) == ("user root", "index memories words")


def test_building_is_paused_and_goes_on(boss: Client) -> None:
    MemoryFactory.create(content="kestrel")
    assert "Nothing is being built." in press(boss, "pause", words())
    press(boss, "rebuild", words())
    assert "The building waits." in press(boss, "pause", words())
    keep_indexes()
    assert (words().building, words().paused) == (2, True)
    assert "Go on" in boss.get(f"{LIST}{words().pk}/change/").content.decode()
    assert "The building goes on." in press(boss, "resume", words())
    keep_indexes()
    assert (words().generation, words().building) == (2, None)


def test_selected_indexes_are_built_anew(boss: Client) -> None:
    before = {state.pk: state.generation for state in IndexState.objects.all()}
    chosen = sorted(before)[:2]
    boss.post(LIST, {"action": "rebuild_selected", "_selected_action": chosen}, follow=True)

    keep_indexes()
    after = {state.pk: state.generation for state in IndexState.objects.all()}
    assert after == {pk: number + (pk in chosen) for pk, number in before.items()}


def test_verify_and_optimize_say_what_came_of_it(boss: Client) -> None:
    MemoryFactory.create(content="kestrel")
    assert "The index is sound: all 1 rows are in it." in press(boss, "verify", words())
    assert "The index is merged." in press(boss, "optimize", words())

    assert "sound: all 1 rows" in boss.get(f"{LIST}{words().pk}/change/").content.decode()
    assert set(AuditEntry.objects.values_list("verb", flat=True)) == {"index.verify", "index.optimize"}


def test_errors_are_shown_as_text(boss: Client) -> None:
    IndexState.objects.update(last_error="<b>row\u202e 7</b>", verified="<i>bad</i>")
    for path in (LIST, f"{LIST}{words().pk}/change/"):
        shown = boss.get(path).content.decode()
        assert "<b>row" not in shown
        assert "<i>bad" not in shown
        assert "\u202e" not in shown


@pytest.mark.parametrize("button", ["rebuild", "pause", "resume", "verify", "optimize"])
def test_a_button_is_for_superusers_and_for_pressing(boss: Client, button: str) -> None:
    path, before = f"{LIST}{words().pk}/{button}/", words().generation
    assert boss.get(path).status_code == 405
    assert boss.post(f"{LIST}9999/{button}/").status_code == 404
    clerk = Client()
    clerk.force_login(UserFactory.create(is_staff=True))
    assert clerk.post(path).status_code == 403
    assert Client().post(path).status_code == 302
    assert Client(enforce_csrf_checks=True).post(path).status_code in (302, 403)

    assert words().generation == before
    assert not AuditEntry.objects.exists()


def test_nothing_is_added_or_deleted_there(boss: Client) -> None:
    assert boss.get(f"{LIST}add/").status_code == 403
    assert boss.post(f"{LIST}{words().pk}/delete/", {"post": "yes"}).status_code == 403
    data: dict[str, Any] = {"state": "stale"}
    assert boss.post(f"{LIST}{words().pk}/change/", data).status_code == 403
    assert words().state == "ready"
