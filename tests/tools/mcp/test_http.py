"""A server at an address: both protocols, sessions, streams, and what it must not get away with."""

from __future__ import annotations

import gzip
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lumen_tui.model.toolservers import ServerTools, definition
from lumen_tui.store.settings import toolservers as records
from lumen_tui.tools.mcp import http
from tests.tools.mcp.conftest import MakeServed, Served

ECHO = {
    "name": "echo", "description": "Says it again.",
    "inputSchema": {"type": "object", "properties": {
        "text": {"type": "string", "x-mcp-header": "Text"}, "loud": {"type": "boolean", "x-mcp-header": "Loud"},
    }, "required": ["text"]},
}  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    """Speaks MCP as `way` of its server says, and keeps what it was sent."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def do_DELETE(self) -> None:
        self.server.seen.append(("DELETE", dict(self.headers), {}))
        self._reply(b"", 200)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((message.get("method", ""), dict(self.headers), message))
        way = self.server.way
        if way == "redirect":
            self._reply(b"", 307, Location=f"{self.server.address}/elsewhere")
        elif way == "unauthorised":
            self._reply(b"no", 401)
        elif way == "silent":
            self.server.released.wait(60)
        elif way == "page":
            self._reply(b"<html>Hello</html>", kind="text/html")
        elif "id" not in message:
            self._reply(b"", 202)
        elif "method" in message:
            self._answer(message)
        else:
            self._reply(b"", 202)

    def _answer(self, message: dict[str, Any]) -> None:
        method, way = message["method"], self.server.way
        modern = "io.modelcontextprotocol/protocolVersion" in message["params"].get("_meta", {})
        if method == "server/discover" and way != "legacy":
            self._result(message, {"supportedVersions": ["2026-07-28"], "capabilities": {}})
        elif method == "initialize" and way == "legacy":
            found = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "web", "version": "2"}}
            self._result(message, found, **{"Mcp-Session-Id": "session-7"})
        elif way == "legacy" and (modern or self.headers["Mcp-Session-Id"] != "session-7"):
            self._reply(b"Bad Request", 400, kind="text/plain")
        elif method == "tools/list":
            self._result(message, {"tools": [ECHO]})
        elif way in ("stream", "legacy"):
            self._stream(message)
        elif way == "drops":
            self.connection.close()
        elif way == "drips":
            self._drip()
        elif way == "endless":
            self._endless()
        elif way == "huge":
            self._huge()
        elif way == "wrong-id":
            self._result({"id": message["id"] + 1000}, self._echo(message))
        elif way == "wrong-error":
            self._reply(b'{"jsonrpc": "2.0", "id": 1000, "error": {"code": -1, "message": "x"}}', 400)
        elif way == "not-utf8":
            self._reply(b'{"jsonrpc": "2.0", "id": %d, "result": {"content": "\xff"}}' % message["id"])
        elif way == "zipped":
            self._reply(gzip.compress(b"{}" * 1_000_000), **{"Content-Encoding": "gzip"})
        elif way == "refuses":
            error = {"code": -32602, "message": f"no such file; your token is {self.server.token}"}
            self._reply(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode(), 400)
        else:
            self._result(message, self._echo(message))

    def _echo(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}

    def _stream(self, message: dict[str, Any]) -> None:
        """Ask for a sample, tell of progress, then answer, as one stream of events."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": self._echo(message)}
        for event in (
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}},
            {"jsonrpc": "2.0", "id": "s-1", "method": "sampling/createMessage", "params": {}},
            answer,
        ):
            self.wfile.write(b": a comment\r\nevent: message\r\ndata: " + json.dumps(event).encode() + b"\r\n\r\n")
        self.close_connection = True

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        while not self.server.released.wait(0.05):
            self.wfile.write(b" ")

    def _endless(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        while True:
            self.wfile.write(b"data: " + b"x" * 65536 + b"\n")

    def _huge(self) -> None:
        """Announce 100 MB and send them for as long as somebody reads."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(100_000_000))
        self.end_headers()
        part = b" " * 1_000_000
        for _ in range(100):
            self.wfile.write(part)
            self.server.sent += len(part)

    def _result(self, message: dict[str, Any], result: dict[str, Any], **headers: str) -> None:
        self._reply(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode(), 200, **headers)

    def _reply(self, body: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.way = "plain"
        self.token = ""
        self.sent = 0  # bytes of a body that is too long
        self.scheme = "http"
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.released = threading.Event()

    @property
    def address(self) -> str:
        return f"{self.scheme}://localhost:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        pass  # the client went, as it should


@pytest.fixture
def web() -> Iterator[_Server]:
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


def serve_web(serve: MakeServed, web: _Server, **more: Any) -> Served:
    settings = {"url": f"{web.address}/mcp?x=1", "timeout_seconds": 20.0, **more.pop("settings", {})}
    return serve(settings=settings, accepted=ServerTools("small", tools=(definition(ECHO),)), **more)


@pytest.mark.parametrize("way", ["plain", "stream", "legacy"])
def test_a_tool_is_called_at_an_address(serve, web, way, state):
    web.way = way
    served = serve_web(serve, web)
    assert served.call("echo", text="héllo").text == "héllo"
    assert records.seen(state.layout, "small").protocol == ("2025-11-25" if way == "legacy" else "2026-07-28")
    asks = ["the MCP server small asks for sampling/createMessage: refused"]
    assert served.notes == ([] if way == "plain" else asks)


def test_the_newer_protocol_repeats_itself_in_headers(serve, web):
    serve_web(serve, web).call("echo", text="héllo", loud=True)
    method, headers, message = web.seen[-1]
    assert (method, headers["Mcp-Method"], headers["Mcp-Name"]) == ("tools/call", "tools/call", "echo")
    assert headers["MCP-Protocol-Version"] == "2026-07-28"
    assert headers["Mcp-Param-Text"] == "=?base64?aMOpbGxv?="
    assert headers["Mcp-Param-Loud"] == "true"
    assert message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {}


def test_a_session_is_kept_and_ended(serve, web):
    web.way = "legacy"
    served = serve_web(serve, web)
    served.call("echo", text="x")
    served.box.close()
    in_session = [method for method, headers, _ in web.seen if method and headers.get("Mcp-Session-Id")]
    assert in_session == ["notifications/initialized", "tools/list", "tools/call", "DELETE"]
    assert all("Mcp-Method" not in headers for method, headers, _ in web.seen if method == "tools/call")


def test_the_token_is_sent_and_never_told(serve, web):
    web.way, web.token = "refuses", "quite plain words"
    served = serve_web(serve, web, settings={"token_env": "WEB_WORDS"}, environ={"WEB_WORDS": web.token})
    result = served.call("echo", text="x")
    assert web.seen[-1][1]["Authorization"] == f"Bearer {web.token}"
    assert "no such file" in result.text and web.token not in result.text


@pytest.mark.parametrize(
    ("way", "what"),
    [
        ("redirect", "leads elsewhere"),
        ("unauthorised", "refused the token"),
        ("page", "answered with text/html"),
        ("drops", "gave no answer that can be read"),
        ("endless", "a message of more than"),
        ("huge", "a message of more than"),
        ("wrong-id", "answered something else than request"),
        ("wrong-error", "HTTP 400"),
        ("not-utf8", "a message that is no JSON in UTF-8"),
        ("zipped", "answered with application/json"),
    ],
)
def test_a_server_that_does_not_speak_it_is_named_with_the_reason(serve, web, way, what):
    web.way = way
    served = serve_web(serve, web)
    assert what in served.call("echo", text="x").text
    assert web.sent < 30_000_000  # what was read, and what was under way
    assert way != "redirect" or len(web.seen) == 1


@pytest.mark.parametrize("way", ["silent", "drips"])
def test_one_that_hangs_is_left(serve, web, way):
    web.way = way
    limits = {"start_seconds": 0.5} if way == "silent" else {"timeout_seconds": 0.5}
    served = serve_web(serve, web, settings=limits)
    assert not served.call("echo", text="x").ok


def test_no_address_is_reached_by_a_task_that_stays_offline(serve, web):
    served = serve_web(serve, web, constraints=("Stay offline",))
    assert "this task may not use it" in served.call("echo", text="x").text
    assert web.seen == []


@pytest.fixture
def certified(web, tmp_path: Path, monkeypatch) -> Path:
    """The server with a certificate that nobody knows; returns that certificate."""
    import shutil
    import subprocess

    if not shutil.which("openssl"):
        pytest.skip("openssl, which makes the certificate, is not here")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", key, "-out", certificate, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    web.socket = context.wrap_socket(web.socket, server_side=True)
    web.scheme = "https"
    return certificate


def test_a_certificate_that_nobody_vouches_for_is_refused(serve, web, certified, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert "certificate verify failed" in serve_web(serve, web).call("echo", text="x").text
    assert web.seen == []


def test_a_certificate_that_is_known_is_taken(serve, web, certified, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certified))
    assert serve_web(serve, web).call("echo", text="x").text == "x"


def test_headers_repeat_what_the_schema_marks_and_nothing_else():
    assert http.parameter_headers(
        {"properties": {"a": {"x-mcp-header": "A b"}, "b": {"properties": {"c": {"x-mcp-header": "C"}}}}},
        {"a": "x", "b": {"c": " padded"}},
    ) == {"Mcp-Param-C": "=?base64?IHBhZGRlZA==?="}
    assert http.header_value("plain") == "plain"
