"""A running house and a real browser, for what only a browser shows. Skipped where there is no Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from memories.models import Agent
from tests.factories import AgentFactory, MembershipFactory, UserFactory
from tests.memoryweb.running import Running
from tests.stores import NAME, default_store, make_store

PASSWORD = "correct horse battery"
SECRET = "only-for-browser-tests-" + "x" * 40
NAMES = ("chromium", "chromium-browser", "google-chrome")

# Playwright keeps an event loop in this thread, which Django takes for a coroutine's.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.processes)


@dataclass(frozen=True)
class House:
    """A server that runs on a store of its own, and the way to that store from here."""

    running: Running
    data: Path
    unblocked: Callable[[], Any]

    @property
    def url(self) -> str:
        return self.running.url

    @contextmanager
    def store(self) -> Iterator[None]:
        """Make the house's store the default database for a moment."""
        with self.unblocked(), default_store(self.data / NAME):
            yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium here: apt install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def house(tmp_path_factory: Any, django_db_blocker: Any) -> Iterator[House]:
    data = tmp_path_factory.mktemp("house")
    with django_db_blocker.unblock():
        make_store(data)
    with Running(data, SECRET_KEY=SECRET, RATE_LIMIT="0") as running:
        running.ready()
        yield House(running, data, django_db_blocker.unblock)


@dataclass
class Person:
    """Somebody in a workspace of their own, with a browser in which they are logged in."""

    house: House
    agent: Agent
    name: str
    context: BrowserContext
    page: Page
    errors: list[str]

    def open(self, path: str) -> Page:
        """Go to a page of the house."""
        answer = self.page.goto(f"{self.house.url}{path}")
        assert answer is not None
        assert answer.status == 200, (path, answer.status)
        return self.page


@pytest.fixture
def person(house: House, browser: Browser) -> Iterator[Callable[..., Person]]:
    """Return a function that gives a person with a browser; nothing may have been refused or gone wrong in it."""
    people: list[Person] = []

    def make(role: str = "reviewer", *, agent: Agent | None = None, superuser: bool = False, **options: Any) -> Person:
        with house.store():
            own = agent or AgentFactory.create()
            user = UserFactory.create(superuser=superuser)
            if not superuser:
                MembershipFactory.create(user=user, workspace=own.workspace, role=role)
            cookie = _session_of(user)
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}} | options)
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": house.url}])
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("request", lambda sent: None if sent.url.startswith((house.url, "data:")) else errors.append(sent.url))
        someone = Person(house, own, user.get_username(), context, page, errors)
        people.append(someone)
        return someone

    yield make
    for someone in people:
        someone.context.close()
        # A refusal that the test provoked is told by the browser too.
        assert [error for error in someone.errors if "status of 4" not in error] == []


def _session_of(user: Any) -> str:
    """Return the key of a session in which the user is logged in."""
    from django.test import override_settings

    with override_settings(SECRET_KEY=SECRET):
        store = import_module(settings.SESSION_ENGINE).SessionStore()
        store[SESSION_KEY] = str(user.pk)
        store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        store[HASH_SESSION_KEY] = user.get_session_auth_hash()
        store.save()
        return str(store.session_key)
