"""A search that reads every text: no index, no database, the plan and the definition of matching alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search.matching import Meaning, PreparedText, matcher
from search.query import Match, Query, parse
from search.routing import Mode, plan
from search.text import GAP
from tests.search.conformance import searched_text


def search_texts(
    texts: Mapping[int, str], query: str, *, mode: Mode = "auto", match: Match = "all"
) -> list[tuple[int, str]]:
    """Return every hit, step by step, the page without end."""
    asked = parse(query, match=match)
    prepared = {number: PreparedText(text) for number, text in texts.items()}
    return found_by_plan(asked, prepared, mode)


def found_by_plan(query: Query, prepared: Mapping[int, PreparedText], mode: Mode) -> list[tuple[int, str]]:
    """Return the hits that the plan's steps find one after the other."""
    found: dict[int, Meaning] = {}
    for step in plan(query, mode).steps:
        if query.root is None or (step.when == "empty" and found):
            continue
        matches = matcher(query.root, step.meaning)
        for number, text in prepared.items():
            if number not in found and matches(text):
                found[number] = step.meaning
    return [(number, "word" if meaning == "words" else "substring") for number, meaning in found.items()]


@dataclass(slots=True)
class NaiveMessages:
    """The messages of a conformance file, searched as the server would."""

    sources: dict[str, str]
    messages: dict[int, dict[str, Any]]
    prepared: dict[int, PreparedText]

    @classmethod
    def of(cls, conformance: Mapping[str, Any]) -> NaiveMessages:
        """Return the messages of a file that a search sees; a live row and its compacted copy are one."""
        live = [message for message in conformance["messages"] if message["active"] or message["compacted"]]
        once: dict[tuple[Any, ...], dict[str, Any]] = {}
        for message in sorted(live, key=lambda message: not message["active"]):
            once.setdefault((message["session_id"], message["role"], message["content"], message["timestamp"]), message)
        kept = {message["id"]: message for message in once.values()}
        return cls(
            sources={session["id"]: session["source"] for session in conformance["sessions"]},
            messages=kept,
            prepared={number: PreparedText(searched_text(message, f"\n{GAP}\n")) for number, message in kept.items()},
        )

    def search(self, query: str, params: Mapping[str, Any]) -> Sequence[tuple[int, str]]:
        """Return the hits of one case."""
        admitted = {
            number: text for number, text in self.prepared.items() if self._is_admitted(self.messages[number], params)
        }
        hits = found_by_plan(parse(query), admitted, "auto")
        direction = -1 if params.get("sort") == "newest" else 1
        hits.sort(key=lambda hit: (direction * self.messages[hit[0]]["timestamp"], direction * hit[0]))
        return hits[params.get("offset", 0) :][: params.get("limit", 200)]

    def _is_admitted(self, message: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
        source = self.sources[message["session_id"]]
        return (
            ("source" not in params or source in params["source"])
            and source not in params.get("exclude_source", ())
            and ("role" not in params or message["role"] in params["role"])
        )
