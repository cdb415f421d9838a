"""Names of hosts, as strictly as possible: what is allowed is compared as text, so that each host has one spelling."""

from __future__ import annotations

from collections.abc import Iterable

from lumen_tui.model.patterns import lazy_re

USUAL_PORTS = (80, 443)
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# The last label begins with a letter, as in no spelling of an address: neither 127.1 nor 2130706433 nor 0x7f.0.0.1.
_NAME = lazy_re(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?")
_LONGEST = 253
_PORT = lazy_re(r"[1-9][0-9]{0,4}")


class BadHost(ValueError):
    """A text that names no host; it says why."""


def canonical(text: str) -> str:
    """Return the one spelling of a host: a lower-case name with a dot in it, or an IP address as it is written.

    BadHost for all else: other spellings of addresses, a dot at the end, letters beyond ASCII, control characters.
    """
    lower = text.lower() if text.isascii() else ""
    if len(lower) <= _LONGEST and _NAME.fullmatch(lower):
        return lower
    if address := _address(lower):
        return address
    raise BadHost("no host name: letters, digits and hyphens with dots between them, and no dot at the end")


def _address(text: str) -> str:
    """Return an IP address in its one spelling, IPv6 in brackets; empty for everything else."""
    import ipaddress  # 1 ms that only a host takes

    try:
        if "%" in text:
            return ""  # an interface of this machine
        if text.startswith("[") and text.endswith("]"):
            address = ipaddress.IPv6Address(text[1:-1])
            return f"[{address}]" if str(address) == text[1:-1] else ""
        return text if str(ipaddress.IPv4Address(text)) == text else ""
    except ValueError:
        return ""


def is_address(host: str) -> bool:
    """Return whether a canonical host is an IP address."""
    return bool(_address(host))


def split(authority: str, usual: int = 0) -> tuple[str, int]:
    """Return host and port of `host:port`; `usual`: the port where none is named, 0 where one must be. BadHost."""
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, str(usual or "")
    if not _PORT.fullmatch(port) or int(port) > 65_535:
        raise BadHost("no port behind the host")
    return canonical(host), int(port)


def pattern_fault(pattern: str) -> str:
    """Return why a text allows no host, or an empty string for `example.org`, `*.example.org`, `example.org:8443`."""
    try:
        _parsed(pattern)
    except BadHost as error:
        return str(error)
    return ""


def _parsed(pattern: str) -> tuple[bool, str, tuple[int, ...]]:
    """Return whether a pattern means the names below its host, that host, and the ports. BadHost."""
    below = pattern.startswith("*.")
    bare = pattern[2:] if below else pattern
    named = ":" in bare.rpartition("]")[2]
    host, port = split(bare, 443)
    if below and is_address(host):
        raise BadHost("`*.` stands before a name alone")
    if host != bare[: len(host)]:
        raise BadHost("written in lower case")
    return below, host, (port,) if named else USUAL_PORTS


def allows(patterns: Iterable[str], host: str, port: int) -> bool:
    """Return whether a canonical host may be reached at a port. A pattern that makes no sense allows nothing.

    `*.example.org` means every name below example.org and not that itself; without a port 80 and 443 are meant.
    """
    for pattern in patterns:
        try:
            below, named, ports = _parsed(pattern)
        except BadHost:
            continue
        if port in ports and (host.endswith(f".{named}") if below else host == named):
            return True
    return False
