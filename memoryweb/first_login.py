"""The first admin and the first agent's token: made once, shown once."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver

from memories import audit, storage
from memories.access import Actor, create_token, find_or_create_agent
from memories.models import Membership, Token

WORKSPACE = "default"
AGENT = "first"
ACTOR = Actor("start")


@dataclass(frozen=True, slots=True)
class FirstLogin:
    """What was made: user name and password, token. None where there was one before."""

    username: str | None
    password: str | None
    token: str | None

    def __str__(self) -> str:
        lines = []
        if self.username:
            lines += [f"user:     {self.username}", f"password: {self.password}"]
        if self.token:
            lines += [f"token:    {self.token}"]
        return "\n".join(lines)


@storage.write
def create_first_login(*, file: Path | None) -> FirstLogin | None:
    """Return the first admin and the first token, each made only where there is none yet, or None if both were there.

    With ``file`` they are written there, for its owner alone and before anything is committed: no password is lost.
    """
    username = password = token = None
    if not get_user_model().objects.filter(is_superuser=True).exists():
        username, password = _create_admin()
    if not Token.objects.exists():
        _, token = create_token(find_or_create_agent(AGENT, workspace=WORKSPACE), actor=ACTOR)
    if username is None and token is None:
        return None
    made = FirstLogin(username, password, token)
    if file is not None:
        _write_privately(file, f"{made}\n")
    return made


def _create_admin() -> tuple[str, str]:
    users = get_user_model().objects
    taken = set(users.values_list("username", flat=True))
    username = next(name for n in count(1) if (name := f"admin{n if n > 1 else ''}") not in taken)
    password = secrets.token_urlsafe(15)
    user = users.create_superuser(username, password=password)
    workspace = find_or_create_agent(AGENT, workspace=WORKSPACE).workspace
    Membership.objects.create(user=user, workspace=workspace, role=Membership.Role.ADMIN)
    audit.record(
        "user.create", actor=ACTOR.name, workspace_id=workspace.pk, target=f"user {user.pk}", result="role=admin"
    )
    return username, password


def _write_privately(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as opened:
        opened.write(text)


def first_login_file() -> Path:
    """Return where a start without a terminal leaves the first login."""
    return Path(settings.DATA_DIR) / "first-login"


@receiver(user_logged_in)
def forget_first_login(sender: Any, user: Any, **kwargs: Any) -> None:
    """Remove the file once an admin is in: from then on its password is known to someone."""
    if user.is_superuser:
        first_login_file().unlink(missing_ok=True)
