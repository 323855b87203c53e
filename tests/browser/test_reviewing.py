"""Reviewing in a browser: by mouse, by keyboard alone, and with scripts off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from memories import revisions
from memories.access import Actor
from memories.models import Memory
from tests.browser.conftest import House, Person
from tests.factories import CandidateFactory, MemoryFactory
from tests.memoryweb.running import wait_for
from tests.tidy.rounds import run
from tidy import rounds
from tidy.models import Candidate

People = Callable[..., Person]


@pytest.fixture
def reviewer(person: People, house: House) -> Person:
    """Somebody with three open candidates: to merge, to archive, and to archive."""
    someone = person()
    with house.store():
        MemoryFactory.create(agent=someone.agent, content="Mara works at Acme.")
        MemoryFactory.create(agent=someone.agent, content="Mara works at Acme in Bonn.")
        # The house's own worker may be in the middle of one: there is one round at a time.
        wait_for("no round", lambda: rounds.under_way() is None)
        run()
        for _ in range(2):
            CandidateFactory.create(memory=MemoryFactory.create(agent=someone.agent))
    return someone


def statuses(someone: Person) -> list[str]:
    with someone.house.store():
        rows = Candidate.objects.filter(workspace_id=someone.agent.workspace_id)
        return list(rows.order_by("-pk").values_list("status", flat=True))


def total(page: Page) -> Any:
    return page.locator("#total")


def test_by_mouse_a_row_is_swapped_in_place_and_undone(reviewer: Person) -> None:
    page = reviewer.open("/review/")
    expect(total(page)).to_have_text("3")
    merge = page.locator(".candidate").last
    expect(merge.locator("mark")).to_have_text(" in Bonn")
    merge.get_by_role("button", name="Approve").click()
    expect(merge.get_by_role("status")).to_contain_text("was applied.")
    expect(total(page)).to_have_text("2")
    assert statuses(reviewer) == ["pending", "pending", "applied"]
    merge.get_by_role("button", name="Revert").click()
    expect(merge.get_by_role("status")).to_contain_text("was reverted")
    assert statuses(reviewer) == ["pending", "pending", "reverted"]
    first = page.locator(".candidate").first
    first.get_by_label("Reason (optional)").fill("still true")
    first.get_by_role("button", name="Dismiss").click()
    expect(first).to_contain_text("still true")
    first.get_by_role("button", name="Open again").click()
    expect(first.get_by_role("button", name="Approve")).to_be_visible()


def test_what_recall_returns_is_shown_in_place(reviewer: Person) -> None:
    page = reviewer.open("/review/")
    merge = page.locator(".candidate").last
    merge.get_by_text("What recall returns before and after").click()
    expect(merge.locator(".recalls .gone").first).to_contain_text("no longer returned")
    assert statuses(reviewer) == ["pending"] * 3


def test_by_keyboard_alone(reviewer: Person) -> None:
    page = reviewer.open("/review/")
    page.keyboard.press("j")
    expect(page.locator(".candidate.current")).to_have_attribute(
        "id", page.locator(".candidate").first.get_attribute("id")
    )  # type: ignore[arg-type]
    page.keyboard.press("d")
    expect(page.locator(".candidate.current").get_by_role("status")).to_contain_text("was dismissed")
    expect(total(page)).to_have_text("2")
    page.keyboard.press("j")
    page.keyboard.press("a")
    expect(total(page)).to_have_text("1")
    assert statuses(reviewer) == ["dismissed", "applied", "pending"]
    said = page.locator(".candidate.current").get_by_role("status")
    expect(said).to_contain_text("was applied")
    page.keyboard.press("u")
    expect(said).to_contain_text("was reverted")
    page.keyboard.press("k")
    page.keyboard.press("u")
    expect(total(page)).to_have_text("2")
    assert statuses(reviewer) == ["pending", "reverted", "pending"]
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_have_attribute("open", "")
    # What is typed into a field is text.
    field = page.locator(".candidate").first.get_by_label("Reason (optional)")
    field.focus()
    page.keyboard.type("adjust")
    expect(field).to_have_value("adjust")
    assert statuses(reviewer) == ["pending", "reverted", "pending"]
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Candidate")


def test_with_scripts_off(person: People, house: House) -> None:
    someone = person(java_script_enabled=False)
    with house.store():
        CandidateFactory.create(memory=MemoryFactory.create(agent=someone.agent))
    page = someone.open("/review/")
    page.get_by_label("Reason (optional)").fill("over")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_contain_text("was applied.")
    expect(total(page)).to_have_text("0")
    page.get_by_label("Status").select_option("applied")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("button", name="Revert").click()
    expect(page.get_by_role("status")).to_contain_text("was reverted")
    page.get_by_label("Status").select_option("reverted")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator(".candidate")).to_have_count(1)
    page.get_by_label("Language").select_option("de")
    page.get_by_role("button", name="Change").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Durchsicht")
    with house.store():
        assert Memory.objects.get(workspace=someone.agent.workspace_id).status == "active"


def test_many_at_once_after_a_look_at_some(person: People, house: House) -> None:
    someone = person()
    with house.store():
        for _ in range(14):
            CandidateFactory.create(memory=MemoryFactory.create(agent=someone.agent))
    page = someone.open("/review/?reason=possible_event")
    page.locator(".bulk").get_by_role("link", name="approve").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("14")
    expect(page.locator(".candidate")).to_have_count(10)
    page.get_by_role("button", name="Yes, approve 14 candidates").click()
    expect(page.get_by_role("status")).to_contain_text("14 candidates were applied.")
    page.get_by_text("Revert all of it").click()
    page.get_by_role("button", name="Yes, revert 14 candidates").click()
    expect(page.get_by_role("status")).to_contain_text("14 candidates were reverted.")
    assert statuses(someone) == ["reverted"] * 14


def test_what_changed_while_the_page_was_open_is_left_alone_and_said(reviewer: Person, house: House) -> None:
    page = reviewer.open("/review/")
    with house.store():
        memory = Memory.objects.get(workspace=reviewer.agent.workspace_id, content="Mara works at Acme.")
        by = Actor("agent a")
        revisions.change(memory, {"content": "Mara left Acme."}, by=by, now=timezone.now(), verb="revise")
    merge = page.locator(".candidate").last
    merge.get_by_role("button", name="Approve").click()
    expect(merge.get_by_role("alert")).to_contain_text("a memory has changed since it was looked at")
    expect(merge).to_contain_text("It says now")
    expect(merge).to_contain_text("Mara left Acme.")
    expect(merge.get_by_role("button", name="Approve")).to_have_count(0)
    assert statuses(reviewer) == ["pending"] * 3


def test_somebody_else_at_the_same_one_is_seen(reviewer: Person, person: People) -> None:
    other = person(agent=reviewer.agent)
    page = reviewer.open("/review/")
    path = page.locator(".candidate").first.locator("a[data-open]").get_attribute("href")
    assert path is not None
    with reviewer.page.expect_response("**/review/looking/"):
        reviewer.open(path)
    expect(other.open("/review/").locator(".candidate").first.locator(".looking")).to_contain_text(reviewer.name)
