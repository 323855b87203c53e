"""Who is at the other end of a request, when reverse proxies stand between."""

from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse

Network = IPv4Network | IPv6Network


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


def is_trusted(address: str, networks: list[Network]) -> bool:
    """Return whether a trusted proxy has this address. Text that is no address is never trusted."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in networks)


def address_behind(remote: str, forwarded_for: str, networks: list[Network]) -> str:
    """Return the client's address: the last one in X-Forwarded-For that no trusted proxy has.

    What stands left of it was sent by the client and proves nothing. Without a trusted proxy the header is ignored.
    """
    address = remote
    hops = [hop.strip() for hop in forwarded_for.split(",") if hop.strip()]
    while hops and is_trusted(address, networks):
        hop = hops.pop()
        try:
            ip_address(hop)
        except ValueError:
            break
        address = hop
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


def client_address(request: HttpRequest) -> str:
    """Return the address that login attempts are counted for."""
    return str(request.META.get("REMOTE_ADDR", ""))
