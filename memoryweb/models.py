"""What the running house needs to know of itself across processes."""

from django.db import models


class Heartbeat(models.Model):
    """When a background process last showed that it works."""

    name = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField()
    detail = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%H:%M:%S}"


class RateWindow(models.Model):
    """Requests of a token that processes have leased in the current minute."""

    token = models.OneToOneField("memories.Token", on_delete=models.CASCADE, primary_key=True, related_name="+")
    minute = models.BigIntegerField(help_text="Minutes since 1970.")
    leased = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.leased} in minute {self.minute}"
