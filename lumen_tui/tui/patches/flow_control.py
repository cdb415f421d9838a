"""How much is sent to a terminal: no more than it takes in, as its own answers tell.

A line that is slow is hidden behind buffers: the system's, that of SSH, those of the network. What was written to them
comes, however old it is by then. So the room asks the terminal for its state (DSR) behind what it sends, and waits for
the answer before it sends much more; the frame that is sent then is the newest one. A terminal that never answered is
sent everything at once.
"""

from __future__ import annotations

from math import inf

_WINDOW = 2048  # bytes that may be on their way: a second at 19,200 baud
_LATE = 0.5  # seconds beyond the quickest answer, after which nothing more is sent
_LOST, _LOWEST = 30.0, 100  # seconds, and bytes a second, by which an answer that has not come will not come any more
_FARTHEST = 1.0  # seconds that an answer of a quick line may take: a satellite needs 0.7
_SLOW, _QUICK = 2000, 9000  # bytes a second below and above which a line is called so
_JITTER = 0.06  # seconds that an answer of a quick line may be late
_TELLING = 200  # bytes; fewer tell nothing of a line that is quick
_SURE = 3  # quick answers more than others
_PART = 0.5  # seconds that one part of a frame may take on a slow line
_LEAST = 160  # bytes of a part


class FlowControl:
    """What is on its way to a terminal. Times are monotonic, in seconds."""

    def __init__(self) -> None:
        self.slow = False
        self.answers = False  # whether the terminal does
        self._asked_at = 0.0  # 0 while no answer is awaited
        self._asked_about = 0  # bytes before the question
        self._since = 0  # bytes behind it
        self._nearest = _FARTHEST  # seconds of the quickest answer
        self._rate = inf  # bytes a second of a slow line, where known
        self._quick = 0  # answers that came quickly, less those that did not

    def most(self, now: float) -> float:
        """Return how many bytes may be sent; 0 where an answer is to be awaited first."""
        if not self.answers or not self._asked_at:
            return self._part()
        waited = now - self._asked_at
        if waited >= self.patience:
            self.begin()
            return inf
        late = self.slow or waited >= self._nearest + _LATE or self._asked_about + self._since >= _WINDOW
        return 0 if late else inf

    @property
    def is_asking(self) -> bool:
        """Whether an answer is awaited."""
        return self._asked_at > 0

    def _part(self) -> float:
        return max(_LEAST, self._rate * _PART) if self.slow else inf

    def sent(self, count: int, now: float) -> bool:
        """Return whether to ask the terminal for an answer behind so many bytes that were sent."""
        self._since += count
        if self._asked_at:
            return False
        self._asked_at, self._asked_about, self._since = now, self._since, 0
        return True

    def answered(self, arrived: float, now: float) -> bool:
        """Take an answer that arrived at that time; return whether to ask again.

        That is about what was sent meanwhile, or how far the terminal is.
        """
        taken, count = arrived - self._asked_at, self._asked_about
        first, self.answers = not self.answers, True
        self._asked_at = 0.0
        self._nearest = taken if self.slow and not count else min(self._nearest, taken)
        if count and not first:  # the first one waited for the program, too
            self._judge(count, taken - self._nearest)
        return (self._since > 0 or (self.slow and count > 0)) and self.sent(0, now)

    def _judge(self, count: int, spent: float) -> None:
        """Learn from the seconds that so many bytes were on their way, beyond those that an answer takes."""
        rate = count / max(spent, 0.001)
        if rate < _SLOW and spent >= _LATE:
            self.slow, self._quick = True, 0
        elif count >= min(_TELLING, self._part()):
            self._quick = max(0, self._quick + (1 if spent <= _JITTER + count / _QUICK else -1))
            self.slow = self.slow and self._quick < _SURE
        if not self.slow:
            self._rate = inf
        elif rate < _QUICK:
            self._rate = rate if self._rate == inf else (self._rate + rate) / 2

    @property
    def patience(self) -> float:
        """Seconds that an answer may take. After that the terminal counts as one that never answers."""
        return _LOST + (self._asked_about + self._since) / _LOWEST

    def begin(self) -> None:
        """Forget what is on its way: the terminal was another program's, or does not answer any more."""
        self.answers, self._asked_at, self._since = False, 0.0, 0
