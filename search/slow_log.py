"""One log line for each slow search: how it went and what shape the query had. What was asked stays out of it."""

from __future__ import annotations

import logging

from django.conf import settings

from memories.plain_text import cut, one_line
from search.query import Query, shape

logger = logging.getLogger("memoryweb.search.slow")

TEXT_MAX = 300
"""Characters of the query that are logged where the operator wants them."""
SHAPE_MAX = 400


def note(
    query: Query, *, corpus: str, workspace_id: int, route: str, took_ms: float, rows: int = 0, error: str = ""
) -> None:
    """Write the line if the search took SEARCH_SLOW_MS or more, or failed. Its text is in it with SEARCH_LOG_TEXT=1."""
    if took_ms < settings.SEARCH_SLOW_MS and not error:
        return
    said = [
        f"corpus={corpus}",
        f"workspace={workspace_id}",
        f"route={route}",
        f"ms={took_ms:.0f}",
        f"error={error}" if error else f"rows={rows}",
        f"match={query.match}",
        f"shape={cut(shape(query.root), SHAPE_MAX)}",
    ]
    if settings.SEARCH_LOG_TEXT:
        said.append(f"text={one_line(cut(query.text, TEXT_MAX))!r}")
    logger.warning("slow search: %s", " ".join(said))
