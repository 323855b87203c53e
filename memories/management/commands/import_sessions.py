"""Bring transcripts in from a file or a directory."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from tqdm import tqdm

from memories.access import Actor
from memories.importers.base import Target, Unreadable
from memories.importers.session_files import FORMATS, import_sessions, size_of
from memories.importers.session_loading import SessionReport
from memories.management.commands.import_memories import named
from memories.models import Scope


class Command(BaseCommand):
    help = "Import transcripts. Formats are found by content; importing them again adds only what is new."

    def add_arguments(self, parser: CommandParser) -> None:
        formats = "; ".join(format_.DESCRIPTION for format_ in FORMATS)
        parser.add_argument("path", type=Path, metavar="PATH", help=f"A file, or a directory with: {formats}.")
        parser.add_argument("--agent", default="imported", help="Whose sessions they are (%(default)s).")
        parser.add_argument("--workspace", default="default", help="Where they go; made when missing (%(default)s).")
        parser.add_argument("--scope", choices=Scope.values, default=Scope.AGENT.value, help="Who sees them.")
        parser.add_argument("--dry-run", action="store_true", help="Report the same and write nothing.")

    def handle(self, *args: Any, **options: Any) -> None:
        path, dry_run, report = options["path"], options["dry_run"], SessionReport()
        target = Target(
            workspace=named("workspace", options["workspace"]),
            agent=named("agent", options["agent"]),
            scope=options["scope"],
            actor=Actor("command import_sessions"),
            dry_run=dry_run,
        )
        try:
            with tqdm(total=size_of(path), unit="B", unit_scale=True, desc=path.name, disable=None) as bar:
                import_sessions(path, target, report, now=timezone.now(), on_bytes=bar.update)
        except Unreadable as error:
            raise CommandError(error.message) from None
        except KeyboardInterrupt:
            self.stdout.write(report.table(dry_run=dry_run))
            raise CommandError("interrupted: run it again for the rest", returncode=130) from None
        self.stdout.write(report.table(dry_run=dry_run))
        if report.nothing_read:
            raise CommandError("nothing could be read")
