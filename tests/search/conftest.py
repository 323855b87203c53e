"""Indexes as a new store has them, whatever the tests before have left."""

from __future__ import annotations

from typing import Any

import pytest

from search import maintenance
from search.backends import backend
from search.backends.base import KINDS, Generation
from search.corpora import CORPORA
from search.models import IndexState
from search.text import function_name


@pytest.fixture(autouse=True)
def first_generations(request: Any) -> None:
    """Begin with the first generation of each index: tests without a transaction around them leave others behind."""
    if request.node.get_closest_marker("django_db") is None:
        return
    request.getfixturevalue("_django_db_helper")
    pairs = [(corpus, kind) for corpus in CORPORA.values() for kind in KINDS]
    if all(backend().generations(corpus, kind) == [1] for corpus, kind in pairs):
        return
    for corpus, kind in pairs:
        for number in backend().generations(corpus, kind):
            backend().drop(Generation(corpus, kind, number, function_name()))
    IndexState.objects.all().delete()
    maintenance.ensure()
    maintenance.fill(seconds=60)
