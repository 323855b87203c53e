"""A workspace to try everything in: invented people who live in Bergen, Weimar and Chengdu, and what is noted of them.

``memories.<language>.tsv`` has a memory a line; ``marks`` are words such as ``pinned``, ``key=name``, ``scope=shared``,
``source=web`` and ``expires=-20`` (days from now). ``transcripts.<language>.txt`` has sessions, each under a line
``# name | source | title | days ago | time``, then a message a line. Among the memories are copies, events that are
over, habits, wrong kinds and contradictions, so that there is something to tidy.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from pathlib import Path

HERE = Path(__file__).parent
LANGUAGES = {"en": "scribe", "de": "Notizbuch", "zh": "小助手"}
"""Languages, and the name of the agent that writes in each."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """One memory of the demo."""

    days_ago: int
    kind: str
    subject: str
    importance: int
    tag: str
    content: str
    pinned: bool = False
    marks: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Talk:
    """One transcript: who said what, with the name of the tool where one spoke."""

    name: str
    source: str
    title: str
    days_ago: int
    begins: time
    turns: list[tuple[str, str, str]]

    def starts_at(self, now: datetime) -> datetime:
        """Return when it began, counted from today."""
        day = (now - timedelta(days=self.days_ago)).date()
        return datetime.combine(day, self.begins, tzinfo=now.tzinfo)


def memories(language: str) -> Iterator[Remembered]:
    """Return the demo's memories in a language, the oldest first."""
    with (HERE / f"memories.{language}.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            marks = row["marks"].split()
            yield Remembered(
                days_ago=int(row["ago"]),
                kind=row["kind"],
                subject=row["subject"],
                importance=int(row["importance"]),
                tag=row["tags"],
                content=row["content"],
                pinned="pinned" in marks,
                marks=dict(mark.split("=", 1) for mark in marks if "=" in mark),
            )


def talks(language: str) -> Iterator[Talk]:
    """Return the demo's transcripts in a language."""
    text = (HERE / f"transcripts.{language}.txt").read_text(encoding="utf-8")
    for part in text.removeprefix("# ").split("\n# "):
        head, *lines = part.strip().splitlines()
        name, source, title, days_ago, begins = head.split(" | ")
        turns = []
        for line in lines:
            speaker, _, said = line.partition(": ")
            role, _, tool = speaker.partition(" ")
            turns.append((role, tool, said))
        yield Talk(name, source, title, int(days_ago), time.fromisoformat(begins), turns)
