"""What the rules catch and what they get wrong over public data, for tests and for people to read.

``TIDY_DATA=FOLDER python -m tests.tidy.gates`` prints it. Wrong must be nothing at all: a wrong merge or a habit
archived as an event is worse than any number that are missed.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from tidy.events import one_off_event
from tidy.kinds import kind_of
from tidy.rules import equivalence_key, judge_pair

TODAY = date(2026, 11, 30)
PARAPHRASED = ("en", "de", "zh", "ja", "ko")
LANGUAGES = ("en", "de", "zh")
DATED = {"en": "On 3 May 2026, ", "de": "Am 3. Mai 2026 ", "zh": "2026年5月3日"}
HABITS = (
    ("sitent_en/clauses.en", "en", "habituality", frozenset({"HABITUAL", "STATIC"})),
    ("massive_de/utterances.de", "de", "label", frozenset({"recurring"})),
    ("dulemon_zh/labelled.zh", "zh", "label", frozenset({"habit", "lasting"})),
)
SHOWN = 5


@dataclass(slots=True)
class Outcome:
    """What was caught of all that could be, what was wrong, and what only the labels of the data say is wrong."""

    name: str
    looked_at: int = 0
    wanted: int = 0
    caught: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    mislabelled: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        caught = f"{len(self.caught)} of {self.wanted} caught"
        lines = [f"{self.name}: {self.looked_at} looked at, {caught}, {len(self.wrong)} wrong"]
        lines += [f"    caught: {text}" for text in self.caught[:SHOWN]]
        lines += [f"    WRONG: {text}" for text in self.wrong]
        lines += [f"    differs in marks and blanks alone: {text}" for text in self.mislabelled]
        return "\n".join(lines)


def data() -> Path | None:
    """Return the folder that TIDY_DATA names, None where it names none."""
    named = os.environ.get("TIDY_DATA")
    return Path(named) if named else None


def rows(name: str) -> Iterator[dict[str, Any]]:
    """Return the rows of a file of the folder."""
    folder = data()
    assert folder is not None
    with (folder / name).open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def bare(text: str) -> str:
    """Return the text without white space and punctuation."""
    kept = unicodedata.normalize("NFKC", text)
    return "".join(one for one in kept if not one.isspace() and not unicodedata.category(one).startswith("P"))


def paraphrases(language: str) -> Outcome:
    """Return what is merged of pairs that share nearly all words and are labelled as the same or not."""
    found = Outcome(f"paraphrases {language}")
    for row in rows(f"pairs/pawsx/pairs.{language}.jsonl"):
        found.looked_at += 1
        found.wanted += row["label"]
        if judge_pair(row["a"], row["b"]).relation != "merge":
            continue
        pair = f"{row['a']} | {row['b']}"
        if equivalence_key(row["a"]) != equivalence_key(row["b"]):
            found.wrong.append(f"no common key: {pair}")
        elif row["label"]:
            found.caught.append(pair)
        else:
            (found.mislabelled if bare(row["a"]) == bare(row["b"]) else found.wrong).append(pair)
    return found


def pairs(language: str) -> Outcome:
    """Return what is merged of hand-made pairs with the verdict of a person."""
    found = Outcome(f"pairs {language}")
    for row in rows(f"tidy/pairs_{language}.jsonl"):
        found.looked_at += 1
        found.wanted += row["verdict"] == "merge"
        if judge_pair(row["a"], row["b"]).relation == "merge":
            (found.caught if row["verdict"] == "merge" else found.wrong).append(f"{row['a']} | {row['b']}")
    return found


def texts(language: str) -> Outcome:
    """Return what is archived of hand-made texts of which a person says what may be."""
    found = Outcome(f"events {language}")
    for row in rows(f"tidy/texts_{language}.jsonl"):
        found.looked_at += 1
        found.wanted += row["archive_ok"]
        if one_off_event(row["text"], today=date.fromisoformat(row["now"])) is not None:
            (found.caught if row["archive_ok"] else found.wrong).append(row["text"])
    return found


def kinds(language: str) -> Outcome:
    """Return whose kind is corrected without a person, of the same texts."""
    found = Outcome(f"kinds {language}")
    for row in rows(f"tidy/texts_{language}.jsonl"):
        found.looked_at += 1
        found.wanted += row["kind"] in ("task", "contact")
        verdict = kind_of(row["text"])
        if verdict is not None and verdict.is_safe:
            (found.caught if verdict.kind == row["kind"] else found.wrong).append(row["text"])
    return found


def habits(name: str, language: str, label: str, kept: frozenset[str]) -> Outcome:
    """Return what is archived of habits and of what lasts, as it stands and with a past date in front: always wrong."""
    found = Outcome(f"habits {language}")
    for row in rows(f"habits_events/{name}.jsonl"):
        if row[label] in kept:
            found.looked_at += 1
            dated = (row["text"], DATED[language] + row["text"])
            found.wrong += [text for text in dated if one_off_event(text, today=TODAY) is not None]
    return found


def main() -> None:
    """Print all of it."""
    for language in PARAPHRASED:
        print(paraphrases(language))
    for language in LANGUAGES:
        print(pairs(language), texts(language), kinds(language), sep="\n")
    for habit in HABITS:
        print(habits(*habit))


if __name__ == "__main__":
    main()
