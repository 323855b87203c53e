"""The command create_token."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories.access import token_for
from memories.models import Agent, AuditEntry, Source, Token, Workspace
from tests.conftest import ApiClient
from tests.factories import AgentFactory
from tests.memoryweb.running import manage


def create(*arguments: str, **options: Any) -> Token:
    """Return the live token whose text the command printed alone on its last line."""
    output = StringIO()
    call_command("create_token", *arguments, stdout=output, stderr=StringIO(), **options)
    token = token_for(output.getvalue().splitlines()[-1], now=timezone.now())
    assert token is not None
    return token


@pytest.mark.django_db
def test_it_makes_workspace_and_agent_where_missing() -> None:
    token = create("--agent", "clerk", "--workspace", "office")

    assert (token.agent.name, token.agent.workspace.name) == ("clerk", "office")
    assert (token.role, token.instance, token.may_write_shared, token.expires_at) == ("agent", False, True, None)
    assert token.sources == Source.values
    assert AuditEntry.objects.get(verb="token.create").target == f"token {token.prefix}"


@pytest.mark.django_db
def test_it_adds_a_token_to_an_agent_that_is_there() -> None:
    agent = AgentFactory.create(name="clerk", workspace__name="default")

    assert create("--agent", " clerk ").agent == agent
    assert create("--agent", "clerk", "--workspace", " default").agent == agent
    assert Agent.objects.count() == Workspace.objects.count() == 1


@pytest.mark.django_db
def test_the_token_opens_the_api(settings: Any) -> None:
    output = StringIO()
    call_command("create_token", "--agent", "clerk", stdout=output, stderr=StringIO())

    receipt = ApiClient(output.getvalue().splitlines()[-1]).remember("The key hangs beside the door.")

    assert receipt["action"] == "created"


@pytest.mark.django_db
def test_it_limits_what_the_token_may_do() -> None:
    token = create(
        *("--agent", "crawler", "--role", "reader", "--instance", "--private-only"),
        *("--source", "web", "stranger", "--source", "web", "--expires-days", "7"),
    )

    assert (token.role, token.instance, token.may_write_shared) == ("reader", True, False)
    assert token.sources == ["web", "stranger"]
    assert token.expires_at is not None
    assert timedelta(days=6) < token.expires_at - timezone.now() <= timedelta(days=7)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--role", "owner"], ["--role 'owner'", "agent, reader, admin"]),
        (["--source", "web", "rumour"], ["--source 'rumour'", "owner, agent, tool"]),
        (["--expires-days", "0"], ["--expires-days '0'", "from 1 to"]),
        (["--expires-days", "-3"], ["--expires-days '-3'"]),
        (["--expires-days", "soon"], ["--expires-days 'soon'"]),
        (["--expires-days", "9" * 30], ["--expires-days '999"]),
        (["--workspace", " "], ["--workspace ' '", "1 to 200 characters"]),
        (["--workspace", "a\nb"], ["--workspace 'a\\nb'", "control characters"]),
        (["--agent", ""], ["--agent ''"]),
        (["--agent", "x" * 201], ["--agent 'xxx"]),
        (["--agent", "\udcff"], ["--agent '\\udcff'"]),
    ],
)
def test_it_names_what_is_allowed_and_makes_nothing(arguments: list[str], named: list[str]) -> None:
    with pytest.raises(CommandError) as refused:
        create("--agent", "clerk", *arguments)

    for part in named:
        assert part in str(refused.value)
    assert not Workspace.objects.exists()


@pytest.mark.django_db
def test_a_name_may_have_200_characters_of_any_script() -> None:
    assert create("--agent", "記" * 200, "--workspace", "Büro · 事務所").agent.name == "記" * 200


@pytest.mark.processes
def test_standard_output_is_the_token_alone_and_a_new_store_is_asked_for(tmp_path: Path) -> None:
    early = manage("create_token", "--agent", "clerk", data_dir=tmp_path / "store")
    assert early.returncode == 1
    assert "migrate" in early.stderr
    assert "Traceback" not in early.stderr

    assert manage("migrate", "--verbosity", "0", data_dir=tmp_path / "store").returncode == 0
    made = manage("create_token", "--agent", "clerk", data_dir=tmp_path / "store")

    assert made.returncode == 0
    assert made.stdout.startswith("mw_")
    assert made.stdout.count("\n") == 1
    assert made.stdout.strip() not in made.stderr
    assert "clerk" in made.stderr
