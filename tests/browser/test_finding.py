"""From a search into the transcript, reading on by scrolling, and from a memory to where it came from."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import expect

from memories.models import Memory, Message
from tests.browser.conftest import House, Person
from tests.factories import MemoryFactory, MessageFactory, SessionFactory


def test_from_a_search_to_the_message_and_on(person: Callable[..., Person], house: House) -> None:
    someone = person()
    start = timezone.now() - timedelta(days=1)
    with house.store():
        session = SessionFactory.create(agent=someone.agent, title="Birds")
        for place in range(150):
            content = "Look, a kestrel!" if place == 75 else f"This is message {place}."
            MessageFactory.create(session=session, content=content, timestamp=start + timedelta(seconds=place))
    page = someone.open("/search/")
    page.get_by_role("textbox", name="Words").fill("kestrel")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".said mark")).to_have_text("kestrel")
    expect(page.locator(".beside").first).to_contain_text("This is message 74.")
    page.get_by_role("link", name="Open in").click()
    sought = page.locator(".turn.sought")
    expect(sought).to_contain_text("Look, a kestrel!")
    expect(sought).to_be_in_viewport()
    expect(page.locator("#talk").get_by_text("This is message 149.")).to_have_count(0)
    for _ in range(20):
        page.mouse.wheel(0, 4000)
        page.wait_for_timeout(100)
        if page.locator("#talk").get_by_text("This is message 149.").count():
            break
    expect(page.locator("#talk").get_by_text("This is message 149.")).to_be_visible()
    page.get_by_role("link", name="Earlier messages").click()
    expect(page.locator("#talk").get_by_text("This is message 0.")).to_be_attached()
    numbers = page.locator("#talk .turn").count()
    assert numbers == 150


def test_editing_a_memory_and_going_back(person: Callable[..., Person], house: House) -> None:
    someone = person()
    with house.store():
        message = MessageFactory.create(session=SessionFactory.create(agent=someone.agent, title="Breakfast"))
        memory = MemoryFactory.create(agent=someone.agent, content="Mara likes coffee.", message=message)
    page = someone.open("/memories/")
    page.get_by_role("link", name=f"Memory {memory.pk}").click()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text").fill("Mara likes tea.")
    page.get_by_label("Expires").fill("2031-05-01T10:30")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("del mark")).to_have_text("coffee")
    expect(page.locator("ins mark")).to_have_text("tea")
    page.get_by_role("button", name="Go back to revision 1").click()
    expect(page.locator(".text.whole").first).to_have_text("Mara likes coffee.")
    page.get_by_role("link", name="a message").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Breakfast")
    with house.store():
        assert Memory.objects.get(pk=memory.pk).revision == 3


def test_several_memories_at_once(person: Callable[..., Person], house: House) -> None:
    someone = person()
    with house.store():
        ids = [MemoryFactory.create(agent=someone.agent).pk for _ in range(3)]
    page = someone.open("/memories/")
    for memory_id in ids[:2]:
        page.get_by_label(f"Memory {memory_id}").check()
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_role("status")).to_contain_text("2 memories were archived.")
    expect(page.locator(".rows .row")).to_have_count(1)


def test_times_are_those_of_the_reader(person: Callable[..., Person], house: House) -> None:
    someone = person(timezone_id="Asia/Shanghai")
    with house.store():
        session = SessionFactory.create(agent=someone.agent)
        message = MessageFactory.create(session=session)
        Message.objects.filter(pk=message.pk).update(timestamp="2026-03-01T20:00:00Z")
    someone.open(f"/sessions/{session.pk}/")
    page = someone.open(f"/sessions/{session.pk}/")
    expect(page.locator(".turn time")).to_have_text("2026-03-02 04:00:00")
    expect(page.locator(".foot")).to_contain_text("Asia/Shanghai")
