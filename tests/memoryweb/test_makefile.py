"""make and .ci/run, with a real make on a directory that needs no packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.memoryweb.running import ROOT

pytestmark = pytest.mark.processes


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory with our Makefile and requirements that are already met."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements.txt").write_text("# none\n")
    return tmp_path


def make(place: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "PIP_", "PYTHON"))}
    environment |= {"PATH": path} if path else {}
    return subprocess.run(
        ["/usr/bin/env", "make", *arguments],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def fake_python(directory: Path, name: str, *, version: str, has_venv: bool) -> Path:
    """Return a program that behaves as a Python of this version where the Makefile asks."""
    directory.mkdir(exist_ok=True)
    program = directory / name
    is_new = tuple(map(int, version.split("."))) >= (3, 11)
    program.write_text(
        f"""#!/bin/sh
case "$*" in
    --version) echo "Python {version}" ;;
    *version_info*) exit {0 if is_new else 1} ;;
    *ensurepip*) exit {0 if has_venv else 1} ;;
    *) echo "$0 was run with $*"; exit 3 ;;
esac
"""
    )
    program.chmod(0o755)
    return program


def test_setup_installs_once_and_again_when_the_requirements_change(place: Path) -> None:
    first = make(place, "setup", f"PYTHON={sys.executable}")
    assert first.returncode == 0, first.stderr
    assert "Preparing .venv" in first.stdout

    assert make(place, "setup").stdout == ""

    (place / "requirements.txt").write_text("# none yet\npip\n")
    changed = make(place, "setup")
    assert changed.returncode == 0
    assert "Preparing" not in changed.stdout
    assert "Requirement already satisfied: pip" in changed.stdout
    assert make(place, "setup").stdout == ""

    (place / ".venv" / "bin" / "python").unlink()  # what an upgrade of the system's Python leaves
    newer = fake_python(place / "bin", "python3", version="3.13.1", has_venv=True)
    assert f"{newer} was run with -m venv --clear .venv" in make(place, "setup", f"PYTHON={newer}").stdout


def test_a_python_that_is_too_old_is_refused_by_name(place: Path) -> None:
    old = fake_python(place / "bin", "python3", version="3.10.12", has_venv=True)

    refused = make(place, "run", f"PYTHON={old}")

    assert refused.returncode != 0
    assert f"memoryweb needs Python 3.11 or newer, and {old} is: Python 3.10.12." in refused.stderr
    assert "make run PYTHON=" in refused.stderr
    assert not (place / ".venv").exists()


def test_a_newer_relative_of_an_old_python_is_found(place: Path) -> None:
    fake_python(place / "bin", "python3", version="3.9.2", has_venv=True)
    newer = fake_python(place / "bin", "python3.12", version="3.12.1", has_venv=True)

    tried = make(place, "setup", path=f"{place / 'bin'}:/usr/bin:/bin")

    assert "Preparing .venv with Python 3.12.1" in tried.stdout
    assert f"{newer} was run with -m venv" in tried.stdout


def test_a_python_without_venv_is_refused_with_what_to_install(place: Path) -> None:
    bare = fake_python(place / "bin", "python3", version="3.11.2", has_venv=False)

    refused = make(place, "setup", f"PYTHON={bare}")

    assert refused.returncode != 0
    assert "apt install python3-venv" in refused.stderr
    assert not (place / ".venv").exists()


def test_ci_checks_nothing_but_what_make_test_checks() -> None:
    script = (ROOT / ".ci" / "run").read_text()

    assert re.search(r"^exec make test$", script, re.MULTILINE)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    for tool in ("pytest", "ruff", "mypy", "lint-imports", "manage.py"):
        assert tool not in script
        assert tool in (ROOT / "Makefile").read_text()
