"""Load a workspace to try everything in."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from memories.errors import Conflict
from memories.models import Workspace
from memoryweb.demo import loading


class Command(BaseCommand):
    help = "Load a few hundred memories and transcripts in English, German and Chinese into a workspace of their own."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", default="demo", help="What the workspace is called (%(default)s).")
        parser.add_argument("--remove", action="store_true", help="Delete it again, with all that is in it.")

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = Workspace.objects.filter(name=options["workspace"]).first()
        loaded = workspace is not None and loading.is_loaded(workspace)
        if options["remove"]:
            if workspace is None or not loaded:
                raise CommandError(f"there is no demo in a workspace {options['workspace']!r}")
            self._done(loading.remove, workspace)
            self.stdout.write("The demo is gone.")
            return
        if loaded:
            self.stdout.write("The demo is there already; nothing was added.")
            return
        counts = self._done(loading.load, options["workspace"])
        self.stdout.write("".join(f"{what:<16}{count:>6,}\n" for what, count in sorted(counts.items())))
        self.stdout.write("Now look for what can be tidied with `manage.py tidy`, and open /review/.")

    def _done(self, act: Any, target: Any) -> Any:
        try:
            return act(target, now=timezone.now())
        except Conflict as refusal:
            raise CommandError(refusal.message) from None
