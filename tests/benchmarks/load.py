"""Load over HTTP with kept connections: by wrk where it is installed, else by threads with httpx.

wrk (a C program) costs the server little of the two cores; threads in Python cost as much as the server itself, so
their figures are lower on both sides of a comparison.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from tests.benchmarks.figures import percentile
from tests.benchmarks.servers import Server

WRK = shutil.which("wrk")
GENERATOR = "wrk" if WRK else "httpx threads"
COUNTER = "@n@"
"""In a body, becomes a number that no other request has."""


@dataclass(frozen=True, slots=True)
class Requests:
    """What is asked, in turn: a method, addresses, and for writes bodies."""

    paths: Sequence[str]
    bodies: Sequence[str] = ()
    token: str = ""

    @property
    def method(self) -> str:
        return "POST" if self.bodies else "GET"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of load came to, in milliseconds. ``refused`` counts answers of 400 and above, and lost ones."""

    rate: float
    p50: float
    p95: float
    p99: float
    longest: float
    answered: int
    refused: int
    processor_ms: float
    """Processor time of the server for each request."""


def run(server: Server, requests: Requests, *, connections: int, seconds: float) -> Outcome:
    """Return how the server stood the load."""
    before = server.processor_seconds()
    loaded = _with_wrk if WRK else _with_threads
    outcome = loaded(server.url, requests, connections=connections, seconds=seconds)
    _settle(server)
    used = server.processor_seconds() - before
    return Outcome(**outcome, processor_ms=1000 * used / max(outcome["answered"], 1))


def _settle(server: Server) -> None:
    """Wait until the server has worked off what nobody waits for any more, which would weigh on what comes next."""
    for _ in range(100):
        before = server.processor_seconds()
        time.sleep(0.1)
        if server.processor_seconds() - before < 0.02:
            return


_SCRIPT = """
local paths, bodies, method, mark = %(paths)s, %(bodies)s, "%(method)s", "%(mark)s"
local n = 0
request = function()
  n = n + 1
  local path = paths[n %% #paths + 1]
  if #bodies == 0 then return wrk.format(method, path) end
  local body = string.gsub(bodies[n %% #bodies + 1], "%(counter)s", mark .. n, 1)
  return wrk.format(method, path, nil, body)
end
done = function(summary, latency, requests)
  local e = summary.errors
  local form = '{"requests": %%d, "us": %%d, "refused": %%d, "p50": %%f, "p95": %%f, "p99": %%f, "longest": %%f}\\n'
  io.write(string.format(form, summary.requests, summary.duration,
    e.status + e.connect + e.read + e.write + e.timeout, latency:percentile(50) / 1000,
    latency:percentile(95) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
"""


def _with_wrk(url: str, requests: Requests, *, connections: int, seconds: float) -> dict[str, float | int]:
    script = _SCRIPT % {
        "paths": _lua(requests.paths),
        "bodies": _lua(requests.bodies),
        "method": requests.method,
        "mark": f"{time.time_ns()} ",
        "counter": COUNTER,
    }
    with tempfile.NamedTemporaryFile("w", suffix=".lua", encoding="utf-8") as file:
        file.write(script)
        file.flush()
        command = [
            str(WRK),
            "-t1",
            f"-c{connections}",
            f"-d{max(1, round(seconds))}s",
            "--timeout",
            "30s",
            "-s",
            file.name,
        ]
        for name, value in _headers(requests).items():
            command += ["-H", f"{name}: {value}"]
        printed = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    told = json.loads(printed.strip().splitlines()[-1])
    answered = told.pop("requests")
    return told | {"rate": answered / (told.pop("us") / 1e6), "answered": answered}


def _lua(texts: Sequence[str]) -> str:
    """Return the texts as a Lua table. Bytes beyond ASCII as decimal escapes."""
    quoted = (
        '"'
        + "".join(chr(byte) if 32 <= byte < 127 and byte not in (34, 92) else f"\\{byte:03d}" for byte in text.encode())
        + '"'
        for text in texts
    )
    return "{" + ", ".join(quoted) + "}"


def _headers(requests: Requests) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {requests.token}"} if requests.token else {}
    return headers | ({"Content-Type": "application/json"} if requests.bodies else {})


def _with_threads(url: str, requests: Requests, *, connections: int, seconds: float) -> dict[str, float | int]:
    numbers, mark = itertools.count(), time.time_ns()
    times: list[float] = []
    refused = 0
    started = time.perf_counter()

    def client() -> None:
        nonlocal refused
        with httpx.Client(base_url=url, headers=_headers(requests), timeout=30) as http:
            # One at least each, where making sixty clients takes longer than the run.
            begun = started
            while begun - started < seconds:
                n = next(numbers)
                path = requests.paths[n % len(requests.paths)]
                body = requests.bodies[n % len(requests.bodies)] if requests.bodies else ""
                begun = time.perf_counter()
                answer = http.request(requests.method, path, content=body.replace(COUNTER, f"{mark} {n}").encode())
                times.append(1000 * (time.perf_counter() - begun))
                refused += answer.status_code >= 400

    threads = [threading.Thread(target=client) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "rate": len(times) / (time.perf_counter() - started),
        "p50": percentile(times, 0.5),
        "p95": percentile(times, 0.95),
        "p99": percentile(times, 0.99),
        "longest": max(times),
        "answered": len(times),
        "refused": refused,
    }
