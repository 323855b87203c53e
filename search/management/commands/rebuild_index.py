"""Build search indexes anew."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from tqdm import tqdm

from memories.access import Actor
from search import acts, maintenance
from search.backends.base import KINDS
from search.corpora import CORPORA
from search.models import IndexState


class Command(BaseCommand):
    help = "Build the search indexes of a corpus anew, or of both. Searches and writes go on meanwhile."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", nargs="?", choices=list(CORPORA), help="messages or memories (both)")

    def handle(self, *args: Any, corpus: str | None, **options: Any) -> None:
        for name in [corpus] if corpus else list(CORPORA):
            for kind in KINDS:
                acts.rebuild(CORPORA[name], kind, actor=Actor("command rebuild_index"))
        self.fill()
        for state in IndexState.objects.all():
            self.stdout.write(f"{state.corpus} {state.kind}: {state.get_state_display()}, {state.percent} %")

    def fill(self) -> None:
        total = sum(state.high_water for state in IndexState.objects.filter(state=IndexState.State.BUILDING))
        with tqdm(total=total, unit="row", disable=None) as bar:
            done: dict[str, int] = {}

            def show(state: IndexState) -> None:
                bar.update(state.progress - done.get(str(state), 0))
                done[str(state)] = state.progress

            while not maintenance.fill(seconds=60, progress=show):
                pass
