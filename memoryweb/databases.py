"""Turn DATABASE_URL into Django's DATABASES. Each setting stands with its reason."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

SQLITE_SETTINGS = (
    # Readers never wait for the writer, nor the writer for readers.
    "PRAGMA journal_mode = WAL",
    # A power cut may lose the last moments but never damages the file; a killed process loses nothing.
    "PRAGMA synchronous = NORMAL",
    # After a large transaction the write-ahead log shrinks to this size instead of staying large.
    "PRAGMA journal_size_limit = 67108864",
    # Zeroes deleted text where the page is written anyway, so that an erased secret leaves no trace. The free
    # pages that FAST does not touch are removed by erase itself (DatabaseWrapper.drop_deleted_content).
    "PRAGMA secure_delete = FAST",
    # 16 MiB of pages a connection instead of 2: the inner pages of every index of a million rows stay at hand.
    "PRAGMA cache_size = -16384",
)


def databases_from_url(url: str, *, data_dir: Path) -> dict[str, Any]:
    """Return Django's DATABASES for a database URL; the empty URL means SQLite in the data directory.

    Raises ImproperlyConfigured naming DATABASE_URL for anything but ``sqlite:///relative`` or ``sqlite:////absolute``.
    """
    if not url:
        return {"default": sqlite_database(data_dir / "memoryweb.sqlite3")}
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    path = unquote(parts.path)[1:]
    if parts.scheme != "sqlite" or parts.netloc or not path:
        # Not shown, since a URL may hold a password and the message ends in a log.
        raise ImproperlyConfigured(
            "DATABASE_URL is not allowed: use sqlite:////absolute/path.sqlite3 or sqlite:///relative/path.sqlite3."
        )
    return {"default": sqlite_database(Path(path))}


def sqlite_database(path: Path) -> dict[str, Any]:
    """Return the settings of one SQLite database file."""
    return {
        "ENGINE": "memoryweb.sqlite",
        "NAME": str(path.absolute()),
        # A thread keeps its connection: opening one costs a millisecond and loses the page cache.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            # A transaction that starts by reading and then writes fails at once when another wrote in between
            # (DEFERRED lost 76 to 101 of 150 writes in each of four processes, IMMEDIATE none).
            "transaction_mode": "IMMEDIATE",
            # Seconds in SQLite's own, unfair queue; the backend asks again until its budget is used up.
            "timeout": 1,
            "init_command": ";".join(SQLITE_SETTINGS),
        },
        # In-memory test databases cannot be shared between threads and processes, a file can.
        "TEST": {"NAME": str(path.with_name("test-" + path.name).absolute())},
    }
