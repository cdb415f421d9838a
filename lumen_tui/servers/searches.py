"""Searches in a process of their own: they take most of a server's time, and its other clients wait for none of it.

Both sides send frames of four bytes of length and MessagePack over a pair of sockets; answers come in the order of the
questions. The process ends when its socket does, and with whoever started it.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from lumen_tui.model import searching
from lumen_tui.model.searching import SearchQuery
from lumen_tui.queries import documents
from lumen_tui.queries.search.search import Searcher
from lumen_tui.servers.catalogue import Fault, OperationError
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout

_MOST_WAITING = 1_000  # searches
_PATIENCE = 2.0  # seconds for the process to end by itself
_REST = 5.0  # seconds between two starts, where the first one answered nothing
_LENGTH = struct.Struct(">I")


class AskedSearch(Struct, frozen=True, array_like=True):
    """A search: `text` is its words as they were asked for; `is_due`: what is new is taken into the index first."""

    text: str
    query: SearchQuery
    now: float
    is_due: bool


class SearchAnswer(Struct, frozen=True, array_like=True):
    """The answer as JSON, or why there is none."""

    data: bytes = b""
    problem: str = ""


_asked, _answer = msgspec.msgpack.Decoder(AskedSearch), msgspec.msgpack.Decoder(SearchAnswer)


def _started(root: Path, link: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-P", "-m", "lumen_tui.servers.searches", str(root)], stdin=link.fileno())


def framed(record: Struct) -> bytes:
    """Return a record as a frame."""
    data = msgspec.msgpack.encode(record)
    return _LENGTH.pack(len(data)) + data


class SearchProcess(asyncio.Protocol):
    """The process that searches a state folder, started with the first search and again where it ended."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process: subprocess.Popen[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._starting = asyncio.Lock()
        self._waiting: deque[asyncio.Future[SearchAnswer]] = deque()
        self._received = bytearray()
        self._not_before = 0.0  # by the clock of the loop: when a process that answered nothing has a successor

    async def ask(self, asked: AskedSearch) -> bytes:
        """Return the answer as JSON. OperationError where there is none."""
        if len(self._waiting) >= _MOST_WAITING:
            raise OperationError(Fault.BUSY, f"{_MOST_WAITING:,} searches wait: ask again", retry_after=1.0)
        async with self._starting:
            transport = self._transport or await self._start()
        future: asyncio.Future[SearchAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        transport.write(framed(asked))
        answer = await future
        if answer.problem:
            raise OperationError(Fault.FAILED, answer.problem)
        return answer.data

    async def _start(self) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        if loop.time() < self._not_before:
            raise OperationError(Fault.FAILED, "the process that searches ends as it starts: see `lumen-tui doctor`")
        self._not_before = loop.time() + _REST
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = await asyncio.to_thread(_started, self._root, theirs)
            except OSError as error:
                ours.close()
                raise OperationError(Fault.FAILED, f"no process can be started to search: {error.strerror}") from error
        self._transport, _ = await loop.create_unix_connection(lambda: self, sock=ours)
        return self._transport

    def data_received(self, data: bytes) -> None:
        """Hand answers to who waits for them."""
        self._received += data
        self._not_before = 0.0  # it works
        start, size = 0, len(self._received)
        while size - start >= _LENGTH.size:
            begin = start + _LENGTH.size
            end = begin + _LENGTH.unpack_from(self._received, start)[0]
            if end > size:
                break
            future, start = self._waiting.popleft(), end
            if not future.done():  # else nobody waits any more
                future.set_result(_answer.decode(memoryview(self._received)[begin:end]))
        del self._received[:start]

    def connection_lost(self, exc: Exception | None) -> None:
        """Let nobody wait for a process that has ended."""
        self._transport = None
        self._received.clear()
        lost, self._waiting = self._waiting, deque()
        for future in lost:
            if not future.done():
                future.set_result(SearchAnswer(problem="the search was cut off: ask again"))
        self._end(0.0)

    def close(self) -> None:
        """End the process: it ends by itself when its socket does, unless it is busy."""
        if self._transport is not None:
            self._transport.abort()
        self._end(_PATIENCE)

    def _end(self, patience: float) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
            process.kill()
            process.wait()


def main(root: str) -> None:
    """Answer the searches that come on standard input, a socket, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a key in the server's terminal is for the server
    with socket.socket(fileno=0) as link, Searcher(Layout(Path(root)), with_units=True) as searcher:
        for frame in _frames(link.makefile("rb")):
            link.sendall(framed(_answered(searcher, _asked.decode(frame))))


def _frames(stream: BinaryIO) -> Iterator[bytes]:
    while len(head := stream.read(_LENGTH.size)) == _LENGTH.size:
        yield stream.read(_LENGTH.unpack(head)[0])


def _answered(searcher: Searcher, asked: AskedSearch) -> SearchAnswer:
    try:
        found = searcher.search(asked.query, asked.now, refresh=asked.is_due)
    except (StoreError, OSError) as error:
        return SearchAnswer(problem=str(error))
    return SearchAnswer(documents.encoded(searching.document(asked.text, found)))


if __name__ == "__main__":
    main(sys.argv[1])
