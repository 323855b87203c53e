"""One log line for each slow search: how it went and what shape the query had. What was asked stays out of it."""

from __future__ import annotations

import logging

from django.conf import settings

from memories.plain_text import cut, one_line
from search.query import And, Node, Not, Or, Query, Term

logger = logging.getLogger("memoryweb.search.slow")

TEXT_MAX = 300
"""Characters of the query that are logged where the operator wants them."""
SHAPE_MAX = 400


def shape_of(root: Node | None) -> str:
    """Return the query's tree with each term as the number of its tokens, as in ``and(word, phrase:3, not(prefix))``.

    Terms of symbols alone are ``symbols``, runs of CJK characters ``cjk`` with their tokens.
    """
    if root is None:
        return "nothing"
    if isinstance(root, Not):
        return f"not({shape_of(root.part)})"
    if isinstance(root, And | Or):
        name = "and" if isinstance(root, And) else "or"
        return f"{name}({', '.join(map(shape_of, root.parts))})"
    return _term(root)


def _term(term: Term) -> str:
    if not term.tokens:
        return "symbols"
    if term.anywhere:
        name = "cjk"
    elif term.prefix:
        name = "prefix"
    else:
        name = "word" if len(term.tokens) == 1 else "phrase"
    return f"{name}:{len(term.tokens)}" if len(term.tokens) > 1 else name


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
        f"shape={cut(shape_of(query.root), SHAPE_MAX)}",
    ]
    if settings.SEARCH_LOG_TEXT:
        said.append(f"text={one_line(cut(query.text, TEXT_MAX))!r}")
    logger.warning("slow search: %s", " ".join(said))
