"""``python -m tests.benchmarks``: measure and print. Nothing here asserts a time."""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.benchmarks.figures import Report


def main() -> None:
    """Run the parts asked for, print the tables, write the JSON."""
    arguments = _parser().parse_args()
    # Whoever stops a long run finds no server left behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="memoryweb-benchmarks-", dir=arguments.stores) as scratch:
        # Before Django's settings are read: this run's files stay out of the data directory.
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "memoryweb.settings",
            "DATA_DIR": scratch,
            "DATABASE_URL": "",
            "SECRET_KEY": "only-for-benchmarks-" + "x" * 40,
            "RATE_LIMIT": "0",
        }
        import django

        django.setup()
        logging.getLogger("httpx").setLevel(logging.WARNING)
        _run(arguments, Path(scratch))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 memories, a few seconds a part")
    parser.add_argument("--sizes", type=_sizes, help="memories, comma-separated (1000,100000,1000000)")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part alone; may be repeated")
    parser.add_argument("--stores", type=_directory, metavar="DIR", help="keep filled stores here for the next run")
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="question sets and chats (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON too")
    return parser


def _sizes(text: str) -> list[int]:
    sizes = [int(part.replace("_", "")) for part in text.split(",")]
    if not all(1000 <= size <= 10_000_000 for size in sizes):
        raise argparse.ArgumentTypeError("sizes lie between 1,000 and 10,000,000")
    return sizes


def _directory(text: str) -> Path:
    path = Path(text).absolute()
    path.mkdir(parents=True, exist_ok=True)
    return path


PARTS = (
    "store",
    "recall",
    "plans",
    "http",
    "remember",
    "batch",
    "search",
    "rebuild",
    "retrieval",
    "planted",
    "chats",
    "tidy",
    "pages",
)
# A folder beside the project: the sets have licences of their own.
DATA = Path(__file__).absolute().parents[3] / "shared" / "data"


def _part(name: str) -> Callable[..., None]:
    # Imported here: models need Django's settings.
    from tests.benchmarks import chats, paging, rebuilding, recall, retrieval, searching, stores, tidying, web

    return {
        "store": stores.measure,
        "recall": recall.measure,
        "plans": recall.explain,
        "http": web.measure_reads,
        "remember": web.measure_writes,
        "batch": web.measure_batch,
        "search": searching.measure,
        "rebuild": rebuilding.measure,
        "retrieval": retrieval.measure,
        "planted": retrieval.measure_planted,
        "chats": chats.measure,
        "tidy": tidying.measure,
        "pages": paging.measure,
    }[name]


def _run(arguments: argparse.Namespace, scratch: Path) -> None:
    from tests.benchmarks import machine
    from tests.benchmarks.bench import Bench
    from tests.benchmarks.figures import Report, table

    report = Report(machine.facts())
    sizes = arguments.sizes or ([1000, 10_000] if arguments.quick else [1000, 100_000, 1_000_000])
    bench = Bench(sizes, arguments.stores or scratch, scratch, arguments.quick, report, arguments.data)
    for name, value in report.machine.items():
        print(f"{name}: {value}")
    for part in arguments.only or PARTS:
        before = len(report.rows)
        _part(part)(bench)
        rows = report.rows[before:]
        for title in dict.fromkeys(row.part for row in rows):
            print(f"\n{title}\n{table([row for row in rows if row.part == title])}", flush=True)
        _write(report, arguments.json)
    report.machine["load_average_after"] = machine.load_average()
    print(f"\nload_average_after: {report.machine['load_average_after']}")
    for finding in dict.fromkeys(report.findings):
        print(f"finding: {finding}")
    _write(report, arguments.json)


def _write(report: Report, file: Path | None) -> None:
    # After each part, so that a run stopped in the middle is not lost.
    if file is not None:
        file.write_text(json.dumps(report.as_json(), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
