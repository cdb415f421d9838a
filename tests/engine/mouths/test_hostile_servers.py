"""Servers in the hands of somebody else: redirects, and answers without end."""

from __future__ import annotations

import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from lumen_tui.engine.mouths.http import exchange, post
from lumen_tui.engine.mouths.sending import NotSent

MEGABYTE = 1024 * 1024
TOKEN = "tk_aaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
MEMORY = 16 * MEGABYTE
ENDLESS = 100 * MEGABYTE


@contextmanager
def answering(speak: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that says to each connection what `speak` writes, whatever it asked."""

    def serve() -> None:
        while True:
            try:
                peer = listener.accept()[0]
            except OSError:
                return
            with peer:
                try:
                    peer.recv(65536)
                    speak(peer)
                except OSError:
                    pass  # the client had enough

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def endless(head: bytes, piece: bytes) -> Callable[[socket.socket], None]:
    def speak(peer: socket.socket) -> None:
        peer.sendall(head)
        for _ in range(ENDLESS // len(piece)):
            peer.sendall(piece)

    return speak


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % ENDLESS, b"x" * MEGABYTE),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"100000\r\n" + b"x" * MEGABYTE + b"\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"X-Field: y\r\n" * 1000),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * MEGABYTE),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
        (b"", b"x" * MEGABYTE),
    ],
    ids=["length", "chunks", "headers", "one-header", "continue", "no-http"],
)
def test_an_answer_without_end_costs_neither_memory_nor_time(head: bytes, piece: bytes) -> None:
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, time.process_time()
    with answering(endless(head, piece)) as server:
        try:
            assert len(post(server, b"{}", {}, 5.0)) <= 64 * 1024
        except NotSent as error:
            assert len(str(error)) < 400
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before < MEMORY
    assert time.process_time() - began < 10


def test_an_answer_that_drips_is_cut_off_when_its_time_is_over() -> None:
    def drip(peer: socket.socket) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            peer.sendall(b"x")
            time.sleep(0.02)

    with answering(drip) as server:
        assert len(post(server, b"{}", {}, 0.5)) < 1000  # its status said that the message was taken


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_neither_message_nor_token_elsewhere(status: int) -> None:
    taken: list[bytes] = []
    with answering(lambda peer: taken.append(b"reached")) as other:
        head = f"HTTP/1.1 {status} Moved\r\nLocation: {other}/\r\nContent-Length: 0\r\n\r\n".encode()
        with answering(lambda peer: peer.sendall(head)) as server:
            for method, body in (("POST", b"{}"), ("GET", None)):
                with (
                    pytest.raises(NotSent, match="leads elsewhere"),
                    exchange(method, f"{server}/t/json", body, {"Authorization": f"Bearer {TOKEN}"}, 5.0),
                ):
                    pass
    assert taken == []


@pytest.mark.parametrize(
    "speech",
    [
        TOKEN.encode() + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + TOKEN.encode() + b"\r\n",
    ],
    ids=["status", "chunk"],
)
def test_a_server_that_repeats_our_token_brings_it_into_no_log(speech: bytes) -> None:
    with answering(lambda peer: peer.sendall(speech)) as server, pytest.raises(NotSent) as refused:
        post(server, b"{}", {"Authorization": f"Bearer {TOKEN}"}, 5.0)
    assert "tk_" not in str(refused.value) and "127.0.0.1" in str(refused.value)


@pytest.mark.parametrize("path", [f"/hooks/{TOKEN} ", f"/hooks/{TOKEN}/\u00e9"])
def test_an_address_that_cannot_be_asked_is_in_no_log(path: str) -> None:
    with answering(lambda peer: None) as server, pytest.raises(NotSent) as refused:
        post(f"{server}{path}", b"{}", {}, 5.0)
    assert "tk_" not in str(refused.value)
