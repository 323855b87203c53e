"""Applying, dismissing, reverting: conditional, idempotent, soft, and all of it reversible."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from memories import remember, revisions
from memories.access import Actor, principal_of_token
from memories.models import Memory, Status, Token
from memories.recall import Filters, recall
from tests.factories import AgentFactory, CandidateFactory, MemoryFactory
from tests.tidy.rounds import NOW, pending, run, settings_file
from tidy import apply
from tidy.apply import Skip
from tidy.evidence import Evidence
from tidy.models import Candidate, CandidateMemory, PairingKey

BY = Actor("user rita", is_person=True)


@pytest.fixture
def contained(agent: Any) -> Candidate:
    MemoryFactory.create(agent=agent, content="Mara works at Acme.", key=None, tags=["job"])
    MemoryFactory.create(agent=agent, content="Mara works at Acme in Bonn.")
    run()
    return pending().get()


def change(memory: Memory, **fields: Any) -> None:
    memory.refresh_from_db()
    revisions.change(memory, fields, by=Actor("test"), now=NOW, verb="revise")


def source_of(candidate: Candidate) -> Memory:
    return candidate.memories.get(role="source").memory


@pytest.mark.django_db
def test_a_merge_is_soft_and_leaves_a_revision(contained: Candidate) -> None:
    before = source_of(contained)
    assert apply.apply(contained.pk, by=BY, now=NOW).is_done

    after = source_of(contained)
    assert (after.status, after.merged_into_id, after.merged_at) == ("merged", contained.target_id, NOW)
    assert (after.content, after.tags, after.updated_at, after.revision) == (
        *(before.content, before.tags, before.updated_at),
        before.revision + 1,
    )
    revision = after.revisions.get(number=after.revision)
    assert (revision.verb, revision.actor, revision.reason) == ("tidy.merge", "user rita", "contained")
    assert Memory.objects.get(pk=contained.target_id).revision == 1


@pytest.mark.django_db
def test_it_is_applied_once(contained: Candidate) -> None:
    assert apply.apply(contained.pk, by=BY, now=NOW).is_done
    again = apply.apply(contained.pk, by=BY, now=NOW)
    assert again.skip == Skip.ALREADY_APPLIED
    assert source_of(contained).revision == 2


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["source", "target"])
def test_it_refuses_what_has_changed(contained: Candidate, role: str) -> None:
    memory = contained.memories.get(role=role).memory
    change(memory, importance=5)
    outcome = apply.apply(contained.pk, by=BY, now=NOW)
    assert (outcome.skip, outcome.memories) == (Skip.STALE, (memory.pk,))
    assert not Memory.objects.filter(status=Status.MERGED).exists()


@pytest.mark.django_db
def test_it_refuses_a_target_that_is_no_longer_there(contained: Candidate) -> None:
    target = Memory.objects.get(pk=contained.target_id)
    change(target, status="archived", archived_at=NOW)
    assert apply.apply(contained.pk, by=BY, now=NOW).skip == Skip.INACTIVE_TARGET


@pytest.mark.django_db
def test_it_refuses_what_is_seen_by_others_by_now(contained: Candidate) -> None:
    change(source_of(contained), scope="shared")
    assert apply.apply(contained.pk, by=BY, now=NOW).skip == Skip.PARTITION_MISMATCH


@pytest.mark.django_db
def test_it_refuses_what_is_no_longer_open(contained: Candidate) -> None:
    assert apply.dismiss(contained.pk, by=BY, now=NOW, reason="not the same job").is_done
    assert apply.apply(contained.pk, by=BY, now=NOW).skip == Skip.NOT_PENDING
    assert apply.apply(10**6, by=BY, now=NOW).skip == Skip.NOT_FOUND
    assert apply.dismiss(10**6, by=BY, now=NOW).skip == Skip.NOT_FOUND
    assert apply.revert(10**6, by=BY, now=NOW).skip == Skip.NOT_FOUND


@pytest.mark.django_db
def test_a_revert_gives_back_the_row(contained: Candidate) -> None:
    before = Memory.objects.filter(pk=source_of(contained).pk).values().get()
    apply.apply(contained.pk, by=BY, now=NOW)
    assert apply.revert(contained.pk, by=BY, now=NOW + timedelta(days=1)).is_done

    after = Memory.objects.filter(pk=before["id"]).values().get()
    assert after == before | {"revision": before["revision"] + 2}
    assert apply.revert(contained.pk, by=BY, now=NOW).skip == Skip.NOT_APPLIED


@pytest.mark.django_db
def test_a_revert_refuses_what_was_changed_since(contained: Candidate) -> None:
    apply.apply(contained.pk, by=BY, now=NOW)
    source = source_of(contained)
    change(source, importance=1)
    outcome = apply.revert(contained.pk, by=BY, now=NOW)
    assert (outcome.skip, outcome.memories) == (Skip.CHANGED_SINCE, (source.pk,))
    assert source_of(contained).status == "merged"


@pytest.mark.django_db
def test_a_revert_refuses_where_the_key_is_taken_by_now(agent: Any) -> None:
    keyed = MemoryFactory.create(agent=agent, content="Parking was free.", key="parking")
    candidate = CandidateFactory.create(memory=keyed)
    assert apply.apply(candidate.pk, by=BY, now=NOW).is_done
    MemoryFactory.create(agent=agent, content="Parking costs 5 EUR.", key="parking")
    outcome = apply.revert(candidate.pk, by=BY, now=NOW)
    assert (outcome.skip, outcome.memories) == (Skip.KEY_TAKEN, (keyed.pk,))
    assert Candidate.objects.get().status == "applied"


@pytest.mark.django_db
def test_archived_events_leave_recall_and_are_found_by_search(agent: Any, api_client: Any) -> None:
    event = MemoryFactory.create(agent=agent, content="Greta cooked risotto on 3 May 2026.")
    run()
    assert api_client.get("/api/recall").json()["total"] == 0
    hits = api_client.get("/api/search/memories", {"q": "risotto"}).json()["results"]
    assert [(hit["id"], hit["status"]) for hit in hits] == [(event.pk, "archived")]


@pytest.mark.django_db
def test_an_erased_text_is_nowhere_in_the_evidence(contained: Candidate, agent: Any) -> None:
    source = source_of(contained)
    revisions.erase(source, by=BY, now=NOW, reason="secret")
    contained.refresh_from_db()
    stored = str(contained.evidence)
    assert "Mara works at Acme." not in stored
    assert contained.evidence["shared"] == contained.evidence["only_source"] == contained.evidence["why"] == []
    assert Evidence.model_validate(contained.evidence).sources[0].text == ""
    assert not PairingKey.objects.filter(memory=source).exists()
    assert apply.apply(contained.pk, by=BY, now=NOW).skip == Skip.STALE


TEXTS = (
    "The kettle is red.",
    "the kettle is red",
    "The kettle is red!",
    "Kettle is red.",
    "The kettle is red in summer.",
    "The kettle is not red.",
    "Nora has four goats.",
    "Nora has 4 goats.",
    "Nora has five goats.",
    "TODO: feed the goats",
    "Nora cooked soup on 3 May 2026.",
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["round", "approve", "dismiss", "revert", "edit", "write"]), st.integers(0, 20)),
    max_size=14,
)


class RoundTrip(TestCase):
    """Whatever is done: no text is lost, and taking all of it back gives the rows as they were."""

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.sampled_from(TEXTS), min_size=2, max_size=7), STEPS, st.randoms(use_true_random=False))
    def test_everything_can_be_taken_back(self, texts: list[str], steps: list[tuple[str, int]], pick: Any) -> None:
        settings_file("{}")
        agent = AgentFactory.create()
        for text in texts:
            MemoryFactory.create(agent=agent, content=text, now=NOW)
        start = {row["id"]: row for row in Memory.objects.values()}
        edited: set[int] = set()
        for step, number in steps:
            active = Memory.objects.filter(status=Status.ACTIVE).count()
            self._step(agent, step, number, edited)
            if step == "round":
                assert Memory.objects.filter(status=Status.ACTIVE).count() <= active
        for pk, row in start.items():
            assert Memory.objects.get(pk=pk).content == row["content"] or pk in edited
        applied = list(Candidate.objects.filter(status="applied"))
        pick.shuffle(applied)
        refused: set[int] = set()
        while applied:
            # What was built upon another one stands in its way, and is taken back in the same turn or the next.
            outcomes = {one: apply.revert(one.pk, by=BY, now=NOW) for one in applied}
            refused = {pk for outcome in outcomes.values() for pk in outcome.memories}
            left = [one for one, outcome in outcomes.items() if not outcome.is_done]
            if len(left) == len(applied):
                break
            applied = left
        else:
            refused = set()
        assert refused <= edited
        kept = (
            "status",
            "kind",
            "merged_into_id",
            "merged_at",
            "archived_at",
            "archive_reason",
            "content",
            "updated_at",
        )
        for row in Memory.objects.filter(pk__in=set(start) - edited).values():
            assert {name: row[name] for name in kept} == {name: start[row["id"]][name] for name in kept}
        if not edited:
            _, token = _token(agent)
            found = recall(principal_of_token(token), Filters(), limit=100, max_chars=10**6, now=NOW)
            ids = [one["id"] for one in found.memories if one["id"] in start]
            assert ids == sorted(start, reverse=True)

    def _step(self, agent: Any, step: str, number: int, edited: set[int]) -> None:
        candidates = list(Candidate.objects.order_by("pk"))
        if step == "round":
            run()
        elif step == "write":
            MemoryFactory.create(agent=agent, content=TEXTS[number % len(TEXTS)], now=NOW)
        elif step == "edit":
            memories = list(Memory.objects.order_by("pk"))
            memory = memories[number % len(memories)]
            change(memory, importance=1 + (memory.importance % 5), metadata={"edit": memory.revision})
            edited.add(memory.pk)
        elif candidates:
            act = {"approve": apply.apply, "dismiss": apply.dismiss, "revert": apply.revert}[step]
            act(candidates[number % len(candidates)].pk, by=BY, now=NOW)


def _token(agent: Any) -> tuple[str, Token]:
    from memories import access

    token, secret = access.create_token(agent, actor=Actor("test"))
    return secret, token


@pytest.mark.django_db
def test_a_forgotten_memory_is_left_alone(agent: Any, contained: Candidate) -> None:
    _, token = _token(agent)
    source = source_of(contained)
    remember.forget(principal_of_token(token), source.pk, now=NOW)
    assert apply.apply(contained.pk, by=BY, now=NOW).skip == Skip.STALE
    run()
    contained.refresh_from_db()
    assert contained.status == "withdrawn"
    assert CandidateMemory.objects.filter(candidate__status="pending").count() == 0
