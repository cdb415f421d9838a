"""HTTP to the server of a mouth: verified, bounded in time and size, to that server and nowhere else."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lumen_tui.engine.mouths.sending import NotSent
from lumen_tui.model.text import one_line
from lumen_tui.tools.web_fetch import ended_after, opened

if TYPE_CHECKING:
    import http.client

_PORTS = {"https": 443, "http": 80}
_LOCAL = ("127.0.0.1", "localhost", "::1")
_AGAIN = (408, 425, 429)  # besides those of servers that fail
_MOST_ANSWER = 64 * 1024  # bytes that are read


def address_fault(url: str) -> str:
    """Return why nothing is sent to an address, or an empty string. It may hold a secret, and so is not named."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "its address cannot be read"
    if parts.scheme not in _PORTS or not host or parts.username is not None or parts.fragment or not url.isprintable():
        return "an address such as https://example.org/path is needed, without a password in it"
    if parts.scheme == "http" and host not in _LOCAL:
        return "http is taken for this machine alone (127.0.0.1, localhost): use https"
    return ""


@contextlib.contextmanager
def exchange(
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
    seconds: float,
    *,
    silence: float = 0.0,
    opening: Callable[[socket.socket], None] = lambda _: None,
) -> Iterator[http.client.HTTPResponse]:
    """Send one request and give its answer, whose status is that of success. Raise NotSent.

    `seconds` bound all that happens in the block. With `silence` they bound the time until the answer begins, and that
    each wait for more of it. `opening` gets the connection, so that it can be cut. A redirect is not followed.
    """
    import http.client  # with ssl 10 ms, which only an engine with such a mouth pays

    if fault := address_fault(url):
        raise NotSent(fault, final=True)
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        sock = opened(host, port, host if parts.scheme == "https" else "", seconds)
        with contextlib.ExitStack() as stack:
            stack.callback(sock.close)
            connection = http.client.HTTPConnection(host, port)
            connection.sock = sock
            opening(sock)
            ending = stack.enter_context(contextlib.ExitStack())
            ending.enter_context(ended_after(sock, seconds))
            connection.request(method, path, body, {"User-Agent": "lumen-tui", "Connection": "close", **headers})
            answer = stack.enter_context(connection.getresponse())
            _check(answer)
            if silence:
                ending.close()
                sock.settimeout(silence)
            yield answer
    except OSError as error:
        raise NotSent(f"{one_line(host, 100)}: {one_line(str(error) or type(error).__name__, 160)}") from error
    except (http.client.HTTPException, ValueError) as error:  # whose words quote the address, a header or the answer
        raise NotSent(
            f"{one_line(host, 100)}: it cannot be asked, or gives no answer in HTTP ({type(error).__name__})"
        ) from error


def shut(sock: socket.socket) -> None:
    """Break a connection off under whoever reads it."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def post(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> bytes:
    """Return the answer's body. Raise NotSent."""
    with exchange("POST", url, body, headers, seconds) as answer:
        return answer.read(_MOST_ANSWER)


def _check(answer: http.client.HTTPResponse) -> None:
    """Raise NotSent for a status that is no success: for good where the same would come back."""
    status = answer.status
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise NotSent(f"it leads elsewhere (HTTP {status}), which is not followed", final=True)
    words = "it refused the token" if status in (401, 403) else "it refused the message"
    if status in _AGAIN or status >= 500:
        words = "it cannot take it now"
    raise NotSent(f"{words} (HTTP {status})", final=status < 500 and status not in _AGAIN)
