"""Running processes as one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memoryweb.supervision import exit_code
from tests.memoryweb.running import ROOT, wait_for

pytestmark = pytest.mark.processes

SUPERVISOR = """
import sys
from memoryweb import supervision

supervision.GRACE = float(sys.argv.pop(1))
with supervision.StopSignals() as signals:
    ended = supervision.run_together({"child": sys.argv[1:]}, signals=signals, served=lambda: True)
print(ended)
"""
STUBBORN = "trap '' TERM; sleep 100 & echo $$ $! > pids; wait; wait"


class Supervised:
    """A supervisor with a shell command as its child, in a directory of its own."""

    def __init__(self, place: Path, script: str, *, grace: float = 30, hangups: bool = True) -> None:
        def ignore_hangups() -> None:
            if not hangups:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

        self.place = place
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, str(grace), "sh", "-c", script],
            cwd=place,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=ignore_hangups,
        )

    def pids(self) -> list[int]:
        """Return the processes that the child named, once it has."""
        file = self.place / "pids"
        wait_for("the child runs", lambda: file.exists() and file.read_text().endswith("\n"))
        return [int(pid) for pid in file.read_text().split()]

    def ended(self) -> str:
        output, _ = self.process.communicate(timeout=30)
        assert self.process.returncode == 0
        return output.strip()


def lives(pid: int) -> bool:
    """Return whether the process runs. A dead one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("code", "told"), [(0, 1), (1, 1), (75, 75), (-9, 137), (-2, 130)])
def test_the_exit_code_of_the_whole_is_never_success(code: int, told: int) -> None:
    assert exit_code(code) == told


def test_a_child_that_ends_by_itself_ends_the_run(tmp_path: Path) -> None:
    assert Supervised(tmp_path, "exit 7").ended() == "Ended(name='child', code=7)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_children(tmp_path: Path, number: signal.Signals) -> None:
    supervised = Supervised(tmp_path, "echo $$ > pids; exec sleep 100")
    (pid,) = supervised.pids()

    supervised.process.send_signal(number)

    assert supervised.ended() == "None"
    assert not lives(pid)


def test_after_the_grace_a_stubborn_child_is_killed_with_its_own_children(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, STUBBORN, grace=0.5)
    pids = supervised.pids()

    supervised.process.send_signal(signal.SIGTERM)

    assert supervised.ended() == "None"
    wait_for("all are gone", lambda: not any(lives(pid) for pid in pids))


def test_a_second_signal_ends_the_grace(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, STUBBORN, grace=1000)
    pids = supervised.pids()

    supervised.process.send_signal(signal.SIGINT)
    time.sleep(0.2)  # two signals of one kind at once would be one
    supervised.process.send_signal(signal.SIGINT)

    assert supervised.ended() == "None"
    wait_for("all are gone", lambda: not any(lives(pid) for pid in pids))


def test_what_a_dead_child_leaves_is_killed(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, "sleep 100 & echo $! > pids; exit 3")
    (orphan,) = supervised.pids()

    assert supervised.ended() == "Ended(name='child', code=3)"
    wait_for("the orphan is gone", lambda: not lives(orphan))


def test_a_killed_supervisor_takes_the_child_with_it(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, "echo $$ > pids; exec sleep 100")
    (pid,) = supervised.pids()

    supervised.process.kill()
    supervised.process.communicate()

    wait_for("the child is gone", lambda: not lives(pid))


def test_under_nohup_it_outlives_the_terminal(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, "echo $$ > pids; exec sleep 100", hangups=False)
    (pid,) = supervised.pids()

    supervised.process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        supervised.process.wait(0.5)
    assert lives(pid)

    supervised.process.send_signal(signal.SIGINT)
    assert supervised.ended() == "None"
