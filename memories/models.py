"""What is stored: workspaces and who may enter them, memories with every past state, transcripts, the audit log.

Memory rows are written by memories/revisions.py alone, audit entries by memories/audit.py alone, sessions and their
messages by memories/transcripts.py alone.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Greatest
from django.utils import timezone

CONTENT_MAX = 100_000
"""Characters of content a memory holds at most."""
NAME_MAX = 200
"""Characters of a name, subject or key."""
TAG_MAX = 100
"""Characters of one tag."""


class Workspace(models.Model):
    """The tenant: nothing is ever read or written across one."""

    name = models.CharField(max_length=NAME_MAX, unique=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Agent(models.Model):
    """A program with a token."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="agents")
    name = models.CharField(max_length=NAME_MAX)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["workspace", "name"], name="agent_name_once_a_workspace")]

    def __str__(self) -> str:
        return self.name

    @property
    def partition(self) -> str:
        """Return the partition of the agent's own memories."""
        return f"agent:{self.pk}"


class Membership(models.Model):
    """A person's place in a workspace."""

    class Role(models.TextChoices):
        REVIEWER = "reviewer"
        READER = "reader"
        ADMIN = "admin"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role.choices, default=Role.REVIEWER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "workspace"], name="membership_once_a_workspace")]

    def __str__(self) -> str:
        return f"{self.user} in {self.workspace} ({self.role})"


class Source(models.TextChoices):
    """Where a memory comes from, in falling trust."""

    OWNER = "owner"
    AGENT = "agent"
    TOOL = "tool"
    IMPORT = "import"
    GROUP_CHAT = "group_chat"
    STRANGER = "stranger"
    WEB = "web"


TRUST: dict[str, int] = {source: len(Source.values) - place for place, source in enumerate(Source.values)}
"""Trust by source: the higher the number, the more it is believed."""
RESTRICTED_SOURCES = (Source.GROUP_CHAT.value, Source.STRANGER.value, Source.WEB.value)
RESTRICTED_IMPORTANCE_MAX = 2
"""Importance that a memory from a restricted source has at most until a person raises it."""


def all_sources() -> list[str]:
    """Return every source: what a new token may claim unless it is limited."""
    return list(Source.values)


