"""A rebuild started in a browser, and its bar seen moving to the end; a search goes on meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from memories.models import Message
from search import maintenance
from search.corpora import MESSAGES
from tests.browser.conftest import House, Person
from tests.factories import MessageFactory, SessionFactory

ROWS = 6_000


def test_a_rebuild_is_seen_to_its_end(person: Callable[..., Person], house: House) -> None:
    admin, reader = person(superuser=True), person()
    with house.store():
        session = SessionFactory.create(agent=reader.agent)
        first = MessageFactory.create(session=session, content="a kestrel over the harbour")
        plain = {"session": session, "workspace_id": session.workspace_id, "partition": session.partition}
        rows = [
            Message(role="user", content=f"number {n} " * 40, timestamp=first.timestamp, **plain) for n in range(ROWS)
        ]
        Message.objects.bulk_create(rows)
        before = maintenance.states(MESSAGES)["words"].generation
    page = admin.open("/indexes/")
    card = page.locator(".index", has=page.get_by_role("heading", name="messages words"))
    card.get_by_text("Build anew").click()
    card.get_by_role("button", name="Yes, build it anew").click()
    expect(page.get_by_role("status")).to_contain_text("is being built anew")
    bar = page.locator(".index", has=page.get_by_role("heading", name="messages words")).locator("progress")
    shown: set[int] = set()
    found = reader.open("/search/?q=kestrel&corpus=messages")
    for _ in range(600):
        shown.add(int(float(bar.get_attribute("value") or 0)))
        with house.store():
            now = maintenance.states(MESSAGES)["words"]
        if now.generation != before and now.building is None:
            break
        found.reload()
        expect(found.locator(".said mark")).to_have_text("kestrel")
        page.wait_for_timeout(50)
    assert now.generation != before, "it was not built in time"
    expect(bar).to_have_attribute("value", "100", timeout=15_000)
    shown.add(100)
    # Without anybody loading the page it says in the end that the new one serves, and stops asking.
    expect(page.locator("#moving[hx-get]")).to_have_count(0, timeout=15_000)
    expect(page.locator(".index", has=page.get_by_role("heading", name="messages words"))).to_contain_text(
        f"generation {now.generation}"
    )
    assert len(shown) >= 3, shown
    expect(page.get_by_role("row").nth(1)).to_contain_text("done")
