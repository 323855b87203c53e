"""Gates over public data: nothing false is merged, no habit is archived. Named in TIDY_DATA; skipped where absent."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tidy.events import one_off_event
from tidy.rules import equivalence_key, judge_pair

DATA = Path(os.environ.get("TIDY_DATA", ""))
TODAY = date(2026, 11, 30)
DATED = {"en": "On 3 May 2026, ", "de": "Am 3. Mai 2026 ", "zh": "2026年5月3日"}
pytestmark = pytest.mark.skipif(not os.environ.get("TIDY_DATA"), reason="no data: name their folder in TIDY_DATA")


def lines(name: str) -> Iterator[dict[str, Any]]:
    with (DATA / name).open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def bare(text: str) -> str:
    """Return the text without white space and punctuation."""
    kept = unicodedata.normalize("NFKC", text)
    return "".join(one for one in kept if not one.isspace() and not unicodedata.category(one).startswith("P"))


@pytest.mark.parametrize("language", ["en", "de", "zh", "ja", "ko"])
def test_no_pair_that_differs_is_merged(language: str) -> None:
    false, noise, caught, same = [], [], 0, 0
    for row in lines(f"pairs/pawsx/pairs.{language}.jsonl"):
        merged = judge_pair(row["a"], row["b"]).relation == "merge"
        same += row["label"]
        caught += merged and row["label"]
        if merged:
            assert equivalence_key(row["a"]) == equivalence_key(row["b"])
        if merged and not row["label"]:
            (noise if bare(row["a"]) == bare(row["b"]) else false).append((row["a"], row["b"]))
    print(f"{language}: {caught} of {same} same pairs merged; labelled different but for marks and blanks: {noise}")
    assert false == []


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_no_hand_made_pair_of_another_verdict_is_merged(language: str) -> None:
    caught = wanted = 0
    for row in lines(f"tidy/pairs_{language}.jsonl"):
        merged = judge_pair(row["a"], row["b"]).relation == "merge"
        wanted += row["verdict"] == "merge"
        caught += merged
        assert not merged or row["verdict"] == "merge", row
    print(f"{language}: {caught} of {wanted} merged")


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_no_hand_made_text_that_stays_is_archived(language: str) -> None:
    caught = wanted = 0
    for row in lines(f"tidy/texts_{language}.jsonl"):
        event = one_off_event(row["text"], today=date.fromisoformat(row["now"]))
        wanted += row["archive_ok"]
        caught += event is not None
        assert event is None or row["archive_ok"], row
    print(f"{language}: {caught} of {wanted} archived")


@pytest.mark.parametrize(
    ("name", "language", "field", "kept"),
    [
        ("sitent_en/clauses.en", "en", "habituality", {"HABITUAL", "STATIC"}),
        ("massive_de/utterances.de", "de", "label", {"recurring"}),
        ("dulemon_zh/labelled.zh", "zh", "label", {"habit", "lasting"}),
    ],
)
def test_no_habit_is_archived_with_or_without_a_date(name: str, language: str, field: str, kept: set[str]) -> None:
    for row in lines(f"habits_events/{name}.jsonl"):
        if row[field] in kept:
            for text in (row["text"], DATED[language] + row["text"]):
                assert one_off_event(text, today=TODAY) is None, text
