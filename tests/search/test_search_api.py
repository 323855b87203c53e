"""The endpoints for search and for the indexes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memories.models import Memory, Message, Session
from search.hits import MESSAGE_FIELDS
from search.models import IndexState
from search.tasks import keep_indexes
from tests.conftest import ApiClient
from tests.factories import AgentFactory, MemoryFactory, MessageFactory, SessionFactory
from tests.search.indexes import sound

MESSAGES, MEMORIES = "/api/search/messages", "/api/search/memories"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def session(agent: Any) -> Session:
    return SessionFactory.create(agent=agent, external_id="walk", source="telegram", model="m-1", started_at=NOON)


def say(session: Session, content: str, minutes: int = 0, **fields: Any) -> Message:
    return MessageFactory.create(
        session=session, content=content, timestamp=NOON + timedelta(minutes=minutes), **fields
    )


def ids(client: ApiClient, path: str, **parameters: Any) -> list[int]:
    response = client.get(path, parameters)
    assert response.status_code == 200, response.content
    return [hit["id"] for hit in response.json()["results"]]


@pytest.mark.django_db
def test_a_message_hit_shows_where_it_was_said(api_client: Any, session: Any) -> None:
    message = say(session, "The kestrel circles over the harbour.", external_id="m1", tool_name="look")
    answer = api_client.get(MESSAGES, {"q": "harbour"}).json()

    (hit,) = answer["results"]
    assert hit == {
        "id": message.pk,
        "external_id": "m1",
        "session_id": "walk",
        "role": "user",
        "snippet": "The kestrel circles over the >>>harbour<<<.",
        "timestamp": "2026-03-01T12:00:00Z",
        "tool_name": "look",
        "source": "telegram",
        "model": "m-1",
        "session_started": "2026-03-01T12:00:00Z",
        "score": hit["score"],
        "match": "word",
    }
    assert 0 < hit["score"] <= 1
    assert (answer["complete"], answer["total"], answer["next_offset"]) == (True, 1, None)
    assert answer["index"] == {"state": "ready", "percent": 100}
    assert answer["route"].split("+")[0] == "words"
    assert answer["ranking"]["exact"] is True
    assert answer["took_ms"] >= 0


@pytest.mark.django_db
def test_a_part_of_a_word_is_found_behind_the_words_and_says_so(api_client: Any, session: Any) -> None:
    inside, whole = say(session, "Dampfschifffahrt"), say(session, "Schifffahrt")
    answer = api_client.get(MESSAGES, {"q": "schifffahrt"}).json()

    assert [(hit["id"], hit["match"]) for hit in answer["results"]] == [
        (whole.pk, "word"),
        (inside.pk, "substring"),
    ]
    assert answer["results"][1]["snippet"] == "Dampf>>>schifffahrt<<<"


@pytest.mark.django_db
def test_fields_are_picked_and_unknown_ones_named(api_client: Any, session: Any) -> None:
    message = say(session, "kestrel")
    answer = api_client.get(f"{MESSAGES}?q=kestrel&fields=id&fields=role")
    assert answer.json()["results"] == [{"id": message.pk, "role": "user"}]
    everything = api_client.get(MESSAGES, {"q": "kestrel", "fields": list(MESSAGE_FIELDS)}).json()["results"][0]
    assert set(everything) == set(MESSAGE_FIELDS)

    response = api_client.get(f"{MESSAGES}?q=kestrel&fields=id&fields=colour&fields=smell")
    assert response.status_code == 422
    error = response.json()["error"]
    assert error["field"] == "fields"
    assert "colour, smell" in error["message"]
    assert "snippet" in error["message"]


@pytest.mark.django_db
def test_context_is_the_visible_message_before_the_hit_and_the_one_after(api_client: Any, session: Any) -> None:
    say(session, "long before", 1)
    say(session, "b" * 300, 2, role="assistant")
    say(session, "taken back", 3, rewound=True)
    hit = say(session, "kestrel " * 100, 4)
    say(session, "taken back too", 5, rewound=True)
    say(session, "summed up", 6, role="tool", compacted_away=True)
    say(session, "long after", 7)
    say(SessionFactory.create(agent=session.agent), "elsewhere", 4)

    def context(**more: Any) -> Any:
        parameters = {"q": "kestrel", "fields": ["id", "context"], **more}
        (found,) = api_client.get(MESSAGES, parameters).json()["results"]
        assert found["id"] == hit.pk
        return found["context"]

    three = context()
    assert [one["role"] for one in three] == ["assistant", "user", "tool"]
    assert three[0]["content"].startswith("b" * 150)
    assert three[2]["content"] == "summed up"
    assert all(len(one["content"]) <= 200 for one in three)
    assert [one["content"] for one in context(include_inactive=True)][::2] == ["taken back", "taken back too"]


@pytest.mark.django_db
def test_context_at_the_ends_of_a_session_and_at_one_time(api_client: Any, session: Any) -> None:
    texts = ["kestrel one", "kestrel two", "kestrel three"]
    said = [say(session, text) for text in texts]
    hits = api_client.get(MESSAGES, {"q": "kestrel", "fields": ["id", "context"]}).json()["results"]

    around = {hit["id"]: [one["content"] for one in hit["context"]] for hit in hits}
    assert around == {said[0].pk: texts[:2], said[1].pk: texts, said[2].pk: texts[1:]}


@pytest.mark.django_db
def test_a_rewound_message_is_found_only_if_it_is_asked_for(api_client: Any, session: Any) -> None:
    live, rewound = say(session, "kestrel one"), say(session, "kestrel two", rewound=True)

    for query in ("kestrel", "estre"):
        assert ids(api_client, MESSAGES, q=query) == [live.pk]
        assert set(ids(api_client, MESSAGES, q=query, include_inactive=True)) == {live.pk, rewound.pk}


@pytest.mark.django_db
def test_a_live_message_and_its_compacted_copy_are_one_hit(api_client: Any, session: Any) -> None:
    copy = say(session, "kestrel one", compacted_away=True)
    live = say(session, "kestrel one")
    other_time = say(session, "kestrel one", 5, compacted_away=True)
    other_role = say(session, "kestrel one", role="assistant", compacted_away=True)
    elsewhere = say(SessionFactory.create(agent=session.agent), "kestrel one", compacted_away=True)

    for query in ("kestrel", "estre", "one kestrel"):
        for mode in ("auto", "scan"):
            hits = ids(api_client, MESSAGES, q=query, mode=mode)
            assert sorted(hits) == sorted([live.pk, other_time.pk, other_role.pk, elsewhere.pk]), (query, mode)
    assert copy.pk not in ids(api_client, MESSAGES, q="kestrel")


@pytest.mark.django_db
def test_filters_mean_the_same_on_every_way(api_client: Any, agent: Any, session: Any) -> None:
    cli = SessionFactory.create(agent=agent, external_id="desk", source="cli")
    user, tool = say(session, "kestrels", 1), say(session, "kestrels", 2, role="tool")
    other = say(cli, "kestrels", 3, role="assistant")

    for query in ("kestrels", "estrel", '"kestrel"'):
        for mode in ("auto", "substring", "scan"):
            if mode == "scan" and query != "kestrels":
                continue

            def asked(query: str = query, mode: str = mode, **filters: Any) -> set[int]:
                return set(ids(api_client, MESSAGES, q=query, mode=mode, **filters))

            everything = asked(role=["user", "tool", "assistant"])
            assert {user.pk, other.pk} <= everything
            assert asked(role="tool") == asked(role=" Tool ") == {tool.pk}, (query, mode)
            assert asked(role=["user", "assistant"]) == {user.pk, other.pk}
            assert asked(source="cli") == asked(session="desk") == {other.pk}
            assert asked(exclude_source="telegram") == {other.pk}
            assert asked(source="nowhere") == asked(session="nobody") == set()
            assert asked(since="2026-03-01T12:03:00Z") == {other.pk}
            assert asked(until="2026-03-01T12:02:00Z") == {user.pk}


@pytest.mark.django_db
def test_sort_and_pages(api_client: Any, session: Any) -> None:
    order = [say(session, text, n).pk for n, text in enumerate(["lamp", "lamps", "old lamp", "lampshade", "a lamp"])]

    words, parts = [order[0], order[2], order[4]], [order[1], order[3]]
    assert ids(api_client, MESSAGES, q="lamp", sort="newest") == [*words[::-1], *parts[::-1]]
    assert ids(api_client, MESSAGES, q="lamp", sort="oldest") == [*words, *parts]
    for sort in ("relevance", "newest", "oldest"):
        whole = ids(api_client, MESSAGES, q="lamp", sort=sort)
        for limit in (1, 2, 3):
            pages: list[int] = []
            offset: int | None = 0
            while offset is not None:
                answer = api_client.get(MESSAGES, {"q": "lamp", "sort": sort, "limit": limit, "offset": offset}).json()
                pages += [hit["id"] for hit in answer["results"]]
                offset = answer["next_offset"]
            assert pages == whole, (sort, limit)
            assert sorted(pages) == sorted(order)


@pytest.mark.django_db
def test_a_query_without_anything_to_look_for(api_client: Any, session: Any) -> None:
    say(session, "kestrel")
    for query in ("", "  ", "...", "\u3000", "NOT kestrel"):
        answer = api_client.get(MESSAGES, {"q": query}).json()
        assert (answer["results"], answer["total"], answer["complete"]) == ([], 0, True)
        assert answer["reason"] == ("only_negations" if "NOT" in query else "no_terms")


@pytest.mark.django_db
def test_a_query_that_is_too_long_is_cut_and_says_so(api_client: Any, session: Any) -> None:
    message = say(session, "kestrel")
    answer = api_client.get(MESSAGES, {"q": "kestrel " * 400}).json()

    assert [hit["id"] for hit in answer["results"]] == [message.pk]
    assert "query_truncated" in answer["reason"]


@pytest.mark.parametrize(
    "query",
    [
        "(" * 2000,
        '"' * 2000,
        "NOT a " * 60 + "b",
        "a " + " ".join(f"NOT x{n}" for n in range(62)),
        " ".join(f"(a{n} NOT" for n in range(16)) + " z",
        " OR ".join(f"x{n}" for n in range(64)),
        "x" * 2048,
        "灯" * 2048,
        '"; DROP TABLE memories_message; --',
        "{body alt} : x",
        "labels : w1",
        "body:kestrel^2 NEAR/3 *",
        "' OR 1=1",
        "%_\\",
        "\x00\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
        "e\u0301" * 500,
        "👩‍👩‍👧" * 50,
    ],
)
@pytest.mark.parametrize("match", ["all", "any"])
@pytest.mark.django_db
def test_hostile_queries_are_text(api_client: Any, session: Any, query: str, match: str) -> None:
    say(session, "kestrel")
    for path in (MESSAGES, MEMORIES):
        for mode in ("auto", "words", "substring", "scan"):
            response = api_client.get(path, {"q": query, "mode": mode, "match": match})
            assert response.status_code == 200, (path, mode, response.content)
    assert sound()


@pytest.mark.parametrize("path", [MESSAGES, MEMORIES])
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("limit", "0"),
        ("limit", "101"),
        ("offset", "-1"),
        ("offset", "10001"),
        ("mode", "fast"),
        ("match", "some"),
        ("sort", "best"),
    ],
)
@pytest.mark.django_db
def test_bad_input_is_named(api_client: Any, path: str, parameter: str, value: str) -> None:
    response = api_client.get(path, {"q": "x", parameter: value})

    assert response.status_code == 422
    assert response.json()["error"]["field"] == parameter


@pytest.mark.django_db
def test_bad_input_of_one_corpus_is_named(api_client: Any) -> None:
    for path, parameters, field in [
        (MESSAGES, {"since": "2026-01-01"}, "since"),
        (MESSAGES, {"until": "yesterday"}, "until"),
        (MESSAGES, {"colour": "red"}, "colour"),
        (MESSAGES, {"include_inactive": "perhaps"}, "include_inactive"),
        (MEMORIES, {"scope": "all"}, "scope"),
        (MEMORIES, {"fields": "id"}, "fields"),
    ]:
        response = api_client.get(path, {"q": "x", **parameters})
        assert (response.status_code, response.json()["error"]["field"]) == (422, field), response.content
    for parameters in ({"kind": "song"}, {"status": "asleep"}):
        assert api_client.get(MEMORIES, {"q": "x", **parameters}).status_code == 422


@pytest.mark.parametrize("path", [MESSAGES, MEMORIES, "/api/indexes"])
@pytest.mark.django_db
def test_only_get_reads(api_client: Any, path: str) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert api_client.send(method, path, {}).status_code == 405


@pytest.mark.django_db
def test_a_memory_hit_is_the_memory_with_its_snippet(api_client: Any) -> None:
    memory = api_client.remember("The kettle is blue.", subject="kitchen", tags=["tea"])["memory"]
    answer = api_client.get(MEMORIES, {"q": "kettle"}).json()

    (hit,) = answer["results"]
    assert {name: hit[name] for name in memory} == memory
    assert (hit["snippet"], hit["match"]) == ("The >>>kettle<<< is blue.", "word")
    assert ids(api_client, MEMORIES, q="kitchen") == [memory["id"]]


@pytest.mark.django_db
def test_memories_are_filtered(api_client: Any, agent: Any) -> None:
    tea = MemoryFactory.create(agent=agent, content="kettles", kind="fact", subject="kitchen", tags=["tea", "hot"])
    ship = MemoryFactory.create(agent=agent, content="kettles", scope="shared", tags=["tea"])
    gone = MemoryFactory.create(agent=agent, content="kettles", archived=True)
    for query in ("kettles", "ettle"):
        assert set(ids(api_client, MEMORIES, q=query)) == {tea.pk, ship.pk, gone.pk}
        assert ids(api_client, MEMORIES, q=query, status="archived") == [gone.pk]
        assert ids(api_client, MEMORIES, q=query, kind="fact") == [tea.pk]
        assert ids(api_client, MEMORIES, q=query, subject="kitchen") == [tea.pk]
        assert ids(api_client, MEMORIES, q=query, scope="shared") == [ship.pk]
        assert set(ids(api_client, MEMORIES, q=query, tag="tea")) == {tea.pk, ship.pk}
        assert ids(api_client, MEMORIES, q=query, tag=["tea", "hot"]) == [tea.pk]


def merge(one: Memory, into: Memory) -> None:
    Memory.objects.filter(pk=one.pk).update(status="merged", merged_into=into, merged_at=NOON)


@pytest.mark.django_db
def test_a_merged_memory_answers_with_the_one_it_went_into(api_client: Any, agent: Any) -> None:
    first, second = (MemoryFactory.create(agent=agent, content=f"The kettle whistles {n}") for n in range(2))
    last = MemoryFactory.create(agent=agent, content="It is blue", subject="kitchen")
    merge(first, second)
    merge(second, last)

    for query, match in (("kettle", "word"), ("ettl", "substring")):
        answer = api_client.get(MEMORIES, {"q": query}).json()
        assert [(hit["id"], hit["content"], hit["match"]) for hit in answer["results"]] == [
            (last.pk, "It is blue", match)
        ]
        assert answer["total"] == 1
    # What is shown is as the filters ask, whatever it was found by.
    assert ids(api_client, MEMORIES, q="kettle", subject="kitchen") == [last.pk]
    assert ids(api_client, MEMORIES, q="kettle", subject="hall") == []
    assert ids(api_client, MEMORIES, q="kettle", status="archived") == []
    assert set(ids(api_client, MEMORIES, q="kettle", status="merged")) == {first.pk, second.pk}


@pytest.mark.django_db
def test_merged_memories_leave_no_page_short(api_client: Any, agent: Any) -> None:
    into = MemoryFactory.create(agent=agent, content="kettle")
    for n in range(5):
        merge(MemoryFactory.create(agent=agent, content=f"kettle {n}"), into)
    inside = [MemoryFactory.create(agent=agent, content=f"teakettle {n}").pk for n in range(3)]

    for sort in ("relevance", "newest", "oldest"):
        pages = [ids(api_client, MEMORIES, q="kettle", sort=sort, limit=2, offset=offset) for offset in (0, 2, 4)]
        assert sorted(id_ for page in pages for id_ in page) == sorted([into.pk, *inside])
        assert [len(page) for page in pages] == [2, 2, 0]


@pytest.mark.django_db
def test_a_merged_memory_never_shows_what_is_not_visible(api_client: Any, agent: Any) -> None:
    other = AgentFactory.create(workspace=agent.workspace)
    secret = MemoryFactory.create(agent=other, content="a secret")
    merge(MemoryFactory.create(agent=agent, content="kettle"), secret)

    assert ids(api_client, MEMORIES, q="kettle") == []


@pytest.mark.django_db
def test_what_is_erased_is_found_no_more(api_client: Any, client_for: Any, agent: Any) -> None:
    memory = api_client.remember("The kettle is blue.", subject="kitchen")["memory"]
    admin = client_for(agent, role="admin")
    path = f"/api/memories/{memory['id']}/erase"
    assert admin.send("POST", path, {"reason": "asked for"}).status_code == 200

    for query in ("kettle", "ettl", "kitchen"):
        assert ids(api_client, MEMORIES, q=query, status=["active", "archived", "merged", "erased"]) == []
    assert sound()


@pytest.mark.django_db
def test_indexes_tell_how_they_are(client_for: Any, agent: Any) -> None:
    MemoryFactory.create(agent=agent)
    listed = client_for(agent, instance=True).get("/api/indexes").json()["indexes"]

    assert [(one["corpus"], one["kind"]) for one in listed] == [
        ("memories", "trigram"),
        ("memories", "words"),
        ("messages", "trigram"),
        ("messages", "words"),
    ]
    assert {(one["state"], one["percent"], one["generation"]) for one in listed} == {("ready", 100, 1)}


@pytest.mark.parametrize("corpus", ["messages", "memories"])
@pytest.mark.django_db
def test_an_index_is_rebuilt_verified_and_merged(client_for: Any, agent: Any, session: Any, corpus: str) -> None:
    say(session, "kestrel")
    MemoryFactory.create(agent=agent, content="kestrel")
    client = client_for(agent, instance=True)

    built = client.send("POST", f"/api/indexes/{corpus}/rebuild").json()["indexes"]
    assert {(one["corpus"], one["state"], one["generation"], one["building"]) for one in built} == {
        (corpus, "ready", 1, 2)
    }
    paused = client.send("POST", f"/api/indexes/{corpus}/pause").json()["indexes"]
    assert all(one["paused"] for one in paused)
    client.send("POST", f"/api/indexes/{corpus}/resume")
    assert len(ids(client, f"/api/search/{corpus}", q="kestrel")) == 1
    keep_indexes()
    checked = client.send("POST", f"/api/indexes/{corpus}/verify").json()["indexes"]
    assert {(one["verified"], one["state"]) for one in checked} == {("sound: all 1 rows are in it", "ready")}
    merged = client.send("POST", f"/api/indexes/{corpus}/optimize").json()["indexes"]
    assert len(merged) == 2
    assert sound()


@pytest.mark.parametrize("act", ["rebuild", "pause", "resume", "verify", "optimize"])
@pytest.mark.django_db
def test_acts_on_an_index_need_an_instance_token_and_a_corpus_that_is_there(
    client_for: Any, agent: Any, act: str
) -> None:
    for role in ("agent", "reader", "admin"):
        response = client_for(agent, role=role).send("POST", f"/api/indexes/messages/{act}")
        assert (response.status_code, response.json()["error"]["code"]) == (403, "not_instance")
        assert client_for(agent, role=role).get("/api/indexes").status_code == 403
    instance = client_for(agent, instance=True)
    response = instance.send("POST", f"/api/indexes/letters/{act}")
    assert response.status_code == 404
    assert "messages, memories" in response.json()["error"]["message"]
    assert instance.get(f"/api/indexes/messages/{act}").status_code == 405
    assert {state.generation for state in IndexState.objects.all()} == {1}
