"""Check that the audit log is whole."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from tqdm import tqdm

from memories.audit import verify
from memories.models import AuditEntry


class Command(BaseCommand):
    help = (
        "Check the chain of the audit log: every entry carries its own hash and that of the entry before it. Prints "
        "their number and the last hash. Keep that hash elsewhere: with --head it shows that nothing was cut off since."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--head", metavar="HASH", help="a hash printed earlier, which the log must still hold")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            total = AuditEntry.objects.count()
            with tqdm(desc="Verifying", unit=" entries", total=total, leave=False, disable=None) as bar:
                found = verify(each=bar.update)
        except DatabaseError as error:
            raise CommandError(f"the audit log cannot be read: {error}") from error
        if found.broken_at is not None:
            raise CommandError(
                f"the audit log is broken at entry {found.broken_at}: it was changed, or one before it was changed or "
                f"removed ({found.entries:,} entries before it are sound)"
            )
        head = options["head"]
        if head and not AuditEntry.objects.filter(hash=head).exists():
            raise CommandError(
                f"the audit log no longer holds the entry with hash {head}: its end was cut off or rewritten"
            )
        self.stdout.write(f"entries: {found.entries:,}")
        self.stdout.write(f"head: {found.head or 'none'}")
