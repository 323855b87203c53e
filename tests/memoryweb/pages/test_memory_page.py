"""One memory on a page: what it shows, and what can be done with it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memories import revisions
from memories.access import Actor
from memories.models import AuditEntry, Memory, Status
from tests.factories import CandidateFactory, MemoryFactory, MessageFactory, SessionFactory
from tests.memoryweb.pages.conftest import HOSTILE, HTMX, member, shown

pytestmark = pytest.mark.django_db
ADA = Actor("user ada", is_person=True)


def change(memory: Memory, **fields: Any) -> None:
    revisions.change(memory, fields, by=ADA, now=timezone.now(), verb="revise", reason="she said so")


def form_of(memory: Memory, **fields: Any) -> dict[str, Any]:
    values = {
        "revision": memory.revision,
        "content": memory.content,
        "subject": memory.subject,
        "key": memory.key or "",
        "kind": memory.kind,
        "tags": ", ".join(memory.tags),
        "importance": memory.importance,
    }
    return values | fields


def test_it_shows_text_fields_origin_and_history(agent: Any, reviewer: Client) -> None:
    message = MessageFactory.create(session=SessionFactory.create(agent=agent, title="Breakfast"))
    memory = MemoryFactory.create(
        agent=agent, content="Mara likes coffee.", subject="mara", tags=["food"], importance=5, message=message
    )
    change(memory, content="Mara likes tea.", importance=4)
    page = shown(reviewer, f"/memories/{memory.pk}/")
    assert "Mara likes tea." in page
    assert f'href="/sessions/{message.session_id}/?message={message.pk}#message-{message.pk}"' in page
    assert "Breakfast" in page
    assert "<mark>coffee</mark>" in page
    assert "<mark>tea</mark>" in page
    assert re.search(r"importance: <del>5</del> → <ins>4</ins>", " ".join(page.split()))
    assert "user ada" in page
    assert "she said so" in page


def test_it_shows_where_a_merged_one_went_and_what_it_took_in(agent: Any, reviewer: Client) -> None:
    target, source = MemoryFactory.create(agent=agent), MemoryFactory.create(agent=agent)
    fields = {"status": Status.MERGED.value, "merged_into_id": target.pk, "merged_at": timezone.now()}
    revisions.change(source, fields, by=ADA, now=timezone.now(), verb="tidy.merge")
    assert f'href="/memories/{target.pk}/">memory {target.pk}</a>' in shown(reviewer, f"/memories/{source.pk}/")
    assert f'href="/memories/{source.pk}/">memory {source.pk}</a>' in shown(reviewer, f"/memories/{target.pk}/")


def test_it_leads_to_proposals_about_it(agent: Any, reviewer: Client) -> None:
    memory = MemoryFactory.create(agent=agent)
    candidate = CandidateFactory.create(memory=memory)
    assert f'href="/review/{candidate.pk}/"' in shown(reviewer, f"/memories/{memory.pk}/")


def test_nothing_of_a_hostile_text_acts_or_hides(agent: Any, reviewer: Client) -> None:
    memory = MemoryFactory.create(agent=agent, content=HOSTILE, subject=HOSTILE[:200], tags=[HOSTILE[:100]])
    change(memory, content=f"{HOSTILE} again", metadata={HOSTILE: HOSTILE})
    raw = reviewer.get(f"/memories/{memory.pk}/").content.decode()
    assert "<script>alert" not in raw
    assert "<img" not in raw
    for mark in ("\u202e", "\u200b"):
        assert mark not in raw
    assert "\\u202e" in raw
    assert 'title="looks like another letter: cyrillic small letter a">\u0430</span>' in raw


def test_others_have_no_such_memory(agent: Any, stranger: Client, reader: Client) -> None:
    memory = MemoryFactory.create(agent=agent)
    for client in (stranger, reader):  # a reader sees what is shared
        assert client.get(f"/memories/{memory.pk}/").status_code == 404
        assert client.get(f"/memories/{memory.pk}/edit/").status_code == 404
        assert client.post(f"/memories/{memory.pk}/archive/").status_code == 404
    assert reader.get(f"/memories/{2**64}/").status_code == 404
    assert Client().get(f"/memories/{memory.pk}/")["Location"].startswith("/login/")


def test_a_reader_sees_what_is_shared_and_changes_nothing(agent: Any, reader: Client) -> None:
    memory = MemoryFactory.create(agent=agent, scope="shared")
    page = shown(reader, f"/memories/{memory.pk}/")
    assert "<button" not in page.split('<main id="main"')[1].split("</main>")[0]
    assert reader.get(f"/memories/{memory.pk}/edit/").status_code == 403
    reader.post(f"/memories/{memory.pk}/archive/")
    memory.refresh_from_db()
    assert memory.status == "active"


def test_editing_writes_a_revision(agent: Any, reviewer: Client) -> None:
    memory = MemoryFactory.create(agent=agent, content="Mara likes coffee.", metadata={"a": 1})
    fields = form_of(
        memory,
        content="Mara likes tea.\r\nA lot.",
        tags="food, morning ,",
        importance=5,
        pinned="on",
        key=" drink ",
        expires_at="2031-05-01T10:30",
        reason="heard it",
    )
    response = reviewer.post(f"/memories/{memory.pk}/edit/", fields)
    assert (response.status_code, response["Location"]) == (302, f"/memories/{memory.pk}/")
    memory.refresh_from_db()
    assert memory.content == "Mara likes tea.\nA lot."
    assert (memory.tags, memory.importance, memory.pinned, memory.key) == (["food", "morning"], 5, True, "drink")
    assert memory.expires_at == datetime(2031, 5, 1, 10, 30, tzinfo=UTC)
    assert memory.metadata == {"a": 1}
    last = memory.revisions.get(number=2)
    assert (last.verb, last.reason) == ("revise", "heard it")
    assert last.actor.startswith("user ")
    assert "has revision 2 now" in shown(reviewer, f"/memories/{memory.pk}/")


def test_a_form_sent_back_as_it_was_changes_nothing(agent: Any, reviewer: Client) -> None:
    expires = timezone.now() + timedelta(days=3)
    memory = MemoryFactory.create(agent=agent, expires_at=expires, tags=["a", "b"], content=" spaced\n\nout ")
    page = reviewer.get(f"/memories/{memory.pk}/edit/").context["form"]
    fields = {name: page[name].value() for name in page.fields if page[name].value() not in (None, False)}
    reviewer.post(f"/memories/{memory.pk}/edit/", fields)
    memory.refresh_from_db()
    assert (memory.revision, memory.expires_at) == (1, expires)


def test_times_are_read_in_the_readers_zone(agent: Any, reviewer: Client) -> None:
    memory = MemoryFactory.create(agent=agent)
    reviewer.cookies["zone"] = "Asia/Shanghai"
    reviewer.post(f"/memories/{memory.pk}/edit/", form_of(memory, expires_at="2031-05-01T10:30"))
    memory.refresh_from_db()
    assert memory.expires_at == datetime(2031, 5, 1, 2, 30, tzinfo=UTC)
    assert "2031-05-01 10:30" in shown(reviewer, f"/memories/{memory.pk}/")


def test_what_was_changed_meanwhile_is_shown_and_not_overwritten(agent: Any, reviewer: Client) -> None:
    memory = MemoryFactory.create(agent=agent, content="Mara likes coffee.")
    fields = form_of(memory, content="Mara likes milk.")
    change(memory, content="Mara likes tea.")
    response = reviewer.post(f"/memories/{memory.pk}/edit/", fields)
    assert response.status_code == 412
    page = response.content.decode()
    assert "changed by somebody else meanwhile" in page
    assert "Mara likes tea." in page
    assert "Mara likes milk." in page
    assert f'name="revision" value="{memory.revision}"' in page
    memory.refresh_from_db()
    assert memory.content == "Mara likes tea."
    reviewer.post(f"/memories/{memory.pk}/edit/", fields | {"revision": memory.revision})
    memory.refresh_from_db()
    assert memory.content == "Mara likes milk."


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", "  "),
        ("content", "x" * 100_001),
        ("importance", "6"),
        ("importance", "many"),
        ("kind", "feeling"),
        ("subject", "x" * 201),
        ("key", "a\x07b"),
        ("tags", "x" * 101),
        ("tags", ",".join(map(str, range(51)))),
        ("expires_at", "tomorrow"),
        ("revision", "0"),
        ("reason", "x" * 201),
    ],
)
def test_bad_values_are_named_and_nothing_is_written(agent: Any, reviewer: Client, field: str, value: str) -> None:
    memory = MemoryFactory.create(agent=agent, content="Mara likes coffee.")
    response = reviewer.post(f"/memories/{memory.pk}/edit/", form_of(memory, **{field: value}))
    assert response.status_code == 422
    assert field in response.context["form"].errors
    memory.refresh_from_db()
    assert memory.revision == 1


def test_a_taken_key_is_said(agent: Any, reviewer: Client) -> None:
    MemoryFactory.create(agent=agent, key="drink")
    memory = MemoryFactory.create(agent=agent)
    response = reviewer.post(f"/memories/{memory.pk}/edit/", form_of(memory, key="drink"))
    assert response.status_code == 422
    assert "Another memory has this key." in response.content.decode()


def test_archive_and_restore(agent: Any, reviewer: Client) -> None:
    memory = MemoryFactory.create(agent=agent)
    reviewer.post(f"/memories/{memory.pk}/archive/", {"seen": 1, "reason": "old"})
    memory.refresh_from_db()
    assert (memory.status, memory.archive_reason) == ("archived", "old")
    assert reviewer.get(f"/memories/{memory.pk}/edit/").status_code == 302
    page = shown(reviewer, f"/memories/{memory.pk}/")
    assert "restore it first" in page
    assert "Make active again" in page
    reviewer.post(f"/memories/{memory.pk}/restore/", {"seen": 2})
    memory.refresh_from_db()
    assert memory.status == "active"


def test_an_act_on_another_revision_than_was_seen_is_refused(agent: Any, reviewer: Client) -> None:
    memory = MemoryFactory.create(agent=agent)
    change(memory, content="newer")
    reviewer.post(f"/memories/{memory.pk}/archive/", {"seen": 1})
    assert "changed by somebody else meanwhile" in shown(reviewer, f"/memories/{memory.pk}/")
    memory.refresh_from_db()
    assert memory.status == "active"


def test_it_goes_back_to_any_revision(agent: Any, reviewer: Client) -> None:
    memory = MemoryFactory.create(agent=agent, content="one")
    for content in ("two", "three"):
        change(memory, content=content)
    assert "Go back to revision 1" in shown(reviewer, f"/memories/{memory.pk}/")
    reviewer.post(f"/memories/{memory.pk}/restore/", {"seen": 3, "revision": 1})
    memory.refresh_from_db()
    assert (memory.content, memory.revision) == ("one", 4)
    reviewer.post(f"/memories/{memory.pk}/restore/", {"revision": 99})
    assert memory.revisions.count() == 4


def test_erase_wants_an_admin_a_reason_and_the_number(agent: Any, reviewer: Client, admin: Client) -> None:
    memory = MemoryFactory.create(agent=agent, content="the password is swordfish")
    typed = {"typed": str(memory.pk), "reason": "a secret"}
    assert "Erase for ever" not in shown(reviewer, f"/memories/{memory.pk}/")
    reviewer.post(f"/memories/{memory.pk}/erase/", typed)
    admin.post(f"/memories/{memory.pk}/erase/", typed | {"typed": "yes"})
    admin.post(f"/memories/{memory.pk}/erase/", typed | {"reason": ""})
    memory.refresh_from_db()
    assert "swordfish" in memory.content
    admin.post(f"/memories/{memory.pk}/erase/", typed)
    memory.refresh_from_db()
    assert (memory.status, memory.content) == ("erased", "")
    page = shown(admin, f"/memories/{memory.pk}/")
    assert "swordfish" not in page
    assert AuditEntry.objects.filter(verb="memory.erase", target=f"memory {memory.pk}").exists()
    assert "Go back to revision" not in page


def test_a_long_history_comes_in_parts(agent: Any, reviewer: Client, django_assert_max_num_queries: Any) -> None:
    memory = MemoryFactory.create(agent=agent, content="text 0")
    for number in range(1, 45):
        change(memory, content=f"text {number}")
    with django_assert_max_num_queries(20):
        page = shown(reviewer, f"/memories/{memory.pk}/")
    assert page.count('id="revision-') == 20
    more = reviewer.get(f"/memories/{memory.pk}/?before=26", headers=HTMX).content.decode()
    assert "<html" not in more
    assert 'id="revision-25"' in more
    assert 'id="revision-26"' not in more
    assert 'id="revision-1"' in shown(reviewer, f"/memories/{memory.pk}/?before=6")
    assert reviewer.get(f"/memories/{memory.pk}/?before=-1e9").status_code == 200


def test_methods(agent: Any, admin: Client) -> None:
    memory = MemoryFactory.create(agent=agent)
    assert admin.post(f"/memories/{memory.pk}/").status_code == 405
    assert admin.get(f"/memories/{memory.pk}/archive/").status_code == 405
    assert admin.post(f"/memories/{memory.pk}/explode/").status_code == 404
    assert member(agent).delete(f"/memories/{memory.pk}/edit/").status_code == 405
