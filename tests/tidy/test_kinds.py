"""Which kind a text tells of, and which may be corrected without a person."""

from __future__ import annotations

import pytest

from tidy.kinds import kind_of


@pytest.mark.parametrize(
    ("text", "kind", "is_safe"),
    [
        ("TODO: rotate the key", "task", True),
        ("[ ] call the plumber", "task", True),
        ("Remind me to water the ficus", "task", True),
        ("Erinnere mich an den Termin", "task", True),
        ("Nicht vergessen: Ficus gießen", "task", True),
        ("提醒我给无花果浇水", "task", True),
        ("待办：更换密钥", "task", True),
        ("Boris's phone number is +43 660 1234567.", "contact", True),
        ("Alma can be reached at alma@mail.example.", "contact", True),
        ("Luc ist unter luc@mail.example erreichbar.", "contact", True),
        ("王医生的邮箱：wang@klinik.example", "contact", True),
        ("We decided to keep SQLite.", "decision", False),
        ("Wir haben beschlossen, bei SQLite zu bleiben.", "decision", False),
        ("我们决定使用SQLite", "decision", False),
        ("Rita is Olga's sister.", "relationship", False),
        ("Luc ist der Bruder von Ana.", "relationship", False),
        ("小伊是小兰的姐姐", "relationship", False),
    ],
)
def test_what_tells_its_kind(text: str, kind: str, is_safe: bool) -> None:
    found = kind_of(text)
    assert found is not None
    assert (found.kind, found.is_safe) == (kind, is_safe)
    assert found.why


@pytest.mark.parametrize(
    "text",
    [
        "The todo app is slow.",
        "TODO: rotate the key (done)",
        "待办：更换密钥，已完成",
        "The build number is 20260503.",
        "The server listens on 127.0.0.1:8000.",
        "Call me Ishmael.",
        "What is Boris's phone number, +43 660 1234567?",
        "Boris moved. Alma's number is +43 660 1234567.",
        "The kettle is red.",
        "会议在三楼",
        "",
        "x" * 30_000,
    ],
)
def test_what_does_not(text: str) -> None:
    assert kind_of(text) is None
