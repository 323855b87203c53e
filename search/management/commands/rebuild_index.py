"""Build search indexes anew."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from tqdm import tqdm

from memories.access import Actor
from search import acts, maintenance, upkeep
from search.backends.base import KINDS
from search.corpora import CORPORA
from search.models import IndexState


class Command(BaseCommand):
    help = "Build the search indexes of a corpus anew beside those that serve, or of both. All else goes on meanwhile."

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
        states = list(IndexState.objects.all())
        with tqdm(total=sum(map(_wanted, states)), unit="row", disable=None) as bar:
            done: dict[str, int] = {}

            def show(state: IndexState) -> None:
                so_far = _filled(state)
                bar.update(max(0, so_far - done.get(str(state), 0)))
                done[str(state)] = max(so_far, done.get(str(state), 0))

            while not maintenance.fill(seconds=60, progress=show):
                pass
        while not upkeep.tear_down(seconds=60):
            pass


def _wanted(state: IndexState) -> int:
    """Return how many rows are to be gone through."""
    if state.building is not None:
        return state.build_high_water
    return state.high_water if state.state == IndexState.State.BUILDING else 0


def _filled(state: IndexState) -> int:
    return state.build_progress if state.building is not None else state.progress
