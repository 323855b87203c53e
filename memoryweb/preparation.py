"""What happens before the house is run: checks, backup, migrations, first login, static files."""

from __future__ import annotations

import fcntl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder

from memoryweb.backups import backup_before_migration, unknown_migrations
from memoryweb.first_login import create_first_login, first_login_file
from memoryweb.static_files import collect_if_changed

Say = Callable[[str], None]


def prepare(say: Say, *, stopped: Callable[[], bool]) -> None:
    """Bring the store up to date, step by step until ``stopped``. Two processes that start at once take turns.

    Raises ImproperlyConfigured with what is amiss.
    """
    with (Path(settings.DATA_DIR) / "start.lock").open("w") as lock:
        while not stopped() and not _have(lock):
            time.sleep(0.1)
        for step in (_open_database, _check, _migrate, _make_first_login, _collect_static_files):
            if stopped():
                return
            step(say)


def _have(lock: IO[str]) -> bool:
    """Return whether the lock is ours now, until the file is closed."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open_database(say: Say) -> None:
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        raise ImproperlyConfigured(f"the database cannot be opened ({error}): look at DATABASE_URL.") from None


def _check(say: Say) -> None:
    """Show what the system checks find, and refuse what would lose data."""
    for message in checks.run_checks(include_deployment_checks=False, databases=["default"]):
        if message.level >= checks.CRITICAL:
            raise ImproperlyConfigured(str(message))
        if message.level >= checks.WARNING:
            print(message, file=sys.stderr)


def _migrate(say: Say) -> None:
    unknown = unknown_migrations(MigrationRecorder(connection).applied_migrations())
    if unknown:
        raise ImproperlyConfigured(
            f"this store was last used by a newer memoryweb (it has {', '.join(unknown)}): "
            "install that version, or restore a backup made before it."
        )
    backup = backup_before_migration()
    if backup is not None:
        say(f"before the update the store was copied to {backup}")
    # Also with nothing to migrate: what listens to post_migrate repairs what is missing.
    call_command("migrate", interactive=False, verbosity=0)


def _make_first_login(say: Say) -> None:
    """Show the first login on a terminal. Anything else may be a log, so there it goes into a file."""
    file = None if sys.stdout.isatty() else first_login_file()
    made = create_first_login(file=file)
    if made is None:
        return
    if file is None:
        say(f"The first login, shown only once:\n\n{made}\n")
    else:
        say(f"the first login and token are in {file}, until the first login removes it")


def _collect_static_files(say: Say) -> None:
    collect_if_changed()
