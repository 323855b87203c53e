"""Backup and restore beside a running server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.processes.clients import Clients, Writing
from tests.processes.conftest import Store
from tests.processes.server import Server, check_store
from tests.stores import ask, manage

pytestmark = pytest.mark.processes

BACKUPS = 10 if os.environ.get("MEMORYWEB_LONG") else 2


def test_a_backup_holds_all_that_was_acknowledged_before_it_began(store: Store, tmp_path: Path) -> None:
    with Server(store.data) as server, Writing(Clients([server.url], store.token, number=30)) as writing:
        for number in range(BACKUPS):
            file = tmp_path / f"{number}.sqlite3"
            writing.wait()
            before = acknowledged(writing)

            done = manage(store.data, "backup", str(file))

            assert done.returncode == 0, done.stderr
            assert before.items() <= dict(ask(file, "SELECT content, id FROM memories_memory")).items()
            writing.wait(1)  # the server goes on
            check_store(file)


def acknowledged(writing: Writing) -> dict[str, int]:
    return {text: memory for text, memory in list(writing.told.items()) if memory is not None}


def test_a_restore_needs_a_stopped_server_and_brings_back_what_was_backed_up(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "backup.sqlite3"
    with Server(store.data) as server:
        with Writing(Clients([server.url], store.token, number=10), "before") as writing:
            writing.wait()
        assert manage(store.data, "backup", str(file)).returncode == 0
        saved = ask(file, "SELECT content, id FROM memories_memory ORDER BY id")
        with Writing(Clients([server.url], store.token, number=10), "after") as writing:
            writing.wait()

        refused = manage(store.data, "restore", str(file), "--force")
        assert refused.returncode == 1
        assert "is in use: stop memoryweb" in refused.stderr
        assert len(ask(store.path, "SELECT id FROM memories_memory")) > len(saved)
        server.kill()

        done = manage(store.data, "restore", str(file), "--force")
        assert done.returncode == 0, done.stderr
        server.start()
        assert ask(store.path, "SELECT content, id FROM memories_memory ORDER BY id") == saved
        with Writing(Clients([server.url], store.token, number=10), "later") as writing:
            writing.wait()
    check_store(store.path)
