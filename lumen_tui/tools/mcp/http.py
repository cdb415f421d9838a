"""A server at an address: streamable HTTP, each message a request of its own, to the configured host and no other."""

from __future__ import annotations

import base64
import queue
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line
from lumen_tui.model.toolservers import MODERN
from lumen_tui.tools.mcp.messages import MAX_MESSAGE, MAX_TOTAL, Message, ServerFailed, decoded
from lumen_tui.tools.web_fetch import ended_after, opened

if TYPE_CHECKING:
    import http.client

_PORTS = {"https": 443, "http": 80}
_READ = 64 * 1024
_WAITING = 1000
_FAREWELL = 2.0  # seconds for ending a session
_HEADER = lazy_re(r"[\x21-\x7e]{1,512}")
_PLAIN = lazy_re(r"[\x20-\x7e]*")
_TOKEN = lazy_re(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_NO_ANSWER = -32000  # as a server would say that something else is wrong
_NOT_FOUND = -32601


class HttpTransport:
    """A server at `url`. `token` is sent as a bearer token; certificates are verified and redirects not followed."""

    def __init__(self, url: str, token: str) -> None:
        self.version = ""
        self.noise = 0
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or _PORTS[parts.scheme]
        self._netloc = parts.netloc
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._token = token
        self._session = ""
        self._messages: queue.Queue[Message | ServerFailed] = queue.Queue(_WAITING)
        self._total = 0
        self._closed = False
        self._sockets: set[socket.socket] = set()

    def send(self, message: Message, seconds: float, headers: Mapping[str, str] | None = None) -> None:
        """Send one message in a thread of its own, which hands on what comes back; a notice is waited for."""
        body = msgspec.json.encode(message)
        sent = {**self._headers(message), **(headers or {})}
        thread = threading.Thread(target=self._post, args=(message, body, sent, seconds), daemon=True)
        thread.start()
        if "id" not in message:
            thread.join(seconds)  # what comes next may count on it

    def receive(self, seconds: float) -> Message | None:
        try:
            message = self._messages.get(timeout=seconds)
        except queue.Empty:
            return None
        if isinstance(message, ServerFailed):
            raise message
        return message

    def close(self, *, failed: bool = False) -> None:
        """Cut what is open, and tell a server that keeps sessions that this one is over."""
        self._closed = True
        for sock in list(self._sockets):
            _cut(sock)
        if self._session and not failed:
            headers = self._headers({})
            self._session = ""
            try:
                connection = self._connection(_FAREWELL)
                with ended_after(connection.sock, _FAREWELL):
                    connection.request("DELETE", self._path, headers=headers)
                    connection.getresponse()
                connection.close()
            except Exception:  # noqa: BLE001, S110 - a courtesy to a server that nobody needs any more
                pass

    def _headers(self, message: Message) -> dict[str, str]:
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "User-Agent": "lumen-tui",
            "Connection": "close",
        }
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        if self.version:
            headers["MCP-Protocol-Version"] = self.version
        if self.version == MODERN and isinstance(method := message.get("method"), str):
            headers["Mcp-Method"] = method
            if method == "tools/call":
                headers["Mcp-Name"] = header_value(str(message["params"]["name"]))
        return headers

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        import http.client  # with ssl 10 ms, which only workers with such a server pay

        connection = http.client.HTTPConnection(self._host, self._port, timeout=seconds)
        connection.sock = opened(self._host, self._port, self._host if self._secure else "", seconds)
        return connection

    def _post(self, message: Message, body: bytes, headers: dict[str, str], seconds: float) -> None:
        import http.client

        try:
            connection = self._connection(seconds)
            sock = connection.sock
            self._sockets.add(sock)
            try:
                with ended_after(sock, seconds):
                    connection.request("POST", self._path, body, headers)
                    self._read_response(message, connection.getresponse())
            finally:
                self._sockets.discard(sock)
                connection.close()
        except ServerFailed as error:
            self._deliver(error)
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = one_line(str(error) or type(error).__name__, 200)
            self._deliver(ServerFailed(f"{one_line(self._netloc, 100)} gave no answer that can be read: {reason}"))

    def _read_response(self, message: Message, response: http.client.HTTPResponse) -> None:
        if 300 <= response.status < 400:
            where = one_line(response.getheader("Location", ""), 200)
            raise ServerFailed(f"it leads elsewhere ({where or response.status}), which is not followed")
        if response.status in (401, 403):
            raise ServerFailed(f"it refused the token (HTTP {response.status}): see token_env in its settings")
        if message.get("method") == "initialize" and (session := response.getheader("Mcp-Session-Id", "")):
            if not _HEADER.fullmatch(session):
                raise ServerFailed("its session id is not printable")
            self._session = session
        if "id" not in message or "method" not in message:
            return  # a notice, or an answer of ours
        kind = response.getheader("Content-Type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream" and response.status < 300:
            self._read_event_stream(message["id"], response)
        else:
            self._read_json(message["id"], response, kind)

    def _read_json(self, number: object, response: http.client.HTTPResponse, kind: str) -> None:
        body = response.read(MAX_MESSAGE + 1)
        self._count(len(body))
        answer = decoded(body) if kind == "application/json" else None
        if answer is not None and "error" in answer and answer.get("id") in (None, "server-error", number):
            self._deliver({**answer, "id": number})  # a server that could not read the request knows no id of it
            return
        if answer is not None and response.status < 300:
            if "method" in answer or answer.get("id") != number:
                raise ServerFailed(f"it answered something else than request {number}")
            self._deliver(answer)
            return
        if response.status < 300:
            raise ServerFailed(f"it answered with {one_line(kind or 'nothing', 60)} (HTTP {response.status})")
        if response.status == 404 and self._session:
            raise ServerFailed("it has forgotten the session")
        code = _NOT_FOUND if response.status == 404 else _NO_ANSWER
        self._deliver({"id": number, "error": {"code": code, "message": f"HTTP {response.status}"}})

    def _read_event_stream(self, number: object, response: http.client.HTTPResponse) -> None:
        for data in self._events(response):
            event = decoded(data)
            if event is None:
                raise ServerFailed("it sent an event that is no message")
            self._deliver(event)
            if "method" not in event and event.get("id") == number:
                return
        raise ServerFailed("it ended its answer before the end")

    def _events(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """Yield the data of each event of a stream."""
        data: list[bytes] = []
        size = 0
        while line := response.readline(MAX_MESSAGE + 1):
            self._count(len(line))
            size += len(line)
            if size > MAX_MESSAGE:
                raise ServerFailed(f"it sent a message of more than {MAX_MESSAGE:,} bytes")
            text = line.rstrip(b"\r\n")
            if text.startswith(b"data:"):
                data.append(text[5:].removeprefix(b" "))
            elif not text:
                if whole := b"\n".join(data):
                    yield whole
                data, size = [], 0

    def _count(self, size: int) -> None:
        if size > MAX_MESSAGE:
            raise ServerFailed(f"it sent a message of more than {MAX_MESSAGE:,} bytes")
        self._total += size
        if self._total > MAX_TOTAL:
            raise ServerFailed(f"it sent more than {MAX_TOTAL:,} bytes")

    def _deliver(self, message: Message | ServerFailed) -> None:
        while not self._closed:
            try:
                self._messages.put(message, timeout=0.1)
                return
            except queue.Full:
                continue


def _cut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended meanwhile


def header_value(text: str) -> str:
    """Return a text as a header takes it: as it is, or marked and in base64."""
    if _PLAIN.fullmatch(text) and text == text.strip() and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def parameter_headers(schema: Mapping[str, object], arguments: Mapping[str, object]) -> dict[str, str]:
    """Return the headers that repeat arguments, where a tool's schema asks for that with `x-mcp-header`."""
    headers: dict[str, str] = {}
    properties = schema.get("properties")
    for name, field in properties.items() if isinstance(properties, dict) else ():
        value = arguments.get(name)
        if not isinstance(field, dict) or value is None:
            continue
        if isinstance(value, dict):
            headers |= parameter_headers(field, value)
        token = field.get("x-mcp-header")
        if isinstance(token, str) and _TOKEN.fullmatch(token) and isinstance(value, str | int):
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            headers[f"Mcp-Param-{token}"] = header_value(shown)
    return headers
