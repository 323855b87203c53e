"""The demo goes into a workspace of its own, once, and out of it again as long as nobody else wrote there."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from django.db.models import Q

from memories import audit, revisions, storage, transcripts
from memories.access import Actor, find_or_create_agent
from memories.errors import Conflict
from memories.models import Agent, AuditEntry, Memory, Message, Revision, Session, Source, Token, Workspace
from memoryweb.demo import LANGUAGES, Remembered, Talk, memories, talks
from tidy.models import Candidate

ACTOR = Actor("command load_demo")
LOADED = "demo.load"
REMOVED = "demo.remove"
BETWEEN = timedelta(seconds=40)
"""Between two messages of a transcript."""


def is_loaded(workspace: Workspace) -> bool:
    """Return whether the demo was loaded into the workspace, and is still there."""
    last = AuditEntry.objects.filter(workspace=workspace, verb__in=(LOADED, REMOVED)).order_by("-pk").first()
    return last is not None and last.verb == LOADED


@storage.write
def load(name: str, *, now: datetime) -> Counter[str]:
    """Return how many memories, sessions and messages were written. Raises Conflict where the workspace is in use."""
    if Workspace.objects.filter(name=name).exists():
        raise Conflict(f"there is a workspace {name!r} already that is not the demo's: name another one")
    counts: Counter[str] = Counter()
    for language, agent_name in LANGUAGES.items():
        agent = find_or_create_agent(agent_name, workspace=name)
        for talk in talks(language):
            counts["sessions"] += 1
            counts["messages"] += _load_talk(agent, talk, now)
        for one in memories(language):
            _remember(agent, one, now)
            counts[f"memories {language}"] += 1
    workspace = Workspace.objects.get(name=name)
    audit.record(LOADED, actor=ACTOR.name, workspace_id=workspace.pk, counts=dict(sorted(counts.items())), at=now)
    return counts


def _load_talk(agent: Agent, talk: Talk, now: datetime) -> int:
    begins = talk.starts_at(now)
    session = transcripts.begin(
        workspace_id=agent.workspace_id,
        agent_id=agent.pk,
        scope="agent",
        external_id=talk.name,
        fields={"source": talk.source, "title": talk.title, "started_at": begins},
        now=now,
    )
    said = [
        transcripts.Said(role, text, tool_name=tool, timestamp=begins + place * BETWEEN, external_id=f"{place + 1}")
        for place, (role, tool, text) in enumerate(talk.turns)
    ]
    return len(transcripts.load(session, said, now=now))


def _remember(agent: Agent, one: Remembered, now: datetime) -> None:
    at = now - timedelta(days=one.days_ago)
    # What was taken from a transcript of that day is linked to its last message.
    said = Message.objects.filter(session__agent=agent, timestamp__date=at.date()).order_by("-timestamp", "-pk").first()
    fields = {
        "content": one.content,
        "subject": one.subject,
        "kind": one.kind,
        "tags": [one.tag],
        "importance": one.importance,
        "scope": one.marks.get("scope", "agent"),
        "source": one.marks.get("source", Source.AGENT.value),
        "key": one.marks.get("key"),
        "pinned": one.pinned,
        "expires_at": now + timedelta(days=int(one.marks["expires"])) if "expires" in one.marks else None,
        "message": said,
    }
    revisions.create(
        workspace_id=agent.workspace_id, agent_id=agent.pk, fields=fields, by=Actor(f"agent {agent.name}"), now=at
    )


@storage.write
def remove(workspace: Workspace, *, now: datetime) -> Counter[str]:
    """Return how many rows were deleted. Raises Conflict where somebody else wrote into the workspace."""
    foreign = _foreign(workspace)
    if foreign:
        raise Conflict(f"{foreign} in the workspace are not the demo's: nothing was removed")
    audit.record(REMOVED, actor=ACTOR.name, workspace_id=workspace.pk, at=now)
    counts: Counter[str] = Counter()
    # An agent goes with its workspace once nothing is remembered of it.
    for model in (Candidate, Memory, Session):
        counts.update(model.objects.filter(workspace=workspace).delete()[1])
    counts.update(workspace.delete()[1])
    return counts


def _foreign(workspace: Workspace) -> str:
    """Return what is in the workspace that the demo did not bring: agents of others, tokens, what these wrote."""
    agents = Agent.objects.filter(workspace=workspace).exclude(name__in=LANGUAGES.values())
    tokens = Token.objects.filter(agent__workspace=workspace)
    ours = (
        Q(actor__in=[f"agent {name}" for name in LANGUAGES.values()]) | Q(actor="tidy") | Q(actor__startswith="user ")
    )
    written = Revision.objects.filter(memory__workspace=workspace).exclude(ours)
    found = {"agents": agents.count(), "tokens": tokens.count(), "changes": written.count()}
    return ", ".join(f"{count} {name}" for name, count in found.items() if count)
