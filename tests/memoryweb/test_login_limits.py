"""How often a login may fail, by real posts to the admin's login page."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessLog
from django.db import connection
from django.db.models import F
from django.test import Client

from memoryweb.login_limits import locked_until
from memoryweb.proxies import parse_networks
from tests.factories import UserFactory

GOOD = "correct horse battery"
BAD = "Tr0ub4dor-not-it"
HERE, THERE = "203.0.113.9", "198.51.100.7"


@pytest.fixture
def person(db: None) -> Any:
    return UserFactory.create(superuser=True, username="ada")


def log_in(name: str, password: str, address: str = HERE, **headers: str) -> Any:
    """Return the answer to one login by a browser without any cookies."""
    return Client().post(
        "/admin/login/?next=/admin/", {"username": name, "password": password}, REMOTE_ADDR=address, headers=headers
    )


def fail(times: int, name: str = "ada", address: str = HERE, **headers: str) -> list[int]:
    return [log_in(name, BAD, address, **headers).status_code for _ in range(times)]


def let_pass(minutes: float) -> None:
    """Make every failure that much older."""
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=minutes))


def test_a_right_password_logs_in(person: Any) -> None:
    response = log_in("ada", GOOD)
    assert response.status_code == 302
    assert response["Location"] == "/admin/"
    assert AccessLog.objects.get().ip_address == HERE


def test_the_fifth_failure_of_a_name_at_an_address_locks_it(person: Any) -> None:
    assert fail(5) == [200, 200, 200, 200, 429]
    assert log_in("ada", GOOD).status_code == 429


def test_the_page_says_what_happened_and_when_to_come_back(person: Any) -> None:
    fail(4)
    response = log_in("ada", BAD)
    assert response.status_code == 429
    assert 890 <= int(response["Retry-After"]) <= 900
    assert response["Cache-Control"] == "no-store"
    page = response.content.decode()
    assert "Too many failed logins." in page
    assert "locked for 15 minutes" in page
    assert "memoryweb" in page
    assert 'href="/admin/login/"' in page
    assert BAD not in page


def test_a_script_gets_the_same_answer_without_an_open_origin(person: Any) -> None:
    fail(5)
    response = log_in("ada", GOOD, **{"X-Requested-With": "XMLHttpRequest"})
    assert response.status_code == 429
    assert "Retry-After" in response
    assert "Access-Control-Allow-Origin" not in response


def test_the_lock_ends_after_fifteen_minutes(person: Any) -> None:
    fail(5)
    let_pass(14)
    response = log_in("ada", GOOD)
    assert response.status_code == 429
    assert 50 <= int(response["Retry-After"]) <= 60
    assert "locked for 1 minute." in response.content.decode()
    let_pass(1)
    assert log_in("ada", GOOD).status_code == 302


def test_trying_on_makes_neither_the_lock_nor_the_record_longer(person: Any) -> None:
    fail(5)
    let_pass(10)
    record = AccessAttempt.objects.get()
    assert fail(3) == [429, 429, 429]
    after = AccessAttempt.objects.get()
    assert (after.failures_since_start, after.attempt_time, after.post_data) == (
        record.failures_since_start,
        record.attempt_time,
        record.post_data,
    )


def test_elsewhere_the_same_person_may_still_log_in(person: Any) -> None:
    fail(5)
    assert log_in("ada", GOOD, THERE).status_code == 302
    assert log_in("ada", GOOD, HERE).status_code == 429


def test_another_person_at_the_address_may_still_log_in(person: Any) -> None:
    UserFactory.create(superuser=True, username="grace")
    fail(5, "ada")
    assert log_in("grace", GOOD).status_code == 302


def test_a_success_takes_back_the_failures(person: Any) -> None:
    assert fail(4) == [200] * 4
    assert log_in("ada", GOOD).status_code == 302
    assert fail(4) == [200] * 4
    assert log_in("ada", GOOD).status_code == 302


def test_a_name_that_does_not_exist_is_locked_the_same_way(person: Any) -> None:
    existing, invented = log_in("ada", BAD), log_in("nobody", BAD)
    assert existing.status_code == invented.status_code == 200
    assert fail(4, "ada") == fail(4, "nobody") == [200, 200, 200, 429]


def test_other_browsers_do_not_reset_the_count(person: Any) -> None:
    codes = [log_in("ada", BAD, **{"User-Agent": f"browser {number}"}).status_code for number in range(5)]
    assert codes == [200, 200, 200, 200, 429]


def test_one_address_trying_many_names_is_locked_for_all_of_them(person: Any) -> None:
    assert [log_in(f"name{number}", BAD).status_code for number in range(20)] == [200] * 19 + [429]
    assert log_in("ada", GOOD).status_code == 429
    assert log_in("one more", BAD).status_code == 429
    assert log_in("ada", GOOD, THERE).status_code == 302


def test_the_address_is_open_again_as_soon_as_enough_of_its_failures_are_old(person: Any) -> None:
    fail(4, "early")
    let_pass(10)
    for number in range(16):
        fail(1, f"late{number}")
    response = log_in("ada", GOOD)
    assert response.status_code == 429
    assert 290 <= int(response["Retry-After"]) <= 300
    let_pass(5.1)
    assert log_in("ada", GOOD).status_code == 302


def test_an_account_of_ones_own_does_not_wipe_failures_on_other_names(person: Any) -> None:
    UserFactory.create(username="mallory", is_staff=True)
    for number in range(19):
        fail(1, f"name{number}")
    assert log_in("mallory", GOOD).status_code == 302
    assert fail(1, "ada") == [429]


def test_a_forged_header_from_outside_changes_nothing(person: Any, settings: Any) -> None:
    settings.TRUSTED_PROXIES = parse_networks(["10.0.0.0/8"])
    codes = [log_in("ada", BAD, HERE, **{"X-Forwarded-For": f"192.0.2.{n}"}).status_code for n in range(5)]
    assert codes == [200, 200, 200, 200, 429]
    assert log_in("ada", GOOD, HERE, **{"X-Forwarded-For": THERE}).status_code == 429


def test_behind_a_trusted_proxy_each_client_is_counted_for_itself(person: Any, settings: Any) -> None:
    settings.TRUSTED_PROXIES = parse_networks(["10.0.0.0/8"])
    proxy = "10.0.0.1"
    # The client writes what it likes in front; the proxy adds the address it sees.
    codes = [log_in("ada", BAD, proxy, **{"X-Forwarded-For": f"192.0.2.{n}, {HERE}"}).status_code for n in range(5)]
    assert codes == [200, 200, 200, 200, 429]
    assert log_in("ada", GOOD, proxy, **{"X-Forwarded-For": f"{THERE}, {HERE}"}).status_code == 429
    assert log_in("ada", GOOD, proxy, **{"X-Forwarded-For": f"{HERE}, {THERE}"}).status_code == 302


def test_a_proxy_that_writes_garbage_is_counted_itself(person: Any, settings: Any) -> None:
    settings.TRUSTED_PROXIES = parse_networks(["10.0.0.0/8"])
    codes = [log_in("ada", BAD, "10.0.0.1", **{"X-Forwarded-For": f"192.0.2.{n}, ?"}).status_code for n in range(5)]
    assert codes == [200, 200, 200, 200, 429]
    assert AccessAttempt.objects.get().ip_address == "10.0.0.1"


def test_an_ipv6_household_is_one_address(person: Any) -> None:
    codes = [log_in("ada", BAD, f"2001:db8:1:2::{n:x}").status_code for n in range(5)]
    assert codes == [200, 200, 200, 200, 429]
    assert log_in("ada", GOOD, "2001:db8:1:3::1").status_code == 302


@pytest.mark.parametrize("address", ["", "unix:", "%00"])
def test_clients_without_an_address_are_counted_together(person: Any, address: str) -> None:
    assert fail(5, address=address) == [200, 200, 200, 200, 429]
    assert AccessAttempt.objects.get().ip_address is None


def test_neither_log_nor_database_holds_the_password(person: Any, caplog: Any) -> None:
    with caplog.at_level(logging.DEBUG):
        log_in("ada", BAD)
        Client().post(
            f"/admin/login/?password={BAD}",
            {"username": "ada", "password": BAD, "next": "/admin/"},
            REMOTE_ADDR=HERE,
            headers={"User-Agent": "other"},
        )
        fail(3)
        log_in("ada", GOOD, THERE)
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "Locking out" in said
    assert HERE in said
    assert BAD not in said
    assert GOOD not in said
    assert '"ada"' not in said  # people type passwords into the wrong field
    kept = str(list(AccessAttempt.objects.values()) + list(AccessLog.objects.values()))
    assert HERE in kept
    assert BAD not in kept
    assert GOOD not in kept


def test_old_failures_are_thrown_away(person: Any) -> None:
    for number in range(10):
        fail(1, f"name{number}", f"192.0.2.{number}")
    let_pass(15)
    fail(1)
    assert AccessAttempt.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_guesses_at_the_same_time_are_all_counted() -> None:
    UserFactory.create(superuser=True, username="ada")

    def guess(number: int) -> int:
        try:
            return int(log_in("ada", BAD).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(guess, range(4)))
    assert codes == [200] * 4
    assert AccessAttempt.objects.get().failures_since_start == 4
    assert fail(1) == [429]


NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("failures", "minutes"),
    [
        ([], None),
        ([(0, 4)], None),
        ([(0, 5)], 15),
        ([(0, 9)], 15),
        ([(0, 2), (-5, 2)], None),
        ([(0, 2), (-5, 3)], 10),
        ([(-5, 3), (0, 2)], 10),
        ([(-1, 1), (-2, 1), (-3, 1), (-4, 1), (-5, 1), (-6, 1)], 10),
        ([(-6, 5), (-5, 5)], 10),
    ],
)
def test_a_lock_ends_when_fewer_failures_than_the_limit_are_left(
    failures: list[tuple[int, int]], minutes: int | None
) -> None:
    records = [(NOW + timedelta(minutes=when), count) for when, count in failures]
    until = locked_until(records, limit=5, cool_off=timedelta(minutes=15))
    assert until == (None if minutes is None else NOW + timedelta(minutes=minutes))
