"""The JSON endpoints for search and for the indexes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from memories.access import Principal, visible_to
from memories.api import RecallQuery
from memories.errors import Forbidden, Invalid, NotFound
from memories.idempotency import Answer as Written
from memories.models import LABEL_MAX, NAME_MAX, Memory, MemoryTag, Message, Session, Status
from memories.plain_text import clean_text
from memories.recall import recall
from memories.schemas import KindName, RecallOut, ScopeName, StatusName, Time
from memories.wire import to_json
from search import acts
from search.backends.base import KINDS, Sort
from search.corpora import CORPORA, MEMORIES, MESSAGES, Corpus
from search.engine import Answer, search
from search.hits import LIVE, MESSAGE_FIELDS, memory_hits, message_hits, survivors
from search.models import IndexRun
from search.query import Match, parse
from search.recall import recall_for
from search.routing import Mode
from search.status import IndexStatus, oldest_task, statuses
from search.upkeep import Need

router = Router(tags=["search"])

QUERY_MAX = 1_000_000
Labels = Annotated[list[Annotated[str, Field(max_length=LABEL_MAX)]], Field(max_length=50)]
Limit = Annotated[int, Field(ge=1, le=100)]
Offset = Annotated[int, Field(ge=0, le=10_000)]
Text = Annotated[str, Field(max_length=QUERY_MAX, description="See the query language in docs/SEARCH.md.")]


class MessageQuery(Schema):
    """What to look for in transcripts."""

    q: Text = ""
    mode: Mode = "auto"
    match: Match = "all"
    sort: Sort = "relevance"
    source: Labels = []
    exclude_source: Labels = []
    role: Labels = []
    session: Annotated[list[Annotated[str, Field(max_length=NAME_MAX)]], Field(max_length=50)] = []
    since: Time | None = None
    until: Time | None = None
    include_inactive: bool = False
    fields: Annotated[list[str], Field(max_length=50)] = []
    limit: Limit = 20
    offset: Offset = 0


class MemoryQuery(Schema):
    """What to look for in memories; status is active and archived unless asked."""

    q: Text = ""
    mode: Mode = "auto"
    match: Match = "all"
    sort: Sort = "relevance"
    subject: Annotated[str, Field(max_length=NAME_MAX)] | None = None
    kind: Annotated[list[KindName], Field(max_length=8)] = []
    tag: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=10)] = []
    scope: ScopeName | None = None
    status: Annotated[list[StatusName], Field(max_length=4)] = ["active", "archived"]
    limit: Limit = 20
    offset: Offset = 0


class SearchOut(Schema):
    """Hits, and how they were found."""

    results: list[dict[str, Any]]
    route: str
    reason: str
    ranking: dict[str, Any]
    complete: bool
    index: dict[str, Any]
    total: int | None = None
    total_at_least: int | None = None
    next_offset: int | None
    took_ms: float
    scanned_to: datetime | None = None


class IndexOut(Schema):
    """How an index is."""

    corpus: str
    kind: str
    state: Literal["building", "ready", "stale"]
    percent: int
    generation: int
    progress: int
    high_water: int
    building: int | None
    build_percent: int | None
    rows_per_second: int | None
    seconds_left: int | None
    paused: bool
    bytes: int | None
    parts: int | None
    needs: Need
    probed_at: datetime | None
    verified: str
    verified_at: datetime | None
    last_error: str


class IndexesOut(Schema):
    indexes: list[IndexOut]
    oldest_task_seconds: float | None


class RunOut(Schema):
    """One building of an index."""

    id: int
    corpus: str
    kind: str
    generation: int
    state: Literal["running", "done", "cancelled"]
    reason: str
    started_by: str
    started_at: datetime
    ended_at: datetime | None
    rows: int
    said: str


class RunsOut(Schema):
    runs: list[RunOut]
    next_cursor: int | None


class RunsQuery(Schema):
    """How many runs, older than which."""

    cursor: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
    limit: Limit = 20


def _principal(request: HttpRequest) -> Principal:
    principal: Principal = request.auth  # type: ignore[attr-defined]
    return principal


def _json(data: Any, status: int = 200) -> HttpResponse:
    return Written(status, to_json(data)).as_response()


def answer_json(answer: Answer, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a search's answer as the API shows it."""
    total = {"total": answer.total} if answer.total_is_exact else {"total_at_least": answer.total}
    window = answer.ranking_window
    ranking = {"exact": True} if window is None else {"exact": False, "window": window}
    reasons = [answer.plan.reason, *answer.query.reasons, *(["query_truncated"] if answer.query.truncated else [])]
    shown: dict[str, Any] = {
        "results": results,
        "route": answer.plan.route,
        "reason": "; ".join(dict.fromkeys(reason for reason in reasons if reason)),
        "ranking": ranking,
        "complete": answer.complete,
        "index": {"state": answer.index_state, "percent": answer.index_percent},
        **total,
        "next_offset": answer.next_offset,
        "took_ms": answer.took_ms,
    }
    if answer.scanned_to is not None:
        at = datetime.fromisoformat(answer.scanned_to)
        shown["scanned_to"] = at if at.tzinfo else at.replace(tzinfo=UTC)
    return shown


