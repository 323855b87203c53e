"""Copy the store to a file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from memoryweb.backups import back_up, megabytes, progress_bar, summary


class Command(BaseCommand):
    help = (
        "Copy the store to FILE, also while it is in use, and check the copy. FILE is one SQLite database with all "
        "that was remembered when the command began. The secret key stays in DATA_DIR and is not in it."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="where the backup goes")
        parser.add_argument("--force", action="store_true", help="replace FILE if it exists")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        with progress_bar("Copying") as progress:
            contents = back_up(file, overwrite=options["force"], progress=progress)
        for line in summary(contents):
            self.stdout.write(line)
        self.stdout.write(f"backup written to {file} ({megabytes(file.stat().st_size)})")
