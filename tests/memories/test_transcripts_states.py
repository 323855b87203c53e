"""Rewinding and compacting: states that are taken back, and nothing is deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories import audit
from memories.access import principal_of_token
from memories.errors import Conflict
from memories.models import AuditEntry, Message, Session, Token
from memories.transcripts import Said, compact, load, rewind, undo_compact, undo_rewind
from tests.factories import SessionFactory, make_token

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def session(agent: Any) -> Session:
    session = SessionFactory.create(agent=agent, external_id="a", started_at=NOON)
    load(session, [Said("user", str(number), external_id=f"m{number}") for number in range(6)], now=NOON)
    return session


def post(client: Any, verb: str, **body: Any) -> Any:
    return client.send("POST", f"/api/sessions/a/{verb}", body)


def shown(client: Any) -> str:
    """Return the session's messages in a line: those that were compacted away in brackets."""
    messages = client.get("/api/sessions/a/messages").json()["messages"]
    return " ".join(f"({one['content']})" if one["compacted"] else one["content"] for one in messages)


def count(client: Any) -> int:
    number = client.get("/api/sessions/a").json()["message_count"]
    assert number == len(client.get("/api/sessions/a/messages").json()["messages"])
    return number


def last_entry() -> AuditEntry:
    return AuditEntry.objects.latest("id")


# Rewinding


def test_rewinding_takes_out_what_stands_behind_a_message(api_client: Any, agent: Any, session: Session) -> None:
    response = post(api_client, "rewind", after_message="m3")

    assert response.status_code == 200
    answer = response.json()
    assert (answer["action"], answer["messages"], answer["session"]["message_count"]) == ("rewound", 2, 4)
    assert shown(api_client) == "0 1 2 3"
    assert count(api_client) == 4
    assert Message.objects.count() == 6
    entry = last_entry()
    assert (entry.verb, entry.actor, entry.target) == ("session.rewind", f"agent {agent.name}", f"session {session.pk}")
    assert (entry.counts, entry.workspace_id) == ({"rewound": 2}, agent.workspace_id)
    assert set(session.messages.filter(active=False).values_list("rewound_by", flat=True)) == {entry.pk}


def test_a_rewind_is_taken_back(api_client: Any, session: Session) -> None:
    post(api_client, "rewind", after_message="m3")
    post(api_client, "rewind", after_message="m1")
    load(session, [Said("user", "new")], now=NOON)
    assert shown(api_client) == "0 1 new"

    back = post(api_client, "rewind", undo=True)
    assert (back.json()["action"], back.json()["messages"]) == ("restored", 2)
    assert shown(api_client) == "0 1 2 3 new"
    assert last_entry().counts == {"restored": 2}
    post(api_client, "rewind", undo=True)
    assert shown(api_client) == "0 1 2 3 4 5 new"
    assert count(api_client) == 7
    nothing = post(api_client, "rewind", undo=True)
    assert (nothing.status_code, nothing.json()["error"]["code"]) == (409, "nothing_to_undo")


def test_a_message_is_named_by_its_id_or_its_external_id(api_client: Any, session: Session) -> None:
    third = session.messages.get(external_id="m3")
    assert post(api_client, "rewind", after_message=third.pk).json()["messages"] == 2
    assert post(api_client, "rewind", after_message="m1").json()["messages"] == 2
    # A text is an external id even if it looks like a number.
    assert post(api_client, "rewind", after_message=str(third.pk)).status_code == 404
    unknown = post(api_client, "rewind", after_message=10**15)
    assert (unknown.status_code, unknown.json()["error"]["field"]) == (404, "after_message")


def test_rewinding_to_the_last_message_changes_nothing(api_client: Any, session: Session) -> None:
    before = AuditEntry.objects.count()
    answer = post(api_client, "rewind", after_message="m5").json()

    assert (answer["action"], answer["messages"]) == ("unchanged", 0)
    assert AuditEntry.objects.count() == before


