"""Check search indexes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from memories.access import Actor
from search import acts
from search.backends.base import KINDS
from search.corpora import CORPORA


class Command(BaseCommand):
    help = "Check that every row is in the search indexes once, and let the engine check the indexes themselves."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", nargs="?", choices=list(CORPORA), help="messages or memories (both)")

    def handle(self, *args: Any, corpus: str | None, **options: Any) -> None:
        pairs = [(name, kind) for name in ([corpus] if corpus else CORPORA) for kind in KINDS]
        sound = True
        for name, kind in tqdm(pairs, unit="index", disable=None):
            verdict = acts.verify(CORPORA[name], kind, actor=Actor("command verify_index"))
            self.stdout.write(f"{name} {kind}: {verdict.said}")
            sound = sound and verdict.is_sound
        if not sound:
            raise CommandError(
                "not every index is sound; the worker builds damaged ones anew, rebuild_index does it now"
            )
