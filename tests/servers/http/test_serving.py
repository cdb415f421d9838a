"""How the server begins and ends, on which addresses, with which certificate; and clients that mean no good."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
import trustme

from lumen_tui.model.access import Scope
from lumen_tui.servers.access import TokenBook
from lumen_tui.servers.catalogue import Counter
from lumen_tui.servers.following import FollowingDesk
from lumen_tui.servers.http import connection, door
from lumen_tui.servers.http.app import HttpApi, application
from lumen_tui.servers.http.serving import ApiServer, configured


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for localhost and its key, the key of another, and the authority."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    issued, other = authority.issue_cert("localhost", "127.0.0.1"), authority.issue_cert("elsewhere.example")
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    (folder / "server.pem").write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(folder / "server.key"))
    other.private_key_pem.write_to_path(str(folder / "other.key"))
    (folder / "text.pem").write_text("no certificate")
    return folder


# ---- beginning


@pytest.mark.threat("S9", "strangers, foreign origins, floods and half requests at the HTTP server")
@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_an_address_of_the_network_needs_a_certificate_or_an_explicit_word(unserved, address: str) -> None:
    text = unserved.refusal("--port", "0", "--address", address)
    assert "can be reached from the network" in text and "--cert" in text and "--insecure" in text


def test_with_that_word_it_is_served(serving) -> None:
    served = serving("--address", "0.0.0.0", "--insecure")
    port = served.url.rpartition(":")[2]
    served.url = f"http://127.0.0.1:{port}"
    assert served.client().get("/v1/status").status_code == 200


def test_a_certificate_or_key_that_cannot_be_used_is_named(unserved, certificates: Path) -> None:
    good, key = str(certificates / "server.pem"), str(certificates / "server.key")
    wrong = {
        ("--cert", str(certificates / "none.pem")): "none.pem cannot be read",
        ("--cert", str(certificates)): "is no certificate",
        ("--cert", str(certificates / "text.pem"), "--key", key): "text.pem is no certificate",
        ("--cert", good, "--key", str(certificates / "none.key")): "none.key cannot be read",
        ("--cert", good, "--key", str(certificates / "other.key")): "with its own key",
        ("--cert", good): "with its own key",
        ("--key", key): "--cert",
    }
    for words, reason in wrong.items():
        text = unserved.refusal("--port", "0", *words)
        assert reason in text and "Traceback" not in text, (words, text)
        assert "PRIVATE KEY" not in text


def test_a_certificate_gives_https_and_no_plain_http(serving, certificates: Path) -> None:
    pair = ("--cert", str(certificates / "server.pem"), "--key", str(certificates / "server.key"))
    served = serving("--address", "0.0.0.0", *pair)
    port = int(served.url.rpartition(":")[2])
    assert served.url.startswith("https://")
    with _tls(certificates / "authority.pem", port) as stream:
        stream.sendall(f"GET /health HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n".encode())
        assert stream.recv(100).startswith(b"HTTP/1.1 503")
        assert stream.version() in ("TLSv1.2", "TLSv1.3")
    with socket.create_connection(("127.0.0.1", port), 10) as plain:
        plain.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b"HTTP/1.1" not in _all(plain)


def _tls(authority: Path, port: int) -> ssl.SSLSocket:
    """Return a connection whose certificate was checked, past the authorities that tests load nowhere else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    super(ssl.SSLContext, context).load_verify_locations(str(authority))
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), 10), server_hostname="localhost")


@pytest.mark.parametrize("words", [("--port", "70000"), ("--port", "-1"), ("--port", "x"), ("--limit", "0")])
def test_a_wrong_number_is_named(unserved, words: tuple[str, str]) -> None:
    assert words[0] in unserved.refusal(*words)


def test_a_port_that_is_taken_and_an_address_that_is_not_ours_are_clear_errors(served, unserved) -> None:
    port = served.url.rpartition(":")[2]
    assert f"port {port} of 127.0.0.1 cannot be had" in unserved.refusal("--port", port)
    assert "no address of this machine" in unserved.refusal("--address", "no.such.name.invalid", "--port", "0")
    assert "cannot be had" in unserved.refusal("--address", "192.0.2.1", "--insecure", "--port", "0")


# ---- ending


def test_it_tells_a_service_manager_that_it_is_ready_alive_and_ends(tmp_path: Path, serving, monkeypatch) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(20)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        monkeypatch.setenv("WATCHDOG_USEC", "3000000")
        served = serving()
        assert manager.recv(100) == b"READY=1"
        assert manager.recv(100) == b"WATCHDOG=1"
        assert manager.recv(100) == b"WATCHDOG=1"
        assert served.end() == 0
        words = [manager.recv(100)]
        while words[-1] != b"STOPPING=1":
            words.append(manager.recv(100))


def test_it_ends_soon_whatever_its_clients_do(served) -> None:
    busy = [_connected(served.url) for _ in range(20)]
    for number, stream in enumerate(busy):
        stream.sendall(b"POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\n"[: 10 + number])
    began = time.monotonic()
    assert served.end() == 0
    assert time.monotonic() - began < 5.0
    for stream in busy:
        stream.close()


# ---- clients that mean no good


