"""The first admin and the first token."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.utils import timezone

from memories.access import token_for
from memories.models import AuditEntry, Membership, Token
from memoryweb.first_login import create_first_login, first_login_file
from tests.factories import AgentFactory, UserFactory, make_token

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_data_dir(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


def test_an_empty_store_gets_an_admin_and_a_token() -> None:
    made = create_first_login(file=None)

    assert made is not None
    assert made.token is not None
    user = authenticate(RequestFactory().post("/"), username="admin", password=made.password)
    assert user is not None
    assert user.is_superuser
    token = token_for(made.token, now=timezone.now())
    assert token is not None
    assert (token.role, token.agent.name, token.agent.workspace.name) == ("agent", "first", "default")
    assert Membership.objects.get(user=user).workspace == token.agent.workspace
    assert set(AuditEntry.objects.values_list("verb", flat=True)) == {"user.create", "token.create"}
    assert not first_login_file().exists()


def test_it_is_made_only_once() -> None:
    create_first_login(file=None)

    assert create_first_login(file=first_login_file()) is None
    assert User.objects.count() == Token.objects.count() == 1
    assert not first_login_file().exists()


def test_a_revoked_token_and_a_shut_out_admin_bring_no_new_ones() -> None:
    create_first_login(file=None)
    Token.objects.update(revoked_at=timezone.now())
    User.objects.update(is_active=False)

    assert create_first_login(file=None) is None


def test_only_what_is_missing_is_made() -> None:
    UserFactory.create(superuser=True)
    made = create_first_login(file=None)
    assert made is not None
    assert (made.username, made.password) == (None, None)
    assert str(made) == f"token:    {made.token}"

    User.objects.all().delete()
    made = create_first_login(file=None)
    assert made is not None
    assert (made.username, made.token) == ("admin", None)


def test_a_taken_name_is_left_alone() -> None:
    UserFactory.create(username="admin")
    make_token(AgentFactory.create())

    made = create_first_login(file=None)

    assert made is not None
    assert made.username == "admin2"
    assert not User.objects.get(username="admin").is_superuser


def test_the_file_is_for_its_owner_alone_and_replaces_a_lost_one(tmp_path: Path) -> None:
    file = tmp_path / "first-login"
    file.write_text("of a start that was killed")
    file.chmod(0o644)

    made = create_first_login(file=file)

    assert file.read_text() == f"{made}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_first_login_of_an_admin_removes_the_file(client: Client) -> None:
    create_first_login(file=first_login_file())

    client.force_login(UserFactory.create())
    assert first_login_file().exists()
    client.force_login(User.objects.get(username="admin"))
    assert not first_login_file().exists()
    client.force_login(User.objects.get(username="admin"))
