"""Logging in and out of the working pages, for people who need not be staff."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from memories.pages import CONTENT_SECURITY_POLICY
from tests.factories import MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db
GOOD = "correct horse battery"


@pytest.fixture
def rita(agent: Any) -> Any:
    return MembershipFactory.create(workspace=agent.workspace, role="reviewer", user__username="rita").user


def log_in(client: Client, name: str = "rita", password: str = GOOD, **fields: str) -> Any:
    return client.post("/login/", {"username": name, "password": password, **fields})


def test_a_page_leads_to_the_login_and_back(rita: Any) -> None:
    client = Client()
    assert client.get("/review/?status=applied")["Location"] == "/login/?next=/review/%3Fstatus%3Dapplied"
    assert (
        'name="next" value="/review/?status=applied"'
        in client.get("/login/?next=/review/%3Fstatus%3Dapplied").content.decode()
    )
    assert log_in(client, next="/review/?status=applied")["Location"] == "/review/?status=applied"
    assert client.get("/review/?status=applied").status_code == 200


def test_without_a_page_to_go_back_to_it_leads_to_the_overview(rita: Any) -> None:
    client = Client()
    assert log_in(client)["Location"] == "/"
    assert client.get("/login/")["Location"] == "/"  # logged in already


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example/",
        "/\\evil.example/",
        "\\\\evil.example",
        "http:evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        " https://evil.example/",
        "\thttps://evil.example/",
    ],
)
def test_it_leads_to_no_other_site(rita: Any, target: str) -> None:
    client = Client()
    assert "evil" not in client.get("/login/", {"next": target}).content.decode()
    assert log_in(client, next=target)["Location"] == "/"
    assert client.get("/login/", {"next": target})["Location"] == "/"


def test_the_page_has_the_policy_and_is_kept_by_nobody() -> None:
    response = Client().get("/login/")
    assert response.status_code == 200
    assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert "no-store" in response["Cache-Control"]
    page = response.content.decode()
    assert "<style" not in page
    assert " style=" not in page
    assert page.count("<script") == page.count("<script src=") == 2


def test_a_wrong_password_is_told_without_a_word_about_names(rita: Any) -> None:
    known, unknown = log_in(Client(), password="wrong"), log_in(Client(), "nobody", "wrong")
    for response in (known, unknown):
        assert response.status_code == 200
        assert "do not fit together" in response.content.decode()
        assert "wrong" not in response.content.decode()
    rita.is_active = False
    rita.save()
    assert "do not fit together" in log_in(Client()).content.decode()


def test_a_name_that_is_typed_again_is_no_markup() -> None:
    page = log_in(Client(), '"><script>alert(1)</script>', "x").content.decode()
    assert "<script>alert" not in page


def test_it_needs_a_form_of_its_own(rita: Any) -> None:
    checked = Client(enforce_csrf_checks=True)
    assert log_in(checked).status_code == 403
    assert checked.get("/review/").status_code == 302


def test_logging_out_takes_a_form_and_ends_the_session(rita: Any) -> None:
    client = Client()
    log_in(client)
    assert client.get("/logout/").status_code == 405
    assert client.get("/review/").status_code == 200
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/review/").status_code == 302


def test_a_login_elsewhere_than_the_admin_opens_no_admin(rita: Any) -> None:
    client = Client()
    log_in(client)
    assert client.get("/admin/")["Location"] == "/admin/login/?next=/admin/"
    assert Client().get("/admin/")["Location"] == "/admin/login/?next=/admin/"


def test_too_many_failures_lock_it_as_they_do_the_admin(rita: Any) -> None:
    UserFactory.create(superuser=True, username="boss")
    codes = [log_in(Client(), password="wrong").status_code for _ in range(5)]
    assert codes == [200, 200, 200, 200, 429]
    response = log_in(Client())
    assert response.status_code == 429
    assert 890 <= int(response["Retry-After"]) <= 900
    assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    page = response.content.decode()
    assert 'href="/login/"' in page
    assert "locked for 15 minutes" in page
    assert "/admin/" not in page
    at_the_admin = Client().post("/admin/login/", {"username": "rita", "password": GOOD})
    assert at_the_admin.status_code == 429
    assert 'href="/admin/login/"' in at_the_admin.content.decode()
    assert log_in(Client(), "boss").status_code == 302
