"""A streamed answer as a few pieces of text a second, cut where a word ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lumen_tui.providers.base import TextUpdate

_INTERVAL = 0.5  # seconds between two pieces
_PIECE = 1_500  # characters that are sent at once, whatever the time
_LIVE = 20_000  # characters of one answer that are sent on the way; the rest comes in one piece
_SILENCE_NOTE = 15.0  # seconds without a text after which a word says that the model is still at it


class StreamThrottle:
    """Collects the parts of one answer. The pieces, put together, are the answer's text."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._waiting = ""
        self._sent = 0
        self._last = now()
        self._silence = -1.0

    def take(self, part: str) -> Iterator[TextUpdate]:
        """Take one more part; an empty one is a sign of life without text (thinking, a call being written)."""
        self._waiting += part
        elapsed = abs(self._now() - self._last)  # a clock that was set back must not silence it
        self._silence = elapsed if self._silence < 0 else self._silence
        if self._due(elapsed) and (end := _boundary(self._waiting)):
            yield self._send(end)
        elif not self._waiting and elapsed > _SILENCE_NOTE:
            self._last = self._now()
            yield TextUpdate("the model is at work on its answer", kind="note")

    @property
    def silence(self) -> float:
        """Seconds until the first part came, or until now where none has come."""
        return self._silence if self._silence >= 0 else abs(self._now() - self._last)

    def finish(self) -> Iterator[TextUpdate]:
        """Yield what was not sent yet."""
        if self._waiting:
            yield self._send(len(self._waiting))

    def _due(self, elapsed: float) -> bool:
        return self._sent < _LIVE and (elapsed >= _INTERVAL or len(self._waiting) >= _PIECE)

    def _send(self, end: int) -> TextUpdate:
        piece, self._waiting = self._waiting[:end], self._waiting[end:]
        self._sent += len(piece)
        self._last = self._now()
        return TextUpdate(piece)


def _boundary(text: str) -> int:
    """Return where the last line ends, else the last word; the whole length of a long text that has neither."""
    if line := text.rfind("\n") + 1:
        return line
    return text.rfind(" ") + 1 or (len(text) if len(text) >= _PIECE else 0)