class Token(models.Model):
    """What an agent shows to get in. Only its SHA-256 is stored; memories/access.py makes and checks them."""

    class Role(models.TextChoices):
        AGENT = "agent"
        READER = "reader"
        ADMIN = "admin"

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="tokens")
    prefix = models.CharField(
        max_length=16, unique=True, editable=False, help_text="The shown part, to tell tokens apart."
    )
    digest = models.CharField(max_length=64, editable=False)
    role = models.CharField(max_length=20, choices=Role.choices, default=Role.AGENT)
    sources = models.JSONField(default=all_sources, help_text="Sources that it may claim for what it remembers.")
    may_write_shared = models.BooleanField(default=True)
    instance = models.BooleanField(default=False, help_text="May run the instance: indexes and metrics.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.agent} ({self.prefix}…)"

    def is_live(self, now: datetime) -> bool:
        """Return whether the token still opens the door."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class Kind(models.TextChoices):
    FACT = "fact"
    DECISION = "decision"
    OBSERVATION = "observation"
    TASK = "task"
    CONTACT = "contact"
    RELATIONSHIP = "relationship"
    WORLD_EVENT = "world_event"
    OTHER = "other"


class Scope(models.TextChoices):
    AGENT = "agent", "private to its agent"
    SHARED = "shared", "shared in the workspace"


class Status(models.TextChoices):
    ACTIVE = "active"
    MERGED = "merged"
    ARCHIVED = "archived"
    ERASED = "erased"


SHARED_PARTITION = "shared"
RECALL_ORDER = ("pinned", "importance", "recency", "id")
"""What recall sorts by, each descending."""


def content_hash(content: str) -> str:
    """Return the SHA-256 (hex) that equal texts share; surrounding white space does not count."""
    return hashlib.sha256(content.strip().encode()).hexdigest()


class Memory(models.Model):
    """One remembered item.

    ``recency``, ``restricted`` and ``active_key`` are computed by the database, so that no write can leave them behind.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memories", db_index=False)
    # RESTRICT: an agent goes with its whole workspace, never alone while something is remembered of it.
    agent = models.ForeignKey(Agent, on_delete=models.RESTRICT, related_name="memories")
    scope = models.CharField(max_length=10, choices=Scope.choices, default=Scope.AGENT)
    partition = models.CharField(max_length=30, editable=False)
    subject = models.CharField(max_length=NAME_MAX, blank=True, default="")
    key = models.CharField(max_length=NAME_MAX, null=True, blank=True)
    active_key = models.GeneratedField(
        expression=models.Case(models.When(status=Status.ACTIVE, then=F("key"))),
        output_field=models.CharField(max_length=NAME_MAX, null=True),
        db_persist=True,
    )
    kind = models.CharField(max_length=20, choices=Kind.choices, default=Kind.OBSERVATION)
    content = models.TextField()
    content_hash = models.CharField(max_length=64, editable=False)
    tags = models.JSONField(default=list, blank=True)
    importance = models.PositiveSmallIntegerField(default=3)
    source = models.CharField(max_length=20, choices=Source.choices, default=Source.AGENT)
    restricted = models.GeneratedField(
        expression=Q(source__in=RESTRICTED_SOURCES),  # type: ignore[arg-type]  # a condition is an expression too
        output_field=models.BooleanField(),
        db_persist=True,
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    merged_into = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="merged_from", db_index=False
    )
    merged_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    archive_reason = models.CharField(max_length=NAME_MAX, blank=True, default="")
    kept_beside = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="kept_beside_it",
        db_index=False,
        help_text="The more trusted memory whose key this write asked for.",
    )
    message = models.ForeignKey(
        "Message",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="memories",
        db_index=False,
        help_text="What it was taken from.",
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    lapsed = models.BooleanField(
        default=False,
        editable=False,
        help_text="Expired, and taken out of the counts by upkeep; no change of the memory.",
    )
    pinned = models.BooleanField(default=False)
    metadata = models.JSONField(default=dict, blank=True)
    seen_count = models.PositiveIntegerField(default=1)
    last_seen_at = models.DateTimeField()
    revision = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    recency = models.GeneratedField(
        expression=Greatest("updated_at", "last_seen_at"), output_field=models.DateTimeField(), db_persist=True
    )

    class Meta:
        verbose_name_plural = "memories"
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "partition", "active_key"], name="memory_key_once_a_partition"
            ),
            models.CheckConstraint(condition=Q(importance__gte=1, importance__lte=5), name="memory_importance_1_to_5"),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="memory_kind_known"),
            models.CheckConstraint(condition=Q(source__in=Source.values), name="memory_source_known"),
            models.CheckConstraint(condition=~Q(key=""), name="memory_key_not_blank"),
            models.CheckConstraint(condition=~Q(content="") | Q(status=Status.ERASED), name="memory_content_not_blank"),
            models.CheckConstraint(
                condition=Q(scope=Scope.SHARED, partition=SHARED_PARTITION)
                | Q(scope=Scope.AGENT, partition__startswith="agent:"),
                name="memory_partition_follows_scope",
            ),
            models.CheckConstraint(
                condition=Q(status__in=[Status.ACTIVE, Status.ERASED])
                | Q(status=Status.MERGED, merged_at__isnull=False)
                | Q(status=Status.ARCHIVED, archived_at__isnull=False),
                name="memory_status_has_its_time",
            ),
        ]
        indexes = [
            # Recall reads these three from the end.
            models.Index(
                fields=["workspace", "partition", "status", "restricted", *RECALL_ORDER],
                name="memory_recall",
            ),
            models.Index(
                # expires_at at the end lets a subject be counted without reading its rows.
                fields=["workspace", "partition", "subject", "status", "restricted", *RECALL_ORDER, "expires_at"],
                name="memory_recall_subject",
            ),
            models.Index(
                fields=["workspace", "partition", "kind", "status", "restricted", *RECALL_ORDER],
                name="memory_recall_kind",
            ),
            models.Index(fields=["workspace", "partition", "status", "id"], name="memory_listed"),
            models.Index(
                # With everything that remembering asks, or the planner takes an index in the order of ids and walks it.
                fields=["workspace", "partition", "content_hash", "subject", "status", "id"],
                name="memory_equal_text",
            ),
            models.Index(
                # All that the count of expired memories asks for, so that it reads no rows.
                fields=["workspace", "partition", "restricted", "expires_at", "importance", "kind"],
                condition=Q(status=Status.ACTIVE, expires_at__isnull=False, lapsed=False),
                name="memory_expiring",
            ),
            models.Index(fields=["merged_into"], condition=Q(merged_into__isnull=False), name="memory_merged_into"),
            models.Index(fields=["kept_beside"], condition=Q(kept_beside__isnull=False), name="memory_kept_beside"),
            models.Index(fields=["message"], condition=Q(message__isnull=False), name="memory_from_message"),
        ]

    def __str__(self) -> str:
        return f"memory {self.pk}"


