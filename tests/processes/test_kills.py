"""Servers killed in the middle of writes: what was acknowledged is there, and what is sent again is there once."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.processes.clients import Client, Clients, Writing
from tests.processes.conftest import Store
from tests.processes.server import Server, check_store
from tests.stores import ask

pytestmark = pytest.mark.processes

KILLS = 15 if os.environ.get("MEMORYWEB_LONG") else 2


def send_again(clients: Clients, told: dict[str, int | None]) -> dict[str, int]:
    """Return the ids that the requests are answered with when every one is sent once more."""
    texts = list(told)

    def send_share(client: Client) -> dict[str, int]:
        answers: dict[str, int] = {}
        for text in texts[client.place :: clients.number]:
            receipt = client.remember(text, request=text, tags=["kept"])
            assert receipt is not None
            answers[text] = receipt["memory"]["id"]
        return answers

    return {text: memory for share in clients.run(send_share) for text, memory in share.items()}


def rows(store: Store) -> list[tuple[Any, ...]]:
    return ask(store.path, "SELECT content, id FROM memories_memory ORDER BY id")


@pytest.mark.parametrize("victim", ["a worker", "the server"])
def test_a_kill_loses_nothing_acknowledged_and_doubles_nothing_sent_again(store: Store, victim: str) -> None:
    with Server(store.data) as server:
        clients = Clients([server.url], store.token, number=30)
        with Writing(clients) as writing:
            for _ in range(KILLS):
                writing.wait()
                if victim == "a worker":
                    server.kill_a_worker()
                else:
                    server.kill()
                    check_acknowledged(store, writing)
                    server.start()
            writing.wait()
        check_acknowledged(store, writing)
        assert None in writing.told.values()  # some were cut off

        again = send_again(clients, writing.told)

        assert sorted(rows(store)) == sorted(again.items())
        assert all(again[text] == memory for text, memory in writing.told.items() if memory is not None)
    check_store(store.path)


def check_acknowledged(store: Store, writing: Writing) -> None:
    told = {text: memory for text, memory in list(writing.told.items()) if memory is not None}
    kept = rows(store)
    assert len(kept) == len({text for text, _ in kept})
    assert told.items() <= dict(kept).items()


def test_one_of_two_servers_is_killed_and_the_other_goes_on(store: Store) -> None:
    with Server(store.data) as victim, Server(store.data) as other:
        clients = Clients([victim.url, other.url], store.token, number=30)
        with Writing(clients) as writing:
            for _ in range(KILLS):
                writing.wait()
                victim.kill()
                writing.wait()  # by the other one alone
                check_acknowledged(store, writing)
                victim.start()
            writing.wait()
        again = send_again(clients, writing.told)

        assert sorted(rows(store)) == sorted(again.items())
    check_store(store.path)
