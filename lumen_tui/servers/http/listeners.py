"""Server-sent events: the feed read once, in a thread, and sent to all that listen, each at its own pace."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from itertools import islice

from lumen_tui.servers.http.feed import FeedMessage, FeedPosition, FeedReader
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.watch import wait_for_changes

MOST_LISTENERS = 2_000
MOST_OF_ONE = 1_100  # of one program: the streams of others stay open
_RECENT = 4_000  # messages that are kept for those who are behind
_RECENT_BYTES = 16 * 1024 * 1024  # and as many bytes
_AT_ONCE = 100  # messages in one piece, so that little is held for a client that reads slowly
_PATIENCE = 3.0  # seconds for the thread to end
SILENCE = 15.0  # seconds after which a stream says that it lives, so that proxies keep it


class Listeners:
    """The streams of one server."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._recent: deque[FeedMessage] = deque()
        self._bytes = 0  # of what is recent
        self._number = 0  # of messages since the server began
        self._position = FeedPosition()  # behind the newest of them
        self._news = asyncio.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._open: dict[str, int] = {}  # streams of each program

    @property
    def count(self) -> int:
        """How many streams are open."""
        return sum(self._open.values())

    def is_full(self, name: str) -> bool:
        """Return whether a program may open no more."""
        return self.count >= MOST_LISTENERS or self._open.get(name, 0) >= MOST_OF_ONE

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to follow the journals from now on."""
        reader = FeedReader(self._layout)
        self._position = reader.position
        self._thread = threading.Thread(target=self._watch, args=(reader, loop), name="feed", daemon=True)
        self._thread.start()

    def _watch(self, reader: FeedReader, loop: asyncio.AbstractEventLoop) -> None:
        try:
            for _ in wait_for_changes(self._layout, self._stop, lambda: False):
                with contextlib.suppress(StoreError, OSError):  # a disk that fails for a while ends no stream
                    while not self._stop.is_set() and (messages := reader.read()):
                        loop.call_soon_threadsafe(self._publish, messages)
        except RuntimeError:
            if not self._stop.is_set():  # else the loop has ended
                raise
        finally:
            reader.close()

    def _publish(self, messages: list[FeedMessage]) -> None:
        self._recent.extend(messages)
        self._bytes += sum(len(message.data) for message in messages)
        while len(self._recent) > _RECENT or self._bytes > _RECENT_BYTES:
            self._bytes -= len(self._recent.popleft().data)
        self._number += len(messages)
        self._position = messages[-1].position
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def end(self) -> None:
        """End all streams, each at its next step; called in the loop."""
        self._stop.set()
        self._tell()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    async def listen(
        self, name: str, position: FeedPosition | None, is_welcome: Callable[[], bool]
    ) -> AsyncIterator[bytes]:
        """Yield messages from a position on, or from now; a comment where there is none for a while.

        Ends for a listener that is slower than what is kept, which comes back with its position, and for one that is
        not welcome any more. A message may come twice after a connection that ended, and none is missing.
        """
        self._open[name] = self._open.get(name, 0) + 1
        try:
            number, place = self._number, position
            yield b"retry: 2000\nid: %s\n\n" % str(position or self._position).encode()
            if position is not None:
                reader = await asyncio.to_thread(FeedReader, self._layout, position)
                while (messages := await asyncio.to_thread(reader.read)) and is_welcome():
                    yield b"".join(message.data for message in messages)
                reader.close()
                place = reader.position
            async for data in self._from(number, place):
                if self._stop.is_set() or not is_welcome():
                    return
                yield data
        finally:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]

    async def _from(self, number: int, place: FeedPosition | None) -> AsyncIterator[bytes]:
        """Yield what comes after so many messages and is behind a place."""
        while (behind := self._number - number) <= len(self._recent) and not self._stop.is_set():
            news = self._news
            if behind:
                first = len(self._recent) - behind
                part = [*islice(self._recent, first, first + _AT_ONCE)]
                number += len(part)
                data = b"".join(message.data for message in part if place is None or message.is_after(place))
                if data:
                    yield data
                continue
            try:
                await asyncio.wait_for(news.wait(), SILENCE)
            except TimeoutError:
                yield b": alive\n\n"