class MemoryTag(models.Model):
    """One tag of one memory with what recall asks of it first, so that a tag is found and counted without its rows.

    Kept by memories/revisions.py.
    """

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="tag_rows", db_index=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False, related_name="+")
    partition = models.CharField(max_length=30)
    tag = models.CharField(max_length=TAG_MAX)
    active = models.BooleanField()
    restricted = models.BooleanField()
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["memory", "tag"], name="memory_tag_once_a_memory")]
        indexes = [
            models.Index(
                fields=["workspace", "partition", "tag", "active", "restricted", "expires_at", "memory"],
                name="memory_tagged",
            )
        ]


class ActiveCount(models.Model):
    """How many active memories there are, so that recall tells its total without counting a million rows.

    One row for each combination below; kept by memories/revisions.py in the transaction that changes a memory.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False, related_name="+")
    partition = models.CharField(max_length=30)
    kind = models.CharField(max_length=20)
    importance = models.PositiveSmallIntegerField()
    restricted = models.BooleanField()
    rows = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "partition", "kind", "importance", "restricted"], name="active_count_once"
            )
        ]


class Revision(models.Model):
    """One change of a memory: what each changed field was before and after. The first one holds the row as created."""

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    number = models.PositiveIntegerField()
    verb = models.CharField(max_length=40)
    before = models.JSONField()
    after = models.JSONField()
    actor = models.CharField(max_length=300)
    reason = models.CharField(max_length=500, blank=True, default="")
    request_id = models.CharField(max_length=64, blank=True, default="")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["memory_id", "number"]
        constraints = [models.UniqueConstraint(fields=["memory", "number"], name="revision_number_once_a_memory")]

    def __str__(self) -> str:
        return f"revision {self.number} of memory {self.memory_id}"


class AuditEntry(models.Model):
    """Who did what, with counts and no text. Append-only; each entry carries the hash of the one before it."""

    # No database constraint: the log outlives the workspace it tells of.
    workspace = models.ForeignKey(
        Workspace, null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    at = models.DateTimeField()
    actor = models.CharField(max_length=300)
    verb = models.CharField(max_length=60)
    target = models.CharField(max_length=NAME_MAX, blank=True, default="")
    result = models.CharField(max_length=1000, blank=True, default="")
    counts = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64, blank=True, default="")
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["workspace", "verb", "id"], name="audit_by_verb")]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.actor}: {self.verb}"


class IdempotencyKey(models.Model):
    """The answer to a request that carried an Idempotency-Key, replayed for 24 hours."""

    token = models.ForeignKey(Token, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=NAME_MAX)
    request_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    answer = models.TextField()
    # Erasing a memory must find the answers that repeat its text.
    memories = models.ManyToManyField(Memory, related_name="+")
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["token", "key"], name="idempotency_key_once_a_token")]

    def __str__(self) -> str:
        return self.key


class ImportedItem(models.Model):
    """What an import has already brought, so that importing a file again adds nothing and brings nothing back."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False, related_name="+")
    partition = models.CharField(max_length=30)
    source = models.CharField(max_length=40, help_text="The format it came from.")
    external_id = models.CharField(max_length=NAME_MAX)
    content_hash = models.CharField(max_length=64)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="imported_from")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "partition", "source", "external_id", "content_hash"], name="imported_item_once"
            )
        ]


SUBAGENT = "subagent"
"""``Session.source`` of what a sub-agent did for its parent session."""
SUMMARY = "summary"
"""``Message.display_kind`` of what stands for messages that were summarised away."""
LABEL_MAX = 100
"""Characters of a source or a role."""


