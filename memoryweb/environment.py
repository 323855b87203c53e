"""Readers for environment variables: one a type.

A value that does not fit stops the start with the variable's name and what is allowed.
"""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}


def read_text(name: str, default: str) -> str:
    """Return the variable without surrounding white space, or the default where unset or blank."""
    return os.environ.get(name, "").strip() or default


def read_bool(name: str, default: bool) -> bool:
    """Return the variable as a truth value.

    Raises ImproperlyConfigured for anything but 1/0, true/false, yes/no, on/off.
    """
    value = read_text(name, "1" if default else "0").lower()
    if value in TRUE:
        return True
    if value in FALSE:
        return False
    raise ImproperlyConfigured(f"{name}={value!r} is not allowed: use 1 or 0 (true/false, yes/no, on/off).")


def read_int(name: str, default: int, *, least: int, most: int) -> int:
    """Return the variable as a whole number. Raises ImproperlyConfigured outside ``least`` to ``most``."""
    value = read_text(name, str(default))
    try:
        number = int(value)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise ImproperlyConfigured(f"{name}={value!r} is not allowed: use a whole number from {least} to {most}.")
    return number


def read_path(name: str, default: Path) -> Path:
    """Return the variable as an absolute path. Raises ImproperlyConfigured where a file stands in its place."""
    path = Path(read_text(name, str(default))).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise ImproperlyConfigured(f"{name}={str(path)!r} is not allowed: it names a file, use a directory.")
    return path


def read_list(name: str, default: list[str]) -> list[str]:
    """Return the comma-separated parts of the variable, without blanks."""
    value = os.environ.get(name)
    if value is None:
        return default
    return [part.strip() for part in value.split(",") if part.strip()]
