"""Who is at the other end of a request, when reverse proxies stand between.

A proxy must drop header names with underscores (nginx and Apache do): for a WSGI server ``X_Forwarded_For`` is the same
header, and the client's own could take the place of the proxy's.
"""

import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

WITH_PORT = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5}")
HOUSEHOLD_PREFIX = 64
"""Bits of an IPv6 address that tell one customer from the next; the rest is theirs to choose."""


def parse_networks(values: list[str]) -> list[Network]:
    """Return addresses and networks such as ``10.0.0.1`` or ``10.0.0.0/8``.

    Raises ImproperlyConfigured naming TRUSTED_PROXIES.
    """
    networks: list[Network] = []
    for value in values:
        try:
            networks.append(ip_network(value))
        except ValueError:
            raise ImproperlyConfigured(
                f"TRUSTED_PROXIES={value!r} is not allowed: use addresses or networks such as 10.0.0.1 or 10.0.0.0/8."
            ) from None
    return networks


def parse_address(text: str) -> Address | None:
    """Return the address in what a socket or a header names, or None where there is none.

    Some proxies write the port behind it (``192.0.2.7:4711``, ``[2001:db8::7]:4711``). A socket that serves both
    families shows IPv4 as ``::ffff:192.0.2.7``: that is the IPv4 address. The zone of a link-local address (``%eth0``)
    says nothing about the other end.
    """
    text = text.strip()
    with_port = WITH_PORT.fullmatch(text)
    if with_port is not None:
        text = with_port[1] or with_port[2]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def is_trusted(address: str, networks: list[Network]) -> bool:
    """Return whether a trusted proxy has this address. Text that is no address is never trusted."""
    parsed = parse_address(address)
    return parsed is not None and any(parsed in network for network in networks)


def address_behind(remote: str, forwarded_for: str, networks: list[Network]) -> str:
    """Return the client's address: the last one in X-Forwarded-For that no trusted proxy has.

    What stands left of it was sent by the client and proves nothing. Without a trusted proxy the header is ignored.
    Where a trusted proxy wrote something else than an address, the walk ends at that proxy.
    """
    address = remote
    hops = [hop for hop in forwarded_for.split(",") if hop.strip()]
    while hops and is_trusted(address, networks):
        hop = parse_address(hops.pop())
        if hop is None:
            break
        address = str(hop)
    return address


def behind_proxy(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: take address and scheme from the headers of trusted proxies, and from nobody else."""

    def middleware(request: HttpRequest) -> HttpResponse:
        remote = request.META.get("REMOTE_ADDR", "")
        if is_trusted(remote, settings.TRUSTED_PROXIES):
            forwarded_for = request.META.get("HTTP_X_FORWARDED_FOR", "")
            request.META["REMOTE_ADDR"] = address_behind(remote, forwarded_for, settings.TRUSTED_PROXIES)
            scheme = request.META.get("HTTP_X_FORWARDED_PROTO", "").strip().lower()
            if scheme in ("http", "https"):
                request.META["wsgi.url_scheme"] = scheme
        return get_response(request)

    return middleware


def client_address(request: HttpRequest) -> str | None:
    """Return the address that login attempts are counted for; None for all whose address is unknown together.

    A household has 2^64 IPv6 addresses to guess from, so that its network stands for all of them.
    """
    address = parse_address(str(request.META.get("REMOTE_ADDR", "")))
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, HOUSEHOLD_PREFIX), strict=False).network_address)
    return None if address is None else str(address)
