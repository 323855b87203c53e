"""How verbs write: one transaction each, whole or not at all."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.db import transaction

P = ParamSpec("P")
R = TypeVar("R")


def write(verb: Callable[P, R]) -> Callable[P, R]:
    """Run the verb in one transaction; inside another verb it joins that one's.

    The database backend queues for the write lock before the first statement and asks again while another process holds
    it. Raises its time-out error (an OperationalError, nothing written) after 20 s.
    """

    @functools.wraps(verb)
    def in_transaction(*args: P.args, **kwargs: P.kwargs) -> R:
        if transaction.get_connection().in_atomic_block:
            return verb(*args, **kwargs)
        with transaction.atomic():
            return verb(*args, **kwargs)

    return in_transaction
