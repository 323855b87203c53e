"""What a part gets to work with: sizes, stores, how long to measure, where to report."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import stores
from tests.benchmarks.figures import Report, Row
from tests.benchmarks.stores import Store


@dataclass
class Bench:
    """One run of the benchmarks."""

    sizes: list[int]
    directory: Path
    """Where filled stores are kept."""
    scratch: Path
    """Where copies that are written to live, on the same disk; removed after the run."""
    quick: bool
    report: Report
    data: Path
    """Where question sets are, if anywhere."""

    @property
    def seconds(self) -> float:
        """Return how long one measurement runs."""
        return 0.4 if self.quick else 2.0

    @property
    def repeats(self) -> int:
        """Return how often two sides are measured in turn. Their medians count, since other work comes and goes."""
        return 1 if self.quick else 3

    @property
    def largest(self) -> int:
        return max(self.sizes)

    def store(self, memories: int) -> Store:
        """Return the filled store of that size and point the database connection at it."""
        store = stores.filled(self.directory, memories)
        stores.use(store.path)
        return store

    def say(self, text: str) -> None:
        """Tell a waiting person what is being measured."""
        if sys.stderr.isatty() or not self.quick:
            print(f"  {text}", file=sys.stderr, flush=True)

    def skip(self, why: str) -> None:
        """Tell, and keep, why a part was not measured."""
        self.report.findings.append(why)

    def add(self, row: Row) -> None:
        self.report.rows.append(row)
        if row.met is False:
            self.report.findings.append(f"{row.part}, {row.memories:,} memories, {row.case}: missed {row.aim}")
