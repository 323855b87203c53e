"""Real Granian servers, started and stopped, and the processor time that they used."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from memoryweb.server import Address, granian_command
from tests.benchmarks.machine import ROOT

APP, BARE = "memoryweb.wsgi:application", "tests.benchmarks.bare_wsgi:application"
STARTS_WITHIN = 60.0
STOPS_WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    url: str
    process: subprocess.Popen[bytes]

    def processor_seconds(self) -> float:
        """Return the processor time of all its processes so far: what other work on the machine does not disturb."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self.process.pid:  # its session
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(application: str, database: Path, *, workers: int, rate_limit: int = 0) -> Iterator[Server]:
    """Give a server on a free port with its own data directory; it is stopped in the end, whatever happens."""
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="memoryweb-server-") as data, tempfile.TemporaryFile() as log:
        environment = os.environ | {
            "DATA_DIR": data,
            "DATABASE_URL": f"sqlite:///{database}",
            "RATE_LIMIT": str(rate_limit),
            "DJANGO_SETTINGS_MODULE": "memoryweb.settings",
        }
        command = granian_command(Address("127.0.0.1", port))
        command[command.index("--workers") + 1] = str(workers)
        command[-1] = application
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        server = Server(f"http://127.0.0.1:{port}", process)
        try:
            if not _answers(server):
                log.seek(0)
                raise RuntimeError(f"the server did not start: {log.read().decode(errors='replace')[-4000:]}")
            yield server
        finally:
            _stop(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(server: Server) -> bool:
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/health/live", timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOPS_WITHIN)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