class Session(models.Model):
    """One transcript: a conversation of an agent, or a part of one that its ``parent`` began."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="sessions", db_index=False)
    # RESTRICT: an agent goes with its whole workspace, never alone while something is known of it.
    agent = models.ForeignKey(Agent, on_delete=models.RESTRICT, related_name="sessions")
    scope = models.CharField(max_length=10, choices=Scope.choices, default=Scope.AGENT)
    partition = models.CharField(max_length=30, editable=False)
    external_id = models.CharField(max_length=NAME_MAX, help_text="The caller's own name for it.")
    # Case folding makes one character three at most.
    folded_id = models.CharField(max_length=3 * NAME_MAX, editable=False)
    source = models.CharField(max_length=LABEL_MAX, help_text="Where it took place, as cli or telegram.")
    model = models.CharField(max_length=NAME_MAX, blank=True, default="")
    title = models.CharField(max_length=NAME_MAX, blank=True, default="")
    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="children",
        db_index=False,
        help_text="The session that it continues, or works for.",
    )
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    last_active_at = models.DateTimeField(help_text="The time of its newest message, or its start.")
    archived = models.BooleanField(default=False)
    metadata = models.JSONField(default=dict, blank=True)
    message_count = models.PositiveIntegerField(default=0, help_text="Messages that are not rewound.")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "partition", "external_id"], name="session_id_once_a_partition"
            ),
            models.CheckConstraint(condition=~Q(external_id=""), name="session_id_not_blank"),
            models.CheckConstraint(
                condition=Q(scope=Scope.SHARED, partition=SHARED_PARTITION)
                | Q(scope=Scope.AGENT, partition__startswith="agent:"),
                name="session_partition_follows_scope",
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "partition", "last_active_at", "id"], name="session_recent"),
            # For people, who see every partition of the workspace.
            models.Index(fields=["workspace", "last_active_at", "id"], name="session_recent_of_all"),
            models.Index(fields=["workspace", "partition", "folded_id", "last_active_at"], name="session_named"),
            models.Index(
                fields=["parent", "started_at", "id"], condition=Q(parent__isnull=False), name="session_continued"
            ),
        ]

    def __str__(self) -> str:
        return f"session {self.pk}"


class Message(models.Model):
    """One message of a session. Its order there is (timestamp, id).

    ``active`` is live. Not active but ``compacted`` was summarised away and is still found. Neither is rewound: nothing
    shows it unless it is asked for by name.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="messages", db_index=False)
    # The session's, so that messages are filtered without it.
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="messages", db_index=False)
    partition = models.CharField(max_length=30, editable=False)
    external_id = models.CharField(max_length=NAME_MAX, null=True, blank=True)
    role = models.CharField(max_length=LABEL_MAX)
    content = models.TextField(blank=True, default="")
    parts = models.JSONField(null=True, blank=True, help_text="The content as it came, where it came in parts.")
    tool_name = models.CharField(max_length=NAME_MAX, blank=True, default="")
    tool_calls = models.JSONField(null=True, blank=True, help_text="The calls as they came.")
    tool_text = models.TextField(
        blank=True, default="", editable=False, help_text="Names and argument values of the calls, as text."
    )
    timestamp = models.DateTimeField()
    active = models.BooleanField(default=True)
    compacted = models.BooleanField(default=False)
    # The audit entries of the acts, by which they are taken back; 0 where it came so from elsewhere.
    rewound_by = models.PositiveBigIntegerField(null=True, blank=True, editable=False)
    compacted_by = models.PositiveBigIntegerField(null=True, blank=True, editable=False)
    display_kind = models.CharField(
        max_length=LABEL_MAX,
        blank=True,
        default="",
        help_text="What kind of bookkeeping it is; empty for what was said.",
    )
    trust = models.CharField(max_length=20, choices=Source.choices, default=Source.AGENT)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session", "external_id"],
                condition=Q(external_id__isnull=False),
                name="message_id_once_a_session",
            ),
            models.CheckConstraint(condition=~Q(external_id=""), name="message_id_not_blank"),
            models.CheckConstraint(condition=~Q(active=True, compacted=True), name="message_live_or_compacted"),
            models.CheckConstraint(condition=Q(trust__in=Source.values), name="message_trust_known"),
        ]
        indexes = [
            models.Index(fields=["session", "timestamp", "id"], name="message_in_order"),
            models.Index(fields=["session", "role", "timestamp", "id"], name="message_by_role"),
            models.Index(fields=["workspace", "partition", "timestamp", "id"], name="message_newest"),
            models.Index(
                fields=["session", "rewound_by"], condition=Q(rewound_by__isnull=False), name="message_rewound"
            ),
            models.Index(
                fields=["session", "compacted_by"], condition=Q(compacted_by__isnull=False), name="message_compacted"
            ),
        ]

    def __str__(self) -> str:
        return f"message {self.pk}"
