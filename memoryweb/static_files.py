"""Static files: collected where the server reads them, and only when something changed, since it takes seconds."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

PACKAGES = ("django", "whitenoise")
"""What turns source files into served ones."""


def collect_if_changed() -> bool:
    """Return whether the static files had to be collected."""
    record = Path(settings.DATA_DIR) / "static-fingerprint"
    found = fingerprint()
    collected = (Path(settings.STATIC_ROOT) / "staticfiles.json").exists()
    if collected and record.exists() and record.read_text() == found:
        return False
    call_command("collectstatic", interactive=False, verbosity=0)
    record.write_text(found)
    return True


def fingerprint() -> str:
    """Return a text that changes when a static file, a package that prepares them or their place does."""
    parts = [settings.STATIC_URL, str(settings.STORAGES["staticfiles"])]
    parts += [f"{name} {version(name)}" for name in PACKAGES]
    for finder in get_finders():
        for name, storage in finder.list([]):
            status = Path(storage.path(name)).stat()
            parts.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()