def test_what_is_not_live_is_no_place_to_go_back_to(api_client: Any, session: Session) -> None:
    post(api_client, "rewind", after_message="m4")
    post(api_client, "compact", through_message="m1")
    for message, code in (("m5", "rewound"), ("m1", "compacted")):
        response = post(api_client, "rewind", after_message=message)
        assert (response.status_code, response.json()["error"]["code"]) == (409, code)
        assert "undo" in response.json()["error"]["message"]
    response = post(api_client, "compact", through_message="m5")
    assert (response.status_code, response.json()["error"]["code"]) == (409, "rewound")
    assert shown(api_client) == "(0) (1) 2 3 4"


def test_messages_of_the_same_moment_are_told_apart(api_client: Any, agent: Any) -> None:
    session = SessionFactory.create(agent=agent, external_id="a")
    load(session, [Said("user", letter, timestamp=NOON, external_id=letter) for letter in "abcd"], now=NOON)
    post(api_client, "rewind", after_message="c")
    assert shown(api_client) == "a b c"
    post(api_client, "compact", through_message="b")
    assert shown(api_client) == "(a) (b) c"


# Compacting


def test_compacting_marks_what_was_summarised(api_client: Any, session: Session) -> None:
    response = post(api_client, "compact", through_message="m3", summary="They counted to three.")

    answer = response.json()
    assert (response.status_code, answer["action"], answer["messages"]) == (200, "compacted", 4)
    assert shown(api_client) == "(0) (1) (2) (3) They counted to three. 4 5"
    assert count(api_client) == 7
    summary = session.messages.get(pk=answer["summary_id"])
    assert (summary.role, summary.display_kind, summary.trust) == ("system", "summary", "agent")
    assert last_entry().verb == "session.compact"
    assert last_entry().counts == {"compacted": 4, "summary_id": summary.pk}
    previews = api_client.get("/api/sessions/a/user-messages").json()["messages"]
    assert [one["preview"] for one in previews] == ["5", "4"]


def test_compacting_again_takes_the_summary_in(api_client: Any, session: Session) -> None:
    post(api_client, "compact", through_message="m1", summary="S1")
    post(api_client, "compact", through_message="m3", summary="S2")
    assert shown(api_client) == "(0) (1) (S1) (2) (3) S2 4 5"

    same = post(api_client, "compact", through_message="m2", summary="S3")
    assert (same.json()["action"], same.json()["summary_id"]) == ("unchanged", None)
    assert shown(api_client) == "(0) (1) (S1) (2) (3) S2 4 5"


def test_a_compaction_is_taken_back(api_client: Any, session: Session) -> None:
    post(api_client, "compact", through_message="m1", summary="S1")
    post(api_client, "compact", through_message="m3", summary="S2")
    back = post(api_client, "compact", undo=True)
    assert (back.json()["action"], back.json()["messages"]) == ("restored", 3)
    assert shown(api_client) == "(0) (1) S1 2 3 4 5"
    post(api_client, "compact", undo=True)
    assert shown(api_client) == "0 1 2 3 4 5"
    assert count(api_client) == 6
    assert Message.objects.count() == 8
    assert post(api_client, "compact", undo=True).json()["error"]["code"] == "nothing_to_undo"
    assert post(api_client, "rewind", undo=True).json()["error"]["code"] == "nothing_to_undo"


def test_a_summary_is_trusted_as_little_as_what_it_sums_up(session: Session, api_client: Any) -> None:
    load(session, [Said("user", "hello from outside", trust="stranger", external_id="s")], now=NOON)
    answer = post(api_client, "compact", through_message="s", summary="Somebody said hello.").json()

    assert session.messages.get(pk=answer["summary_id"]).trust == "stranger"


# Both together


def test_rewinding_over_a_compaction_and_back(api_client: Any, agent: Any) -> None:
    session = SessionFactory.create(agent=agent, external_id="a")
    load(session, [Said("user", letter, external_id=letter) for letter in "abc"], now=NOON)
    # As an importer brings it: the middle was summarised away, the beginning is live.
    load(session, [Said("user", "d", active=False, compacted=True), Said("user", "e", external_id="e")], now=NOON)
    assert shown(api_client) == "a b c (d) e"

    post(api_client, "rewind", after_message="b")
    assert shown(api_client) == "a b"
    post(api_client, "rewind", undo=True)
    assert shown(api_client) == "a b c (d) e"


