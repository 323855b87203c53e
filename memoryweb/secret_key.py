"""The instance's secret key: from the environment, or generated once into the data directory."""

import os
import secrets
from pathlib import Path


def load_secret_key(path: Path) -> str:
    """Return the key kept at ``path``, generating it with mode 0600 on first use.

    Two processes that start at once agree on one key: the file is written aside and linked into place.
    """
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = path.with_name(f"{path.name}.{os.getpid()}")
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(50))
        try:
            os.link(aside, path)
        except FileExistsError:
            pass
        finally:
            aside.unlink()
    return path.read_text().strip()
