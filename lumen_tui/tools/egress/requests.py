"""What a client of the proxy asks for: one request, whole, in one meaning only. Everything ambiguous is refused."""

from __future__ import annotations

from typing import Any

import h11
from msgspec import Struct

from lumen_tui.model import hosts
from lumen_tui.model.hosts import BadHost

# Of this connection alone: they do not go on (RFC 9110, 7.6.1). `upgrade` would make something else of it.
_HOP = frozenset(
    b"connection proxy-connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding "
    b"upgrade expect host content-length http2-settings".split()
)
_HTTP = b"http://"


class BadRequest(Exception):
    """A request that is not carried out: `status` for the client, the reason in words."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Wanted(Struct, frozen=True):
    """Where a request is to go. `path` and `headers` are those for the host; both are empty for a tunnel."""

    method: str
    host: str
    port: int
    path: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    waits: bool = False  # the client sends its body after a word of ours

    @property
    def is_tunnel(self) -> bool:
        return self.method == "CONNECT"

    @property
    def is_address(self) -> bool:
        return hosts.is_address(self.host)


def understood(request: h11.Request) -> Wanted:
    """Return where a request is to go. BadRequest, BadHost."""
    names = [name for name, _ in request.headers]
    if b"content-length" in names and b"transfer-encoding" in names:
        raise BadRequest(400, "a request with two lengths")
    if any(name.count(b"_") for name in names):
        raise BadRequest(400, "a header with an underscore in its name, which some servers read as another")
    if request.method == b"CONNECT":
        return _tunnel(request, names)
    if request.method == b"TRACE":
        raise BadRequest(405, "TRACE is not passed on")
    return _plain(request)


def _tunnel(request: h11.Request, names: list[bytes]) -> Wanted:
    if b"transfer-encoding" in names or _header(request, b"content-length") not in (b"", b"0"):
        raise BadRequest(400, "CONNECT with a body")
    host, port = hosts.split(request.target.decode("ascii"))
    _same_host(request, host, port, 0)
    return Wanted("CONNECT", host, port)


def _plain(request: h11.Request) -> Wanted:
    target = request.target
    if target[: len(_HTTP)].lower() != _HTTP:
        raise BadRequest(400, "this is a proxy: it takes CONNECT, and whole addresses that begin with http://")
    if any(sign in target for sign in (b"\\", b"#")):
        raise BadRequest(400, "an address with a backslash or a fragment")
    location = target[len(_HTTP) :]
    end = min([place for sign in (b"/", b"?") if (place := location.find(sign)) >= 0], default=len(location))
    authority, path = location[:end], location[end:]
    if b"@" in authority:
        raise BadRequest(400, "an address with a user name")
    host, port = hosts.split(authority.decode("ascii"), 80)
    _same_host(request, host, port, 80)
    length = [(name, value) for name, value in request.headers if name in (b"content-length", b"transfer-encoding")]
    headers = [(b"Host", (host if port == 80 else f"{host}:{port}").encode()), *passed_on(request.headers), *length]
    return Wanted(
        request.method.decode("ascii"),
        host,
        port,
        path if path.startswith(b"/") else b"/" + path,
        (*headers, (b"Connection", b"close")),
        _header(request, b"expect").lower() == b"100-continue",
    )


def _same_host(request: h11.Request, host: str, port: int, usual: int) -> None:
    """Raise BadRequest where the header Host says something else than the address."""
    value = _header(request, b"host")
    try:
        named = hosts.split(value.decode("ascii"), usual or port) if value else (host, port)
    except (BadHost, UnicodeDecodeError):
        named = ("", 0)
    if named != (host, port):
        raise BadRequest(400, "the header Host names another host than the address")


def passed_on(headers: Any) -> list[tuple[bytes, bytes]]:
    """Return the headers that go on: none of this connection alone, nor those that its `Connection` names."""
    named = {word.strip().lower() for name, value in headers if name == b"connection" for word in value.split(b",")}
    return [(name, value) for name, value in headers if name not in _HOP and name not in named]


def _header(request: h11.Request, name: bytes) -> bytes:
    return next((value for known, value in request.headers if known == name), b"")
