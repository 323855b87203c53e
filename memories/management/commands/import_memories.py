"""Bring memories in from a file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from pydantic import TypeAdapter, ValidationError
from tqdm import tqdm

from memories.access import Actor
from memories.importers import FORMATS, import_file
from memories.importers.base import Report, Target, Unreadable
from memories.models import Scope
from memories.schemas import Key


class Command(BaseCommand):
    help = "Import memories from a file. Its format is found by its content; importing it again adds only what is new."

    def add_arguments(self, parser: CommandParser) -> None:
        formats = "; ".join(format_.DESCRIPTION for format_ in FORMATS)
        parser.add_argument("file", type=Path, metavar="FILE", help=f"One of: {formats}.")
        parser.add_argument(
            "--agent", default="imported", help="Whose memories they are, unless the file says (%(default)s)."
        )
        parser.add_argument("--workspace", default="default", help="Where they go; made when missing (%(default)s).")
        parser.add_argument(
            "--scope", choices=Scope.values, default=Scope.AGENT.value, help="Who sees them, unless the file says."
        )
        parser.add_argument("--dry-run", action="store_true", help="Report the same and write nothing.")

    def handle(self, *args: Any, **options: Any) -> None:
        path, dry_run, report = options["file"], options["dry_run"], Report()
        target = Target(
            workspace=named("workspace", options["workspace"]),
            agent=named("agent", options["agent"]),
            scope=options["scope"],
            actor=Actor("command import_memories"),
            dry_run=dry_run,
        )
        size = path.stat().st_size if path.is_file() else 0
        try:
            with tqdm(total=size, unit="B", unit_scale=True, desc=path.name, disable=None) as bar:
                import_file(path, target, report, now=timezone.now(), on_bytes=bar.update)
        except Unreadable as error:
            raise CommandError(error.message) from None
        except KeyboardInterrupt:
            self.stdout.write(report.table(dry_run=dry_run))
            raise CommandError("interrupted: run it again for the rest", returncode=130) from None
        self.stdout.write(report.table(dry_run=dry_run))
        if report.nothing_read:
            raise CommandError("nothing could be read")


def named(option: str, value: str) -> str:
    """Return the name, trimmed. Raises CommandError where no workspace or agent may be called so."""
    try:
        return TypeAdapter[str](Key).validate_python(value)
    except ValidationError as error:
        raise CommandError(f"--{option}: {error.errors()[0]['msg']}") from None
