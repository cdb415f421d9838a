"""Which addresses a host has, and which of them are of the open internet: for the proxy and for web_fetch."""

from __future__ import annotations

import contextlib
import ipaddress
import socket

_GIVEN_OUT = ipaddress.ip_network("2000::/3")  # all of IPv6 that is; elsewhere stand site-local and translated ones
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # an IPv4 address is behind it
_TUNNELLED = ipaddress.ip_network("2001::/32")  # Teredo: the same
_METADATA = (ipaddress.ip_address("168.63.129.16"),)  # a cloud's own service at an address that looks public


def lookup(host: str, port: int) -> list[str]:
    """Return the addresses of a host, each once. OSError and UnicodeError where it has none."""
    rows = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


def is_public(text: str) -> bool:
    """Return whether an address is one of the open internet, and no service of a cloud."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            address = address.ipv4_mapped
        elif address.sixtofour:
            address = address.sixtofour
        elif address in _TRANSLATED:
            address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        elif address not in _GIVEN_OUT or address in _TUNNELLED:
            return False
    return address.is_global and not address.is_multicast and address not in _METADATA


def is_own(text: str) -> bool:
    """Return whether an address is one of this machine: a socket can be bound to it."""
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    with contextlib.suppress(OSError), contextlib.closing(socket.socket(family, socket.SOCK_DGRAM)) as trial:
        trial.bind((text, 0))
        return True
    return False
