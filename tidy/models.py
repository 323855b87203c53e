"""Proposals to tidy, the rounds that made them, and the batches in which they were applied."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from memories.models import NAME_MAX, Memory, Workspace

KEY_MAX = 40
REASON_MAX = 60


class Action(models.TextChoices):
    MERGE = "merge"
    ARCHIVE = "archive"
    RECLASSIFY = "reclassify"
    LINK = "link"
    KEEP = "keep"


class Round(models.Model):
    """One walk over what has changed: it makes candidates, withdraws those whose texts moved on, and applies the safe.

    It may take several short tasks. ``lease_until`` says until when the process that works on it holds it, so that two
    never do, and a killed one is followed by another.
    """

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"

    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    started_by = models.CharField(max_length=300)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    holder = models.CharField(max_length=32, blank=True, default="")
    scanned = models.PositiveIntegerField(default=0, help_text="Memories that were looked at.")
    walked = models.PositiveIntegerField(default=0, help_text="Of them, those that had not changed since last time.")
    proposed = models.PositiveIntegerField(default=0, help_text="Candidates that are new.")
    withdrawn = models.PositiveIntegerField(default=0, help_text="Open candidates whose texts have changed.")
    scan_truncated = models.BooleanField(default=False, help_text="Changed memories are left for the next round.")
    candidates_truncated = models.BooleanField(default=False, help_text="More was found than candidateLimit allows.")
    receipt = models.CharField(max_length=1000, blank=True, default="", help_text="What was applied by itself.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["state"], condition=Q(state="running"), name="round_one_at_a_time"),
        ]
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"round {self.pk}"


class Batch(models.Model):
    """Candidates that were applied together, and can be reverted together."""

    round = models.ForeignKey(Round, null=True, blank=True, on_delete=models.SET_NULL, related_name="batches")
    # Of the auto-applied, which cross workspaces, none.
    workspace = models.ForeignKey(
        Workspace, null=True, blank=True, on_delete=models.CASCADE, related_name="tidy_batches", db_index=False
    )
    auto = models.BooleanField()
    actor = models.CharField(max_length=300)
    at = models.DateTimeField()
    counts = models.JSONField(default=dict)
    noted = models.BooleanField(default=False, help_text="Its receipt is in the audit log.")

    class Meta:
        verbose_name_plural = "batches"
        indexes = [models.Index(fields=["at"], condition=Q(noted=False), name="batch_not_noted")]
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"batch {self.pk}"


class Candidate(models.Model):
    """One proposal: what to do with which memories, and why. What it rests on is in ``evidence`` (tidy.evidence)."""

    class Status(models.TextChoices):
        PENDING = "pending"
        APPLIED = "applied"
        DISMISSED = "dismissed"
        REVERTED = "reverted"
        WITHDRAWN = "withdrawn"

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="candidates", db_index=False)
    partition = models.CharField(max_length=30)
    action = models.CharField(max_length=12, choices=Action.choices)
    reason = models.CharField(max_length=REASON_MAX)
    # Why it may be applied without a person; null is for people.
    auto_reason = models.CharField(max_length=REASON_MAX, null=True, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    # What it proposes about which texts: the same is not proposed twice.
    fingerprint = models.CharField(max_length=KEY_MAX)
    target = models.ForeignKey(Memory, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    subject = models.CharField(max_length=NAME_MAX, blank=True, default="")
    evidence = models.JSONField()
    round = models.ForeignKey(Round, null=True, blank=True, on_delete=models.SET_NULL, related_name="candidates")
    batch = models.ForeignKey(Batch, null=True, blank=True, on_delete=models.SET_NULL, related_name="candidates")
    created_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.CharField(max_length=300, blank=True, default="")
    decision_reason = models.CharField(max_length=NAME_MAX, blank=True, default="")
    auto = models.BooleanField(default=False, help_text="Applied by a round, not by a person.")
    impact = models.PositiveSmallIntegerField(
        default=0, help_text="How much depends on it: the importance of what would change, then how often it was seen."
    )
    failures = models.PositiveSmallIntegerField(default=0, help_text="Times that applying it by itself went wrong.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "fingerprint"],
                condition=~Q(status="withdrawn"),
                name="candidate_once",
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "status", "action", "id"], name="candidate_queue"),
            models.Index(fields=["workspace", "status", "reason", "id"], name="candidate_by_reason"),
            models.Index(fields=["workspace", "status", "impact", "id"], name="candidate_by_impact"),
            models.Index(
                fields=["failures", "-id"],
                condition=Q(status="pending", auto_reason__isnull=False),
                name="candidate_eligible",
            ),
        ]
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"candidate {self.pk}"


class CandidateMemory(models.Model):
    """A memory that a candidate is about, at the revision that was looked at, and what applying made of it."""

    class Role(models.TextChoices):
        SOURCE = "source"
        TARGET = "target"

    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="memories", db_index=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="candidates")
    role = models.CharField(max_length=6, choices=Role.choices)
    seen_revision = models.PositiveIntegerField()
    # The revision that applying wrote; reverting asks whether it is still the memory's.
    applied_revision = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["candidate", "memory"], name="candidate_memory_once")]
        ordering = ["id"]

    def __str__(self) -> str:
        return f"memory {self.memory_id} of candidate {self.candidate_id}"


class KeptApart(models.Model):
    """Two memories that somebody said are never to be merged, whatever they become. ``first`` has the lower id."""

    first = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+", db_index=False)
    second = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+")
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="kept_apart")
    by = models.CharField(max_length=300)
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "kept apart"
        constraints = [models.UniqueConstraint(fields=["first", "second"], name="kept_apart_once")]

    def __str__(self) -> str:
        return f"memories {self.first_id} and {self.second_id}"


class Looking(models.Model):
    """Who looks at a candidate, and when they last did: two people need not decide the same one."""

    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="lookers", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["candidate", "user"], name="looking_once")]

    def __str__(self) -> str:
        return f"{self.user} at candidate {self.candidate_id}"


class PairingKey(models.Model):
    """What a memory may share with another one: texts that could be merged or contradict each other have one in common.

    Written when a round looks at the memory, at the revision of ``Looked``.
    """

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+")
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+", db_index=False)
    partition = models.CharField(max_length=30)
    key = models.CharField(max_length=KEY_MAX)

    class Meta:
        indexes = [models.Index(fields=["workspace", "partition", "key", "memory"], name="pairing_key")]


class Looked(models.Model):
    """At which revision, and with which version of the rules, a round has looked at a memory."""

    memory = models.OneToOneField(Memory, on_delete=models.CASCADE, primary_key=True, related_name="looked")
    revision = models.PositiveIntegerField()
    rules = models.PositiveSmallIntegerField()
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "looked at"
        indexes = [models.Index(fields=["at"], name="looked_longest_ago")]
