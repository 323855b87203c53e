"""Real processes on one store: web servers to be killed, other programs that write, and what is true afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
from django.test import override_settings

from memories import audit
from memories.models import ActiveCount, Memory, MemoryTag, Revision, Status
from memoryweb.server import Address, granian_command
from tests.memoryweb.running import PATIENCE, free_port
from tests.stores import ROOT, ask, default_store, environment


class Server:
    """Granian as ``manage.py start`` runs it, on the store in a directory. It leaves nothing behind."""

    def __init__(self, data: Path, *, workers: int = 2) -> None:
        self.data = data
        self.workers = workers
        self.address = Address("127.0.0.1", free_port())
        self.log = data / f"server-{self.address.port}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    @property
    def url(self) -> str:
        return self.address.url.rstrip("/")

    def start(self) -> None:
        """Start it and return when it answers."""
        with override_settings(WEB_WORKERS=self.workers):
            command = granian_command(self.address)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment(self.data),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(self.answers)

    def answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        try:
            return httpx.get(f"{self.url}/health/live", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """Kill all its processes at once, as a machine that goes down does."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def kill_a_worker(self) -> None:
        """Kill one of the processes that answer requests, and see to it that the server answers again."""
        assert self.process is not None
        os.kill(children_of(self.process.pid)[-1], signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        if self.process.poll() is not None:  # a server that lost a worker may end, and is started again then
            self.kill()
            self.start()


def children_of(pid: int) -> list[int]:
    """Return the processes that the process started itself."""
    found = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in found.splitlines()]
    return sorted(child for child, parent in pairs if parent == pid)


def until(happened: Callable[[], Any], *, patience: float = PATIENCE) -> None:
    """Wait for it."""
    ends = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)


@contextmanager
def program(data: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a Python program on the store in a directory; at the end it is killed if it still runs."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(data, DJANGO_SETTINGS_MODULE="memoryweb.settings"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def check_store(path: Path) -> None:
    """Find the store whole: the file, the rows that others rest on, counts, tags, histories and the audit chain."""
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    assert ask(path, "PRAGMA foreign_key_check") == []
    with default_store(path):
        verified = audit.verify()
        assert verified.broken_at is None
        active = Memory.objects.filter(status=Status.ACTIVE, lapsed=False)
        real = Counter(active.values_list("workspace_id", "partition", "kind", "importance", "restricted"))
        kept = ActiveCount.objects.values_list("workspace_id", "partition", "kind", "importance", "restricted", "rows")
        assert {row[:-1]: row[-1] for row in kept if row[-1]} == dict(real)
        tags = [(memory.pk, tag) for memory in Memory.objects.exclude(tags=[]) for tag in memory.tags]
        assert sorted(MemoryTag.objects.values_list("memory_id", "tag")) == sorted(tags)
        histories: dict[int, list[int]] = {}
        for memory, number in Revision.objects.order_by("memory_id", "number").values_list("memory_id", "number"):
            histories.setdefault(memory, []).append(number)
        expected = {pk: list(range(1, number + 1)) for pk, number in Memory.objects.values_list("pk", "revision")}
        assert histories == expected
