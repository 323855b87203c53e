"""The background worker: one django-q2 sentinel with its worker, pusher and monitor, stopped and mended from here."""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
import uuid
from multiprocessing.context import ForkProcess
from multiprocessing.synchronize import Event
from typing import Any

from django.conf import settings
from django.db import connections
from django_q.cluster import Sentinel

from memoryweb.supervision import StopSignals, forks_die_with_parent

logger = logging.getLogger(__name__)

LOST_PROCESS = 75
"""Exit code of a sentinel that gave up because one of its processes was killed."""
LAST_WORDS = 5.0
"""Seconds that a worker past its time-out has to hand in its result and end."""


class CarefulSentinel(Sentinel):
    """A sentinel that replaces a process only if it ended by itself.

    django-q2's own goes on after any death. But a process that was killed may have held the lock of a queue (an idle
    worker always does, it waits with it). Then its successor waits for that lock forever and no task runs again. New
    queues are the cure, so this one gives up and ``run`` starts another.
    """

    def reincarnate(self, process: Any) -> None:
        process.join(LAST_WORDS)
        if process.exitcode != 0:
            logger.critical("a background process died (exit code %s): starting the worker anew", process.exitcode)
            os._exit(LOST_PROCESS)  # the others die with it
        super().reincarnate(process)


def cluster_command() -> list[str]:
    """Return the command that runs the background worker in a process of its own."""
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), "cluster"]


def run(signals: StopSignals) -> int | None:
    """Return None after a signal stopped the worker, else the exit code with which the sentinel died."""
    forks_die_with_parent()
    while not signals.asked:
        sentinel, stop = _start_sentinel()
        while not signals.asked and sentinel.is_alive():
            signals.sleep(60, sentinel.sentinel)
        if signals.asked:
            _stop(sentinel, stop, signals)
        elif sentinel.exitcode != LOST_PROCESS:
            return sentinel.exitcode
        else:
            signals.sleep(1)
    return None


def _start_sentinel() -> tuple[ForkProcess, Event]:
    # Not django_q.cluster.Cluster: its signal handler joins the sentinel wherever the signal finds it: a deadlock.
    connections.close_all()
    context = multiprocessing.get_context("fork")
    stop, started = context.Event(), context.Event()
    sentinel = context.Process(target=CarefulSentinel, args=(stop, started, uuid.uuid4()), name="sentinel")
    sentinel.start()
    return sentinel, stop


def _stop(sentinel: ForkProcess, stop: Event, signals: StopSignals) -> None:
    """Let the running task end, unless a second signal asks to hurry."""
    if sentinel.is_alive():  # setting it waits for whoever waits for it, and a dead one never answers
        stop.set()
    while sentinel.is_alive() and signals.asked < 2:
        signals.sleep(60, sentinel.sentinel)
    sentinel.kill()
    sentinel.join()
