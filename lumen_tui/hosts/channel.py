"""Between the link, which alone speaks to hosts, and the processes of this machine that ask it: a socket in hosts/.

One record after the other: four bytes with its length, then MessagePack. Each question has one answer, in order.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from lumen_tui.hosts.messages import Demand, HostAnswer, LinkAnswer, LinkRequest
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import directories
from lumen_tui.storage.layout import Layout

_LENGTH = struct.Struct("!I")
_MOST = 256 * 1024 * 1024  # bytes of one record
_NAME = "link.sock"
_CREDENTIALS = struct.Struct("3i")  # of SO_PEERCRED: pid, uid, gid

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NoAnswer(Exception):
    """The link or the host did not answer; the text says which. `by_host`: the link did, so it was the host."""

    def __init__(self, text: str, *, by_host: bool = False) -> None:
        super().__init__(text)
        self.by_host = by_host


def listening(layout: Layout) -> socket.socket:
    """Return the link's end, in place of one that a link before left. OSError."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    with _address(layout) as path:
        directories.remove(Path(path))
        server.bind(path)
    server.listen(128)
    return server


@contextmanager
def _address(layout: Layout) -> Iterator[str]:
    """Yield the path of the socket, short enough for an address whatever that of the state folder is."""
    folder = os.open(layout.hosts, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{_NAME}"
    finally:
        os.close(folder)


def is_ours(connection: socket.socket) -> bool:
    """Return whether a process of our own user is at the other end."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(data)[1]) == os.geteuid()


async def read(reader: asyncio.StreamReader) -> bytes:
    """Return the next record. OSError and EOFError where there is none any more."""
    (size,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if size > _MOST:
        raise OSError(f"a record of {size:,} bytes is none of ours")
    return await reader.readexactly(size)


async def write(writer: asyncio.StreamWriter, record: msgspec.Struct) -> None:
    """Send a record. OSError."""
    data = msgspec.msgpack.encode(record)
    writer.write(_LENGTH.pack(len(data)) + data)
    await writer.drain()


class Channel:
    """Asks the link; several questions may be open, each on a connection of its own that is used again."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._free: list[Connection] = []

    async def ask(self, host: str, demand: Demand) -> HostAnswer:
        """Return what a host answers. NoAnswer."""
        try:
            reader, writer = self._free.pop() if self._free else await self._connect()
        except OSError as error:
            raise NoAnswer(f"the link to the hosts is not there: {error.strerror or error}") from error
        try:
            await write(writer, LinkRequest(host, demand))
            reply = msgspec.msgpack.decode(await read(reader), type=LinkAnswer)
        except (*UNDECODABLE, OSError, EOFError) as error:
            writer.close()
            raise NoAnswer(f"the link to the hosts was lost: {error}") from error
        except BaseException:
            writer.close()  # nobody waits for the answer, which must not be taken for the next one
            raise
        self._free.append((reader, writer))
        if reply.answer is None:
            raise NoAnswer(reply.trouble, by_host=True)
        return reply.answer

    async def _connect(self) -> Connection:
        with _address(self._layout) as path:
            return await asyncio.open_unix_connection(path)

    def close(self) -> None:
        """Close what is open."""
        for _, writer in self._free:
            writer.close()
        self._free.clear()
