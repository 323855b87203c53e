"""What tests of the indexes ask again and again."""

from __future__ import annotations

from typing import Any

from memories.access import Actor, Principal, visible_to
from memories.models import Agent
from search import verification
from search.backends.base import KINDS
from search.corpora import CORPORA, Corpus
from search.engine import Answer, search
from search.models import IndexState
from search.query import parse


def principal_of(agent: Agent) -> Principal:
    """Return who the agent is when it asks."""
    return Principal(agent.workspace_id, agent.pk, "agent", "own", Actor("test"), own_partition=agent.partition)


def ask(agent: Agent, corpus: Corpus, query: str, **options: Any) -> Answer:
    """Return the answer of the engine to a query over all that the agent sees."""
    principal = principal_of(agent)
    rows = options.pop("rows", None)
    match = options.pop("match", "all")
    if rows is None:
        rows = visible_to(principal, corpus.model)
    return search(corpus, parse(query, match=match), rows, principal, **{"limit": 100} | options)


def found(agent: Agent, corpus: Corpus, query: str, **options: Any) -> list[int]:
    """Return the ids of the first hundred hits, of an answer that is complete."""
    answer = ask(agent, corpus, query, **options)
    assert answer.complete
    return [hit.id for hit in answer.hits]


def sound() -> bool:
    """Return whether every index serves, has each row once, and is built as its engine wants it."""
    verdicts = [verification.verify(corpus, kind) for corpus in CORPORA.values() for kind in KINDS]
    assert all(verdict.is_sound for verdict in verdicts), [verdict.said for verdict in verdicts]
    assert {state.state for state in IndexState.objects.all()} == {IndexState.State.READY}
    return len(verdicts) == 4


def state_of(corpus: Corpus, kind: str) -> IndexState:
    return IndexState.objects.get(corpus=corpus.name, kind=kind)
