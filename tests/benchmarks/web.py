"""Reading and writing over HTTP, beside bare Django views on the same server settings and the same store."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import httpx
from django.db import connection

from tests.benchmarks import load, stores
from tests.benchmarks.bench import Bench
from tests.benchmarks.figures import Limit, Row, percentile
from tests.benchmarks.load import COUNTER, Outcome, Requests
from tests.benchmarks.servers import APP, BARE, Server, running
from tests.benchmarks.stores import Store

READ_AIM = 0.7
"""Of the bare view's requests a second."""
WAIT_AIM = 500.0
"""Milliseconds: what 60 clients that write at once wait, 99 of 100 times."""
BATCH = 1000
HUGE_RATE_LIMIT = 1_000_000


def _compared(
    bench: Bench, app: Server, bare: Server, asked: Requests, peer: Requests, *, connections: int
) -> tuple[Outcome, Outcome]:
    """Return the medians of both sides, measured in turn after a warm-up."""
    sides = ((app, asked, []), (bare, peer, []))
    for server, requests, _ in sides if not bench.quick else ():
        load.run(server, requests, connections=connections, seconds=1)
    for _ in range(bench.repeats):
        for server, requests, outcomes in sides:
            outcomes.append(load.run(server, requests, connections=connections, seconds=bench.seconds))
    return _middle(sides[0][2]), _middle(sides[1][2])


