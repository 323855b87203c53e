"""From ids to what is shown: text, snippet and context are loaded for one page alone, through the one door again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from memories.access import Principal, visible_among, visible_to
from memories.models import Agent, Memory, Message, Status
from memories.plain_text import cut
from memories.schemas import MEMORY_COLUMNS, row_json
from search.corpora import MEMORIES, MESSAGES
from search.engine import Hit
from search.matching import Meaning
from search.query import Node
from search.snippets import snippet

MESSAGE_FIELDS = (
    "id",
    "external_id",
    "session_id",
    "role",
    "snippet",
    "timestamp",
    "tool_name",
    "source",
    "model",
    "session_started",
    "score",
    "match",
    "context",
)
"""What a message hit can show; all but context unless ``fields`` picks."""
Marks = tuple[str, str]
MARKS: Marks = (">>>", "<<<")
"""Stand before and after what was sought in a snippet."""
CONTEXT_CHARS = 200
HOPS_MAX = 100
LIVE = Q(active=True) | Q(compacted=True)


def message_hits(
    principal: Principal,
    hits: Sequence[Hit],
    root: Node | None,
    *,
    fields: Collection[str],
    include_inactive: bool,
    marks: Marks = MARKS,
) -> list[dict[str, Any]]:
    """Return the hits with the fields asked for, in their order. A row that is no longer visible is left out.

    ``marks`` stand around what was sought in the snippets.
    """
    names = {
        "session_name": F("session__external_id"),
        "source": F("session__source"),
        "model": F("session__model"),
        "session_started": F("session__started_at"),
    }
    columns = ("id", "external_id", "role", "timestamp", "content", "tool_name", "tool_text", "session_id")
    found = visible_among(principal, Message, [hit.id for hit in hits])
    rows = {row["id"]: row for row in found.values(*columns, **names)}
    context = _context(principal, list(rows.values()), include_inactive) if "context" in fields else {}
    shown = []
    for hit in hits:
        row = rows.get(hit.id)
        if row is None:
            continue
        everything = {
            "id": row["id"],
            "external_id": row["external_id"],
            "session_id": row["session_name"],
            "role": row["role"],
            "snippet": _snippet(MESSAGES.columns, row, root, hit, marks) if "snippet" in fields else "",
            "timestamp": row["timestamp"],
            "tool_name": row["tool_name"],
            "source": row["source"],
            "model": row["model"],
            "session_started": row["session_started"],
            "score": hit.score,
            "match": hit.match,
            "context": context.get(row["id"], []),
        }
        shown.append({name: value for name, value in everything.items() if name in fields})
    return shown


def _snippet(columns: Sequence[str], row: dict[str, Any], root: Node | None, hit: Hit, marks: Marks) -> str:
    """Return the part of the first column that shows the hit."""
    meaning: Meaning = "words" if hit.match == "word" else "substring"
    texts = [str(row[column]) for column in columns if row[column]]
    before, after = marks
    snippets = [snippet(text, root, meaning=meaning, before=before, after=after) for text in texts]
    marked = (one for one, text in zip(snippets, texts, strict=True) if one.count(before) > text.count(before))
    return next(marked, snippets[0] if snippets else "")


def _context(
    principal: Principal, rows: list[dict[str, Any]], include_inactive: bool
) -> dict[int, list[dict[str, str]]]:
    """Return for each row the visible message before it, itself and the one after it. One query loads the others."""
    visible = visible_to(principal, Message)
    if not include_inactive:
        visible = visible.filter(LIVE)
    of_session = visible.filter(session_id=OuterRef("session_id"))
    here = OuterRef("timestamp")
    # The second condition alone is a stretch of an index.
    before = of_session.filter(Q(timestamp__lt=here) | Q(pk__lt=OuterRef("pk")), timestamp__lte=here)
    after = of_session.filter(Q(timestamp__gt=here) | Q(pk__gt=OuterRef("pk")), timestamp__gte=here)
    neighbours = visible_among(principal, Message, [row["id"] for row in rows])
    pairs = {
        row["pk"]: (row["before"], row["after"])
        for row in neighbours.values(
            "pk",
            before=Subquery(before.order_by("-timestamp", "-pk").values("pk")[:1]),
            after=Subquery(after.order_by("timestamp", "pk").values("pk")[:1]),
        )
    }
    wanted = {pk for pair in pairs.values() for pk in pair if pk is not None}
    others = visible_among(principal, Message, wanted)
    texts = {row["pk"]: row for row in others.values("pk", "role", "content")}
    context = {}
    for row in rows:
        earlier, later = pairs.get(row["id"], (None, None))
        three = [texts.get(earlier), row, texts.get(later)]
        context[row["id"]] = [
            {"role": str(one["role"]), "content": cut(str(one["content"]), CONTEXT_CHARS)} for one in three if one
        ]
    return context


def memory_hits(
    principal: Principal, hits: Sequence[Hit], root: Node | None, *, marks: Marks = MARKS
) -> list[dict[str, Any]]:
    """Return the hits as memories with snippet, score and match, in their order."""
    created_by = Subquery(Agent.objects.filter(pk=OuterRef("agent_id")).order_by().values("name")[:1])
    found = visible_among(principal, Memory, [hit.id for hit in hits])
    rows = {row["id"]: row for row in found.values(*MEMORY_COLUMNS, created_by=created_by)}
    return [
        row_json(row)
        | {"snippet": _snippet(MEMORIES.columns, row, root, hit, marks), "score": hit.score, "match": hit.match}
        for hit in hits
        if (row := rows.get(hit.id)) is not None
    ]


def survivors(principal: Principal, ids: Sequence[int], allowed: QuerySet[Memory]) -> dict[int, int | None]:
    """Return for each merged memory among ``ids`` where it went at last, None where ``allowed`` lacks that memory."""
    went = _survivors(principal, ids)
    targets = list(dict.fromkeys(target for target in went.values() if target is not None))
    shown: set[int] = set()
    for start in range(0, len(targets), 500):
        shown |= set(allowed.filter(pk__in=targets[start : start + 500]).values_list("pk", flat=True))
    return {one: target if target in shown else None for one, target in went.items()}


def _survivors(principal: Principal, ids: Sequence[int]) -> dict[int, int | None]:
    """Return for each merged memory among ``ids`` the one that it went into at last, None where that is not visible."""
    went: dict[int, int | None] = {}
    for start in range(0, len(ids), 500):
        merged = visible_among(principal, Memory, ids[start : start + 500]).filter(status=Status.MERGED)
        went |= dict(merged.values_list("pk", "merged_into_id"))
    for _ in range(HOPS_MAX):
        targets = {target for target in went.values() if target is not None}
        merged = visible_among(principal, Memory, targets).filter(status=Status.MERGED)
        further = dict(merged.values_list("pk", "merged_into_id"))
        if not further:
            break
        went = {one: further.get(target, target) if target is not None else None for one, target in went.items()}
    return went
