"""How long to wait before a call is tried again."""

from __future__ import annotations

from msgspec import Struct

_FIRST = 1.0  # seconds
_LONGEST = 60.0


class RetryPolicy(Struct, frozen=True):
    """How often and how long a call is tried before it is given up."""

    tries: int = 8
    longest: float = 600.0  # seconds of one wait that a server may ask for


SHORT_RETRY = RetryPolicy(tries=3, longest=20.0)  # where another model can take over


def back_off(number: int, retry_after: float | None, chance: float) -> float:
    """Seconds before try `number` + 1: doubling from one to sixty, half of it by chance (0 to 1).

    Where the server `asked` for a time, that and up to a tenth more, so that workers do not all come back at once.
    """
    if retry_after is not None:
        return retry_after * (1.0 + 0.1 * chance)
    return min(_LONGEST, _FIRST * 2.0 ** min(number - 1, 10)) * (0.5 + 0.5 * chance)
