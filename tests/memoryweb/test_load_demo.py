"""The demo: loaded once, something to tidy in every language, and gone again."""

from __future__ import annotations

from collections import Counter
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memories.access import Actor, create_token
from memories.models import Agent, Memory, Message, Session, Workspace
from memoryweb.demo import LANGUAGES, memories, talks
from search.corpora import MESSAGES
from tests.search.indexes import found, sound
from tests.tidy.rounds import run
from tidy.models import Candidate

pytestmark = pytest.mark.django_db


def load(*arguments: str) -> str:
    said = StringIO()
    call_command("load_demo", *arguments, stdout=said)
    return said.getvalue()


def test_it_brings_all_that_is_written_once() -> None:
    said = load()
    assert "open /review/" in said
    for language, name in LANGUAGES.items():
        agent = Agent.objects.get(name=name, workspace__name="demo")
        written = [one.content for one in memories(language)]
        assert sorted(agent.memories.values_list("content", flat=True)) == sorted(written)
        assert len(written) >= 80
        assert agent.sessions.count() == len(list(talks(language))) >= 6
    assert Memory.objects.filter(message__isnull=False).exists()
    assert Memory.objects.filter(pinned=True).count() >= 3
    assert sound()
    before = Memory.objects.count(), Message.objects.count()
    assert "there already" in load()
    assert (Memory.objects.count(), Message.objects.count()) == before


def test_there_is_something_to_tidy_of_every_kind_in_every_language() -> None:
    load()
    run()
    for name in LANGUAGES.values():
        of_agent = Candidate.objects.filter(memories__memory__agent__name=name).distinct()
        kinds = Counter(of_agent.values_list("action", flat=True))
        assert kinds["merge"] >= 3, (name, kinds)
        assert kinds["archive"] >= 3, (name, kinds)
        assert kinds["reclassify"] >= 1, (name, kinds)
        assert kinds["link"] >= 1, (name, kinds)
        assert of_agent.filter(auto=True).exists(), name
        assert of_agent.filter(status="pending").exists(), name


def test_a_habit_that_names_a_time_is_never_an_event() -> None:
    load()
    run()
    habits = ["every", "each", "jeden", "jede", "sonntags", "每"]
    for memory in Memory.objects.filter(candidates__candidate__action="archive", candidates__candidate__auto=True):
        assert not any(word in memory.content for word in habits), memory.content


def test_every_transcript_is_found_by_its_words() -> None:
    load()
    for language, name in LANGUAGES.items():
        agent = Agent.objects.get(name=name)
        for talk in talks(language):
            text = talk.turns[0][2]
            wanted = Message.objects.get(session__external_id=talk.name, external_id="1")
            assert wanted.pk in found(agent, MESSAGES, f'"{text}"'), text


def test_it_goes_again_and_leaves_nothing() -> None:
    load()
    run()
    assert "gone" in load("--remove")
    assert not Workspace.objects.filter(name="demo").exists()
    assert not any(model.objects.exists() for model in (Memory, Session, Message, Candidate))
    with pytest.raises(CommandError, match="no demo"):
        load("--remove")
    load()


def test_it_does_not_go_into_a_workspace_of_others(agent: Any) -> None:
    with pytest.raises(CommandError, match="name another one"):
        load("--workspace", agent.workspace.name)
    assert not Memory.objects.exists()


def test_what_others_wrote_there_is_not_removed() -> None:
    load()
    create_token(Agent.objects.get(name="scribe"), actor=Actor("test"))
    with pytest.raises(CommandError, match="1 tokens in the workspace are not the demo's"):
        load("--remove")
    assert Memory.objects.exists()
