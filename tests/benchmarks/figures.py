"""What the benchmarks report: rows of figures, each with its limit beside it, as an aligned table and as JSON."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Limit:
    """What a figure is held against, measured in the same run: what it is, how much, and in which unit."""

    what: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Row:
    """One measured case. ``ratio`` is the figure over its limit; ``met`` is None where nothing is aimed at."""

    part: str
    memories: int
    case: str
    figures: dict[str, float | int | None]
    limit: Limit
    ratio: float | None = None
    aim: str = ""
    met: bool | None = None


@dataclass
class Report:
    """Everything one run found out."""

    machine: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the report for ``--json``."""
        return {"machine": self.machine, "rows": [asdict(row) for row in self.rows], "findings": self.findings}


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` (0 to 1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values: Sequence[float]) -> float:
    """Return the middle value."""
    return statistics.median(values)


def show(value: float | int | None) -> str:
    """Return the number as it stands in a table: three figures are enough of a noisy one."""
    if value is None:
        return "-"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3f}"


def table(rows: Sequence[Row]) -> str:
    """Return rows of one part as lines with aligned columns."""
    names = list(dict.fromkeys(name for row in rows for name in row.figures))
    heads = ["memories", "case", *names, "limit", "ratio", "aim", "met", "the limit is"]
    lines = [heads]
    for row in rows:
        lines.append(
            [
                f"{row.memories:,}",
                row.case,
                *(show(row.figures[name]) if name in row.figures else "" for name in names),
                f"{show(row.limit.value)} {row.limit.unit}".strip(),
                show(row.ratio) if row.ratio is not None else "",
                row.aim,
                {True: "yes", False: "NO", None: ""}[row.met],
                row.limit.what,
            ]
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    left = {1, len(heads) - 1, len(heads) - 3}
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
