"""Runs a file of searches with known answers against any search function, and tells what is wrong.

The file is JSON: ``sessions`` and ``messages`` to load, and ``cases`` with a query, its parameters and the ids that a
user should get. Name it in SEARCH_CONFORMANCE; without it the tests that use it are skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VARIABLE = "SEARCH_CONFORMANCE"
# Where the file goes against its own rule, the rule wins: case, and why.
DISPUTED = {
    "eszett_ss": "ss and ß are the same to fold, so one row has the query as a word; the other has it inside a word "
    "only, and of rows with word hits only those count",
}
# How content made of parts is written in the file.
_PARTS = "\x00json:"

# The hits of a query with its parameters in their order, as (id, "word" | "substring"): all of them where the limit is
# 200 (page until done), else the page of that limit and offset.
SearchFunction = Callable[[str, Mapping[str, Any]], Sequence[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one case."""

    name: str
    group: str
    query: str
    wanted: list[int]
    got: list[int]
    is_right: bool
    error: str = ""

    def __str__(self) -> str:
        if self.is_right:
            return f"right  {self.group}/{self.name}"
        missing = [number for number in self.wanted if number not in self.got]
        extra = [number for number in self.got if number not in self.wanted]
        what = self.error or f"missing {missing}, extra {extra}" if self.error or missing or extra else "wrong order"
        return f"WRONG  {self.group}/{self.name}: {self.query[:80]!r}: {what}"


def load() -> dict[str, Any] | None:
    """Return the file's content, None where there is no file."""
    path = os.environ.get(VARIABLE, "")
    if not path or not Path(path).is_file():
        return None
    content: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return content


def run(conformance: Mapping[str, Any], search: SearchFunction) -> list[Verdict]:
    """Return the verdict on every case, in the order of the file."""
    return [_verdict(case, search) for case in conformance["cases"]]


def report(verdicts: Sequence[Verdict]) -> str:
    """Return the wrong cases, a line each, and how many are right."""
    wrong = [f"{verdict}{_dispute(verdict)}" for verdict in verdicts if not verdict.is_right]
    return "\n".join([*wrong, f"{len(verdicts) - len(wrong)} of {len(verdicts)} right"])


def content_of(message: Mapping[str, Any]) -> Any:
    """Return the content as it is to be sent: text, or a list of parts."""
    content = message["content"] or ""
    return json.loads(content.removeprefix(_PARTS)) if content.startswith(_PARTS) else content


def tool_calls_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tool calls as they are to be sent."""
    calls: list[dict[str, Any]] = json.loads(message["tool_calls"]) if message["tool_calls"] else []
    return calls


def searched_text(message: Mapping[str, Any], gap: str = "\n") -> str:
    """Return what search sees of a message: text and tool names, and the values of tool arguments."""
    content = content_of(message)
    if isinstance(content, list):
        content = "\n".join(part["text"] for part in content if part.get("type") == "text")
    called = "\n".join(
        text
        for call in tool_calls_of(message)
        for text in (call["function"]["name"], *_values(call["function"]["arguments"]))
    )
    return gap.join(text for text in (content, message["tool_name"], called) if text)


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.startswith(("{", "[")):
        value = json.loads(value)
    if isinstance(value, dict):
        for inner in value.values():
            yield from _values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    elif value is not None:
        yield str(value)


def _verdict(case: Mapping[str, Any], search: SearchFunction) -> Verdict:
    wanted = list(case["ids"])
    try:
        hits = search(case["q"], case["params"])
    except Exception as error:  # whatever it is, it is the verdict
        return Verdict(case["name"], case["group"], case["q"], wanted, [], False, f"{type(error).__name__}: {error}")
    words = [number for number, match in hits if match == "word"]
    got = words or [number for number, _ in hits]
    right = got == wanted if case["order"] == "exact" else sorted(got) == sorted(wanted)
    return Verdict(case["name"], case["group"], case["q"], wanted, got, right)


def _dispute(verdict: Verdict) -> str:
    return f" (disputed: {DISPUTED[verdict.name]})" if verdict.name in DISPUTED else ""
