"""The benchmarks run and tell every figure beside its limit. What the figures are is no matter of a test."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.memoryweb.running import wait_for

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("store", "recall", "plans", "http", "remember", "batch")


def run_benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True
    )


@pytest.mark.processes
@pytest.mark.parametrize("part", PARTS)
def test_every_row_has_a_figure_and_its_limit(part: str, tmp_path: Path) -> None:
    written = tmp_path / "figures.json"

    done = run_benchmarks(
        "--quick", "--sizes", "1000", "--only", part, "--json", str(written), "--stores", str(tmp_path / "stores")
    )

    assert done.returncode == 0, done.stderr
    report = json.loads(written.read_text())
    assert {"cores", "python", "sqlite", "commit", "load_average"} <= set(report["machine"])
    assert report["rows"]
    for row in report["rows"]:
        assert row["memories"] == 1000
        figures = [value for value in row["figures"].values() if value is not None]
        assert figures
        assert all(isinstance(value, int | float) for value in figures), row
        assert row["limit"]["what"]
        assert isinstance(row["limit"]["value"], int | float), row
        assert row["figures"].get("refused", 0) == 0, row
        line = next(line for line in done.stdout.splitlines() if f"  {row['case']}  " in line)
        assert row["limit"]["what"] in line


@pytest.mark.processes
def test_it_keeps_filled_stores_and_leaves_no_copies(tmp_path: Path) -> None:
    stores = tmp_path / "stores"
    kept = stores / "memories-1000.sqlite3"
    built_at = []

    for _ in range(2):
        done = run_benchmarks("--sizes", "1000", "--only", "store", "--stores", str(stores))
        assert done.returncode == 0, done.stderr
        built_at.append(kept.stat().st_mtime_ns)

    assert built_at[0] == built_at[1]
    assert sorted(path.name for path in stores.iterdir()) == ["memories-1000.json", kept.name]


@pytest.mark.processes
def test_a_stopped_run_leaves_no_server_and_no_copy(tmp_path: Path) -> None:
    stores = tmp_path / "stores"
    command = [sys.executable, "-m", "tests.benchmarks", "--sizes", "1000", "--only", "http", "--stores", str(stores)]
    run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    servers = wait_for("two servers", lambda: pair_of_servers(run.pid))
    run.terminate()
    run.wait(60)

    assert run.returncode == 128 + signal.SIGTERM
    assert not any(Path(f"/proc/{server}").exists() for server in servers)
    assert sorted(path.name for path in stores.iterdir()) == ["memories-1000.json", "memories-1000.sqlite3"]


def pair_of_servers(pid: int) -> list[str]:
    """Return the ids of the process's children once there are two; before, nothing."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return children if len(children) == 2 else []


def test_it_names_the_parts_for_a_part_that_is_none() -> None:
    done = run_benchmarks("--only", "nothing")

    assert done.returncode == 2
    assert all(part in done.stderr for part in PARTS)


def test_it_says_which_sizes_are_allowed() -> None:
    done = run_benchmarks("--sizes", "10")

    assert done.returncode == 2
    assert "between 1,000 and 10,000,000" in done.stderr
