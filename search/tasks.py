"""What the background worker does for the indexes. Tasks may run twice and return one line."""

from __future__ import annotations

from search import maintenance

SECONDS = 15.0
"""How long one task works; what is left waits for the next minute's."""

DUTY = 0.2
"""The share of time in which filling has the write lock; agents have the rest."""


def keep_indexes() -> str:
    """Mend and fill the indexes: made where missing, damaged ones, also those that do not show it, built anew."""
    mended = maintenance.ensure()
    if maintenance.probe_all():
        mended += maintenance.ensure()
    filled = maintenance.fill(seconds=SECONDS, duty=DUTY)
    return f"ok mended={len(mended)} filled={str(filled).lower()}"