def _labels(values: list[str]) -> list[str]:
    return [clean_text(value).strip() for value in values]


def _roles(query: MessageQuery) -> list[str]:
    return [role.lower() for role in _labels(query.role)]


def message_rows(principal: Principal, query: MessageQuery) -> QuerySet[Message]:
    """Return the messages that may be found: visible, of the sessions, sources, roles and times asked for."""
    rows = visible_to(principal, Message)
    if not query.include_inactive:
        twin = Message.objects.filter(
            session_id=OuterRef("session_id"),
            timestamp=OuterRef("timestamp"),
            role=OuterRef("role"),
            content=OuterRef("content"),
            active=True,
        )
        # A live row and its compacted copy are one hit.
        rows = rows.filter(LIVE).exclude(Q(active=False) & Exists(twin))
    if query.role:
        rows = rows.filter(role__in=_roles(query))
    if query.since is not None:
        rows = rows.filter(timestamp__gte=query.since)
    if query.until is not None:
        rows = rows.filter(timestamp__lt=query.until)
    sessions = visible_to(principal, Session)
    if query.source:
        rows = rows.filter(session_id__in=sessions.filter(source__in=_labels(query.source)).values("pk"))
    if query.exclude_source:
        rows = rows.exclude(session_id__in=sessions.filter(source__in=_labels(query.exclude_source)).values("pk"))
    if query.session:
        named = sessions.filter(external_id__in=[clean_text(name) for name in query.session])
        rows = rows.filter(session_id__in=named.values("pk"))
    return rows


@router.get("/search/messages", response=SearchOut, exclude_none=True, summary="Search transcripts")
def get_message_search(request: HttpRequest, query: Query[MessageQuery]) -> HttpResponse:
    """Find messages. Every hit says how it was found, and the answer whether it is complete."""
    principal = _principal(request)
    unknown = [name for name in query.fields if name not in MESSAGE_FIELDS]
    if unknown:
        raise Invalid(f"unknown fields {', '.join(unknown)}; allowed: {', '.join(MESSAGE_FIELDS)}", field="fields")
    fields = set(query.fields) or set(MESSAGE_FIELDS) - {"context"}
    answer = search(
        MESSAGES,
        parse(query.q, match=query.match),
        message_rows(principal, query),
        principal,
        mode=query.mode,
        sort=query.sort,
        unindexed_rows=not query.role or "tool" in _roles(query),
        limit=query.limit,
        offset=query.offset,
    )
    results = message_hits(
        principal, answer.hits, answer.query.root, fields=fields, include_inactive=query.include_inactive
    )
    return _json(answer_json(answer, results))


def memory_rows(principal: Principal, query: MemoryQuery) -> QuerySet[Memory]:
    """Return the memories that may be shown: visible, and as the filters ask."""
    rows = visible_to(principal, Memory).filter(status__in=query.status)
    if query.subject is not None:
        rows = rows.filter(subject=clean_text(query.subject).strip())
    if query.kind:
        rows = rows.filter(kind__in=query.kind)
    if query.scope is not None:
        rows = rows.filter(scope=query.scope)
    for tag in _labels(query.tag):
        rows = rows.filter(Exists(MemoryTag.objects.filter(memory_id=OuterRef("pk"), tag=tag)))
    return rows


@router.get("/search/memories", response=SearchOut, exclude_none=True, summary="Search memories")
def get_memory_search(request: HttpRequest, query: Query[MemoryQuery]) -> HttpResponse:
    """Find memories, active and archived ones unless asked. A merged one answers with the memory it went into."""
    principal = _principal(request)

    rows = memory_rows(principal, query)
    if Status.MERGED in query.status:
        searched, resolve = rows, None
    else:
        # Merged ones are found too, and show the memory they went into if that is as the filters ask.
        searched = rows | visible_to(principal, Memory).filter(status=Status.MERGED)
        resolve = partial(survivors, principal, allowed=rows)
    answer = search(
        MEMORIES,
        parse(query.q, match=query.match),
        searched,
        principal,
        mode=query.mode,
        sort=query.sort,
        limit=query.limit,
        offset=query.offset,
        resolve=resolve,
    )
    return _json(answer_json(answer, memory_hits(principal, answer.hits, answer.query.root)))


class QuestionQuery(RecallQuery):
    """What to recall, for a question or without one."""

    query: Text = ""


