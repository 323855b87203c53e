"""Whatever is done to memories, counts, tags and history tell the truth afterwards."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories import revisions
from memories.access import Actor, Principal, create_token, principal_of_member, principal_of_token
from memories.errors import Refused
from memories.models import ActiveCount, Memory, MemoryTag, Revision, Source, Status
from memories.remember import erase, forget, remember, restore, revise
from memories.revisions import FIELDS, TEXT_FIELDS, state_at
from memories.schemas import MemoryIn
from tests.factories import AgentFactory, MembershipFactory, WorkspaceFactory

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
EXAMPLES = 500 if os.environ.get("MEMORYWEB_LONG") else 100

# Few values, so that equal texts, taken keys and changes back to what was are frequent.
contents = st.sampled_from(["The gate is locked.", "The gate is open.", " The gate is open.", "Ana keeps the key."]) | (
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=30).filter(str.strip)
)
names = st.sampled_from(["", "gate", "Ana"])
keys = st.none() | st.sampled_from(["gate", "ana", "ünï"])
tags = st.lists(st.sampled_from(["home", "work", "日本"]), max_size=3, unique=True)
kinds = st.sampled_from(["fact", "task", "observation"])
importances = st.integers(1, 5)
scopes = st.sampled_from(["agent", "shared"])
sources = st.sampled_from(Source.values)
metadata = st.sampled_from([{}, {"n": 1}, {"n": True}, {"n": 1.5}, {"n": [1, {"deep": None}]}])
times = st.none() | st.sampled_from(
    [START - timedelta(days=1), START + timedelta(minutes=5), START + timedelta(days=1)]
)
reasons = st.sampled_from(["", "asked to"])

fields = {
    "subject": names,
    "kind": kinds,
    "tags": tags,
    "importance": importances,
    "pinned": st.booleans(),
    "expires_at": times,
    "metadata": metadata,
    "scope": scopes,
}
who = st.sampled_from([0, 1, 2, 3, 3, 3])
which = st.integers(0, 5)
remembered = st.fixed_dictionaries({"content": contents}, optional=fields | {"key": keys, "source": sources})
revised = st.fixed_dictionaries({}, optional=fields | {"content": contents, "key": keys})
arguments = {
    "remember": st.tuples(who, remembered),
    "revise": st.tuples(who, which, revised),
    "forget": st.tuples(who, which, reasons),
    "restore": st.tuples(who, which, st.none() | st.integers(1, 4)),
    "erase": st.tuples(which),
    "sweep": st.tuples(),
}
often = ["revise"] * 7 + ["remember"] * 4 + ["restore"] * 5 + ["erase", "sweep"] + ["forget"] * 3
steps = st.sampled_from(often).flatmap(lambda verb: st.tuples(st.just(verb), arguments[verb]))


@dataclass
class House:
    """Two agents that may claim all, one that is trusted little, a reviewer, and an admin, with what they were told."""

    principals: list[Principal]
    admin: Principal
    told: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    """What each memory was at each of its revisions."""
    now: datetime = START

    def do(self, verb: str, *arguments: Any) -> None:
        """Carry out one step, refused or not, and note what the memory is then."""
        self.now += timedelta(minutes=1)
        try:
            with transaction.atomic():
                found = getattr(self, verb)(*arguments)
        except Refused:
            return
        if found is not None:
            self.note(found)

    def note(self, memory: Memory) -> None:
        stored = Memory.objects.get(pk=memory.pk)
        assert {name: getattr(memory, name) for name in FIELDS} == {name: getattr(stored, name) for name in FIELDS}
        state = {name: getattr(stored, name) for name in FIELDS}
        before = self.told.setdefault((stored.pk, stored.revision), state)
        assert as_text(before) == as_text(state)  # no change without a revision

    def remember(self, who: int, item: dict[str, Any]) -> Memory:
        return remember(self.principals[who], MemoryIn(**item), now=self.now).memory

    def revise(self, who: int, which: int, changes: dict[str, Any]) -> Memory | None:
        memory = self.on(which, lambda pk: revise(self.principals[who], pk, changes, now=self.now).memory)
        for name in changes if memory else ():
            if name not in ("importance", "pinned"):  # held back where the source is restricted
                assert as_text({name: getattr(memory, name)}) == as_text({name: changes[name]})
        return memory

    def forget(self, who: int, which: int, reason: str) -> Memory | None:
        return self.on(which, lambda pk: forget(self.principals[who], pk, now=self.now, reason=reason).memory)

    def restore(self, who: int, which: int, revision: int | None) -> Memory | None:
        return self.on(which, lambda pk: restore(self.principals[who], pk, now=self.now, revision=revision).memory)

    def erase(self, which: int) -> Memory | None:
        return self.on(which, lambda pk: erase(self.admin, pk, reason="asked to", now=self.now).memory)

    def sweep(self) -> None:
        revisions.sweep_expired(now=self.now)

    def on(self, which: int, act: Callable[[int], Memory]) -> Memory | None:
        ids = list(Memory.objects.order_by("id").values_list("pk", flat=True))
        return act(ids[which % len(ids)]) if ids else None


def as_text(state: dict[str, Any]) -> str:
    """Return the state as JSON, which tells 1 from true."""
    return json.dumps(state, default=str, sort_keys=True)


def new_house() -> House:
    workspace = WorkspaceFactory.create()
    agents = AgentFactory.create_batch(3, workspace=workspace)
    limits: list[dict[str, Any]] = [{}, {}, {"sources": ["tool", "group_chat", "web"], "may_write_shared": False}]
    principals = [principal_for(agent, **limit) for agent, limit in zip(agents, limits, strict=True)]
    person = principal_of_member(MembershipFactory.create(workspace=workspace))
    return House([*principals, person], principal_for(agents[0], role="admin"))


def principal_for(agent: Any, **options: Any) -> Principal:
    token, _ = create_token(agent, actor=Actor("test"), **options)
    return principal_of_token(token)


def check_counts() -> None:
    active = Memory.objects.filter(status=Status.ACTIVE, lapsed=False)
    real = Counter(active.values_list("workspace_id", "partition", "kind", "importance", "restricted"))
    kept = ActiveCount.objects.values_list("workspace_id", "partition", "kind", "importance", "restricted", "rows")
    assert {tuple(row[:-1]): row[-1] for row in kept if row[-1]} == dict(real)


def check_lapsed(now: datetime) -> None:
    """Only what has expired is left out of the counts: recall takes the rest of it off itself."""
    assert not Memory.objects.filter(status=Status.ACTIVE, lapsed=True).exclude(expires_at__lte=now).exists()


def check_tags() -> None:
    real = {
        (row.pk, row.workspace_id, row.partition, tag, row.status == "active", row.restricted, row.expires_at)
        for row in Memory.objects.all()
        for tag in row.tags
    }
    columns = ("memory_id", "workspace_id", "partition", "tag", "active", "restricted", "expires_at")
    kept = list(MemoryTag.objects.values_list(*columns))
    assert len(kept) == len(set(kept))
    assert set(kept) == real


def check_history(house: House) -> None:
    for memory in Memory.objects.all():
        history = list(memory.revisions.order_by("number"))
        assert [revision.number for revision in history] == list(range(1, memory.revision + 1))
        erased = memory.status == Status.ERASED
        state: dict[str, Any] = {}
        for revision in history:
            was = {name: state[name] for name in revision.before if name in state}
            assert erased or as_text(was) == as_text(revision.before)
            state |= revision.after
            told = house.told[memory.pk, revision.number]
            rebuilt = state_at(memory, revision.number)
            if erased:
                assert not any(rebuilt[name] for name in TEXT_FIELDS)
                assert rebuilt["status"] == told["status"]
            else:
                assert as_text(rebuilt) == as_text(told)
                assert as_text({name: revisions.as_json(value) for name, value in told.items()}) == as_text(state)


def check_texts(house: House) -> None:
    """No text that was ever kept is lost, except of what was erased."""
    erased = set(Memory.objects.filter(status=Status.ERASED).values_list("pk", flat=True))
    kept = {(pk, text) for pk, text in Memory.objects.values_list("pk", "content")}
    for revision in Revision.objects.all():
        for side in (revision.before, revision.after):
            kept.add((revision.memory_id, side.get("content")))
    told = {(pk, state["content"]) for (pk, _), state in house.told.items()}
    assert {(pk, text) for pk, text in told if pk not in erased} <= kept
    assert all(not text for pk, text in kept if pk in erased)


def test_json_that_python_takes_for_equal_is_a_change(db: None) -> None:
    house = new_house()
    memory = house.remember(0, {"content": "The gate is locked.", "metadata": {"n": 1}})
    for value in (True, 1.0, 1, [1], [True]):
        assert revise(house.principals[0], memory.pk, {"metadata": {"n": value}}, now=START).action == "updated"
    assert revise(house.principals[0], memory.pk, {"metadata": {"n": [True]}}, now=START).action == "unchanged"
    kept = [revision.after["metadata"]["n"] for revision in memory.revisions.all()]
    assert json.dumps(kept) == "[1, true, 1.0, 1, [1], [true]]"


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(steps, min_size=6, max_size=20))
def test_counts_tags_and_history_are_true_after_any_sequence_of_verbs(db: None, sequence: list[Any]) -> None:
    with transaction.atomic():
        house = new_house()
        house.do("remember", 0, {"content": "The gate is locked.", "metadata": {"n": 1}, "tags": ["home"]})
        house.do("remember", 1, {"content": "The gate is locked.", "key": "gate", "scope": "shared"})
        house.do("remember", 2, {"content": "The gate is open.", "source": "web"})
        for verb, values in sequence:
            house.do(verb, *values)
            check_counts()
            check_lapsed(house.now)
        check_tags()
        check_history(house)
        check_texts(house)
        counts = set(ActiveCount.objects.exclude(rows=0).values_list("workspace_id", "partition", "rows"))
        revisions.recount()
        assert set(ActiveCount.objects.values_list("workspace_id", "partition", "rows")) == counts
        transaction.set_rollback(True)
