"""Check search indexes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from memories.access import Actor, everything
from search import acts
from search.backends.base import KINDS, Kind
from search.corpora import CORPORA, Corpus
from search.verification import Verdict


class Command(BaseCommand):
    help = "Check that every row is in the search indexes once, and let the engine check the indexes themselves."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", nargs="?", choices=list(CORPORA), help="messages or memories (both)")
        parser.add_argument(
            "--full",
            action="store_true",
            help="Compare every word with a copy built afresh: takes as long as building, and as much room.",
        )

    def handle(self, *args: Any, corpus: str | None, full: bool, **options: Any) -> None:
        pairs = [(name, kind) for name in ([corpus] if corpus else CORPORA) for kind in KINDS]
        sound = True
        for name, kind in tqdm(pairs, unit="index", disable=None):
            verdict = self.look(CORPORA[name], kind, full)
            self.stdout.write(f"{name} {kind}: {verdict.said}")
            sound = sound and verdict.is_sound
        if not sound:
            raise CommandError(
                "not every index is sound; the worker builds damaged ones anew, rebuild_index does it now"
            )

    def look(self, corpus: Corpus, kind: Kind, full: bool) -> Verdict:
        actor = Actor("command verify_index")
        if not full:
            return acts.verify(corpus, kind, actor=actor)
        rows = everything(corpus.model).count()
        with tqdm(total=rows, desc=f"{corpus.name} {kind}", unit="row", leave=False, disable=None) as bar:
            return acts.compare(corpus, kind, actor=actor, progress=bar.update)
