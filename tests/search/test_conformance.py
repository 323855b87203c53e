"""A file of searches with known answers, where there is one."""

from __future__ import annotations

import pytest

from tests.search import conformance
from tests.search.naive import NaiveMessages


def test_matching_alone_gives_the_known_answers() -> None:
    content = conformance.load()
    if content is None:
        pytest.skip(f"no conformance file: name one in {conformance.VARIABLE}")

    verdicts = conformance.run(content, NaiveMessages.of(content).search)

    wrong = [verdict.name for verdict in verdicts if not verdict.is_right]
    assert [name for name in wrong if name not in conformance.DISPUTED] == [], conformance.report(verdicts)


def test_a_verdict_tells_missing_extra_order_and_error() -> None:
    cases = [
        {"name": "set", "group": "g", "q": "a", "params": {"limit": 200}, "ids": [1, 2], "order": "any"},
        {"name": "list", "group": "g", "q": "b", "params": {"limit": 200}, "ids": [1, 2], "order": "exact"},
        {"name": "words", "group": "g", "q": "c", "params": {"limit": 200}, "ids": [3], "order": "any"},
        {"name": "other", "group": "g", "q": "d", "params": {"limit": 200}, "ids": [4], "order": "any"},
        {"name": "error", "group": "g", "q": "e", "params": {"limit": 200}, "ids": [], "order": "any"},
    ]
    answers = {
        "a": [(2, "word"), (1, "word")],
        "b": [(2, "word"), (1, "word")],
        "c": [(3, "word"), (9, "substring")],
        "d": [(5, "substring")],
    }

    verdicts = conformance.run({"cases": cases}, lambda query, params: answers[query])

    assert [verdict.is_right for verdict in verdicts] == [True, False, True, False, False]
    lines = conformance.report(verdicts).splitlines()
    assert lines == [
        "WRONG  g/list: 'b': wrong order",
        "WRONG  g/other: 'd': missing [4], extra [5]",
        "WRONG  g/error: 'e': KeyError: 'e'",
        "2 of 5 right",
    ]