def _middle(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of medians; the longest wait and refusals are those of all runs."""
    values = {name: statistics.median(asdict(one)[name] for one in outcomes) for name in asdict(outcomes[0])}
    values["longest"] = max(one.longest for one in outcomes)
    values["refused"] = sum(one.refused for one in outcomes)
    values["answered"] = sum(one.answered for one in outcomes)
    return Outcome(**values)


def _figures(app: Outcome, bare: Outcome) -> dict[str, float | int | None]:
    return {
        "requests/s": app.rate,
        "p50 ms": app.p50,
        "p95 ms": app.p95,
        "p99 ms": app.p99,
        "longest ms": app.longest,
        "cpu ms": app.processor_ms,
        "bare cpu ms": bare.processor_ms,
        "cpu ratio": bare.processor_ms / app.processor_ms if app.processor_ms else None,
        "refused": app.refused + bare.refused,
    }


def measure_reads(bench: Bench) -> None:
    """Add a row for each read, number of workers and of connections."""
    for size in sorted(bench.sizes):
        whole = size == bench.largest and not bench.quick
        for workers in (1, 2) if whole else (2,):
            _reads(bench, bench.store(size), workers, (1, 8, 32) if whole else (8,))


def _reads(bench: Bench, store: Store, workers: int, connections: Sequence[int]) -> None:
    cases = {
        "GET /api/recall": ["/api/recall"],
        "GET /api/recall?subject": [f"/api/recall?subject={name.replace(' ', '%20')}" for name in store.subjects],
        "GET /api/recall?limit=5": ["/api/recall?limit=5"],
        "GET /api/brief": ["/api/brief"],
        "GET /api/memories/ID": [f"/api/memories/{number}" for number in store.ids],
    }
    peer = Requests([f"/read/{number}" for number in store.ids])
    # Copies: a server notes when a token was used, and checkpoints.
    copy = stores.copy_of(store.path, bench.scratch)
    with ExitStack() as stack:
        stack.callback(stores.remove, copy)
        app = stack.enter_context(running(APP, copy, workers=workers))
        bare = stack.enter_context(running(BARE, copy, workers=workers))
        for name, paths in cases.items():
            for clients in connections if name == "GET /api/recall" else (8,):
                bench.say(f"http, {store.memories:,}: {name}, {workers} workers, {clients} connections")
                asked = Requests(paths, token=store.token)
                ours, bares = _compared(bench, app, bare, asked, peer, connections=clients)
                _add_read(bench, store, f"{name}, {workers} workers, {clients} connections", ours, bares)
        limited = stack.enter_context(running(APP, copy, workers=workers, rate_limit=HUGE_RATE_LIMIT))
        asked = Requests(cases["GET /api/recall"], token=store.token)
        counted, free = _compared(bench, limited, app, asked, asked, connections=8)
        bench.add(
            Row(
                part="http",
                memories=store.memories,
                case=f"GET /api/recall with a rate limit of {HUGE_RATE_LIMIT:,}, {workers} workers, 8 connections",
                figures=_figures(counted, free),
                limit=Limit("the same without a rate limit, requests/s", free.rate, "/s"),
                ratio=counted.rate / free.rate,
            )
        )


def _add_read(bench: Bench, store: Store, case: str, ours: Outcome, bare: Outcome) -> None:
    ratio = ours.rate / bare.rate
    bench.add(
        Row(
            part="http",
            memories=store.memories,
            case=case,
            figures=_figures(ours, bare),
            limit=Limit(f"bare view with one indexed read, requests/s ({load.GENERATOR})", bare.rate, "/s"),
            ratio=ratio,
            aim=f"ratio >= {READ_AIM}",
            met=ratio >= READ_AIM,
        )
    )


def measure_writes(bench: Bench) -> None:
    """Add a row for each way of remembering, number of workers and of clients."""
    for size in sorted(bench.sizes):
        store = bench.store(size)
        copy = stores.copy_of(store.path, bench.scratch)
        try:
            whole = size == bench.largest and not bench.quick
            bare_insert = _bare_inserts(bench, store, copy)
            for workers in (1, 2) if whole else (2,):
                _writes(bench, store, copy, workers, (1, 60) if bench.quick else (1, 8, 60), bare_insert)
        finally:
            stores.remove(copy)


def _writes(bench: Bench, store: Store, copy: Path, workers: int, clients: Sequence[int], bare_insert: float) -> None:
    new = [
        json.dumps(
            {**text, "content": f"{COUNTER}: {text['content']}", "kind": "fact", "tags": ["bench"]}, ensure_ascii=False
        )
        for text in store.texts
    ]
    keyed = [
        json.dumps({"content": f"{COUNTER}: {text['content']}", "key": f"bench {n}"}, ensure_ascii=False)
        for n, text in enumerate(store.texts * 5)
    ]
    same = [json.dumps(text, ensure_ascii=False) for text in store.texts]
    peer = Requests([f"/write/{store.workspace_id}/{store.agent_id}"], new)
    with running(APP, copy, workers=workers) as app, running(BARE, copy, workers=workers) as bare:
        for name, bodies in (("new text", new), ("keyed update", keyed), ("unchanged text", same)):
            asked = Requests(["/api/memories"], bodies, token=store.token)
            for number in clients:
                case = f"remember, {name}, {workers} workers, {number} clients"
                bench.say(f"http, {store.memories:,}: {case}")
                ours, bares = _compared(bench, app, bare, asked, peer, connections=number)
                crowd = number == 60
                bench.add(
                    Row(
                        part="remember",
                        memories=store.memories,
                        case=case,
                        figures=_figures(ours, bares)
                        | {"bare p99 ms": bares.p99, "bare longest": bares.longest, "bare SQL/s": bare_insert},
                        limit=Limit(f"bare view with one insert, requests/s ({load.GENERATOR})", bares.rate, "/s"),
                        ratio=ours.rate / bares.rate,
                        aim=f"p99 <= {WAIT_AIM:.0f} ms" if crowd else "",
                        met=ours.p99 <= WAIT_AIM if crowd else None,
                    )
                )


def _bare_inserts(bench: Bench, store: Store, copy: Path) -> float:
    """Return how many single committed INSERTs of a memory a second SQLite takes in process: no Django, no server."""
    stores.use(copy)
    connection.ensure_connection()
    raw = connection.connection
    columns = [row[1] for row in raw.execute("PRAGMA table_info(memories_memory)") if row[1] != "id"]
    values = dict(
        zip(
            columns,
            raw.execute(f"SELECT {', '.join(columns)} FROM memories_memory WHERE id = ?", store.ids[:1]).fetchone(),
            strict=True,
        )
    )
    insert = f"INSERT INTO memories_memory ({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})"
    done, started = 0, time.perf_counter()
    while (spent := time.perf_counter() - started) < bench.seconds:
        values |= {"key": None, "content": f"bare {started} {done}", "content_hash": f"bare {started} {done}"}
        raw.execute("BEGIN IMMEDIATE")
        raw.execute(insert, list(values.values()))
        raw.execute("COMMIT")
        done += 1
    connection.close()
    return done / spent


def measure_batch(bench: Bench) -> None:
    """Add a row for each size: items a second in batches of 1,000, and how long another writer waits meanwhile."""
    for size in sorted(bench.sizes):
        store = bench.store(size)
        copy = stores.copy_of(store.path, bench.scratch)
        try:
            for workers in (2,) if bench.quick else (1, 2):
                bench.say(f"batch, {size:,}: {workers} workers")
                _batch(bench, store, copy, workers)
        finally:
            stores.remove(copy)


def _batch(bench: Bench, store: Store, copy: Path, workers: int) -> None:
    with running(APP, copy, workers=workers) as server:
        headers = {"Authorization": f"Bearer {store.token}"}
        with httpx.Client(base_url=server.url, headers=headers, timeout=60) as http:
            alone = _single_writes(http, store, until=None)
            finished = threading.Event()
            waits: list[float] = []
            other = threading.Thread(target=lambda: waits.extend(_beside(server, store, headers, finished)))
            other.start()
            spent = []
            for turn in range(1 if bench.quick else 5):
                items = [
                    {
                        **store.texts[n % len(store.texts)],
                        "content": f"batch {time.time_ns()} {turn} {n}",
                        "tags": ["bench"],
                    }
                    for n in range(BATCH)
                ]
                started = time.perf_counter()
                answer = http.post("/api/memories/batch", json={"memories": items})
                spent.append(time.perf_counter() - started)
                answer.raise_for_status()
            finished.set()
            other.join()
    bench.add(
        Row(
            part="batch",
            memories=store.memories,
            case=f"POST /api/memories/batch of {BATCH:,}, {workers} workers",
            figures={
                "items/s": BATCH / statistics.median(spent),
                "batch p50 ms": 1000 * statistics.median(spent),
                "other p50 ms": statistics.median(waits),
                "other longest ms": max(waits),
                "others": len(waits),
                "alone p95 ms": percentile(alone, 0.95),
            },
            limit=Limit("the same writer alone, longest", max(alone), "ms"),
            ratio=max(waits) / max(alone),
        )
    )


def _beside(server: Server, store: Store, headers: dict[str, str], finished: threading.Event) -> list[float]:
    with httpx.Client(base_url=server.url, headers=headers, timeout=60) as http:
        return _single_writes(http, store, until=finished)


def _single_writes(http: httpx.Client, store: Store, *, until: threading.Event | None) -> list[float]:
    """Return the milliseconds that single writes took, one after the other: 50, or until told."""
    times: list[float] = []
    while len(times) < 50 if until is None else not (until.is_set() and times):
        body = {**store.texts[0], "content": f"single {time.time_ns()}"}
        started = time.perf_counter()
        http.post("/api/memories", json=body).raise_for_status()
        times.append(1000 * (time.perf_counter() - started))
    return times
