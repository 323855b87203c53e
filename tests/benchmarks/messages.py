"""A filled store of messages: one workspace with nine tenths, a thousand small ones, three kinds of language."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.core.management import call_command
from django.db import connection
from tqdm import tqdm

from memories import access
from memories.access import Actor, Principal
from memories.models import Agent, Message, Session, Token, Workspace
from tests.benchmarks import stores

PER_SESSION = 40
SMALL_WORKSPACES = 1000
TINY = 30
"""Messages of the smallest workspace."""
LONG = "the long one"
"""The name of a session with a fiftieth of all messages: 20,000 of a million."""
VOCABULARY, CHARACTERS = 40_000, 3_000
FILLER = 3
"""Part of a store's name: raise it when the filler writes something else."""
CHUNK = 2000
_SYLLABLES = [first + vowel for first in ("br", "st", "tr", *"bdfghklmnprstvwz") for vowel in "aeiou"]
_UMLAUTS = str.maketrans("aou", "äöü")


class Speaker:
    """Says texts whose words are as unevenly common as those of a language.

    Of ten texts five are in words of a to z, three have umlauts, capitals and compounds, two are in Han characters.
    """

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.words = ["".join(self.pick.choices(_SYLLABLES, k=1 + place % 4)) + "n" for place in range(VOCABULARY)]
        self.compounds = [
            word.translate(_UMLAUTS) if place % 3 == 0 else (word + other).capitalize() if place % 3 == 1 else word
            for place, (word, other) in enumerate(zip(self.words, reversed(self.words), strict=True))
        ]
        self.characters = [chr(0x4E00 + 6 * number) for number in range(CHARACTERS)]
        self.word_ends = list(itertools.accumulate(1 / (3 + place) for place in range(VOCABULARY)))
        self.character_ends = list(itertools.accumulate(1 / (20 + place) for place in range(CHARACTERS)))

    def text(self) -> str:
        """Return a text of a few words to a few hundred characters."""
        length = int(8 + 112 * self.pick.random() ** 2)
        share = self.pick.random()
        if share < 0.2:
            said = self.pick.choices(self.characters, cum_weights=self.character_ends, k=length)
            return "，".join("".join(said[start : start + 12]) for start in range(0, length, 12))
        words = self.compounds if share < 0.5 else self.words
        return " ".join(self.pick.choices(words, cum_weights=self.word_ends, k=length))


@dataclass(frozen=True, slots=True)
class MessageStore:
    """Who asks: in the workspace with nine tenths of all, in one with a hundredth, in one with TINY messages."""

    path: Path
    messages: int
    big: Principal
    middle: Principal
    tiny: Principal


def filled(directory: Path, number: int) -> MessageStore:
    """Return the store of so many messages, built now unless the directory has it, with the connection at it."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"messages-{number}-{FILLER}-{stores.schema()}.sqlite3"
    if not path.exists():
        building = directory / f"building-{os.getpid()}-{path.name}"
        stores.use(building)
        try:
            _build(number)
            connection.close()
            building.replace(path)
        finally:
            stores.remove(building)
    stores.use(path)
    return MessageStore(path, number, *(_principal(name) for name in ("big", "middle", "tiny")))


def _principal(name: str) -> Principal:
    return access.principal_of_token(Token.objects.select_related("agent").get(agent__name=name))


def _build(number: int) -> None:
    call_command("migrate", verbosity=0)
    raw = stores.quick_connection()
    stores.drop_triggers(raw)
    write, pick, begin = Speaker(number), random.Random(number + 1), datetime(2024, 1, 1, tzinfo=UTC)
    sizes = list(_sessions(number))
    pick.shuffle(sizes)
    messages: list[Message] = []
    with tqdm(total=number, desc=f"filling {number:,}", unit=" messages", disable=None) as bar:
        for place, (agent, name, length) in enumerate(sizes):
            at = begin + timedelta(minutes=PER_SESSION * place)
            session = Session(
                workspace_id=agent.workspace_id,
                agent=agent,
                partition=agent.partition,
                external_id=name or f"session {place}",
                source=pick.choice(["cli", "telegram", "web"]),
                started_at=at,
                last_active_at=at + timedelta(seconds=length),
                created_at=at,
                updated_at=at,
            )
            session.save()
            messages += [
                Message(
                    session=session,
                    workspace_id=agent.workspace_id,
                    partition=agent.partition,
                    role=("user", "assistant", "assistant", "tool")[turn % 4],
                    content=write.text(),
                    timestamp=at + timedelta(seconds=turn),
                )
                for turn in range(length)
            ]
            if len(messages) >= CHUNK:
                Message.objects.bulk_create(messages)
                bar.update(len(messages))
                messages.clear()
        Message.objects.bulk_create(messages)
    stores.index()
    raw.execute("PRAGMA journal_mode = WAL")
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _sessions(number: int) -> Iterator[tuple[Agent, str, int]]:
    """Return agent, name and length of each session."""
    small = min(SMALL_WORKSPACES, number // 500)
    big, middle, tiny = (_agent(name) for name in ("big", "middle", "tiny"))
    yield big, LONG, number // 50
    yield from ((big, "", length) for length in _split(number * 9 // 10 - number // 50))
    yield from ((middle, "", length) for length in _split(number // 100))
    yield tiny, "", TINY
    left = number - number * 9 // 10 - number // 100 - TINY
    for place in range(small - 2):
        agent = _agent(f"small {place}")
        share = left // (small - 2) + (place < left % (small - 2))
        yield from ((agent, "", length) for length in _split(share))


def _split(number: int) -> Iterator[int]:
    while number > 0:
        yield min(number, PER_SESSION)
        number -= PER_SESSION


def _agent(name: str) -> Agent:
    agent = Agent.objects.create(workspace=Workspace.objects.create(name=name), name=name)
    access.create_token(agent, actor=Actor("benchmarks"))
    return agent
