"""Who asks, and the one door to what they may see."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from django.db import models
from django.db.models import F, QuerySet
from django.db.models.lookups import Exact

from memories import audit, prepared, storage
from memories.errors import Conflict, Forbidden, Invalid
from memories.models import SHARED_PARTITION, TRUST, Agent, Membership, Memory, Scope, Source, Token, Workspace

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

Private = Literal["own", "none", "all"]
M = TypeVar("M", bound=models.Model)

TOKEN_MARK = "mw"  # noqa: S105  what every token starts with, no secret
_PREFIX_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


@dataclass(frozen=True, slots=True)
class Actor:
    """Whose name stands in revisions and the audit log, and the request it happened in."""

    name: str
    request_id: str = ""
    is_person: bool = False


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks: a workspace, the agent if it is one, its role and which private memories it sees."""

    workspace_id: int
    agent_id: int | None
    role: str
    private: Private
    actor: Actor
    sources: tuple[str, ...] = tuple(Source.values)
    may_write_shared: bool = True
    instance: bool = False
    token_id: int | None = None
    own_partition: str | None = None

    @property
    def partitions(self) -> tuple[str, ...] | None:
        """Return the partitions it sees, or None for all of the workspace."""
        if self.private == "all":
            return None
        if self.private == "own" and self.own_partition is not None:
            return (SHARED_PARTITION, self.own_partition)
        return (SHARED_PARTITION,)

    def sees(self, *, workspace_id: int, partition: str) -> bool:
        """Return whether ``visible_to`` lets a row of this place through, for rows that were found another way."""
        partitions = self.partitions
        return workspace_id == self.workspace_id and (partitions is None or partition in partitions)

    @property
    def is_reader(self) -> bool:
        """Return whether it may only read."""
        return self.role == Token.Role.READER

    @property
    def is_admin(self) -> bool:
        return self.role == Token.Role.ADMIN

    @property
    def trust(self) -> int:
        """Return the trust of the best source it may claim; it changes nothing that is trusted more."""
        return max((TRUST[source] for source in self.sources), default=0)


def visible_to(principal: Principal, model: type[M]) -> QuerySet[M]:
    """Return the rows of a partitioned model (memories; sessions and messages) that the principal may see.

    This is the one door: every read that answers somebody starts here.
    """
    rows = model._default_manager.filter(workspace_id=principal.workspace_id)
    partitions = principal.partitions
    return rows if partitions is None else rows.filter(partition__in=partitions)


def visible_among(principal: Principal, model: type[M], ids: Collection[int]) -> QuerySet[M]:
    """Return those of the rows with these ids that the principal may see: the same door, for ids at hand.

    The sum keeps SQLite's planner from walking all of the workspace to find a few ids: it takes any two columns of an
    index for a better way than twenty ids.
    """
    rows = model._default_manager.filter(pk__in=ids)
    rows = rows.filter(Exact(F("workspace_id") + 0, principal.workspace_id))
    partitions = principal.partitions
    return rows if partitions is None else rows.filter(partition__in=partitions)


def everything(model: type[M]) -> QuerySet[M]:
    """Return all rows of all workspaces, for maintenance. A name to grep for: no answer to a principal may use it."""
    return model._default_manager.all()


def partition_for(scope: str, agent_id: int) -> str:
    """Return the partition of a memory of this scope and agent."""
    return SHARED_PARTITION if scope == Scope.SHARED else f"agent:{agent_id}"


def principal_of_token(token: Token, *, request_id: str = "") -> Principal:
    """Return who a token stands for. Needs ``token.agent`` loaded."""
    is_agent = token.role == Token.Role.AGENT
    return Principal(
        workspace_id=token.agent.workspace_id,
        agent_id=token.agent_id,
        role=token.role,
        private="own" if is_agent else "none",
        actor=Actor(f"agent {token.agent.name}", request_id),
        sources=tuple(token.sources),
        may_write_shared=token.may_write_shared,
        instance=token.instance,
        token_id=token.pk,
        own_partition=token.agent.partition if is_agent else None,
    )


def principal_of_member(membership: Membership, *, request_id: str = "") -> Principal:
    """Return who a logged-in person is in one workspace. Needs ``membership.user`` loaded."""
    return Principal(
        workspace_id=membership.workspace_id,
        agent_id=None,
        role=membership.role,
        private="none" if membership.role == Membership.Role.READER else "all",
        actor=Actor(f"user {membership.user.get_username()}", request_id, is_person=True),
    )


def principal_of_superuser(
    user: AbstractBaseUser | AnonymousUser, workspace_id: int, *, request_id: str = ""
) -> Principal:
    """Return who the person that runs the house is in any one workspace: an admin who sees all of it.

    Raises Forbidden for anybody else, who is a member or nobody.
    """
    if not (user.is_active and getattr(user, "is_superuser", False)):
        raise Forbidden("only a superuser enters every workspace")
    return Principal(
        workspace_id=workspace_id,
        agent_id=None,
        role=Membership.Role.ADMIN,
        private="all",
        actor=Actor(f"user {user.get_username()}", request_id, is_person=True),
    )


