"""What holds for every page: no barriers, no sideways scrolling, nothing that acts, in every language and theme."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from playwright.sync_api import Page, expect

from tests.browser.conftest import PASSWORD, House, Person
from tests.browser.pages import furnish
from tests.factories import MembershipFactory, UserFactory

AXE = Path(__file__).resolve().parents[2] / ".venv/node_modules/axe-core/axe.min.js"
HOSTILE = (
    "kestrel <script>window.acted = 1</script><img src=x onerror='window.acted = 1'> "
    "![x](http://evil.example/p.png) [y](javascript:window.acted=1) {{ 7*7 }} ' onfocus=window.acted=1 autofocus x=' "
    "\u202eevil\u2066 zero\u200bwidth \u0430cme"
)


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not there: install npm and run make setup-test")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_there_are_no_barriers(person: Callable[..., Person], house: House, theme: Any) -> None:
    someone = person("admin", superuser=True, color_scheme=theme)
    with house.store():
        pages = furnish(someone.agent)
    script = AXE.read_text(encoding="utf-8")
    found: dict[str, Any] = {}
    for name, path in {**pages, "keys": pages["queue"]}.items():
        page = someone.open(path)
        if name == "keys":
            page.keyboard.press("?")
            page.keyboard.press("j")
        page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
        page.wait_for_load_state("networkidle")
        found |= {f"{name} {key}": value for key, value in _violations(page, script).items()}
    someone.context.clear_cookies()
    found |= {f"login {key}": value for key, value in _violations(someone.open("/login/"), script).items()}
    assert found == {}, json.dumps(found, indent=1)


def _violations(page: Page, script: str) -> dict[str, list[str]]:
    page.evaluate(script)
    result = page.evaluate("async () => await axe.run(document, {resultTypes: ['violations']})")
    return {one["id"]: [node["html"][:200] for node in one["nodes"]] for one in result["violations"]}


@pytest.mark.parametrize("language", ["en", "de", "zh-CN"])
def test_nothing_scrolls_sideways_on_a_phone(person: Callable[..., Person], house: House, language: str) -> None:
    someone = person("admin", superuser=True, viewport={"width": 360, "height": 740}, locale=language, has_touch=True)
    with house.store():
        pages = furnish(someone.agent, "A_very_long_word_without_any_place_to_break_" * 8 + " kestrel 很长很长的文字")
    for name, path in pages.items():
        page = someone.open(path)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, (name, width)


def test_text_of_others_never_acts(person: Callable[..., Person], house: House) -> None:
    someone = person("admin", superuser=True)
    with house.store():
        pages = furnish(someone.agent, HOSTILE)
    for name, path in pages.items():
        page = someone.open(path)
        assert page.evaluate("window.acted") is None, name
        assert page.locator("main img, main script, main [onfocus], main [onerror]").count() == 0, name
        if name != "edit":
            text = page.locator("main").inner_text()
            assert not set(text) & set("\u202e\u2066\u200b"), name
        assert "49" not in page.locator("main .text, main .said").all_inner_texts(), name


def test_every_control_is_reached_by_tab_and_seen(person: Callable[..., Person], house: House) -> None:
    someone = person("admin", superuser=True)
    with house.store():
        pages = furnish(someone.agent)
    for name in ("queue", "memories", "memory", "search", "indexes"):
        page = someone.open(pages[name])
        wanted = page.evaluate(
            "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]"
            ".filter(one => one.checkVisibility()).length"
        )
        reached: set[str] = set()
        for _ in range(wanted + 5):
            page.keyboard.press("Tab")
            mark = page.evaluate(
                """() => {
                    const one = document.activeElement;
                    if (!one || one === document.body) return "";
                    window.count = window.count || 0;
                    one.dataset.reached = one.dataset.reached || String(++window.count);
                    const style = getComputedStyle(one);
                    const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
                    const box = one.getBoundingClientRect();
                    return one.dataset.reached + (ring && box.width > 0 ? " seen" : " unseen " + one.outerHTML);
                }"""
            )
            if mark:
                assert " seen" in mark, (name, mark)
                reached.add(mark)
        # Dates are several stops in one control.
        assert len(reached) >= wanted, (name, len(reached), wanted)


@pytest.mark.parametrize(
    ("language", "title", "approve"), [("de", "Durchsicht", "Annehmen"), ("zh-CN", "审阅", "批准")]
)
def test_reviewing_in_another_language(
    person: Callable[..., Person], house: House, language: str, title: str, approve: str
) -> None:
    someone = person("admin", locale=language)
    with house.store():
        pages = furnish(someone.agent)
    page = someone.open(pages["queue"])
    expect(page.get_by_role("heading", level=1)).to_contain_text(title)
    page.get_by_role("button", name=approve, exact=True).click()
    expect(page.locator(".candidate").get_by_role("status")).to_be_visible()


def test_logging_in_and_being_locked_out(person: Callable[..., Person], house: House) -> None:
    someone = person()
    someone.context.clear_cookies()
    with house.store():
        user = UserFactory.create()
        # As the house keeps passwords; those of the test run are quicker.
        user.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt")
        user.save()
        name = user.get_username()
        MembershipFactory.create(workspace=someone.agent.workspace, user__username="locked")
    page = someone.page
    page.goto(f"{house.url}/review/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("do not fit together")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("nothing for you here")
    page.get_by_role("button", name="Log out").click()
    for _ in range(6):
        page.goto(f"{house.url}/login/")
        if not page.get_by_label("Name").count():
            break
        page.get_by_label("Name").fill("locked")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Too many failed logins")
