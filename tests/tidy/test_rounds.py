"""A round: what it proposes, withdraws and applies, and that it can be interrupted anywhere."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memories import revisions
from memories.access import Actor
from memories.models import Memory, Status
from tests.factories import AgentFactory, MemoryFactory
from tests.tidy.rounds import NOW, pending, run, settings_file
from tidy import rounds
from tidy.models import Candidate, Looked, PairingKey, Round

pytestmark = pytest.mark.django_db


def test_equal_texts_become_one_and_the_other_stays_readable(agent: Any) -> None:
    first = MemoryFactory.create(agent=agent, content="The API runs on port 8080.")
    second = MemoryFactory.create(agent=agent, content="the API runs on port 8080")
    run()

    (candidate,) = Candidate.objects.all()
    assert (candidate.action, candidate.auto_reason, candidate.auto) == (
        "merge",
        "fact_equivalent_high_similarity",
        True,
    )
    source, target = Memory.objects.get(status=Status.MERGED), Memory.objects.get(status=Status.ACTIVE)
    assert {source.pk, target.pk} == {first.pk, second.pk}
    assert (source.merged_into_id, source.updated_at) == (target.pk, source.created_at)
    assert target == first, "the longer one stays"


def test_what_a_person_has_to_decide_waits(agent: Any) -> None:
    MemoryFactory.create(agent=agent, content="Mara works at Acme.")
    MemoryFactory.create(agent=agent, content="Mara works at Acme in Bonn.")
    MemoryFactory.create(agent=agent, content="Das Limit ist 5 MB.")
    MemoryFactory.create(agent=agent, content="Das Limit ist 5 GB.")
    run()

    assert sorted((one.action, one.reason, one.auto_reason) for one in pending()) == [
        ("link", "contradiction", None),
        ("merge", "contained", None),
    ]
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 4


def test_partitions_and_subjects_are_never_mixed(agent: Any) -> None:
    other = AgentFactory.create(workspace=agent.workspace)
    text = "The build server is called Thistle."
    MemoryFactory.create(agent=agent, content=text, subject="Nils")
    MemoryFactory.create(agent=agent, content=text, subject="Lena")
    MemoryFactory.create(agent=other, content=text, subject="Nils")
    MemoryFactory.create(agent=agent, content=text, subject="Nils", scope="shared")
    MemoryFactory.create(content=text, subject="Nils", scope="shared")
    run()

    assert not Candidate.objects.exists()


def test_many_equal_ones_go_into_one(agent: Any) -> None:
    for number in range(30):
        MemoryFactory.create(agent=agent, content="The kettle is red.", importance=4 if number == 17 else 3)
    best = Memory.objects.get(importance=4)
    for _ in range(3):
        run()

    assert list(Memory.objects.filter(status=Status.ACTIVE)) == [best]
    assert not pending().exists()


def test_a_copy_that_comes_late_finds_the_one_that_stayed(agent: Any) -> None:
    for number in range(25):
        MemoryFactory.create(agent=agent, content="The kettle is red.", importance=4 if number == 24 else 3)
    for hour in range(6):
        run(NOW + timedelta(hours=hour))
    assert Memory.objects.get(status=Status.ACTIVE).importance == 4
    late = MemoryFactory.create(agent=agent, content="the kettle is red")
    run(NOW + timedelta(hours=7))
    late.refresh_from_db()
    assert late.status == Status.MERGED
    assert PairingKey.objects.values("memory").distinct().count() == 1


def test_a_past_event_is_archived_and_a_habit_is_not(agent: Any) -> None:
    event = MemoryFactory.create(agent=agent, content="Greta cooked risotto on 3 May 2026.")
    habit = MemoryFactory.create(agent=agent, content="Greta cooks risotto at 18:30.")
    recent = MemoryFactory.create(agent=agent, content="Greta cooked goulash on 25 November 2026.")
    run()

    states = dict(Memory.objects.values_list("pk", "status"))
    assert states == {event.pk: Status.ARCHIVED, habit.pk: Status.ACTIVE, recent.pk: Status.ACTIVE}
    assert Memory.objects.get(pk=event.pk).archive_reason == "one_off_event"
    run(NOW + timedelta(days=20))
    assert Memory.objects.get(pk=recent.pk).status == Status.ARCHIVED


def test_a_task_remembered_as_something_else_is_reclassified(agent: Any) -> None:
    task = MemoryFactory.create(agent=agent, content="TODO: water the ficus", kind="observation")
    decision = MemoryFactory.create(agent=agent, content="We decided to paint the shed green.", kind="observation")
    run()

    assert Memory.objects.get(pk=task.pk).kind == "task"
    assert Memory.objects.get(pk=decision.pk).kind == "observation"
    (open_one,) = pending()
    assert (open_one.action, open_one.evidence["kind_after"]) == ("reclassify", "decision")


def test_expired_and_decayed_ones_are_for_people(agent: Any) -> None:
    long_ago = NOW - timedelta(days=200)
    MemoryFactory.create(agent=agent, content="Parking is free", expires_at=NOW - timedelta(days=1), now=long_ago)
    MemoryFactory.create(agent=agent, content="The lamp hums", importance=2, now=long_ago)
    MemoryFactory.create(agent=agent, content="The lamp is green", importance=3, now=long_ago)
    run()

    assert sorted(one.reason for one in pending()) == ["decayed", "expired"]
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 3
    revisions.mark_seen(Memory.objects.get(content="The lamp hums"), now=NOW + timedelta(hours=1))
    run(NOW + timedelta(hours=2))
    assert [one.reason for one in pending()] == ["expired"]


def test_nothing_is_proposed_twice_and_a_changed_text_is_looked_at_again(agent: Any) -> None:
    MemoryFactory.create(agent=agent, content="Mara works at Acme.")
    longer = MemoryFactory.create(agent=agent, content="Mara works at Acme in Bonn.")
    run()
    run()
    assert Candidate.objects.count() == 1

    revisions.change(longer, {"content": "Mara works at Acme in Ulm."}, by=Actor("test"), now=NOW, verb="revise")
    run()
    assert sorted(Candidate.objects.values_list("status", flat=True)) == ["pending", "withdrawn"]
    assert pending().get().evidence["seen"][1]["text"] == "Mara works at Acme in Ulm."


def test_switched_off_nothing_is_applied_and_nothing_looked_up(agent: Any, django_assert_num_queries: Any) -> None:
    settings_file('{"autoApply": false}')
    for _ in range(2):
        MemoryFactory.create(agent=agent, content="The kettle is red.")
    run()

    assert pending().get().auto_reason == "literal_duplicate"
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 2
    from tidy import auto, config

    with django_assert_num_queries(0):
        assert auto.auto_apply(config.read().config, round=None, now=NOW) is None


def test_a_round_stops_at_its_limit_of_candidates_and_the_next_goes_on(agent: Any) -> None:
    settings_file('{"candidateLimit": 1, "autoApply": false}')
    for number in range(60):
        MemoryFactory.create(agent=agent, content=f"The kettle number {number} is red.")
        MemoryFactory.create(agent=agent, content=f"the kettle number {number} is red")
    first = run()
    assert (first.candidates_truncated, Candidate.objects.count() < 60) == (True, True)
    settings_file('{"autoApply": false}')
    run()
    assert Candidate.objects.filter(action="merge").count() == 60


def test_a_round_stops_at_its_limit_of_memories(agent: Any) -> None:
    settings_file('{"roundScanLimit": 50}')
    for number in range(80):
        MemoryFactory.create(agent=agent, content=f"Shelf {number} is full.")
    assert run().scan_truncated
    assert Looked.objects.count() == 50
    assert not run().scan_truncated
    assert Looked.objects.count() == 80


def test_there_is_one_round_at_a_time_and_a_left_one_is_gone_on_with(agent: Any) -> None:
    MemoryFactory.create(agent=agent, content="Shelf 1 is full.")
    by = Actor("test")
    round = rounds.start(by=by, now=NOW)
    assert round is not None
    assert rounds.start(by=by, now=NOW) is None
    taken = rounds._take(round.pk, "somebody else", NOW)
    assert taken is not None

    assert rounds.work(round.pk, seconds=5, clock=lambda: NOW) is False
    later = NOW + rounds.LEASE + timedelta(seconds=1)
    assert rounds.work(round.pk, seconds=5, clock=lambda: later) is True
    assert Round.objects.get().state == "done"


def test_a_broken_file_of_settings_means_no_applying(agent: Any, caplog: Any) -> None:
    settings_file('{"autoApplyPerRound": 0}')
    for _ in range(2):
        MemoryFactory.create(agent=agent, content="The kettle is red.")
    run()
    assert pending().count() == 1
    assert "autoApplyPerRound" in caplog.text
