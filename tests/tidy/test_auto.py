"""What is applied without a person: each guardrail, the limits, the receipt, the switch."""

from __future__ import annotations

import logging
from datetime import date, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from memories.models import AuditEntry, Memory, Status
from tests.factories import CandidateFactory, MemoryFactory
from tests.tidy.rounds import NOW, pending, run, settings_file
from tidy import apply, auto, config
from tidy.eligibility import auto_reason
from tidy.evidence import Evidence, Seen
from tidy.models import Batch, Candidate

TODAY = date(2026, 11, 30)


def seen(id_: int, role: Any, text: str, **fields: Any) -> Seen:
    plain: dict[str, Any] = {
        **{"revision": 1, "kind": "observation", "subject": "", "key": None, "tags": (), "importance": 3},
        **{"pinned": False, "source": "agent", "expires_at": None, "partition": "agent:1"},
    }
    return Seen(id=id_, role=role, text=text, **plain | fields)


def reason_of(
    action: str, reason: str, *sides: Seen, sources: Any = (1,), target: Any = None, **more: Any
) -> str | None:
    evidence = Evidence(seen=sides, rule="", rules_version=1, today=TODAY.isoformat(), **more)
    return auto_reason(action, reason, evidence, sources=sources, target=target, grace_days=14)


RED, SAME = "The kettle is red.", "the kettle is red"


def merge(text: str = RED, other: str = SAME, sources: Any = (1,), target: Any = 2, **fields: Any) -> str | None:
    of_target = {name.removeprefix("target_"): value for name, value in fields.items() if name.startswith("target_")}
    of_source = {name: value for name, value in fields.items() if not name.startswith("target_")}
    sides = (seen(1, "source", text, **of_source), seen(2, "target", other, **of_target))
    return reason_of("merge", "any", *sides, sources=sources, target=target)


def test_the_same_twice_may_be_merged() -> None:
    assert merge(RED, f"  {RED}\n") == "literal_duplicate"
    assert merge() == "fact_equivalent_high_similarity"
    assert merge(tags=("a",), target_tags=("a", "b"), expires_at="2027-01-01T00:00:00+00:00") is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"other": "The kettle is blue."},
        {"other": "The kettle is not red."},
        {"sources": ()},
        {"sources": (1, 3)},
        {"sources": (None,)},
        {"sources": (0,)},
        {"target": None},
        {"target": 0},
        {"source": "stranger"},
        {"source": "group_chat"},
        {"source": "web"},
        {"key": "kettle"},
        {"pinned": True},
        {"tags": ("a",)},
        {"tags": ("a",), "target_tags": ("b",)},
        {"subject": "kitchen"},
        {"kind": "fact"},
        {"importance": 4},
        {"target_source": "web"},
        {"target_expires_at": "2027-01-01T00:00:00+00:00"},
        {"target_partition": "shared"},
    ],
)
def test_each_guardrail_of_a_merge(fields: dict[str, Any]) -> None:
    assert merge(**fields) is None


def test_a_stored_verdict_is_not_relied_on() -> None:
    sides = (seen(1, "source", "Alma reports to Boris."), seen(2, "target", "Boris reports to Alma."))
    verdict = {"containment": "both", "similarity": 1.0, "veto": None}
    assert reason_of("merge", "fact_equivalent_high_similarity", *sides, target=2, **verdict) is None


EVENT = "Greta cooked risotto on 3 May 2026."


def test_an_event_may_be_archived() -> None:
    assert reason_of("archive", "one_off_event", seen(1, "source", EVENT)) == "one_off_event"


