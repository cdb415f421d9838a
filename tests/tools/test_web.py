"""web_fetch against a real server: allowed hosts only, no way to this machine, bounded in every direction."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from lumen_rows import each_row

from lumen_tui.tools.html import text_of
from lumen_tui.tools.web_fetch import allowed, is_public


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        send = getattr(self, "do_" + self.path.strip("/").partition("?")[0].replace("-", "_"), None)
        if send is None:
            self.answer(b"no such page", status=404)
        else:
            send()

    def answer(self, body: bytes, kind: str = "text/plain", status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_page(self) -> None:
        self.answer(b"<html><head><title>T</title><script>x</script></head><body><h1>Hello</h1><p>a "
                    b"<b>b</b> <a href='/next'>c</a></p><img src=x></body>", "text/html; charset=utf-8")  # fmt: skip

    def do_json(self) -> None:
        self.answer(json.dumps({"asked": self.path}).encode(), "application/json")

    def do_away(self) -> None:
        self.answer(b"", status=302, Location="http://example.org/")

    def do_inside(self) -> None:
        self.answer(b"", status=302, Location="http://169.254.169.254/latest/meta-data")

    def do_round(self) -> None:
        self.answer(b"", status=302, Location="/round")

    def do_once(self) -> None:
        self.answer(b"", status=301, Location="/page")

    def do_bomb(self) -> None:
        self.answer(gzip.compress(b"x" * 50_000_000), Content_Encoding="gzip")

    def do_endless(self) -> None:
        self.answer(b"")
        try:
            while True:
                self.wfile.write(b"x" * 65536)
        except OSError:
            pass

    def do_slow(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(600):
                self.wfile.write(b"x")
                self.server.closing.wait(0.1)  # type: ignore[attr-defined]
        except OSError:
            pass

    def do_picture(self) -> None:
        self.answer(b"\x89PNG", "image/png")

    def do_rubbish(self) -> None:
        self.wfile.write(b"\0\1\2 rubbish\r\n\r\n")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def pages() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    server.daemon_threads = True
    server.closing = threading.Event()  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.closing.set()  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()


@pytest.fixture
def box(make_box, state, pages):
    state.layout.config.write_text(f'[web]\nhosts = ["{pages}"]\nprivate = ["127.0.0.1"]\n')
    return make_box()


def test_a_page_comes_as_text(box, pages):
    result = box.call("web_fetch", {"url": f"http://{pages}/page"})
    assert result.ok
    assert "# Hello\n\na b c </next>" in result.text
    assert "<b>" not in result.text
    assert result.text.startswith(f"200 http://{pages}/page (text/html")
    assert box._context.memo.web == {"127.0.0.1"}
    assert '"/json?q=1"' in box.call("web_fetch", {"url": f"http://{pages}/json?q=1"}).text
    assert not box.call("web_fetch", {"url": f"http://{pages}/nothing"}).ok


def test_it_is_off_unless_a_host_is_allowed(make_box, pages):
    assert "not among those of this task" in make_box().call("web_fetch", {"url": f"http://{pages}/page"}).text
    assert "web_fetch" not in [tool.name for tool in make_box().declarations()]
    other = make_box(hosts=("example.org",)).call("web_fetch", {"url": f"http://{pages}/page"})
    assert "is not among the hosts of this task (example.org)" in other.text


def test_an_allowed_name_does_not_lead_inside(make_box, pages):
    port = pages.partition(":")[2]
    for host in ("127.0.0.1", "localhost", "0.0.0.0"):
        result = make_box(hosts=("*", f"{host}:{port}")).call("web_fetch", {"url": f"http://{host}:{port}/page"})
        assert "inside this machine or network" in result.text


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("away", "example.org is not among the hosts"), ("inside", "169.254.169.254 is not among the hosts"),
        ("round", "leads on and on"), ("picture", "is not text"), ("rubbish", "no answer that can be read"),
    ],
)  # fmt: skip
def test_where_it_does_not_go(box, pages, path, why):
    result = box.call("web_fetch", {"url": f"http://{pages}/{path}"})
    assert not result.ok
    assert why in result.text


def test_a_redirect_within_the_allowed_is_followed(box, pages):
    assert "Hello" in box.call("web_fetch", {"url": f"http://{pages}/once"}).text


@pytest.mark.parametrize("path", ["bomb", "endless"])
def test_what_never_ends_is_cut(box, pages, path):
    began = time.monotonic()
    result = box.call("web_fetch", {"url": f"http://{pages}/{path}"})
    assert result.data["cut"]
    assert len(result.data["text"]) == 2 * 1024 * 1024
    assert time.monotonic() - began < 10


@pytest.fixture
def never_agreed() -> Iterator[int]:
    """A port on which the beginning of an encrypted connection comes byte by byte."""
    listening, over = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def serve() -> None:
        try:
            one = listening.accept()[0]
            one.sendall(b"\x16\x03\x03\x40\x00")
            for _ in range(80):
                over.wait(0.1)
                one.sendall(b"x")
        except OSError:
            return  # the other side has gone

    threading.Thread(target=serve, daemon=True).start()
    yield listening.getsockname()[1]
    over.set()
    listening.close()


def test_a_connection_that_is_agreed_on_drop_by_drop_is_too_slow(make_box, state, never_agreed):
    state.layout.config.write_text(f'[web]\nhosts = ["127.0.0.1:{never_agreed}"]\nprivate = ["127.0.0.1"]\n')
    began = time.monotonic()
    result = make_box().call("web_fetch", {"url": f"https://127.0.0.1:{never_agreed}/", "timeout": 0.5})
    assert not result.ok
    assert "cannot be reached" in result.text
    assert time.monotonic() - began < 5


def test_drop_by_drop_is_too_slow(box, pages):
    began = time.monotonic()
    result = box.call("web_fetch", {"url": f"http://{pages}/slow", "timeout": 0.5})
    assert time.monotonic() - began < 3
    assert len(result.text) < 1000


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://example.org/x", "gopher://example.org", "http://user:pw@example.org/",
     "http://example.org/a\nb", "http://", "http://[::1", "javascript:alert(1)", "http://example.org:99999/",
     "http://example.org/?key=sk-ant-REDACTED", "http://exam ple.org/"],
)  # fmt: skip
def test_addresses_that_are_none(make_box, url):
    result = make_box(hosts=("*",)).call("web_fetch", {"url": url})
    assert not result.ok
    assert "cannot be reached" not in result.text


@each_row(
    ("address", "public"),
    [
        ("8.8.8.8", True), ("127.0.0.1", False), ("10.1.2.3", False), ("169.254.169.254", False), ("::1", False),
        ("::ffff:127.0.0.1", False), ("64:ff9b::7f00:1", False), ("2002:7f00:1::", False), ("fe80::1%eth0", False),
        ("224.0.0.1", False), ("2606:4700:4700::1111", True), ("100.64.0.1", False), ("0.0.0.0", False),
        ("::127.0.0.1", False), ("::ffff:0:127.0.0.1", False), ("64:ff9b:1::a9fe:a9fe", False), ("fec0::1", False),
    ],
)  # fmt: skip
def test_which_addresses_are_public(address, public):
    assert is_public(address) is public


def test_hosts_by_pattern():
    assert allowed("docs.python.org", ("*.python.org",))
    assert not allowed("python.org.evil.net", ("*.python.org", "python.org"))
    assert not allowed("evilpython.org", ("*.python.org",))
    assert not allowed("example.org:8080", ("example.org",))
    assert allowed("anything", ("*",))


@each_row("page", ["<![CDATA[", "<!", "<a" * 500, "&#xffffffff;", "<svg><p>x", "</p>" * 1000, "\0<b"])
def test_broken_pages_are_read_as_far_as_they_go(page):
    assert isinstance(text_of(page), str)