def digest_of(secret: str) -> str:
    """Return the SHA-256 (hex) under which a token is kept. 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


@storage.write
def create_token(
    agent: Agent,
    *,
    actor: Actor,
    role: str = Token.Role.AGENT,
    sources: Sequence[str] = tuple(Source.values),
    may_write_shared: bool = True,
    instance: bool = False,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Return a new token and its secret text, ``mw_<prefix>_<43 characters>``. The text is kept nowhere."""
    prefix = "".join(secrets.choice(_PREFIX_ALPHABET) for _ in range(10))
    secret = f"{TOKEN_MARK}_{prefix}_{secrets.token_urlsafe(32)}"
    token = Token.objects.create(
        agent=agent,
        prefix=prefix,
        digest=digest_of(secret),
        role=role,
        sources=list(sources),
        may_write_shared=may_write_shared,
        instance=instance,
        expires_at=expires_at,
    )
    audit.record(
        "token.create",
        actor=actor.name,
        workspace_id=agent.workspace_id,
        target=f"token {prefix}",
        result=f"agent={agent.pk} role={role} instance={str(instance).lower()}",
        request_id=actor.request_id,
    )
    return token, secret


@storage.write
def change_token(
    token: Token,
    *,
    actor: Actor,
    now: datetime,
    expires_at: datetime | None,
    may_write_shared: bool,
    sources: Sequence[str],
) -> bool:
    """Return whether anything changed. A live token's end may be moved, what it may do only narrowed.

    Raises Forbidden for what would give it more rights: those come with a new token, which is seen to be made.
    Raises Conflict for a token that is revoked or has expired: nothing makes it open the door again.
    """
    row = Token.objects.select_for_update().get(pk=token.pk)
    if not row.is_live(now):
        raise Conflict(f"token {row.prefix} is {'expired' if row.revoked_at is None else 'revoked'}; make a new one")
    if expires_at is not None and expires_at <= now and expires_at != row.expires_at:
        raise Invalid("this time has passed; revoke the token to end it now", field="expires_at")
    if may_write_shared and not row.may_write_shared:
        raise Forbidden("a token does not get this right later; make a new one", field="may_write_shared")
    more = [source for source in sources if source not in row.sources]
    if more:
        raise Forbidden(f"a token does not get more sources later ({', '.join(more)}); make a new one", field="sources")
    fewer = [source for source in row.sources if source not in sources]
    said = []
    if expires_at != row.expires_at:
        said.append(f"expires_at={_time(row.expires_at)}->{_time(expires_at)}")
    if may_write_shared != row.may_write_shared:
        said.append("may_write_shared=true->false")
    if fewer:
        said.append(f"sources_removed={','.join(fewer)}")
    if not said:
        return False
    kept = [source for source in row.sources if source in sources]
    Token.objects.filter(pk=row.pk).update(expires_at=expires_at, may_write_shared=may_write_shared, sources=kept)
    token.expires_at, token.may_write_shared, token.sources = expires_at, may_write_shared, kept
    audit.record(
        "token.change",
        actor=actor.name,
        workspace_id=row.agent.workspace_id,
        target=f"token {row.prefix}",
        result=" ".join(said),
        request_id=actor.request_id,
    )
    return True


def _time(moment: datetime | None) -> str:
    return "never" if moment is None else moment.isoformat(timespec="seconds")


@storage.write
def revoke_token(token: Token, *, actor: Actor, now: datetime) -> bool:
    """Return whether the token was open until now. A revoked one stays revoked."""
    if not Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        return False
    audit.record(
        "token.revoke",
        actor=actor.name,
        workspace_id=token.agent.workspace_id,
        target=f"token {token.prefix}",
        request_id=actor.request_id,
    )
    return True


def token_for(secret: str, *, now: datetime) -> Token | None:
    """Return the live token of this text with its agent loaded, or None for a wrong, expired or revoked one."""
    mark, _, rest = secret.partition("_")
    prefix, _, _ = rest.partition("_")
    if mark != TOKEN_MARK or not prefix or len(secret) > 200 or not secret.isascii():
        return None
    found = next(prepared.rows("token", {"prefix": prefix}, _token_query), None)
    if found is None or not hmac.compare_digest(found["digest"], digest_of(secret)):
        return None
    agent = Agent(pk=found["agent_id"], name=found.pop("agent_name"), workspace_id=found.pop("workspace_id"))
    token = Token(**found, agent=agent)
    return token if token.is_live(now) else None


def _token_query(values: dict[str, Any]) -> QuerySet:
    columns = [field.attname for field in Token._meta.concrete_fields]
    found: QuerySet = Token.objects.filter(prefix=values["prefix"]).values(
        *columns, agent_name=F("agent__name"), workspace_id=F("agent__workspace_id")
    )
    return found


def agent_name(agent_id: int) -> str:
    """Return the agent's name. Only for agents of rows that the principal may see."""
    found = prepared.rows("agent name", {"id": agent_id}, lambda v: Agent.objects.filter(pk=v["id"]).values("name"))
    return str(next(found)["name"])


@storage.write
def find_or_create_agent(name: str, *, workspace: str) -> Agent:
    """Return the agent of this name, after making workspace and agent where missing."""
    tenant, _ = Workspace.objects.get_or_create(name=workspace)
    agent, _ = Agent.objects.get_or_create(workspace=tenant, name=name)
    return agent


def may_change(principal: Principal, memory: Memory) -> str | None:
    """Return why the principal may not change a memory it sees, or None if it may."""
    if principal.is_reader:
        return "a reader may not change memories"
    if memory.partition == SHARED_PARTITION and not principal.may_write_shared:
        return "this token may not write shared memories"
    if TRUST[memory.source] > principal.trust:
        return f"this token may not change what comes from the more trusted source {memory.source!r}"
    return None
