"""The web server: where it listens, how it is started, and whether it answers."""

from __future__ import annotations

import errno
import http.client
import socket
import sys
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Addresses that stand for all of the machine's, and one that answers for them."""
BACKPRESSURE = 512
"""Connections a web worker holds at once; others wait in the kernel's queue. Idle ones count, so it is generous."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens: a numeric address, and a port."""

    host: str
    port: int

    @property
    def answering(self) -> str:
        """Return an address that a client on this machine can use."""
        return EVERYWHERE.get(self.host, self.host)

    @property
    def url(self) -> str:
        host = f"[{self.answering}]" if ":" in self.answering else self.answering
        return f"http://{host}:{self.port}/"


def free_address(host: str, port: int) -> Address:
    """Return the address after trying it. Raises ImproperlyConfigured naming HOST or PORT where that fails.

    Granian's workers share their port with whoever asks (SO_REUSEPORT): a second server would take half the requests of
    the first in silence.
    """
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        found = []
    wrong_host = f"HOST={host!r} is not allowed: use an address of this machine, such as 127.0.0.1 or 0.0.0.0 (all)."
    for family, kind, protocol, _, address in found:
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(address)
            except PermissionError:
                message = f"PORT={port} is not allowed for this user: choose one from 1024 up, such as PORT=8000."
                raise ImproperlyConfigured(message) from None
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    message = f"PORT={port} is taken: a program already listens there. Stop it, or choose another PORT."
                    raise ImproperlyConfigured(message) from None
            else:
                return Address(str(address[0]), port)
    raise ImproperlyConfigured(wrong_host)


def granian_command(address: Address) -> list[str]:
    """Return the command that starts the web server."""
    options = {
        "interface": "wsgi",
        "host": address.host,
        "port": address.port,
        "workers": settings.WEB_WORKERS,
        "working-dir": settings.BASE_DIR,
        # By default 512 threads a worker, dropped with their database connections after 30 idle seconds.
        "blocking-threads": settings.WEB_THREADS,
        "blocking-threads-idle-timeout": 600,
        "backpressure": BACKPRESSURE,
        "workers-kill-timeout": 3,
        "log-level": "error",
    }
    named = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return [sys.executable, "-m", "granian", *named, "--no-ws", "memoryweb.wsgi:application"]


def answers(address: Address) -> bool:
    """Return whether the server says that it is alive."""
    connection = http.client.HTTPConnection(address.answering, address.port, timeout=2)
    try:
        connection.request("GET", "/health/live", headers={"Host": _allowed_host()})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _allowed_host() -> str:
    host = next(iter(settings.ALLOWED_HOSTS), "localhost")
    return "localhost" if host == "*" else host.removeprefix(".")
