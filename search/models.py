"""How far each index is, and what was done to it."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q


class IndexState(models.Model):
    """One index of one corpus: which generation serves, and how far it is filled.

    Rows up to ``progress`` and beyond ``high_water`` are in it, the gap between them is not yet. State and progress are
    one row, so that no kill can leave them apart. While another generation is built beside the one that serves,
    ``building`` is its number, and ``build_progress`` and ``build_high_water`` say how far that is.
    """

    class State(models.TextChoices):
        BUILDING = "building", "being filled"
        READY = "ready", "serving"
        STALE = "stale", "damaged, to be built anew"

    corpus = models.CharField(max_length=20)
    kind = models.CharField(max_length=20)
    generation = models.PositiveIntegerField(default=1)
    function = models.CharField(max_length=60, help_text="The version of the text function it is built with.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.BUILDING)
    progress = models.BigIntegerField(default=0)
    high_water = models.BigIntegerField(default=0)
    building = models.PositiveIntegerField(null=True, blank=True)
    build_progress = models.BigIntegerField(default=0)
    build_high_water = models.BigIntegerField(default=0)
    paused = models.BooleanField(default=False)
    built_at = models.DateTimeField(null=True, blank=True)
    verified_at = models.DateTimeField(null=True, blank=True)
    verified = models.CharField(max_length=500, blank=True, default="")
    last_error = models.CharField(max_length=500, blank=True, default="")
    probed_at = models.DateTimeField(null=True, blank=True)
    bytes = models.BigIntegerField(null=True, blank=True, help_text="About, when it was last looked at.")
    parts = models.PositiveIntegerField(null=True, blank=True)
    entries = models.BigIntegerField(null=True, blank=True, help_text="Rows that the ranking reckons with.")
    rows = models.BigIntegerField(null=True, blank=True, help_text="Rows of the table when it was last looked at.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "kind"], name="index_state_once"),
            models.CheckConstraint(condition=Q(progress__lte=F("high_water")), name="index_progress_below_high_water"),
            models.CheckConstraint(
                condition=Q(build_progress__lte=F("build_high_water")), name="index_build_below_high_water"
            ),
        ]
        ordering = ["corpus", "kind"]

    def __str__(self) -> str:
        return f"{self.corpus} {self.kind}"

    @property
    def percent(self) -> int:
        """Return how much is filled, 0 to 100."""
        if self.state == self.State.READY:
            return 100
        return min(99, 100 * self.progress // self.high_water) if self.high_water else 0

    @property
    def build_percent(self) -> int | None:
        """Return how much of the generation beside is filled, 0 to 99, None where none is built."""
        if self.building is None:
            return None
        return min(99, 100 * self.build_progress // self.build_high_water) if self.build_high_water else 99


class IndexRun(models.Model):
    """One building of an index, from its beginning until it serves or is given up."""

    class State(models.TextChoices):
        RUNNING = "running", "running"
        DONE = "done", "done"
        CANCELLED = "cancelled", "cancelled"

    corpus = models.CharField(max_length=20)
    kind = models.CharField(max_length=20)
    generation = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    reason = models.CharField(max_length=500)
    started_by = models.CharField(max_length=300, blank=True, default="")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    rows = models.BigIntegerField(default=0)
    said = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["corpus", "kind", "state"], name="index_run_running")]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.corpus} {self.kind}"
