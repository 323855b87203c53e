"""How verbs write: one transaction each, whole or not at all."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from django.db import DatabaseError, transaction

P = ParamSpec("P")
R = TypeVar("R")


Recovery = Callable[[DatabaseError, Callable[[], Any]], Any]
_recoveries: list[Recovery] = []


def add_recovery(recovery: Recovery) -> None:
    """Have a write that the database refused tried once more by ``recovery(error, write)``.

    It returns what the write gives in a transaction of its own, or raises the error; so an app further out can take
    away what stood in the write's way.
    """
    _recoveries.append(recovery)


def write(verb: Callable[P, R]) -> Callable[P, R]:
    """Run the verb in one transaction; inside another verb it joins that one's.

    The database backend queues for the write lock before the first statement and asks again while another process holds
    it. Raises its time-out error (an OperationalError, nothing written) after 20 s. An error that a recovery can mend
    does not reach the caller.
    """

    @functools.wraps(verb)
    def in_transaction(*args: P.args, **kwargs: P.kwargs) -> R:
        if transaction.get_connection().in_atomic_block:
            return verb(*args, **kwargs)
        try:
            with transaction.atomic():
                return verb(*args, **kwargs)
        except DatabaseError as error:
            return _recovered(error, lambda: verb(*args, **kwargs))

    return in_transaction


def _recovered(error: DatabaseError, again: Callable[[], R]) -> R:
    for recovery in _recoveries:
        try:
            recovered: R = recovery(error, again)
        except DatabaseError as refused:
            if refused is not error:
                raise
        else:
            return recovered
    raise error