@pytest.mark.parametrize(
    ("reason", "text", "more"),
    [
        ("expired", EVENT, {}),
        ("decayed", EVENT, {}),
        ("possible_event", EVENT, {}),
        ("one_off_event", "Greta cooked risotto every week until 3 May 2026.", {}),
        ("one_off_event", "Greta cooks risotto at 18:30.", {}),
        ("one_off_event", "Greta cooked risotto on 25 November 2026.", {}),
        ("one_off_event", EVENT, {"sources": (1, 2)}),
        ("one_off_event", EVENT, {"target": 2}),
    ],
)
def test_each_guardrail_of_an_archive(reason: str, text: str, more: dict[str, Any]) -> None:
    assert reason_of("archive", reason, seen(1, "source", text), **more) is None


@pytest.mark.parametrize("fields", [{"source": "web"}, {"key": "k"}, {"pinned": True}])
def test_what_is_keyed_pinned_or_from_a_stranger_is_left_to_people(fields: dict[str, Any]) -> None:
    assert reason_of("archive", "one_off_event", seen(1, "source", EVENT, **fields)) is None
    kinds = {"kind_before": "observation", "kind_after": "task"}
    assert reason_of("reclassify", "kind_mismatch", seen(1, "source", "TODO: x", **fields), **kinds) is None


@pytest.mark.parametrize(
    ("text", "before", "after", "expected"),
    [
        ("TODO: water it", "observation", "task", "kind_mismatch"),
        ("TODO: water it", "task", "task", None),
        ("TODO: water it", "observation", "chore", None),
        ("TODO: water it", "chore", "task", None),
        ("TODO: water it", "observation", "contact", None),
        ("TODO: water it", "fact", "task", None),
        ("We decided to water it.", "observation", "decision", None),
        ("The ficus is green.", "observation", "task", None),
    ],
)
def test_a_change_of_kind(text: str, before: str, after: str, expected: str | None) -> None:
    found = reason_of("reclassify", "kind_mismatch", seen(1, "source", text), kind_before=before, kind_after=after)
    assert found == expected


def test_links_and_keeps_are_never_applied_by_themselves() -> None:
    sides = (seen(1, "source", RED), seen(2, "target", RED))
    assert reason_of("link", "contradiction", *sides, target=2) is None
    assert reason_of("keep", "literal_duplicate", *sides, target=2) is None


def many(agent: Any, number: int) -> None:
    """Write candidates that are eligible."""
    for place in range(number):
        memory = MemoryFactory.create(agent=agent, content=f"Greta cooked dish {place} on 3 May 2026.", now=NOW)
        CandidateFactory.create(memory=memory, reason="one_off_event", auto_reason="one_off_event")


@pytest.mark.django_db
def test_more_than_the_limit_drains_over_rounds_newest_first(agent: Any, caplog: Any) -> None:
    many(agent, 601)
    for place in range(500):
        memory = MemoryFactory.create(agent=agent, content=f"in front {place}", now=NOW)
        CandidateFactory.create(memory=memory, reason="contradiction")
    eligible = list(auto.eligible().values_list("pk", flat=True))
    with caplog.at_level(logging.INFO):
        receipt = auto.auto_apply(config.read().config, round=None, now=NOW)
    assert str(receipt) == (
        "ok auto=true applied=50 merged=0 archived=50 reclassified=0 skipped=0 failed=0 eligible_total=601 limit=50 "
        "truncated=true scan_truncated=false by_reason=one_off_event=50"
    )
    assert (
        list(Candidate.objects.filter(status="applied").order_by("-pk").values_list("pk", flat=True)) == eligible[:50]
    )
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ["tidy: truncated=true eligible_total=601 limit=50 left=551"]
    entry = AuditEntry.objects.get(verb="memory.tidy.apply")
    assert (entry.actor, entry.result, entry.workspace_id) == ("tidy", str(receipt), None)
    for _ in range(12):
        auto.auto_apply(config.read().config, round=None, now=NOW)
    assert pending().filter(auto_reason__isnull=False).count() == 0
    assert Batch.objects.count() == 13
    assert not Batch.objects.filter(noted=False).exists()


