"""Why a verb refuses.

Each error has a code for programs and a sentence for people; doors turn the class into their status.
"""

from __future__ import annotations


class Refused(Exception):
    """A verb that was not carried out; nothing was changed."""

    code = "refused"

    def __init__(self, message: str, *, field: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        if code is not None:
            self.code = code


class NotFound(Refused):
    """There is no such row, or the principal may not see it: the answer is the same."""

    code = "not_found"


class Forbidden(Refused):
    """The principal sees the row but may not do this."""

    code = "forbidden"


class Invalid(Refused):
    """A value is outside what its field allows."""

    code = "invalid"


class Conflict(Refused):
    """The state of the row does not allow it."""

    code = "conflict"


class Stale(Refused):
    """The row has changed since the revision that the caller named."""

    code = "stale"
