"""Which texts may be archived by themselves: the red line is that no habit is, dated or not."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tidy.texts import DE, EN, ZH, texts
from tidy.dates import dates
from tidy.events import HABIT_RUNS, HABITS, looks_like_habit, one_off_event, possible_event

TODAY = date(2026, 11, 30)
DATED = {EN: "On 3 May 2026, ", DE: "Am 3. Mai 2026 ", ZH: "2026年5月3日"}
ALL = [row for listed in (EN, DE, ZH) for row in texts(listed)]
KEPT = [(listed, text) for listed in (EN, DE, ZH) for verdict, text in texts(listed) if verdict == "keep"]


@pytest.mark.parametrize("listed", [EN, DE, ZH])
def test_there_are_enough_of_them(listed: str) -> None:
    assert len(texts(listed)) >= 60


@pytest.mark.parametrize(("verdict", "text"), ALL)
def test_an_event_is_told_from_what_stays(verdict: str, text: str) -> None:
    event = one_off_event(text, today=TODAY)
    assert (event is not None) == (verdict == "event")
    if event is not None:
        assert [event.date] == [dated.day for dated in dates(text)]
        assert event.why
        assert possible_event(text, today=TODAY) is not None


@pytest.mark.parametrize(("listed", "text"), KEPT)
def test_a_date_in_front_makes_no_event_of_it(listed: str, text: str) -> None:
    assert one_off_event(f"{DATED[listed]}{text}", today=TODAY) is None


@pytest.mark.parametrize("text", [text for verdict, text in ALL if verdict == "event"])
def test_it_is_no_event_before_its_days_of_grace_are_over(text: str) -> None:
    day = next(dates(text)).day
    assert one_off_event(text, today=day + timedelta(days=13)) is None
    assert one_off_event(text, today=day + timedelta(days=14)) is not None
    assert one_off_event(text, today=day + timedelta(days=29), grace_days=30) is None


@given(st.sampled_from([text for verdict, text in ALL if verdict == "event"]), st.sampled_from(sorted(HABITS)))
def test_a_word_of_habit_anywhere_stops_it(text: str, word: str) -> None:
    for habit in (f"{word} {text}", f"{text.rstrip('.')} {word}"):
        assert looks_like_habit(habit)
        assert one_off_event(habit, today=TODAY) is None


@given(st.sampled_from([text for verdict, text in texts(ZH) if verdict == "event"]), st.sampled_from(HABIT_RUNS))
def test_a_run_of_habit_anywhere_stops_it(text: str, run: str) -> None:
    assert one_off_event(run + text, today=TODAY) is None
    assert one_off_event(text + run, today=TODAY) is None


@pytest.mark.parametrize(
    "word",
    [
        *(
            "習慣",
            "經常",
            "總是",
            "反復",
            "長期",
            "持續",
            "慣例",
            "規律",
            "從來",
            "從不",
            "偶爾",
            "傾向",
            "喜歡",
            "週六",
        ),
        *("週末", "隔週", "飯後", "以來", "準時", "愛", "兩次", "幾次", "時常", "時不時", "堅持", "最近", "三天兩頭"),
    ],
)
def test_traditional_characters_hide_no_habit(word: str) -> None:
    assert looks_like_habit(f"2026年5月3日小羅{word}喝了茶")
    assert one_off_event(f"2026年5月3日小羅{word}喝了茶", today=TODAY) is None
    assert one_off_event("2026年5月3日小羅喝了茶", today=TODAY) is not None


@given(st.text(max_size=80))
def test_any_text_has_a_verdict(text: str) -> None:
    assert one_off_event(text, today=TODAY) is None or list(dates(text))


def test_a_time_of_day_makes_no_event() -> None:
    for text in ("Rosa called the bakery at 9:15.", "Boris hat um 20:40 Uhr angerufen.", "小罗9点打了电话"):
        assert looks_like_habit(text)
        assert possible_event(text, today=TODAY) is None


def test_meetings_are_no_modals_and_very_is_no_denial() -> None:
    assert possible_event("2026年5月11日会议非常长", today=TODAY) is not None
    assert possible_event("2026年5月11日会很长", today=TODAY) is None


def test_a_long_text_is_no_event() -> None:
    long = "Rosa called the bakery on 4 March 2026 " + "x " * 20_000
    assert one_off_event(long, today=TODAY) is None
    assert looks_like_habit(long)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("3 May 2026", date(2026, 5, 3)),
        ("May 3rd, 2026", date(2026, 5, 3)),
        ("3. Mai 2026", date(2026, 5, 3)),
        ("3.5.2026", date(2026, 5, 3)),
        ("2026-05-03", date(2026, 5, 3)),
        ("2026/05/03", date(2026, 5, 3)),
        ("2026年5月3日", date(2026, 5, 3)),
        ("二〇二六年十二月二十三日", date(2026, 12, 23)),
        ("2026년 5월 3일", date(2026, 5, 3)),
        ("31 February 2026", None),
        ("5/3/2026", None),
        ("May 2026", None),
        ("v2026-05-03", None),
        ("1.2.2026.4", None),
    ],
)
def test_full_dates(text: str, day: date | None) -> None:
    assert [dated.day for dated in dates(text)] == ([day] if day else [])
    assert [dated.day for dated in dates(f"am {text} um")] == ([day] if day else [])
