"""Several processes run as one: a dead one ends all, a signal stops all, and none is left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Self

GRACE = 6.0
"""Seconds that children have to end after SIGTERM before their process groups are killed."""
_PR_SET_PDEATHSIG = 1  # https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
_prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None


class StopSignals:
    """Whether the process was asked to stop, and a sleep that ends when it is.

    The handlers only count. Taking a lock in one, as threading.Event.set does, can deadlock with the main thread that
    it interrupted; the sleep is woken through a pipe that the interpreter writes to.
    """

    def __init__(self) -> None:
        self.asked = 0
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self._count)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup asks to outlive the terminal
            self._previous[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._count)
        # No news in itself, but the sleep ends when a child does.
        self._previous[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda number, frame: None)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        os.close(self._reader)
        os.close(self._writer)

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1

    def sleep(self, seconds: float, *descriptors: int) -> None:
        """Sleep until a signal comes, one of the descriptors can be read, or the time is over."""
        select.select([self._reader, *descriptors], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 4096)


@dataclass(frozen=True, slots=True)
class Ended:
    """The child that ended without being asked, and the exit code for the whole: never 0."""

    name: str
    code: int


def run_together(
    commands: Mapping[str, Sequence[str]], *, signals: StopSignals, served: Callable[[], bool]
) -> Ended | None:
    """Return None after a signal stopped all children, or the child that ended by itself, the others being stopped.

    ``served`` is asked five times a second until it is true.
    """
    children: dict[str, subprocess.Popen[bytes]] = {}
    waiting = True
    try:
        for name, command in commands.items():
            if signals.asked:
                break
            children[name] = start_child(command)
        while not signals.asked:
            for name, child in children.items():
                code = child.poll()
                if code is not None:
                    return Ended(name, exit_code(code))
            waiting = waiting and not served()
            signals.sleep(0.2 if waiting else 60)
        return None
    finally:
        stop_children(children.values(), signals)


def exit_code(code: int) -> int:
    """Return a child's exit code as a shell tells it, 128 + the signal that killed it, and 1 for 0: it must not end."""
    return 128 - code if code < 0 else code or 1


def start_child(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Return the started process, in a session of its own: a Ctrl-C at the terminal reaches only us, and we tell it."""
    parent = os.getpid()
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: die_with_parent(parent) if _prctl else None,
    )


def stop_children(children: Iterable[subprocess.Popen[bytes]], signals: StopSignals) -> None:
    """Ask every child to end, wait for GRACE seconds (not at all after a second signal), then kill what is left.

    Only a child's main process is asked, by SIGTERM: a Python that is still starting answers SIGINT with a traceback.
    """
    children = list(children)
    for child in children:
        child.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while any(child.poll() is None for child in children) and time.monotonic() < deadline and signals.asked < 2:
        signals.sleep(0.1)
    for child in children:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent, of this process id, dies. Linux only, elsewhere a no-op.

    A fork does not inherit that: see ``forks_die_with_parent``.
    """
    if _prctl is None:
        return
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


def forks_die_with_parent() -> None:
    """Have every process that is forked from this one, and from those, killed when the one that forked it dies."""
    parent = 0

    def remember() -> None:
        nonlocal parent
        parent = os.getpid()

    def follow() -> None:
        signal.set_wakeup_fd(-1)  # the pipe is the parent's
        die_with_parent(parent)

    os.register_at_fork(before=remember, after_in_child=follow)
