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
        ("Nicht vergessen: Ficus gießen", "task", False),
        ("提醒我给无花果浇水", "task", True),
        ("待办：更换密钥", "task", True),
        ("Boris's phone number is +43 660 1234567.", "contact", True),
        ("Alma can be reached at alma@mail.example.", "contact", True),
        ("Luc ist unter luc@mail.example erreichbar.", "contact", True),
        ("王医生的邮箱：wang@klinik.example", "contact", True),
        ("- [ ] call the plumber", "task", True),
        ("TODO: rotate the key. The key is in the safe.", "task", False),
        ("Don't forget that Omar is allergic to latex.", "task", False),
        ("Remind me why there are two keys.", "task", False),
        ("别忘了小王过敏", "task", False),
        ("My landlady can be reached at +43 660 1234567.", "contact", True),
        ("You can reach Alma under alma@mail.example.", "contact", True),
        ("Bojans Handynummer lautet +43 660 1234567.", "contact", True),
        ("Die Nummer von Bojan ist +43 660 1234567.", "contact", True),
        ("小罗的电话是13800138000", "contact", True),
        ("The server's e-mail is root@mail.example.", "contact", False),
        ("The e-mail to alma@mail.example bounced.", "contact", False),
        ("My account number is 0151 2345678.", "contact", False),
        ("Alma's e-mail is alma@mail.example and she is 41.", "contact", False),
        ("客服电话：0221 998877", "contact", False),
        ("Plumber: 0221 998877", "contact", False),
        ("Agreed: the sync stays short.", "decision", False),
        ("小伊和小兰是邻居", "relationship", False),
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
        "[ ] rotate the key ✓",
        "Todo lists are useful.",
        "待办事项很多",
        "提醒我的人是小罗",
        "Erinnere mich gern an Rom.",
        "Remind me to call Omar?",
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
