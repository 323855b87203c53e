"""One factory a model: minimal fields, unique text by sequence, traits for states."""

from __future__ import annotations

from typing import Any

import factory
from django.contrib.auth import get_user_model
from django.utils import timezone

from memories import access, models, revisions, transcripts
from memories.access import Actor
from tidy.evidence import Evidence, Seen
from tidy.models import Candidate, CandidateMemory


class WorkspaceFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = models.Workspace

    name = factory.Sequence(lambda n: f"workspace {n}")


class AgentFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = models.Agent

    workspace = factory.SubFactory(WorkspaceFactory)
    name = factory.Sequence(lambda n: f"agent {n}")


class UserFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = get_user_model()
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"person{n}")
    password = factory.django.Password("correct horse battery")

    class Params:
        superuser = factory.Trait(is_staff=True, is_superuser=True)


class MembershipFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = models.Membership

    user = factory.SubFactory(UserFactory)
    workspace = factory.SubFactory(WorkspaceFactory)


class MemoryFactory(factory.Factory):
    """Memories come through memories.revisions, as everywhere."""

    class Meta:
        model = models.Memory

    agent = factory.SubFactory(AgentFactory)
    content = factory.Sequence(lambda n: f"remembered thing {n}")

    class Params:
        shared = factory.Trait(scope="shared")
        archived = factory.Trait(
            status="archived", archived_at=factory.LazyFunction(timezone.now), archive_reason="forgotten"
        )

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> models.Memory:
        agent = kwargs.pop("agent")
        now = kwargs.pop("now", None) or timezone.now()
        return revisions.create(
            workspace_id=agent.workspace_id, agent_id=agent.pk, fields=kwargs, by=Actor(f"agent {agent.name}"), now=now
        )


class SessionFactory(factory.Factory):
    """Sessions come through memories.transcripts, as everywhere."""

    class Meta:
        model = models.Session

    agent = factory.SubFactory(AgentFactory)
    external_id = factory.Sequence(lambda n: f"session {n}")
    source = "cli"

    class Params:
        shared = factory.Trait(scope="shared")

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> models.Session:
        agent = kwargs.pop("agent")
        return transcripts.begin(
            workspace_id=agent.workspace_id,
            agent_id=agent.pk,
            scope=kwargs.pop("scope", "agent"),
            external_id=kwargs.pop("external_id"),
            fields=kwargs,
            now=kwargs.pop("now", None) or timezone.now(),
        )


class MessageFactory(factory.Factory):
    """Messages come through memories.transcripts, as everywhere."""

    class Meta:
        model = models.Message

    session = factory.SubFactory(SessionFactory)
    role = "user"
    content = factory.Sequence(lambda n: f"said thing {n}")

    class Params:
        compacted_away = factory.Trait(active=False, compacted=True)
        rewound = factory.Trait(active=False)

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> models.Message:
        session = kwargs.pop("session")
        now = kwargs.pop("now", None) or timezone.now()
        return transcripts.load(session, [transcripts.Said(**kwargs)], now=now)[0].message


def make_token(agent: models.Agent | None = None, **kwargs: Any) -> str:
    """Return the text of a new token."""
    _, secret = access.create_token(agent or AgentFactory.create(), actor=Actor("test"), **kwargs)
    return secret


class CandidateFactory(factory.Factory):
    """A proposal to archive one memory, as a round writes it."""

    class Meta:
        model = Candidate

    memory = factory.SubFactory(MemoryFactory)
    reason = "possible_event"
    status = "pending"

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> Candidate:
        memory, now = kwargs.pop("memory"), timezone.now()
        evidence = Evidence(
            seen=(Seen.of(memory, "source"),), rule=kwargs["reason"], rules_version=1, today=now.date().isoformat()
        )
        candidate = Candidate.objects.create(
            workspace=memory.workspace,
            partition=memory.partition,
            action="archive",
            fingerprint=f"of memory {memory.pk}",
            subject=memory.subject,
            evidence=evidence.as_json(),
            created_at=now,
            **kwargs,
        )
        CandidateMemory.objects.create(candidate=candidate, memory=memory, role="source", seen_revision=memory.revision)
        return candidate
