"""Whose address and scheme a request has, behind proxies and without."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from memoryweb.proxies import address_behind, behind_proxy, client_address, is_trusted, parse_address, parse_networks

PROXIES = parse_networks(["10.0.0.0/8", "192.0.2.1", "2001:db8:f::/48"])


@pytest.mark.parametrize(
    ("remote", "forwarded_for", "client"),
    [
        # nobody trusted speaks: the header is the client's own invention
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),
        ("203.0.113.9", "10.0.0.1", "203.0.113.9"),
        ("2001:db8::9", "198.51.100.1", "2001:db8::9"),
        # one trusted proxy
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.1.1.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("192.0.2.1", "203.0.113.9", "203.0.113.9"),
        ("192.0.2.2", "203.0.113.9", "192.0.2.2"),
        # a chain of them: the right-most hop that is not ours
        ("10.0.0.1", "1.1.1.1, 203.0.113.9, 10.2.0.1", "203.0.113.9"),
        ("10.0.0.1", "10.9.9.9, 203.0.113.9, 10.2.0.1, 10.3.0.1", "203.0.113.9"),
        ("10.0.0.1", "10.2.0.1, 10.3.0.1", "10.2.0.1"),
        # the client pretends to be a proxy further left
        ("10.0.0.1", "10.0.0.7, 203.0.113.9", "203.0.113.9"),
        # IPv6, both families on one socket, ports, brackets, zones
        ("2001:db8:f::1", "2001:db8:1::7", "2001:db8:1::7"),
        ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "198.51.100.1", "::ffff:203.0.113.9"),
        ("10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "2001:DB8:1:0::7", "2001:db8:1::7"),
        ("10.0.0.1", "203.0.113.9:51234", "203.0.113.9"),
        ("10.0.0.1", "[2001:db8:1::7]:443", "2001:db8:1::7"),
        ("10.0.0.1", "[2001:db8:1::7]", "2001:db8:1::7"),
        ("10.0.0.1", "fe80::1%eth0", "fe80::1"),
        # garbage from a trusted proxy: the walk ends there, and nothing left of it counts
        ("10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9, ' OR 1=1", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9, 10.2.0.1, _hidden", "10.0.0.1"),
        ("10.0.0.1", "unknown, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", " , ,203.0.113.9, ,", "203.0.113.9"),
        ("10.0.0.1", "300.1.1.1", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9:port", "10.0.0.1"),
        # a socket without an address
        ("", "203.0.113.9", ""),
        ("unix:", "203.0.113.9", "unix:"),
    ],
)
def test_the_client_is_the_last_hop_that_is_no_trusted_proxy(remote: str, forwarded_for: str, client: str) -> None:
    assert address_behind(remote, forwarded_for, PROXIES) == client


@given(st.lists(st.one_of(st.text(max_size=30), st.ip_addresses().map(str)), max_size=6))
def test_a_peer_that_is_not_trusted_cannot_change_its_address_by_any_header(hops: list[str]) -> None:
    assert address_behind("203.0.113.9", ",".join(hops), PROXIES) == "203.0.113.9"


@given(st.lists(st.one_of(st.text(max_size=30), st.ip_addresses().map(str)), max_size=6))
def test_behind_a_proxy_what_the_client_sent_never_counts(sent: list[str]) -> None:
    assert address_behind("10.0.0.1", ",".join([*sent, "203.0.113.9"]), PROXIES) == "203.0.113.9"


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_none(text: str) -> None:
    address = parse_address(text)
    assert address is None or ip_address(str(address)) == address


def test_no_proxy_is_trusted_unless_named() -> None:
    assert not is_trusted("127.0.0.1", [])
    assert not is_trusted("garbage", PROXIES)
    assert is_trusted("2001:db8:f:1::1", PROXIES)


@pytest.mark.parametrize("value", ["10.0.0.1/8", "proxy.example", "", "10.0.0.0/33", "*"])
def test_a_wrong_proxy_stops_the_start_and_names_the_variable(value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="TRUSTED_PROXIES"):
        parse_networks([value])


def passed_through(**environ: str) -> HttpRequest:
    seen: list[HttpRequest] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse()

    behind_proxy(view)(RequestFactory().get("/", **environ))
    return seen[0]


def test_address_and_scheme_come_from_a_trusted_proxy(settings: Any) -> None:
    settings.TRUSTED_PROXIES = PROXIES
    request = passed_through(
        REMOTE_ADDR="10.0.0.1",
        HTTP_X_FORWARDED_FOR="203.0.113.9",
        HTTP_X_FORWARDED_PROTO=" HTTPS",
    )
    assert request.META["REMOTE_ADDR"] == "203.0.113.9"
    assert request.is_secure()


def test_nobody_else_sets_address_or_scheme(settings: Any) -> None:
    settings.TRUSTED_PROXIES = PROXIES
    request = passed_through(
        REMOTE_ADDR="203.0.113.9",
        HTTP_X_FORWARDED_FOR="10.0.0.1",
        HTTP_X_FORWARDED_PROTO="https",
    )
    assert request.META["REMOTE_ADDR"] == "203.0.113.9"
    assert not request.is_secure()


def test_a_proxy_cannot_invent_a_scheme(settings: Any) -> None:
    settings.TRUSTED_PROXIES = PROXIES
    request = passed_through(REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_PROTO="gopher")
    assert request.scheme == "http"


@pytest.mark.parametrize(
    ("remote", "counted"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
        ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ("fe80::1%eth0", "fe80::"),
        ("", None),
        ("not an address", None),
    ],
)
def test_logins_are_counted_for_an_ipv4_address_or_an_ipv6_household(remote: str, counted: str | None) -> None:
    assert client_address(RequestFactory().get("/", REMOTE_ADDR=remote)) == counted
