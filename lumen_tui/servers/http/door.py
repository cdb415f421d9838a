"""Who comes in: the names under which this server may be asked for, origins of pages, Bearer tokens, and bodies.

A page in a browser can make it send requests to a server on the same machine, under a name that it makes resolve there
(DNS rebinding): so the name is checked, and the origin of a page that says it.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Iterable

from starlette.requests import Request

from lumen_tui.model.access import Principal, Scope
from lumen_tui.servers.access import AccessRefused, TokenBook
from lumen_tui.servers.catalogue import Fault, OperationError
from lumen_tui.servers.http.problems import FOREIGN, TOO_LONG, TOO_SLOW, HttpProblem

MOST_BODY = 1024 * 1024  # bytes of one request
BODY_SECONDS = 10.0  # within which all of them must be there
MOST_QUERY = 8 * 1024  # bytes
_CLOSE = {"connection": "close"}


class Door:
    """What a request has to have before it is looked at."""

    def __init__(self, tokens: TokenBook, names: Iterable[str]) -> None:
        """`names` are those under which the server may be asked for, besides addresses and localhost."""
        self._tokens = tokens
        self._names = frozenset({"localhost", *(name.lower().rstrip(".") for name in names)})

    def check_origin(self, request: Request) -> None:
        """Refuse a request that was sent under a name that is not ours, or by a page from elsewhere."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(_name(hosts[0])):
            raise HttpProblem(FOREIGN, "this name is not served here: `serve --name` adds one", _CLOSE)
        origins = request.headers.getlist("origin")
        if origins and [origin.partition("://")[2] for origin in origins] != hosts:
            raise HttpProblem(FOREIGN, "pages of other origins may not ask here", _CLOSE)

    def _is_ours(self, name: str) -> bool:
        """Return whether a host is a name of ours, or an address: no page can let that point elsewhere."""
        if name.lower().rstrip(".") in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def principal(self, request: Request, now: float, kind: str = "http") -> Principal:
        """Return who asks, by a Bearer token. HttpProblem where there is none that is valid."""
        headers = request.headers.getlist("authorization")
        scheme, _, token = headers[0].partition(" ") if len(headers) == 1 else ("", "", "")
        if scheme.lower() != "bearer" or not token.strip():
            raise HttpProblem.unauthorized("send `Authorization: Bearer TOKEN`: `lumen-tui access add NAME` makes one")
        try:
            return self._tokens.principal(token.strip(), kind, now)
        except AccessRefused as error:
            raise HttpProblem.unauthorized(str(error)) from error

    def reader(self, request: Request, now: float) -> Principal:
        """Return who asks for something that is read and is no operation."""
        who = self.principal(request, now)
        if not who.may(Scope.READ):
            raise OperationError(Fault.DENIED, f"this needs the scope {Scope.READ}, which {who.by} lacks")
        return who


def _name(host: str) -> str:
    """Return a host without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


async def body_of(request: Request, most: int = MOST_BODY) -> bytes:
    """Return the body. HttpProblem where it is too long, or not there in time."""
    too_long = HttpProblem(TOO_LONG, f"a body has at most {most:,} bytes", _CLOSE)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:19]) > most:
        raise too_long
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                data += part
                if len(data) > most:
                    raise too_long
    except TimeoutError:
        raise HttpProblem(TOO_SLOW, f"the body was not there within {BODY_SECONDS:g} s", _CLOSE) from None
    return bytes(data)
