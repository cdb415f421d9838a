"""A local ntfy: publishing as JSON and by path, the JSON stream of a topic, and what it kept since a message.

It follows docs.ntfy.sh/publish and docs.ntfy.sh/subscribe/api: ids of twelve characters, `since=` with an id, a time or
`all`, one line of JSON for each event, `open` first.
"""

from __future__ import annotations

import itertools
import json
import queue
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Event = dict[str, Any]


class Ntfy(ThreadingHTTPServer):
    """The server. `refuse` answers every publication with that status; `token` is asked for where it is set."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.port = self.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.refuse = 0
        self.token = ""
        self.kept: list[Event] = []
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.streams: list[_Handler] = []
        self.listening: list[tuple[str, queue.Queue[Event | None]]] = []
        self.turn = threading.Lock()
        self._numbers = itertools.count()

    def publish(self, topic: str, message: str, **more: object) -> Event:
        """Keep a message and hand it to whoever listens."""
        with self.turn:
            event = {
                "id": f"m{next(self._numbers):011d}",
                "time": int(time.time()),
                "event": "message",
                "topic": topic,
                "message": message,
                **more,
            }
            self.kept.append(event)
            for name, waiting in self.listening:
                if name == topic:
                    waiting.put(event)
        return event

    def messages(self, topic: str) -> list[Event]:
        return [event for event in self.kept if event["topic"] == topic]

    def cut(self) -> None:
        """Break off every stream."""
        with self.turn:
            for _, waiting in self.listening:
                waiting.put(None)

    def since(self, topic: str, mark: str) -> list[Event]:
        """Return what was kept after `mark`; all of it where that id is not known any more."""
        events = self.messages(topic)
        if mark.isdigit():
            return [event for event in events if event["time"] >= int(mark)]
        places = [place for place, event in enumerate(events) if event["id"] == mark]
        return events[places[0] + 1 :] if places else events if mark else []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Ntfy

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.server.requests.append((self.path, body, dict(self.headers)))
        if self.server.refuse:
            self._reply({"code": 42901, "error": "refused"}, self.server.refuse)
        elif self._unauthorised():
            self._reply({"code": 40101, "error": "unauthorized"}, 401)
        elif self.path == "/":
            published = json.loads(body)
            topic, message = published.pop("topic"), published.pop("message", "triggered")
            self._reply(self.server.publish(topic, message, **published))
        else:
            self._reply(self.server.publish(self.path.strip("/"), body))

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        topic, _, kind = parts.path.strip("/").partition("/")
        if kind != "json" or self._unauthorised():
            self._reply({"code": 40401, "error": "not found"}, 401 if kind == "json" else 404)
            return
        mark = parse_qs(parts.query).get("since", [""])[0]
        waiting: queue.Queue[Event | None] = queue.Queue()
        with self.server.turn:
            for event in self.server.since(topic, mark):
                waiting.put(event)
            self.server.listening.append((topic, waiting))
        try:
            self._stream(topic, waiting)
        except OSError:
            pass
        finally:
            with self.server.turn:
                self.server.listening.remove((topic, waiting))

    def _stream(self, topic: str, waiting: queue.Queue[Event | None]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._line({"id": "open", "event": "open", "topic": topic, "time": int(time.time())})
        while event := waiting.get():
            self._line(event)
        self.close_connection = True

    def _line(self, event: Event) -> None:
        data = json.dumps(event).encode() + b"\n"
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _unauthorised(self) -> bool:
        token = self.server.token
        return bool(token) and self.headers.get("Authorization") != f"Bearer {token}"

    def _reply(self, answer: Event, status: int = 200) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def ntfy(port: int = 0, certificate: str = "") -> Iterator[Ntfy]:
    """Serve until the block ends; with the path of a certificate and its key by TLS."""
    server = Ntfy(port)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.address = server.address.replace("http:", "https:")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.cut()
        server.shutdown()
        server.server_close()
