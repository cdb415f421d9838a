"""A terminal that is gone holds nobody up: what is written to it is dropped, so that the room can leave.

Textual's output thread ends at the first error, and whoever writes next waits for ever once its queue is full: no
signal ends such a room. It comes to that where a connection drops while an editor has the terminal.
"""

from __future__ import annotations

from textual.drivers._writer_thread import WriterThread


def _run(self: WriterThread) -> None:
    gone = False
    while not gone and (text := self._queue.get()) is not None:
        gone = _lost(self, text)
    while gone and self._queue.get() is not None:
        pass  # the signal that ends the room comes on another way


def _lost(self: WriterThread, text: str) -> bool:
    """Write, and flush when there is a break; whether there is nobody to write to any more."""
    try:
        self._file.write(text)
        if self._queue.empty() or self._queue.queue[0] is None:
            self._file.flush()
    except OSError:
        return True
    return False


def install() -> None:
    """Use it for the output of this process."""
    WriterThread.run = _run  # type: ignore[method-assign]
