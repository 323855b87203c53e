"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).absolute().parents[2]


def facts() -> dict[str, Any]:
    """Return the machine, the versions and the commit. ``sqlite3`` is the library that memoryweb put in place."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "django": version("django"),
        "granian": version("granian"),
        "commit": _commit(),
        "load_average": load_average(),
    }


def load_average() -> list[float]:
    """Return the load of the last 1, 5 and 15 minutes: above 0 at the start, others work on this machine too."""
    return [round(value, 2) for value in os.getloadavg()]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _commit() -> str:
    try:
        head = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip()
