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
    digits = value.removeprefix("-")
    # int() alone takes 8_000 and digits of every script too.
    number = int(value) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else least - 1
    if not least <= number <= most:
        raise ImproperlyConfigured(f"{name}={value!r} is not allowed: use a whole number from {least} to {most}.")
    return number


def read_directory(name: str, default: Path) -> Path:
    """Return the variable as the absolute path of a directory that can be written to, made with mode 0700 if missing.

    Raises ImproperlyConfigured where that cannot be.
    """
    path = Path(read_text(name, str(default)))
    try:
        path = path.expanduser().absolute()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    else:
        if os.access(path, os.W_OK | os.X_OK):
            return path
        reason = "Permission denied"
    raise ImproperlyConfigured(
        f"{name}={str(path)!r} is not allowed ({reason}): use a directory that can be written to."
    )


def read_list(name: str, default: list[str]) -> list[str]:
    """Return the comma-separated parts of the variable, without blanks."""
    value = os.environ.get(name)
    if value is None:
        return default
    return [part.strip() for part in value.split(",") if part.strip()]
