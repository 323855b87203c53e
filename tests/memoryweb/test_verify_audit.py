"""The command verify_audit: a changed, removed or cut-off audit log shows."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from memories import audit
from memories.models import AuditEntry
from tests.stores import manage


def verify(*arguments: str) -> str:
    out = StringIO()
    call_command("verify_audit", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def entries(db: None) -> list[AuditEntry]:
    return [
        audit.record("memory.forget", actor="agent writer", target=f"memory {number}", counts={"forgotten": number})
        for number in range(1, 6)
    ]


def test_it_prints_how_many_entries_there_are_and_the_last_hash(entries: list[AuditEntry]) -> None:
    assert verify() == f"entries: 5\nhead: {entries[-1].hash}\n"


def test_an_empty_log_is_whole(db: None) -> None:
    assert verify() == "entries: 0\nhead: none\n"


@pytest.mark.parametrize(
    "change",
    [
        {"actor": "agent somebody"},
        {"verb": "memory.erase"},
        {"target": "memory 9"},
        {"result": "ok"},
        {"counts": {"forgotten": 0}},
        {"workspace_id": 7},
        {"request_id": "made-up"},
        {"hash": "0" * 64},
        {"previous_hash": "0" * 64},
    ],
)
def test_it_names_the_entry_that_was_changed(entries: list[AuditEntry], change: dict[str, object]) -> None:
    AuditEntry.objects.filter(pk=entries[2].pk).update(**change)

    with pytest.raises(CommandError, match=rf"broken at entry {entries[2].pk}: .* \(2 entries before it are sound\)"):
        verify()


def test_it_names_the_entry_after_a_removed_one(entries: list[AuditEntry]) -> None:
    AuditEntry.objects.filter(pk=entries[1].pk).delete()

    with pytest.raises(CommandError, match=f"broken at entry {entries[2].pk}:"):
        verify()


def test_a_changed_entry_with_a_hash_made_anew_breaks_the_next_one(entries: list[AuditEntry]) -> None:
    changed = AuditEntry.objects.get(pk=entries[1].pk)
    changed.actor = "agent somebody"
    changed.hash = audit.chain_hash(changed)
    changed.save()

    with pytest.raises(CommandError, match=f"broken at entry {entries[2].pk}:"):
        verify()


def test_a_hash_kept_elsewhere_shows_that_the_end_was_cut_off(entries: list[AuditEntry]) -> None:
    kept = entries[-1].hash
    audit.record("memory.forget", actor="agent writer")
    assert "entries: 6\n" in verify("--head", kept)

    AuditEntry.objects.filter(pk__gte=entries[-1].pk).delete()
    assert "entries: 4\n" in verify()
    with pytest.raises(CommandError, match=f"no longer holds the entry with hash {kept}"):
        verify("--head", kept)


def test_it_says_that_there_is_no_log_yet(tmp_path: Path) -> None:
    done = manage(tmp_path, "verify_audit")

    assert done.returncode == 1
    assert "the audit log cannot be read: no such table" in done.stderr
