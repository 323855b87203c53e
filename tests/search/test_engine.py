"""Running a plan: which steps are taken, in which order hits come, and what is said of them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from memories.models import Message
from search import maintenance, upkeep
from search.backends.sqlite import CLOCKED
from search.corpora import MEMORIES, MESSAGES
from search.engine import SCANS, WINDOW
from search.models import IndexState
from tests.factories import MemoryFactory, MessageFactory, SessionFactory
from tests.search.indexes import ask, found, sound, state_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def session(agent: Any) -> Any:
    return SessionFactory.create(agent=agent)


def say(session: Any, content: str, minutes: int = 0, **fields: Any) -> int:
    time = NOON + timedelta(minutes=minutes)
    return MessageFactory.create(session=session, content=content, timestamp=time, **fields).pk


@pytest.mark.django_db
def test_words_come_before_parts_of_words_and_pages_run_over_both(agent: Any, session: Any) -> None:
    inside = [say(session, f"teakettle {n}", n) for n in range(3)]
    whole = [say(session, f"kettle {n}", n) for n in range(3)]

    answer = ask(agent, MESSAGES, "kettle", limit=2)
    assert {hit.match for hit in answer.hits} == {"word"}
    assert (answer.total, answer.total_is_exact, answer.next_offset) == (3, False, 2)
    middle = ask(agent, MESSAGES, "kettle", limit=2, offset=2)
    assert [hit.match for hit in middle.hits] == ["word", "substring"]
    assert (middle.total, middle.total_is_exact) == (6, True)
    last = ask(agent, MESSAGES, "kettle", limit=2, offset=4)
    ids = [hit.id for hit in (*answer.hits, *middle.hits, *last.hits)]
    assert (set(ids[:3]), ids[3:]) == (set(whole), inside[::-1])
    assert last.next_offset is None


@pytest.mark.django_db
def test_parts_of_words_follow_behind_words_in_every_order_however_far_one_turns(agent: Any, session: Any) -> None:
    ids = [say(session, "kettle" if n % 2 else "teakettle", n) for n in range(6)]
    newest_first = [*ids[5::-2], *ids[4::-2]]

    for limit in (1, 2, 3):
        turned = [found(agent, MESSAGES, "kettle", sort="newest", limit=limit, offset=o) for o in range(0, 6, limit)]
        assert [id_ for page in turned for id_ in page] == newest_first
    assert found(agent, MESSAGES, "kettle", sort="oldest") == [*ids[1::2], *ids[::2]]


@pytest.mark.django_db
def test_tool_output_follows_behind_in_the_order_of_time_too(agent: Any, session: Any) -> None:
    ids = [say(session, "teakettle", n, role="tool" if n % 2 else "user") for n in range(6)]
    newest_first = [*ids[4::-2], *ids[5::-2]]

    assert found(agent, MESSAGES, "ettl", mode="substring", sort="newest") == newest_first
    assert found(agent, MESSAGES, "ettl", mode="substring", sort="oldest") == [*ids[::2], *ids[1::2]]
    pages = [found(agent, MESSAGES, "ettl", mode="substring", sort="newest", limit=2, offset=o) for o in (0, 2, 4)]
    assert [id_ for page in pages for id_ in page] == newest_first


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["kettle", "ettl"])
def test_pages_by_time_are_whole_where_rows_were_not_written_in_its_order(agent: Any, session: Any, query: str) -> None:
    places = random.Random(3).sample(range(60), 60)
    ids = [say(session, "kettle", place) for place in places]
    oldest_first = [id_ for _, id_ in sorted(zip(places, ids, strict=True))]
    for sort, expected in (("oldest", oldest_first), ("newest", oldest_first[::-1])):
        pages = [found(agent, MESSAGES, query, sort=sort, limit=7, offset=offset) for offset in range(0, 60, 7)]
        assert [id_ for page in pages for id_ in page] == expected


@pytest.mark.django_db
def test_a_short_term_inside_other_words_counts_only_where_no_word_does(agent: Any, session: Any) -> None:
    inside, whole = say(session, "teapot"), say(session, "tea")

    assert found(agent, MESSAGES, "tea") == [whole]
    assert ask(agent, MESSAGES, "tea").total_is_exact
    assert found(agent, MESSAGES, "eap") == [inside]


@pytest.mark.django_db
def test_more_hits_than_are_ranked_are_all_there(agent: Any, session: Any) -> None:
    Message.objects.bulk_create(
        Message(
            session=session,
            workspace=agent.workspace,
            partition=agent.partition,
            role="user",
            content=f"kettle {n}",
            timestamp=NOON + timedelta(seconds=n),
        )
        for n in range(WINDOW + 150)
    )
    for sort in ("relevance", "newest", "oldest"):
        pages: list[int] = []
        offset: int | None = 0
        while offset is not None:
            answer = ask(agent, MESSAGES, "kettle", sort=sort, offset=offset)
            pages += [hit.id for hit in answer.hits]
            offset = answer.next_offset
            assert answer.total <= WINDOW + 150
        assert (answer.total, answer.total_is_exact) == (WINDOW + 150, True)
        assert len(pages) == len(set(pages)) == WINDOW + 150
    assert pages == sorted(pages)


@pytest.mark.django_db
def test_words_joined_by_a_hyphen_count_alone_too_in_a_question(agent: Any, session: Any) -> None:
    ids = [say(session, text) for text in ("a vow of the lantern keepers", "a vow of silence", "a keeper of time")]
    assert ask(agent, MESSAGES, "what is a lantern-vow", match="any").hits[0].id == ids[0]
    # They tell more of what is found, and find no more.
    assert found(agent, MESSAGES, "lantern-vow", match="any") == []


@pytest.mark.django_db
def test_a_question_with_a_symbol_is_ranked_by_its_words(agent: Any, session: Any) -> None:
    first = say(session, "the kettle of the harbour sings at 98°C")
    say(session, "the weather is fine")
    assert ask(agent, MESSAGES, "when does the harbour kettle sing 🍵", match="any").hits[0].id == first
    assert ask(agent, MESSAGES, "the harbour kettle 98°C", match="any").hits[0].id == first


@pytest.mark.parametrize("spread", [0, 3, 5000])
@pytest.mark.django_db
def test_by_time_many_rows_stand_in_order_whenever_they_were_written(agent: Any, session: Any, spread: int) -> None:
    pick = random.Random(spread)
    times = [n + pick.randint(-spread, spread) for n in range(2 * WINDOW + 200)]
    Message.objects.bulk_create(
        Message(
            session=session,
            workspace=agent.workspace,
            partition=agent.partition,
            role="user",
            content="kettle",
            timestamp=NOON + timedelta(seconds=time),
        )
        for time in times
    )
    ordered = list(Message.objects.order_by("timestamp", "pk").values_list("pk", flat=True))
    for sort, expected in (("newest", ordered[::-1]), ("oldest", ordered)):
        for offset in (0, 900):
            assert found(agent, MESSAGES, "kettle", sort=sort, offset=offset) == expected[offset : offset + 100]


@pytest.mark.django_db
def test_time_that_ran_out_is_told(agent: Any, session: Any, settings: Any) -> None:
    settings.SEARCH_SCAN_MS = 0
    newest = [say(session, f"teakettle {n} 🍵", n) for n in range(5)][-1]

    answer = ask(agent, MESSAGES, "🍵")
    assert (answer.complete, answer.total_is_exact) == (False, False)
    assert [hit.id for hit in answer.hits] == [newest]
    assert answer.scanned_to is not None
    assert answer.scanned_to.startswith("2026-03-01 12:04")
    assert ask(agent, MESSAGES, "kettle", mode="words").complete


@pytest.mark.django_db
def test_time_runs_out_where_nothing_is_found_too(agent: Any, session: Any, settings: Any) -> None:
    settings.SEARCH_SCAN_MS = 0
    Message.objects.bulk_create(
        Message(
            session=session,
            workspace=agent.workspace,
            partition=agent.partition,
            role="user",
            content=f"kettle {n}",
            timestamp=NOON + timedelta(seconds=n),
        )
        for n in range(3 * CLOCKED)
    )
    answer = ask(agent, MESSAGES, "teapot", mode="scan")
    assert (answer.complete, answer.hits) == (False, [])
    assert answer.scanned_to is not None


@pytest.mark.django_db
def test_two_scans_run_at_once_and_a_third_says_that_it_could_not(agent: Any, session: Any, settings: Any) -> None:
    message = say(session, "teakettle")
    settings.SEARCH_SCAN_MS = 20
    with SCANS:
        assert ask(agent, MESSAGES, "teakettle", mode="scan").complete
        with SCANS:
            answer = ask(agent, MESSAGES, "teakettle", mode="scan")
            assert (answer.complete, answer.hits, answer.scanned_to) == (False, [], None)
            assert found(agent, MESSAGES, "teakettle") == [message]
    assert found(agent, MESSAGES, "teakettle", mode="scan") == [message]


@pytest.mark.parametrize("kind", ["words", "trigram"])
@pytest.mark.django_db
def test_nothing_is_only_said_after_a_look_whether_the_index_finds_anything(
    agent: Any, session: Any, kind: str
) -> None:
    say(session, "teakettle")
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM search_messages_{kind}_g1 WHERE rowid > 0")
    assert found(agent, MESSAGES, "teakettle" if kind == "words" else "eakettl") == [Message.objects.get().pk]

    assert state_of(MESSAGES, kind).state == "stale"
    assert "not found by its own text" in state_of(MESSAGES, kind).last_error
    assert IndexState.objects.filter(state="stale").count() == 1


@pytest.mark.django_db
def test_an_index_built_anew_meanwhile_is_not_taken_for_a_damaged_one(
    agent: Any, session: Any, monkeypatch: Any
) -> None:
    message = say(session, "kettle")
    before = maintenance.states
    calls: list[str] = []

    def late(corpus: Any) -> Any:
        """Somebody else builds the index anew between this look at the states and the search."""
        seen = before(corpus)
        calls.append(corpus.name)
        if len(calls) == 1:
            maintenance.start_over(MESSAGES, "words")
            assert upkeep.tear_down(seconds=5)
        return seen

    monkeypatch.setattr(maintenance, "states", late)
    assert found(agent, MESSAGES, "kettle") == [message]
    assert len(calls) == 2
    assert (state_of(MESSAGES, "words").state, state_of(MESSAGES, "words").generation) == ("building", 2)


@pytest.mark.django_db
def test_rows_shown_in_the_place_of_others_count_once_and_fill_the_page(agent: Any) -> None:
    shown = MemoryFactory.create(agent=agent, content="walnut").pk
    first, second = (MemoryFactory.create(agent=agent, content=f"kettle {n}").pk for n in range(2))
    hidden = MemoryFactory.create(agent=agent, content="kettle hidden").pk
    inside = MemoryFactory.create(agent=agent, content="teakettle").pk

    def resolve(ids: list[int]) -> dict[int, int | None]:
        places: dict[int, int | None] = {first: shown, second: shown, hidden: None}
        return {id_: places[id_] for id_ in ids if id_ in places}

    answer = ask(agent, MEMORIES, "kettle", resolve=resolve, limit=2)
    assert [(hit.id, hit.match) for hit in answer.hits] == [(shown, "word"), (inside, "substring")]
    assert answer.total == 2


@pytest.mark.django_db
def test_the_states_are_said_in_one_word(agent: Any, session: Any) -> None:
    say(session, "kettle")

    def said() -> tuple[str, int]:
        answer = ask(agent, MESSAGES, "kettle")
        return answer.index_state, answer.index_percent

    assert said() == ("ready", 100)
    maintenance.start_over(MESSAGES, "trigram")
    assert said() == ("rebuilding", 0)
    maintenance.detach(MESSAGES, "words", "seen")
    assert said()[0] == "damaged"
    IndexState.objects.all().delete()
    assert said() == ("damaged", 0)
    assert found(agent, MESSAGES, "kettle") == found(agent, MESSAGES, "ettl") == [Message.objects.get().pk]
    maintenance.ensure()
    assert maintenance.fill(seconds=10)
    assert sound()
