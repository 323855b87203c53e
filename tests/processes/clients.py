"""Clients that write at once and remember what they were told."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Self

import httpx

from tests.processes.server import until

logging.getLogger("httpx").setLevel(logging.WARNING)  # it tells of every request


@dataclass
class Clients:
    """So many clients of one or several servers, each in a thread with a connection of its own."""

    urls: Sequence[str]
    token: str
    number: int = 60
    waits: list[float] = field(default_factory=list)
    """Seconds that each write took."""

    def run(self, act: Callable[[Client], Any]) -> list[Any]:
        """Return what each client's act returned; they begin together."""
        barrier = threading.Barrier(self.number)

        def begin(place: int) -> Any:
            with Client(self, place) as client:
                barrier.wait(60)
                return act(client)

        with ThreadPoolExecutor(self.number) as pool:
            return list(pool.map(begin, range(self.number)))


class Client:
    """One client. A request that gets no answer returns None: nobody knows whether it was carried out."""

    def __init__(self, clients: Clients, place: int) -> None:
        self.clients = clients
        self.place = place
        self.http = httpx.Client(
            base_url=clients.urls[place % len(clients.urls)],
            headers={"Authorization": f"Bearer {clients.token}"},
            timeout=60,
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.http.close()

    def send(self, method: str, path: str, json: Any = None, **headers: str) -> httpx.Response | None:
        started = time.monotonic()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            return self.http.request(method, path, json=json, headers=named)
        except httpx.TransportError:
            return None
        finally:
            if method != "GET":
                self.clients.waits.append(time.monotonic() - started)

    def remember(self, content: str, *, request: str = "", **fields: Any) -> dict[str, Any] | None:
        """Return the receipt, or None where no answer came. With ``request`` it may be sent again."""
        headers = {"Idempotency_Key": request} if request else {}
        response = self.send("POST", "/api/memories", {"content": content} | fields, **headers)
        if response is None:
            return None
        assert response.status_code in (200, 201), response.text
        receipt: dict[str, Any] = response.json()
        return receipt

    def get(self, path: str) -> Any:
        response = self.send("GET", path)
        assert response is not None
        assert response.status_code == 200, response.text
        return response.json()


class Writing:
    """Clients that remember one thing after the other, each under a key of its own, until they are told to stop."""

    def __init__(self, clients: Clients, name: str = "text") -> None:
        self.clients = clients
        self.name = name
        self.told: dict[str, int | None] = {}
        """By text: the id of the memory as acknowledged, None where no answer came."""
        self.acknowledged = 0
        self.stopped = threading.Event()

    def go_on(self, client: Client) -> None:
        number = 0
        while not self.stopped.is_set():
            number += 1
            text = f"{self.name} {client.place}-{number}"
            self.told[text] = None
            receipt = client.remember(text, request=text, tags=["kept"])
            if receipt is not None:
                self.told[text] = receipt["memory"]["id"]
                self.acknowledged += 1
                continue
            while client.send("GET", "/health/live") is None and not self.stopped.is_set():
                time.sleep(0.1)

    def __enter__(self) -> Self:
        self.pool = ThreadPoolExecutor(1)
        self.running = self.pool.submit(self.clients.run, self.go_on)
        return self

    def __exit__(self, *error: object) -> None:
        self.stopped.set()
        self.running.result(120)
        self.pool.shutdown()

    def wait(self, writes: int = 100) -> None:
        """Wait until so many more writes were acknowledged."""
        wanted = self.acknowledged + writes

        def are_acknowledged() -> bool:
            assert not self.running.done(), self.running.exception()
            return self.acknowledged >= wanted

        until(are_acknowledged, patience=60)
