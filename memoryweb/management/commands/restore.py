"""Put a backup in the place of the store."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from memories import audit
from memoryweb.backups import Restored, progress_bar, put_back, summary


class Command(BaseCommand):
    help = (
        "Put the backup FILE in the place of the store, while memoryweb is stopped. FILE is checked first, a store "
        "that is there is kept under another name, and a backup of an older version is brought up to date."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="a backup made by `manage.py backup`")
        parser.add_argument("--force", action="store_true", help="replace the store that is there; it is kept")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        with progress_bar("Copying") as progress:
            restored = put_back(file, replace=options["force"], progress=progress)
        for line in summary(restored.contents):
            self.stdout.write(line)
        if restored.kept is not None:
            self.stdout.write(f"the store that was there is kept as {restored.kept}")
        self.bring_up_to_date(file, restored)
        self.stdout.write(f"restored from {file}")

    def bring_up_to_date(self, file: Path, restored: Restored) -> None:
        """Migrate a store of an older version, and note in its audit log where it comes from."""
        try:
            executor = MigrationExecutor(connection)
            if executor.migration_plan(executor.loader.graph.leaf_nodes()):
                self.stdout.write("the backup is of an older version: migrating it")
                call_command("migrate", interactive=False, verbosity=0)
            audit.record("store.restore", actor="command restore", result=f"file={file.name}")
        except DatabaseError as error:
            raise CommandError(
                f"{file} is in place but could not be brought up to date ({error}); `manage.py migrate` tries again"
            ) from error