@pytest.mark.django_db
def test_the_receipt_tells_of_too_many_to_scan_and_of_nothing(agent: Any) -> None:
    many(agent, 3)
    settings_file('{"autoApplyScanLimit": 2}')
    receipt = auto.auto_apply(config.read().config, round=None, now=NOW)
    assert receipt is not None
    assert receipt.scan_truncated
    settings_file("{}")
    empty = auto.auto_apply(config.read().config, round=None, now=NOW)
    assert str(empty).endswith("eligible_total=0 limit=50 truncated=false scan_truncated=false by_reason=none")
    assert AuditEntry.objects.filter(verb="memory.tidy.apply").count() == 1


@pytest.mark.django_db
def test_one_that_fails_stays_alone(agent: Any, monkeypatch: Any, caplog: Any) -> None:
    many(agent, 3)
    broken = auto.eligible()[1].pk
    works = apply.apply

    def breaks(candidate_id: int, **options: Any) -> Any:
        if candidate_id == broken:
            raise RuntimeError("disk on fire")
        return works(candidate_id, **options)

    monkeypatch.setattr(apply, "apply", breaks)
    receipt = auto.auto_apply(config.read().config, round=None, now=NOW)
    assert receipt is not None
    assert (receipt.applied, receipt.failed) == (2, 1)
    assert "failed=1" in caplog.text
    assert auto.eligible().get().failures == 1
    monkeypatch.undo()
    many(agent, 1)
    assert [one.pk == broken for one in auto.eligible()] == [False, True]


@pytest.mark.django_db
def test_a_moot_one_is_withdrawn_and_counted_as_skipped(agent: Any) -> None:
    many(agent, 1)
    Memory.objects.update(revision=2)
    receipt = auto.auto_apply(config.read().config, round=None, now=NOW)
    assert receipt is not None
    assert (receipt.applied, receipt.skipped) == (0, 1)
    assert Candidate.objects.get().status == "withdrawn"
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 1


@pytest.mark.django_db
def test_a_batch_whose_process_was_killed_is_noted_by_the_next_round(agent: Any) -> None:
    many(agent, 2)
    batch = auto.open_batch(auto.TIDY, auto=True, now=NOW - timedelta(hours=1))
    apply.apply(auto.eligible()[0].pk, by=auto.TIDY, now=NOW, batch=batch, auto=True)
    run()
    results = list(AuditEntry.objects.filter(verb="memory.tidy.apply").order_by("pk").values_list("target", "result"))
    assert [target for target, _ in results] == [f"batch {batch.pk}", f"batch {batch.pk + 1}"]
    assert all("applied=1 " in result for _, result in results)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "no JSON object"),
        ("[]", "the whole"),
        ('{"autoApply": "yes"}', "autoApply"),
        ('{"autoApplyPerRound": 501}', "autoApplyPerRound"),
        ('{"autoApplyPerRound": 50.5}', "autoApplyPerRound"),
        ('{"eventGraceDays": 13}', "eventGraceDays"),
        ('{"autoaply": false}', "autoaply"),
        ('{"autoApply": true, "autoApply": false}', "twice"),
        ('{"schedule": "weekly"}', "schedule"),
        ("[" * 50_000, "no JSON object"),
        ("\x00\xff", "no JSON object"),
    ],
)
def test_a_file_that_is_not_allowed_switches_applying_off(text: str, problem: str) -> None:
    settings_file(text)
    read = config.read()
    assert not read.config.autoApply
    assert problem in (read.problem or "")
    with pytest.raises(SystemCheckError, match=r"tidy\.E001"):
        call_command("check")


def test_without_a_file_the_defaults_hold() -> None:
    assert config.read() == config.Read(config.Config())
    settings_file('{"autoApplyPerRound": 7, "schedule": "off"}')
    assert (config.read().config.autoApplyPerRound, config.read().config.schedule) == (7, "off")
    call_command("check")


def test_a_file_that_cannot_be_read_is_no_file_of_defaults(data_directory: Any) -> None:
    config.path().mkdir(parents=True)
    assert not config.read().config.autoApply
