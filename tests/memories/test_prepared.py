"""Queries compiled once answer every time for the values of this time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections
from django.db.models import QuerySet

from memories import prepared
from memories.models import Memory
from tests.factories import MemoryFactory

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _nothing_prepared(db: None) -> None:
    connections["default"].__dict__.pop("prepared_statements", None)


def by_subject(values: dict[str, Any]) -> QuerySet:
    rows = Memory.objects.filter(subject=values["subject"], importance__gte=2, created_at__lte=values["until"])
    return rows.order_by("id").values("content", "tags", "pinned", "created_at", "expires_at")


def shapes_kept() -> list[Any]:
    return [shape for verb, shape in connections["default"].__dict__["prepared_statements"] if verb == "rows"]


def found(subject: str, until: datetime = NOON) -> list[dict[str, Any]]:
    return list(prepared.rows("by subject", {"subject": subject, "until": until}, by_subject))


def test_rows_are_those_of_the_queryset_for_any_values(db: None) -> None:
    for number, subject in enumerate("aabbb"):
        MemoryFactory.create(
            subject=subject, tags=[subject], pinned=number == 1, now=NOON - timedelta(hours=number), expires_at=NOON
        )
    for subject in "abc":
        for hours in (0, 1, 3):
            until = NOON - timedelta(hours=hours)
            assert found(subject, until) == list(by_subject({"subject": subject, "until": until}))
    assert shapes_kept() == ["by subject"]


def test_it_compiles_once_for_a_shape(django_assert_num_queries: Any) -> None:
    builds = []

    def build(values: dict[str, Any]) -> QuerySet:
        builds.append(values)
        return by_subject(values)

    for subject in "abc":
        with django_assert_num_queries(1):
            list(prepared.rows("counted", {"subject": subject, "until": NOON}, build))
    assert len(builds) == 1


def test_a_value_that_would_be_frozen_is_refused(db: None) -> None:
    def transformed(values: dict[str, Any]) -> QuerySet:
        return Memory.objects.filter(subject=f"prefix {values['subject']}").values("id")

    def forgotten(values: dict[str, Any]) -> QuerySet:
        return Memory.objects.filter(subject="constant").values("id")

    for build in (transformed, forgotten):
        with pytest.raises(ValueError, match="'subject' is no plain parameter"):
            list(prepared.rows("frozen", {"subject": "a"}, build))


def test_hostile_values_stay_values(db: None) -> None:
    MemoryFactory.create(subject="a", now=NOON)
    for hostile in ("' OR 1=1 --", "%s", "?", "\x02prepared value 0\x03", "a\x00"):
        assert found(hostile) == []


def test_shapes_beyond_the_limit_are_answered_too(db: None, monkeypatch: Any) -> None:
    monkeypatch.setattr(prepared, "SHAPES_MAX", 2)
    MemoryFactory.create(subject="a", now=NOON)
    for shape in range(5):
        values = {"subject": "a", "until": NOON}
        assert len(list(prepared.rows(shape, values, by_subject))) == 1
    assert shapes_kept() == []  # remembering has filled the two places


def test_updates_tell_how_many_rows_they_changed(db: None) -> None:
    for subject in "aab":
        MemoryFactory.create(subject=subject, content=f"{subject} {Memory.objects.count()}", now=NOON)

    def by_value(values: dict[str, Any]) -> tuple[QuerySet, dict[str, Any]]:
        return Memory.objects.filter(subject=values["subject"]), {"last_seen_at": values["at"]}

    later = NOON + timedelta(days=1)
    counts = [prepared.update("seen then", {"subject": subject, "at": later}, by_value) for subject in "abc"]

    assert counts == [2, 1, 0]
    assert set(Memory.objects.values_list("last_seen_at", flat=True)) == {later}


def test_inserted_rows_equal_saved_ones(agent: Any) -> None:
    fields = {"subject": "a", "tags": ["x", "日本"], "metadata": {"n": None}, "expires_at": NOON, "pinned": True}
    inserted = MemoryFactory.create(agent=agent, content="one", now=NOON, **fields)
    saved = Memory.objects.get(pk=inserted.pk)
    saved.pk = None
    saved.save(force_insert=True)
    one, other = Memory.objects.filter(pk__in=[inserted.pk, saved.pk]).values()

    assert one | {"id": 0} == other | {"id": 0}
    assert inserted.pk != saved.pk
