"""A program that saves through the ORM as the admin does, and hands work to the background worker.

``python -m tests.processes.people N`` prints the number of rounds, N, when all is saved.
"""

import sys

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402  models need the set-up
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.db import transaction  # noqa: E402
from django_q.tasks import async_task  # noqa: E402

from memories.models import Agent, Membership, Workspace  # noqa: E402


def save(rounds: int) -> None:
    """Save one of each in every round: in a transaction, by single statements, and as a task."""
    for number in range(rounds):
        with transaction.atomic():
            workspace = Workspace.objects.create(name=f"of people {number}")
            Agent.objects.create(workspace=workspace, name="an agent")
        user = get_user_model().objects.create(username=f"person {number}")
        Membership.objects.create(user=user, workspace=workspace)
        Workspace.objects.filter(pk=workspace.pk).update(name=f"renamed {number}")
        session = SessionStore()
        session["number"] = number
        session.save()
        async_task("tests.processes.work.write_down", number)


if __name__ == "__main__":
    save(int(sys.argv[1]))
    print(sys.argv[1])
