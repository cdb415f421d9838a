"""HTTP: paths, errors, streams, and the ways in which a connection can go wrong."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from lumen_apiserver import binding, chat, checking, messages
from lumen_apiserver.answers import Answer, fail
from lumen_apiserver.request import Request

if TYPE_CHECKING:
    from lumen_apiserver.server import ApiServer

_KINDS = {"/messages": "messages", "/messages/count_tokens": "count_tokens", "/chat/completions": "chat"}
_MODELS = ("claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5", "gpt-local", "qwen3")


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ApiServer

    def do_POST(self) -> None:
        request = self._read(_KINDS.get(self.path.partition("?")[0].removeprefix("/v1"), "other"))
        self.server.record(request)
        if request.kind == "other":
            return self._send(200, {})
        wrong = checking.problem(request) if self.server.check else ""
        if self.server.binds:
            wrong = wrong or binding.problem(request)
        if wrong:
            return self._fail(request, fail(400, wrong))
        if request.kind == "count_tokens":
            return self._send(200, {"input_tokens": request.tokens()})
        if 0 < self.server.window < request.tokens():
            words = f"prompt is too long: {request.tokens()} tokens > {self.server.window} maximum"
            return self._fail(request, fail(400, words))
        answer, number = self.server.answer(request)
        return self._answer(request, answer, number)

    def do_GET(self) -> None:
        request = self._read("models" if self.path.partition("?")[0].endswith("/models") else "probe")
        self.server.record(request)
        listed = [{"id": name, "type": "model", "object": "model", "display_name": name} for name in _MODELS]
        self._send(200, {"object": "list", "data": listed, "has_more": False} if request.kind == "models" else {})

    do_HEAD = do_GET  # noqa: N815 - the name is the base class's

    def _read(self, kind: str) -> Request:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = body if isinstance(body, dict) else {"list": body}
        return Request(kind, self.command, path, query, headers, body, time.monotonic(), raw)

    # ---- answers

    def _answer(self, request: Request, answer: Answer, number: int) -> None:
        self.server.wait(answer.first_byte)
        if answer.gate is not None and not (request.stream and answer.gate_after):
            answer.gate.wait()
        if self.server.hanging_up.is_set():
            return self._hang_up()
        if answer.status != 200 and answer.raw is None:
            return self._fail(request, answer)
        if answer.raw is not None:
            return self._send_bytes(answer.status, answer.raw.encode(), answer.content_type, answer)
        usage = self.server.usage(request, answer)
        api = chat if request.kind == "chat" else messages
        if not request.stream:
            body = json.dumps(api.whole(answer, request.model, number, usage)).encode()
            return self._send_bytes(200, body, "application/json", answer)
        if api is messages:
            return self._stream(messages.events(answer, request.model, number, usage), answer, messages.broken())
        count = bool((request.body.get("stream_options") or {}).get("include_usage"))
        return self._stream(chat.events(answer, request.model, number, usage, count=count), answer, chat.broken())

    def _fail(self, request: Request, answer: Answer) -> None:
        body = chat.error_body(answer) if request.kind == "chat" else messages.error_body(answer)
        self._send_bytes(answer.status, json.dumps(body).encode(), "application/json", answer)

    def _send(self, status: int, body: dict[str, Any]) -> None:
        self._send_bytes(status, json.dumps(body).encode(), "application/json", Answer())

    def _send_bytes(self, status: int, body: bytes, content_type: str, answer: Answer) -> None:
        self._head(status, content_type, answer, length=len(body))
        cut = answer.cut_after
        if self.command != "HEAD":
            self.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            self._hang_up()

    def _head(self, status: int, content_type: str, answer: Answer, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("request-id", "req_local")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(length))
        self.end_headers()

    def _stream(self, events: Iterator[bytes], answer: Answer, broken: bytes) -> None:
        self._head(200, "text/event-stream", answer)
        for number, event in enumerate(events):
            if number == answer.cut_after:
                return self._hang_up()
            if number == answer.fail_after:
                self._chunk(broken)
                break
            if answer.gate is not None and number == answer.gate_after:
                answer.gate.wait()
            if self.server.hanging_up.is_set():
                return self._hang_up()
            self._chunk(event)
            self.server.wait(answer.between)
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _hang_up(self) -> None:
        """Cut the connection: what was sent arrives, and then it ends in the middle."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        pass