@pytest.fixture
def hasty(unserved, monkeypatch) -> Iterator[tuple[str, str]]:
    """A server in this process that waits for nothing longer than a moment: its address, and a token."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.4)
    monkeypatch.setattr(door, "BODY_SECONDS", 0.4)
    desk = FollowingDesk(unserved.folder.root)
    desk.follow()
    api = HttpApi(desk, Counter(desk), door.Door(TokenBook(desk.layout), ()), lambda text: None)
    ready = threading.Event()
    server = ApiServer(configured(application(api)), ready.set, lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        assert ready.wait(20)
        yield f"http://127.0.0.1:{port}", unserved.token("zed", *Scope)
        server.should_exit = True
        thread.join(20)
    desk.close()


def _connected(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").partition(":")
    stream = socket.create_connection((host, int(port)), 20)
    stream.settimeout(20)
    return stream


def _all(stream: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    data = b""
    try:
        while part := stream.recv(65536):
            data += part
    except ConnectionError:
        pass
    return data


def _head(token: str, more: str = "") -> bytes:
    return f"POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n{more}".encode()


@pytest.mark.threat("S9", "strangers, foreign origins, floods and half requests at the HTTP server")
@pytest.mark.parametrize("beginning", [b"", b"GET /v1/st", b"GET /v1/status HTTP/1.1\r\nhost: localhost\r\n"])
def test_a_request_whose_head_does_not_come_is_ended(hasty, beginning: bytes) -> None:
    with _connected(hasty[0]) as stream:
        stream.sendall(beginning)
        assert _all(stream).startswith(b"HTTP/1.1 408" if beginning else b"")


@pytest.mark.threat("S9", "strangers, foreign origins, floods and half requests at the HTTP server")
def test_a_head_that_never_ends_is_ended_however_busily_it_comes(hasty) -> None:
    with _connected(hasty[0]) as stream:
        stream.sendall(b"GET /v1/status HTTP/1.1\r\nhost: localhost\r\n")
        sent = 0
        try:
            while sent < 100 * 1024 * 1024:
                sent += stream.send(b"x-filler: " + b"y" * 1000 + b"\r\n")
        except ConnectionError:
            pass
    assert sent < 20 * 1024 * 1024  # what the kernel holds in between


def test_a_body_that_stalls_is_refused_and_does_nothing(hasty, unserved) -> None:
    url, token = hasty
    with _connected(url) as stream:
        stream.sendall(_head(token, 'content-length: 100\r\n\r\n{"objective": "never'))
        answer = _all(stream)
    assert answer.startswith(b"HTTP/1.1 408") and b"too-slow" in answer
    assert list(unserved.layout.tasks.glob("tsk-*")) == []


def test_a_body_that_breaks_off_does_nothing_and_the_server_goes_on(hasty, unserved) -> None:
    url, token = hasty
    with _connected(url) as stream:
        stream.sendall(_head(token, 'content-length: 100\r\n\r\n{"objective": "cut'))
    assert list(unserved.layout.tasks.glob("tsk-*")) == []
    with _connected(url) as stream:
        stream.sendall(_head(token, 'connection: close\r\ncontent-length: 22\r\n\r\n{"objective": "whole"}'))
        assert _all(stream).startswith(b"HTTP/1.1 200")
    assert len(list(unserved.layout.tasks.glob("tsk-*"))) == 1


@pytest.mark.threat("S9", "strangers, foreign origins, floods and half requests at the HTTP server")
@pytest.mark.parametrize("framing", ["content-length: 104857600\r\n", "transfer-encoding: chunked\r\n"])
def test_a_hundred_megabytes_are_refused_early_and_held_nowhere(served, framing: str) -> None:
    token = served.token()
    before = _memory(served.process.pid)
    piece = b"x" * 65536
    with _connected(served.url) as stream:
        stream.sendall(_head(token, f"{framing}\r\n"))
        sent = 0
        try:
            while sent < 100 * 1024 * 1024:
                stream.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if "chunked" in framing else piece)
                sent += len(piece)
        except ConnectionError:
            pass
    assert sent < 20 * 1024 * 1024
    assert _memory(served.process.pid) - before < 20 * 1024
    assert served.client("other").get("/v1/tasks").json()["tasks"] == []


def _memory(pid: int) -> int:
    """Return the resident memory of a process in KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def test_a_client_that_waits_for_leave_to_send_much_gets_none(served) -> None:
    link = HTTPConnection(served.url.removeprefix("http://"), timeout=20)
    headers = {"authorization": f"Bearer {served.token()}", "expect": "100-continue", "content-length": "104857600"}
    link.request("POST", "/v1/tasks", headers=headers)
    assert link.getresponse().status == 413
    link.close()


@pytest.mark.threat("S9", "strangers, foreign origins, floods and half requests at the HTTP server")
def test_a_stranger_who_floods_keeps_nobody_out_and_fills_no_log(served) -> None:
    client = served.client()
    stop = threading.Event()

    def flood() -> None:
        link = HTTPConnection(served.url.removeprefix("http://"), timeout=20)
        while not stop.is_set():
            link.request("GET", "/v1/status", headers={"authorization": "Bearer wrong"})
            link.getresponse().read()
            link.close()

    floods = [threading.Thread(target=flood) for _ in range(4)]
    for thread in floods:
        thread.start()
    try:
        for _ in range(20):
            assert client.get("/v1/attention").status_code == 200
    finally:
        stop.set()
        for thread in floods:
            thread.join(20)
    assert served.log.stat().st_size < 100_000


@pytest.mark.threat("S9", "strangers, foreign origins, floods and half requests at the HTTP server")
def test_what_is_no_http_is_turned_away(served) -> None:
    tls, http2 = b"\x16\x03\x01\x02\x00\x01\x00\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    for rubbish in (tls, b"\x00" * 100, b"GET\r\n\r\n", http2):
        with _connected(served.url) as stream:
            stream.sendall(rubbish)
            assert _all(stream).startswith(b"HTTP/1.1 400"), rubbish
    twice = b"content-length: 5\r\ntransfer-encoding: chunked\r\n"
    with _connected(served.url) as stream:
        stream.sendall(b"POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\n%s\r\n0\r\n\r\n" % twice)
        assert _all(stream).startswith(b"HTTP/1.1 400")
    assert served.client().get("/v1/tasks").json()["tasks"] == []
