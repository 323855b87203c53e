"""Show how the search indexes are."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from tqdm import tqdm

from search.status import IndexStatus, statuses

PAUSE = 1.0
"""Seconds between two looks."""


class Command(BaseCommand):
    help = "Show each search index: what it is at, how far it is filled, how fast, and what it needs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--watch", action="store_true", help="Go on until nothing is built any more.")

    def handle(self, *args: Any, watch: bool, **options: Any) -> None:
        shown = statuses(now=timezone.now())
        if watch and any(_moves(one) for one in shown):
            self.watch()
            shown = statuses(now=timezone.now())
        for one in shown:
            self.stdout.write(_line(one))

    def watch(self) -> None:
        shown = statuses(now=timezone.now())
        bars = {
            one.name: tqdm(total=100, desc=f"{one.name:<17}", unit="%", position=place)
            for place, one in enumerate(shown)
        }
        try:
            while any(_moves(one) for one in shown):
                for one in shown:
                    bars[one.name].n = one.percent
                    bars[one.name].refresh()
                time.sleep(PAUSE)
                shown = statuses(now=timezone.now())
        except KeyboardInterrupt:
            pass  # what is built goes on without a watcher
        finally:
            for bar in bars.values():
                bar.close()


def _moves(one: IndexStatus) -> bool:
    return one.is_building and not one.is_paused


def _line(one: IndexStatus) -> str:
    rows = f", {one.filled} of {one.wanted} rows" if one.is_building else ""
    rate = f", {one.rate:.0f} a second, {one.left} left" if one.rate is not None else ""
    error = f"; last error: {one.error}" if one.error else ""
    size = f", {filesizeformat(one.bytes)} in {one.parts} parts" if one.bytes is not None else ""
    return f"{one.name}: {one.words}, {one.percent} %{rows}{rate}{size}; needs {one.needed}{error}"
