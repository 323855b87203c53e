"""Merge search indexes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from tqdm import tqdm

from search import upkeep
from search.backends.base import KINDS
from search.corpora import CORPORA


class Command(BaseCommand):
    help = "Merge what the search indexes have gathered from single writes, in short steps; searches get quicker."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", nargs="?", choices=list(CORPORA), help="messages or memories (both)")

    def handle(self, *args: Any, corpus: str | None, **options: Any) -> None:
        pairs = [(name, kind) for name in ([corpus] if corpus else CORPORA) for kind in KINDS]
        for name, kind in tqdm(pairs, unit="index", disable=None):
            while not upkeep.optimize(CORPORA[name], kind):
                pass
            self.stdout.write(f"{name} {kind}: merged")
