"""The audit log shows when it was tampered with."""

from __future__ import annotations

from typing import Any

import pytest

from memories import audit
from memories.models import AuditEntry, Workspace
from tests.factories import WorkspaceFactory


@pytest.fixture
def entries(db: None) -> list[AuditEntry]:
    return [audit.record("test.act", actor=f"person {n}", target=f"memory {n}", counts={"n": n}) for n in range(5)]


def test_a_whole_log_verifies(entries: list[AuditEntry]) -> None:
    found = audit.verify()

    assert (found.entries, found.head, found.broken_at) == (5, entries[-1].hash, None)


@pytest.mark.parametrize(
    "change", [{"actor": "nobody"}, {"counts": {"n": 9}}, {"result": "ok"}, {"previous_hash": ""}, {"hash": "0" * 64}]
)
def test_a_changed_entry_shows(entries: list[AuditEntry], change: dict[str, Any]) -> None:
    AuditEntry.objects.filter(pk=entries[2].pk).update(**change)

    assert audit.verify().broken_at == entries[2].pk


def test_a_removed_entry_shows(entries: list[AuditEntry]) -> None:
    AuditEntry.objects.filter(pk=entries[2].pk).delete()

    assert audit.verify().broken_at == entries[3].pk


def test_the_log_outlives_its_workspace(db: None) -> None:
    workspace: Workspace = WorkspaceFactory.create()
    audit.record("test.act", actor="x", workspace_id=workspace.pk)
    workspace.delete()

    assert AuditEntry.objects.count() == 1
    assert audit.verify().broken_at is None