@router.get("/recall", response=RecallOut, tags=["memories"], summary="Recall")
def get_recall(request: HttpRequest, query: Query[QuestionQuery]) -> HttpResponse:
    """Recall what matters most within a budget: what fits the query, or pinned, then by importance and recency."""
    principal, filters, now = _principal(request), query.filters(), timezone.now()
    asked = parse(query.query, match="any")
    if asked.root is not None or asked.reasons != ("no_terms",):
        found = recall_for(principal, asked, filters, limit=query.limit, max_chars=query.max_chars, now=now)
    else:
        found = recall(principal, filters, limit=query.limit, max_chars=query.max_chars, now=now)
    return _json(found.as_json())


def index_json(one: IndexStatus) -> dict[str, Any]:
    """Return how an index is as the API shows it."""
    return {
        "corpus": one.corpus,
        "kind": one.kind,
        "state": one.state,
        "percent": one.row.percent,
        "generation": one.generation,
        "progress": one.row.progress,
        "high_water": one.row.high_water,
        "building": one.row.building,
        "build_percent": one.row.build_percent,
        "rows_per_second": None if one.rate is None else round(one.rate),
        "seconds_left": None if one.left is None else round(one.left.total_seconds()),
        "paused": one.is_paused,
        "bytes": one.bytes,
        "parts": one.parts,
        "needs": one.needs,
        "probed_at": one.probed_at,
        "verified": one.verified,
        "verified_at": one.verified_at,
        "last_error": one.error,
    }


@router.get("/indexes", response=IndexesOut, summary="Indexes")
def get_indexes(request: HttpRequest) -> HttpResponse:
    """How each index is. Needs an instance token."""
    _instance(request)
    return _json(_indexes())


@router.get("/indexes/runs", response=RunsOut, summary="Runs")
def get_index_runs(request: HttpRequest, query: Query[RunsQuery]) -> HttpResponse:
    """What was built, newest first. Needs an instance token."""
    _instance(request)
    rows = IndexRun.objects.all() if query.cursor is None else IndexRun.objects.filter(pk__lt=query.cursor)
    runs = list(rows[: query.limit + 1])
    more = runs[query.limit - 1].pk if len(runs) > query.limit else None
    return _json({"runs": [run_json(run) for run in runs[: query.limit]], "next_cursor": more})


def run_json(run: IndexRun) -> dict[str, Any]:
    """Return one building of an index as the API shows it."""
    fields = ("corpus", "kind", "generation", "state", "reason", "started_by", "started_at", "ended_at", "rows", "said")
    return {"id": run.pk} | {field: getattr(run, field) for field in fields}


def _indexes(corpus: str | None = None) -> dict[str, Any]:
    now = timezone.now()
    waited = oldest_task(now=now)
    shown = [one for one in statuses(now=now) if corpus in (None, one.corpus)]
    seconds = None if waited is None else round(waited.total_seconds(), 1)
    return {"indexes": [index_json(one) for one in shown], "oldest_task_seconds": seconds}


def _instance(request: HttpRequest) -> Principal:
    principal = _principal(request)
    if not principal.instance:
        raise Forbidden("acts on the instance need an instance token (create_token --instance)", code="not_instance")
    return principal


def _corpus(name: str) -> Corpus:
    corpus = CORPORA.get(name)
    if corpus is None:
        raise NotFound(f"there is no corpus {name!r}; there are {', '.join(CORPORA)}")
    return corpus


@router.post("/indexes/{corpus}/rebuild", response=IndexesOut, summary="Rebuild indexes")
def post_rebuild(request: HttpRequest, corpus: str) -> HttpResponse:
    """Build a corpus's indexes anew. Searches go on meanwhile and say how far it is. Needs an instance token."""
    return _each(_instance(request), _corpus(corpus), acts.rebuild)


@router.post("/indexes/{corpus}/pause", response=IndexesOut, summary="Pause building")
def post_pause(request: HttpRequest, corpus: str) -> HttpResponse:
    """Let what is being built of a corpus's indexes wait. Needs an instance token."""
    return _each(_instance(request), _corpus(corpus), acts.pause)


@router.post("/indexes/{corpus}/resume", response=IndexesOut, summary="Go on building")
def post_resume(request: HttpRequest, corpus: str) -> HttpResponse:
    """Go on with what was paused. Needs an instance token."""
    return _each(_instance(request), _corpus(corpus), acts.resume)


@router.post("/indexes/{corpus}/verify", response=IndexesOut, summary="Verify indexes")
def post_verify(request: HttpRequest, corpus: str) -> HttpResponse:
    """Check that every row is in the indexes once. Needs an instance token."""
    return _each(_instance(request), _corpus(corpus), acts.verify)


@router.post("/indexes/{corpus}/optimize", response=IndexesOut, summary="Optimize indexes")
def post_optimize(request: HttpRequest, corpus: str) -> HttpResponse:
    """Merge what a corpus's indexes have gathered, for a few seconds. Needs an instance token."""
    return _each(_instance(request), _corpus(corpus), acts.optimize)


def _each(principal: Principal, corpus: Corpus, act: Callable[..., object]) -> HttpResponse:
    for kind in KINDS:
        act(corpus, kind, actor=principal.actor)
    return _json(_indexes(corpus.name))
