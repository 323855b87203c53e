"""Run the background worker."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django_q.tasks import async_task

from memoryweb import cluster
from memoryweb.supervision import StopSignals


class Command(BaseCommand):
    help = "Run the background worker until SIGINT or SIGTERM. `start` runs one; more may run on other machines."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        with StopSignals() as signals:
            async_task("memoryweb.tasks.heartbeat", q_options={"save": False})
            died = cluster.run(signals)
        if died is not None:
            raise CommandError(f"the worker's sentinel died with exit code {died}", returncode=1)
