"""Make a token for an agent."""

import unicodedata
from argparse import ArgumentParser
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils import timezone

from memories.access import Actor, create_token, find_or_create_agent
from memories.models import NAME_MAX, Source, Token
from memoryweb.first_login import WORKSPACE

EXPIRES_DAYS_MAX = 36_500


class Command(BaseCommand):
    help = (
        "Make a token for an agent, after making workspace and agent where missing. The last line printed is the token."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--agent", required=True, help="name of the agent")
        parser.add_argument("--workspace", default=WORKSPACE, help="name of its workspace (%(default)s)")
        parser.add_argument(
            "--role", default=Token.Role.AGENT.value, help=f"{', '.join(Token.Role.values)} (%(default)s)"
        )
        parser.add_argument("--instance", action="store_true", help="may run the instance: indexes and metrics")
        parser.add_argument(
            "--source",
            nargs="+",
            action="extend",
            metavar="SOURCE",
            help=f"what it may claim as source: {', '.join(Source.values)} (all)",
        )
        parser.add_argument("--private-only", action="store_true", help="may not write shared memories")
        parser.add_argument("--expires-days", metavar="N", help="valid for N days (for good)")

    def handle(self, *args: Any, **options: Any) -> None:
        role = one_of("--role", options["role"], Token.Role.values)
        sources = [one_of("--source", source, Source.values) for source in options["source"] or Source.values]
        days = days_of(options["expires_days"])
        name, workspace = name_of("--agent", options["agent"]), name_of("--workspace", options["workspace"])
        try:
            token, secret = create_token(
                find_or_create_agent(name, workspace=workspace),
                actor=Actor("command create_token"),
                role=role,
                sources=list(dict.fromkeys(sources)),
                may_write_shared=not options["private_only"],
                instance=options["instance"],
                expires_at=timezone.now() + timedelta(days=days) if days else None,
            )
        except DatabaseError as error:
            raise CommandError(f"{error} (`manage.py start` or `manage.py migrate` sets up a new store)") from None
        until = f"until {token.expires_at:%Y-%m-%d %H:%M} UTC" if token.expires_at else "until it is revoked"
        told = f"Token of agent {name!r} in workspace {workspace!r}, role {role}, valid {until}. It is shown only once:"
        self.stderr.write(told, style_func=str)  # no error, but standard output is for the token alone
        self.stdout.write(secret)


def one_of(option: str, value: str, allowed: Iterable[str]) -> str:
    """Return the value. Raises CommandError with what is allowed."""
    if value not in allowed:
        raise CommandError(f"{option} {value!r} is not allowed: use {', '.join(allowed)}.")
    return value


def name_of(option: str, value: str) -> str:
    """Return the name without surrounding white space. Raises CommandError for one that the API would refuse too."""
    name = value.strip()
    if not 1 <= len(name) <= NAME_MAX or any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise CommandError(
            f"{option} {value!r} is not allowed: use 1 to {NAME_MAX} characters without control characters."
        )
    return name


def days_of(value: str | int | None) -> int | None:
    """Return the number of days, None for good. Raises CommandError outside 1 to EXPIRES_DAYS_MAX."""
    if value is None:
        return None
    text = str(value)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:10]) <= EXPIRES_DAYS_MAX:
        raise CommandError(f"--expires-days {text!r} is not allowed: use a whole number from 1 to {EXPIRES_DAYS_MAX}.")
    return int(text)