def test_a_compaction_taken_back_while_its_messages_are_rewound(api_client: Any, session: Session) -> None:
    load(session, [Said("user", "early", timestamp=NOON - timedelta(days=1), external_id="e")], now=NOON)
    post(api_client, "compact", through_message="m2", summary="S")
    load(session, [Said("user", "earliest", timestamp=NOON - timedelta(days=2), external_id="f")], now=NOON)
    assert shown(api_client) == "earliest (early) (0) (1) (2) S 3 4 5"
    post(api_client, "rewind", after_message="f")
    assert shown(api_client) == "earliest"

    post(api_client, "compact", undo=True)
    assert shown(api_client) == "earliest"
    post(api_client, "rewind", undo=True)
    assert shown(api_client) == "earliest early 0 1 2 3 4 5"
    assert count(api_client) == 8


def test_another_sessions_acts_are_not_taken_back(api_client: Any, agent: Any, session: Session) -> None:
    other = SessionFactory.create(agent=agent, external_id="b")
    load(other, [Said("user", "x", external_id="x"), Said("user", "y")], now=NOON)
    api_client.send("POST", "/api/sessions/b/rewind", {"after_message": "x"})

    assert post(api_client, "rewind", undo=True).status_code == 409
    assert other.messages.filter(active=True).count() == 1


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 3)),
        st.tuples(st.sampled_from(["rewind", "compact"]), st.integers(0, 9)),
    ),
    max_size=7,
)


def state_of(session: Session) -> list[tuple[Any, ...]]:
    return list(session.messages.order_by("timestamp", "id").values_list("content", "active", "compacted"))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(before=ACTS, last=st.tuples(st.sampled_from(["rewind", "compact"]), st.integers(0, 9)))
def test_taking_an_act_back_leaves_what_was_before_it(agent: Any, before: Any, last: Any) -> None:
    make_token(agent)
    principal = principal_of_token(Token.objects.select_related("agent").latest("id"))
    session = SessionFactory.create(agent=agent)
    load(session, [Said("user", f"first {number}") for number in range(3)], now=NOON)

    def run(act: str, place: int) -> bool:
        """Return whether the act changed anything."""
        if act == "append":
            session.refresh_from_db()
            load(session, [Said("user", f"m {place}", timestamp=NOON + timedelta(seconds=place))], now=NOON)
            return True
        live = list(session.messages.filter(active=True).order_by("timestamp", "id"))
        if not live:
            return False
        anchor = live[place % len(live)].pk
        if act == "rewind":
            return rewind(principal, session.external_id, anchor, now=timezone.now()).messages > 0
        return compact(principal, session.external_id, anchor, now=timezone.now(), summary="S").messages > 0

    for act, place in before:
        run(act, place)
    rows, states = session.messages.count(), state_of(session)
    if run(*last):
        undo = undo_rewind if last[0] == "rewind" else undo_compact
        undo(principal, session.external_id, now=timezone.now())
    session.refresh_from_db()

    after = state_of(session)
    assert session.messages.count() >= rows  # nothing is deleted
    for withdrawn in [one for one in after if one == ("S", False, False)][states.count(("S", False, False)) :]:
        after.remove(withdrawn)
    assert sorted(after) == sorted(states)
    assert session.message_count == session.messages.exclude(active=False, compacted=False).count()


def test_the_log_stays_whole(api_client: Any, session: Session) -> None:
    post(api_client, "compact", through_message="m1", summary="a secret summary")
    post(api_client, "rewind", after_message="m3")
    post(api_client, "rewind", undo=True)
    post(api_client, "compact", undo=True)

    assert audit.verify().broken_at is None
    entries = AuditEntry.objects.filter(verb__startswith="session.").order_by("id")
    assert [(entry.verb, *entry.counts) for entry in entries] == [
        ("session.compact", "compacted", "summary_id"),
        ("session.rewind", "rewound"),
        ("session.rewind", "restored"),
        ("session.compact", "restored"),
    ]
    assert not [entry for entry in entries if "secret" in f"{entry.counts} {entry.result} {entry.target}"]


def test_a_refused_act_leaves_no_trace(session: Session, agent: Any) -> None:
    make_token(agent)
    principal = principal_of_token(Token.objects.select_related("agent").latest("id"))
    entries = AuditEntry.objects.count()
    with pytest.raises(Conflict):
        undo_compact(principal, "a", now=NOON)
    assert AuditEntry.objects.count() == entries
