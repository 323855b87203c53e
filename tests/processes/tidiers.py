"""Programs that tidy, decide and write on one store until SIGTERM: ``python -m tests.processes.tidiers WHAT``."""

from __future__ import annotations

import random
import signal
import sys
import threading
import time

import django

django.setup()

from django.utils import timezone  # noqa: E402

from memories import revisions  # noqa: E402
from memories.access import Actor  # noqa: E402
from memories.errors import Refused  # noqa: E402
from memories.models import Memory  # noqa: E402
from tidy import apply, rounds  # noqa: E402
from tidy.models import Candidate  # noqa: E402


def tidy() -> None:
    """Begin a round, or go on with one that was left."""
    round = rounds.under_way() or rounds.start(by=Actor("tidier"), now=timezone.now())
    if round is not None:
        rounds.work(round.pk, seconds=1)


def decide() -> None:
    """Approve, dismiss or revert some candidate, as somebody who looks at an old page."""
    ids = list(Candidate.objects.values_list("pk", flat=True)[:500])
    if ids:
        act = random.choice((apply.apply, apply.apply, apply.dismiss, apply.revert))
        act(random.choice(ids), by=Actor("reviewer", is_person=True), now=timezone.now())


def rewrite() -> None:
    """Change some memory, as an agent does meanwhile."""
    memory = Memory.objects.order_by("?").first()
    if memory is not None and memory.status == "active":
        try:
            revisions.change(
                memory, {"importance": 1 + memory.importance % 5}, by=Actor("agent"), now=timezone.now(), verb="revise"
            )
        except Refused:
            time.sleep(0.001)


def main() -> None:
    step = {"tidy": tidy, "decide": decide, "rewrite": rewrite}[sys.argv[1]]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    while not stop.is_set():
        step()


if __name__ == "__main__":
    main()
