"""Programs that rebuild, write, delete and search on one store: ``python -m tests.processes.rebuilders WHAT [N]``.

They go on until SIGTERM, but ``swap``: it dies by SIGKILL at the N-th statement from the first one with which a build
is put in its place, or ends with 0 where there are less.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import django

django.setup()

from django.db import connection, transaction  # noqa: E402

from memories.models import Agent, Memory, Message, Session  # noqa: E402
from memories.transcripts import Said, load  # noqa: E402
from search import maintenance, upkeep  # noqa: E402
from search.backends.base import KINDS  # noqa: E402
from search.corpora import CORPORA  # noqa: E402
from search.models import IndexState  # noqa: E402
from tests.factories import MemoryFactory  # noqa: E402
from tests.search.indexes import ask  # noqa: E402

ANCHOR, BALLAST = "anchor", "ballast"
"""What stays, and what comes and goes."""


def agent() -> Agent:
    """Return the agent that all of it belongs to."""
    return Agent.objects.get(name="writer")


def maintain() -> None:
    """Now and then begin an index anew; mend, fill and tear down for a moment."""
    if random.random() < 0.3:
        maintenance.rebuild(random.choice(list(CORPORA.values())), random.choice(KINDS))
    maintenance.ensure()
    maintenance.fill(seconds=0.2, duty=0.5)
    upkeep.tear_down(seconds=0.1)
    upkeep.merge_all()


def write() -> None:
    """Append to the transcript, remember something, and rewrite something."""
    number = random.randrange(10**9)
    said = [Said("user", f"{BALLAST} {number} 压舱物"), Said("tool", f"{BALLAST} of a tool {number}")]
    load(Session.objects.get(external_id="walk"), said, now=datetime.now(UTC))
    with transaction.atomic():
        # Or the deleter may take the row away before its revision is written.
        MemoryFactory.create(agent=agent(), content=f"{BALLAST} {number} 压舱物")
    some = Memory.objects.filter(content__contains=BALLAST).order_by("?").first()
    if some is not None:
        # The deleter may have been quicker.
        Memory.objects.filter(pk=some.pk).update(content=f"{BALLAST} {number} again 压舱物")


def delete() -> None:
    """Delete some of what comes and goes."""
    for model in (Message, Memory):
        ids = list(model._default_manager.filter(content__contains=BALLAST).order_by("?").values_list("pk")[:3])
        model._default_manager.filter(pk__in=[pk for (pk,) in ids]).delete()


def look() -> None:
    """Search for what is always there. Raises AssertionError where an answer lacks a row and does not say so."""
    for corpus in CORPORA.values():
        there = set(corpus.model._default_manager.filter(content__contains=ANCHOR).values_list("pk", flat=True))
        for query in (ANCHOR, "锚", "ncho"):
            answers = [ask(agent(), corpus, query, limit=100, offset=offset) for offset in (0, 100)]
            found = [hit.id for answer in answers for hit in answer.hits]
            assert len(found) == len(set(found)), f"{query}: a row twice"
            missing = there - set(found)
            assert not missing or not all(answer.complete for answer in answers), f"{query}: {len(missing)} missing"


def swap(place: int) -> None:
    """Fill the build up to its end, and die at a statement of the transaction that puts it in its place."""
    state = IndexState.objects.get(building__isnull=False)
    while state.build_progress < state.build_high_water:
        maintenance._build_chunk(state.corpus, state.kind)
        state.refresh_from_db()
    left = place

    def count(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        maintenance.fill(seconds=60)
        upkeep.tear_down(seconds=60)


def main() -> None:
    if sys.argv[1] == "swap":
        swap(int(sys.argv[2]))
        return
    maintenance.CHUNK = 10
    upkeep.THINNED = 5
    step = {"maintain": maintain, "write": write, "delete": delete, "look": look}[sys.argv[1]]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    while not stop.is_set():
        step()


if __name__ == "__main__":
    main()
