"""Numbers in Chinese characters."""

from __future__ import annotations

import pytest

from tidy.han_numbers import value_of
from tidy.rules import judge_pair


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("二", 2),
        ("两", 2),
        ("十", 10),
        ("十二", 12),
        ("二十", 20),
        ("二十五", 25),
        ("一百", 100),
        ("一百零五", 105),
        ("三百二十", 320),
        ("两千", 2000),
        ("三千零一", 3001),
        ("一千二百三十四", 1234),
        ("一", None),
        ("三四", None),
        ("五六十", None),
        ("零", None),
        ("百", None),
        ("二百五零", None),
        ("", None),
    ],
)
def test_what_is_written_in_full_is_read(written: str, value: int | None) -> None:
    assert value_of(written) == value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("一杯盖碗茶二十元。", "一杯盖碗茶二十五元。"),
        ("地铁四号线到茶馆门口。", "地铁二号线到茶馆门口。"),
        ("二楼的戏台可以坐四十人。", "二楼的戏台可以坐六十人。"),
        ("他有三个女儿。", "他有两个女儿。"),
        ("房租三千元。", "房租三千零五十元。"),
    ],
)
def test_another_number_is_never_a_merge(one: str, other: str) -> None:
    verdict = judge_pair(one, other)
    assert verdict.relation not in ("merge", "contained", "similar"), verdict
    assert verdict.contradiction == "number"


def test_the_same_number_in_digits_is_the_same() -> None:
    assert judge_pair("一杯盖碗茶二十五元。", "一杯盖碗茶25元。").relation == "merge"


def test_characters_inside_words_are_no_numbers() -> None:
    assert judge_pair("大家一起去十三陵。", "大家一起去明十三陵。").contradiction != "number"
    assert judge_pair("他有一个女儿。", "他有个女儿。").veto != "numbers"
