"""What holds for every text and every query, whatever index serves and however far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memories.models import Agent, Memory, Message, Session, content_hash
from search import relevance
from search.backends import base, sqlite
from search.corpora import CORPORA, MEMORIES, MESSAGES, Corpus
from search.engine import Answer
from search.models import IndexState
from tests.conftest import ApiClient
from tests.factories import AgentFactory, SessionFactory, WorkspaceFactory, make_token
from tests.search.indexes import ask
from tests.search.naive import search_texts
from tests.search.texts import PIECES, quoted, texts, texts_and_runs

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORDS = ["tea", "leaf", "kettle", "steam", "teapot", "茶葉", "茶", "葉水", "Müller", "x9"]
rows_of_text = st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join) | texts, min_size=1, max_size=8)
queries = st.one_of(
    texts,
    st.text(st.characters(codec="utf-8"), max_size=60),
    st.lists(
        st.sampled_from([*WORDS, *PIECES, " AND ", " OR ", " NOT ", "(", ")", '"', "* ", "ea", "ettl", "eam"]),
        max_size=12,
    ).map(" ".join),
)
simple = st.sampled_from(
    ["tea", "ea", "kettle OR steam", "tea NOT leaf", "茶", '"tea leaf"', "kett*", "mueller", "ettl"]
)
KINDS = ["word", "substring"].index
more = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(autouse=True, params=["a small workspace", "a large one"])
def size(request: Any, monkeypatch: Any) -> None:
    """Have the few rows of a test read as those of a large workspace are, with bounds that they pass."""
    if request.param == "a large one":
        monkeypatch.setattr(base, "LARGE", -1)
        monkeypatch.setattr(sqlite, "TRIED", 3)
        monkeypatch.setattr(sqlite, "WALKED", 2)
        monkeypatch.setattr(relevance, "RESCORED", 1)


@contextmanager
def taken_back() -> Iterator[None]:
    """Leave nothing of an example for the next one."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def write(corpus: Corpus, agent: Agent, contents: list[str], **fields: Any) -> dict[int, str]:
    """Return the texts of new rows by id; an even and the odd one after it are of one time."""
    times = [NOON + timedelta(minutes=n // 2) for n in range(len(contents))]
    shared = {"workspace": agent.workspace, "partition": agent.partition}
    rows: list[Any]
    if corpus is MESSAGES:
        session = Session.objects.filter(agent=agent).first() or SessionFactory.create(agent=agent)
        rows = [
            Message(session=session, content=content, timestamp=time, **shared, **({"role": "user"} | fields))
            for content, time in zip(contents, times, strict=True)
        ]
    else:
        rows = [
            Memory(
                agent=agent,
                content=content or "-",
                content_hash=content_hash(content),
                last_seen_at=time,
                created_at=time,
                updated_at=time,
                **shared,
                **fields,
            )
            for content, time in zip(contents, times, strict=True)
        ]
    return {row.pk: row.content for row in corpus.model.objects.bulk_create(rows)}  # type: ignore[attr-defined]


def shown(answer: Answer) -> list[tuple[int, str]]:
    assert answer.complete
    return sorted((hit.id, hit.match) for hit in answer.hits)


def only_filled_up_to(corpus: Corpus, progress: int) -> None:
    """Leave the indexes of the corpus as they are while they are built."""
    last = corpus.model.objects.latest("pk").pk
    for state in IndexState.objects.filter(corpus=corpus.name):
        with connection.cursor() as cursor:
            name = f"search_{corpus.name}_{state.kind}_g{state.generation}"
            cursor.execute(f"DELETE FROM {name} WHERE rowid > %s AND rowid <= %s", [progress, last])
        state.state, state.progress, state.high_water = "building", min(progress, last), last
        state.save()


both = pytest.mark.parametrize("corpus", CORPORA.values(), ids=CORPORA)


@both
@pytest.mark.django_db
def test_any_run_of_a_text_finds_it(agent: Any, corpus: Corpus) -> None:
    @more
    @given(texts_and_runs())
    def find(drawn: tuple[str, str]) -> None:
        text, run = drawn
        with taken_back():
            (wanted,) = write(corpus, agent, [text])
            write(corpus, agent, ["tea leaf", "葉"])
            for state in ("ready", "stale"):
                IndexState.objects.update(state=state)
                answer = ask(agent, corpus, quoted(run), mode="substring")
                assert answer.complete
                assert wanted in {hit.id for hit in answer.hits}, state
                answer = ask(agent, corpus, quoted(run))
                assert answer.hits or not answer.complete, state

    find()


@both
@pytest.mark.django_db
def test_every_way_gives_what_the_definition_gives(agent: Any, corpus: Corpus) -> None:
    @more
    @given(rows_of_text, queries, st.sampled_from(["all", "any"]), st.data())
    def compare(contents: list[str], query: str, match: Any, data: st.DataObject) -> None:
        with taken_back():
            written = write(corpus, agent, contents)
            expected = {mode: sorted(search_texts(written, query, mode=mode, match=match)) for mode in MODES}
            for mode in MODES:
                assert shown(ask(agent, corpus, query, mode=mode, match=match)) == expected[mode], mode
            stale = data.draw(st.sampled_from(["words", "trigram"]))
            IndexState.objects.filter(corpus=corpus.name, kind=stale).update(state="stale")
            for mode in MODES:
                assert shown(ask(agent, corpus, query, mode=mode, match=match)) == expected[mode], (mode, stale)
            IndexState.objects.filter(corpus=corpus.name).update(state="stale")
            for mode in MODES:
                assert shown(ask(agent, corpus, query, mode=mode, match=match)) == expected[mode], (mode, "both")
            only_filled_up_to(corpus, data.draw(st.sampled_from([0, *written])))
            for mode in MODES:
                assert shown(ask(agent, corpus, query, mode=mode, match=match)) == expected[mode], (mode, "building")

    compare()


MODES: list[Any] = ["auto", "words", "substring"]


@pytest.mark.django_db
def test_tool_output_and_other_columns_are_found_alike_by_index_and_by_scan(agent: Any) -> None:
    @more
    @given(rows_of_text, rows_of_text, st.sampled_from(WORDS), st.sampled_from(WORDS), queries | simple)
    def compare(said: list[str], put_out: list[str], tool: str, called: str, query: str) -> None:
        with taken_back():
            write(MESSAGES, agent, said, tool_name=tool, tool_text=called)
            write(MESSAGES, agent, put_out, role="tool", tool_name=tool)
            by_index = [shown(ask(agent, MESSAGES, query, mode=mode)) for mode in MODES]
            IndexState.objects.update(state="stale")
            by_scan = [shown(ask(agent, MESSAGES, query, mode=mode)) for mode in MODES]
            assert by_index == by_scan

    compare()


@both
@pytest.mark.django_db
def test_order_and_pages_change_nothing_of_what_is_found(agent: Any, corpus: Corpus) -> None:
    @more
    @given(rows_of_text, queries | simple, st.integers(1, 4), st.sampled_from(["all", "any"]))
    @example(["Aß", ")Aß0"], ")aß", 1, "all")
    def turn(contents: list[str], query: str, limit: int, match: Any) -> None:
        with taken_back():
            write(corpus, agent, contents)
            for mode in ("auto", "substring", "scan"):
                sets = set()
                for sort in ("relevance", "newest", "oldest"):
                    pages: list[int] = []
                    offset: int | None = 0
                    options: dict[str, Any] = {"mode": mode, "sort": sort, "match": match}
                    while offset is not None:
                        answer = ask(agent, corpus, query, limit=limit, offset=offset, **options)
                        pages += [hit.id for hit in answer.hits]
                        assert len(answer.hits) <= limit
                        assert answer.next_offset in (None, offset + limit)
                        offset = answer.next_offset
                    whole = ask(agent, corpus, query, **options)
                    assert pages == [hit.id for hit in whole.hits]
                    assert len(set(pages)) == len(pages)
                    assert (whole.total, whole.total_is_exact) == (len(pages), True)
                    scores = [hit.score for hit in whole.hits]
                    assert scores == sorted(scores, reverse=True)
                    assert all(0 < score <= 1 for score in scores)
                    if sort != "relevance":
                        keys = dict(corpus.model.objects.values_list("pk", corpus.time))
                        # Parts of words stand behind whole words; each of the two is in order.
                        assert [hit.match for hit in whole.hits] == sorted((hit.match for hit in whole.hits), key=KINDS)
                        for kind in ("word", "substring"):
                            times = [(keys[hit.id], hit.id) for hit in whole.hits if hit.match == kind]
                            assert times == sorted(times, reverse=sort == "newest")
                    sets.add(frozenset(pages))
                assert len(sets) == 1

    turn()


@pytest.mark.django_db
def test_no_query_makes_an_error(agent: Any) -> None:
    client = ApiClient(make_token(agent))
    for corpus in CORPORA.values():
        write(corpus, agent, ["tea leaf in a kettle", "茶葉 and Müller's 🍵"])

    @more
    @given(queries, st.sampled_from(["auto", "words", "substring", "scan"]), st.sampled_from(["all", "any"]))
    @example("(a NOT " * 60 + "b", "words", "all")
    @example("NOT " * 500 + "a b", "words", "any")
    @example('a"' * 1000, "substring", "all")
    def send(query: str, mode: str, match: str) -> None:
        for name in CORPORA:
            response = client.get(
                f"/api/search/{name}",
                {"q": query, "mode": mode, "match": match, "fields": ["id", "context", "snippet"]}
                if name == "messages"
                else {"q": query, "mode": mode, "match": match},
            )
            assert response.status_code == 200, response.content
            answer = response.json()
            assert answer["complete"]
            assert answer["results"] or answer["total"] == 0

    send()


@pytest.mark.django_db
def test_what_others_wrote_never_appears(agent: Any) -> None:
    """Neither another workspace's nor another agent's private rows: whatever is asked, by whatever filter."""
    neighbour = AgentFactory.create(workspace=agent.workspace)
    stranger = AgentFactory.create(workspace=WorkspaceFactory.create(name=f"w{agent.workspace_id:x}"))
    labels = [f"w{agent.workspace_id:x}", "p" + agent.partition.encode().hex(), "labels"]
    own: dict[str, set[int]] = {}
    for corpus in CORPORA.values():
        own[corpus.name] = set(write(corpus, agent, ["tea leaf own", " ".join(labels)]))
        for other in (neighbour, stranger):
            write(corpus, other, ["tea leaf kettle 茶葉 secret", " ".join(labels), "\n".join(PIECES)])
    Session.objects.exclude(agent=agent).update(source="elsewhere", external_id="theirs")
    clients: dict[str, Callable[..., Any]] = {"one": ApiClient(make_token(agent)).get}
    asked = st.one_of(
        queries,
        simple,
        st.lists(st.sampled_from([*labels, "labels:", "OR", "tea", "secret", "ecre", "{labels}", ":", "NOT own"])).map(
            " ".join
        ),
    )

    @more
    @given(
        asked,
        st.sampled_from(["auto", "words", "substring", "scan"]),
        st.sampled_from(["all", "any"]),
        st.sampled_from([{}, {"source": "elsewhere"}, {"session": "theirs"}, {"exclude_source": "cli"}]),
        st.sampled_from(["ready", "stale", "building"]),
        st.booleans(),
    )
    def look(query: str, mode: str, match: str, filters: dict[str, str], state: str, inactive: bool) -> None:
        with taken_back():
            if state == "building":
                for corpus in CORPORA.values():
                    only_filled_up_to(corpus, min(own[corpus.name]))
            else:
                IndexState.objects.update(state=state)
            for name in CORPORA:
                parameters: dict[str, Any] = {"q": query, "mode": mode, "match": match, "limit": 100}
                if name == "messages":
                    parameters |= filters | {"include_inactive": inactive, "fields": ["id", "context", "snippet"]}
                response = clients["one"](f"/api/search/{name}", parameters)
                assert response.status_code == 200
                assert {hit["id"] for hit in response.json()["results"]} <= own[name]
                assert "secret" not in str(response.json()["results"])
                assert response.json().get("total", 0) <= len(own[name])
                if name == "messages" and "exclude_source" not in filters and filters:
                    assert response.json()["results"] == []

    look()


def test_the_corpora_are_those_tested() -> None:
    assert list(CORPORA.values()) == [MESSAGES, MEMORIES]
