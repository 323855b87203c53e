"""A memoryweb that really runs: its processes, its answers and its output."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
"""Seconds after which something that should have happened did not."""
OURS = (
    "DJANGO_SETTINGS_MODULE",
    "DATABASE_URL",
    "SECRET_KEY",
    "RATE_LIMIT",
    "HOST",
    "ALLOWED_HOSTS",
    "TRUSTED_PROXIES",
    "DJANGO_ALLOW_ASYNC_UNSAFE",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(what: str, happened: Callable[[], Any]) -> Any:
    """Return the first true answer."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = happened()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"did not happen: {what}")


def environment(data_dir: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a process with this store, without what the test run set for itself."""
    plain = {name: value for name, value in os.environ.items() if name not in OURS}
    return plain | {"DATA_DIR": str(data_dir), "WEB_WORKERS": "1"} | variables


def manage(*arguments: str, data_dir: Path, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Return what a management command printed, after it ended."""
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *arguments],
        cwd=cwd,
        env=environment(data_dir, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


class Running:
    """``manage.py start`` on a store and a free port. As a context manager it leaves no process behind."""

    def __init__(self, data_dir: Path, *, stdout: int | None = None, cwd: Path = ROOT, **variables: str) -> None:
        self.data_dir = data_dir
        self.started_at = datetime.now(UTC)
        self.port = int(variables.get("PORT") or free_port())
        self.log = cwd / data_dir.with_name(f"{data_dir.name}-{self.port}.log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "start"],
                cwd=cwd,
                env=environment(data_dir, **({"PORT": str(self.port)} | variables)),
                stdin=subprocess.DEVNULL,
                stdout=log if stdout is None else stdout,
                stderr=log,
                start_new_session=True,
            )

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    @property
    def output(self) -> str:
        return self.log.read_text()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> dict[str, Any]:
        """Return what /health/ready says, once a task has run since this start: an older beat may still be fresh."""

        def is_working() -> Any:
            assert self.process.poll() is None, self.output
            try:
                answer = httpx.get(f"{self.url}/health/ready", timeout=5).json()
            except httpx.HTTPError:
                return None
            beat = answer["worker"]["last_beat"]
            return answer if beat and datetime.fromisoformat(beat) > self.started_at else None

        answer: dict[str, Any] = wait_for("ready", is_working)
        return answer

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Return the exit code after the signal."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def processes(self) -> dict[int, str]:
        """Return every process that was started with this store, as command lines by process id."""
        mark = f"DATA_DIR={self.data_dir}".encode()
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except OSError:  # it ended meanwhile, or is not ours
                continue
        return found

    def named(self, part: str) -> list[int]:
        """Return the process ids whose command line has this part, parents before their children."""
        return sorted(pid for pid, command in self.processes().items() if part in command)


def parent_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in status if line.startswith("PPid:")))
