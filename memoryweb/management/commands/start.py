"""Prepare the store and run the house: web server and background worker."""

import contextlib
import os
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from memoryweb.cluster import cluster_command
from memoryweb.metrics import prepare_directory
from memoryweb.preparation import prepare
from memoryweb.server import Address, answers, free_address, granian_command
from memoryweb.supervision import StopSignals, run_together


class Command(BaseCommand):
    help = "Migrate the database, then run web server and background worker until Ctrl-C or SIGTERM."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        os.umask(0o077)  # memories are private: what is written from here on is for this user alone
        with StopSignals() as signals:
            try:
                address = free_address(settings.HOST, settings.PORT)
                prepare(self.say, stopped=lambda: signals.asked > 0)
            except ImproperlyConfigured as error:
                raise CommandError(str(error)) from None
            connection.close()
            prepare_directory()
            ended = run_together(
                {"web server": granian_command(address), "background worker": cluster_command()},
                signals=signals,
                served=lambda: self.serves(address),
            )
            self.close_store()
        if ended is not None:
            raise CommandError(f"the {ended.name} ended by itself, so all is stopped", returncode=ended.code)
        self.say("memoryweb has stopped")

    def close_store(self) -> None:
        """Open and close the database once more: as the last to close it, SQLite moves its log into the one file."""
        with contextlib.suppress(DatabaseError):
            connection.ensure_connection()
            connection.close()

    def serves(self, address: Address) -> bool:
        """Return whether the server answers, after saying so."""
        if not answers(address):
            return False
        self.say(f"memoryweb serves at {address.url} (Ctrl-C stops it)")
        return True

    def say(self, line: str) -> None:
        """Print a line at once, also into a pipe."""
        self.stdout.write(line)
        self.stdout.flush()
