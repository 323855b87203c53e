"""Everything that a page names has a word."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from django.utils import translation

from memories.models import Kind, Memory, Scope, Source, Status
from memories.revisions import FIELDS as REVISED
from memoryweb.pages.words import FIELDS, SCOPES, SOURCES, STATUSES, WHYS, reason_in_words
from search.query import parse
from search.routing import plan
from tidy.shown import KINDS

QUERIES = (
    "kestrel",
    "kes",
    "ke",
    '"two words"',
    "茶",
    "茶馆",
    "C++ x",
    "🎻",
    "kestrel 茶 🎻",
    "NOT x",
    "a OR NOT b",
    "...",
    " ".join(f"w{n}" for n in range(80)),
    "(" * 20 + "a b" + ")" * 20,
)


def test_every_reason_that_a_search_gives() -> None:
    seen: set[str] = set()
    for query, match, mode in product(QUERIES, ("all", "any"), ("auto", "words", "substring", "scan")):
        for words, trigram, rows, few in product((True, False), repeat=4):
            options: dict[str, Any] = {"words": words, "trigram": trigram, "unindexed_rows": rows, "few_rows": few}
            asked = parse(query, match=match)  # type: ignore[arg-type]
            chosen = plan(asked, mode, **options)  # type: ignore[arg-type]
            seen |= {part for part in (*chosen.reason.split("; "), *asked.reasons) if part}
    assert seen <= set(WHYS), seen - set(WHYS)
    assert set(WHYS) - seen <= {"query_truncated"}


def test_it_is_in_the_readers_language() -> None:
    reason = "the words index cannot serve; read from the text: there are few rows; something new"
    with translation.override("de"):
        said = reason_in_words(reason)
    assert "something new" in said
    assert "few rows" not in said


@pytest.mark.parametrize(
    ("names", "values"),
    [(STATUSES, Status), (SCOPES, Scope), (SOURCES, Source), (KINDS, Kind)],
    ids=["status", "scope", "source", "kind"],
)
def test_every_value_has_a_word(names: Any, values: Any) -> None:
    assert {str(getattr(name, "value", name)) for name in names} == set(values.values)


def test_every_field_of_a_revision_has_a_word() -> None:
    assert set(FIELDS) == set(REVISED)
    assert {field.attname for field in Memory._meta.concrete_fields} >= set(FIELDS)
