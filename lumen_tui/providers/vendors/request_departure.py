"""The moment in which a request leaves: a connection stands, and its first byte has not gone out yet.

Before it nothing is owed, however long a server lets itself be connected to, and whoever is killed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_HEADERS = "send_request_headers.started"  # of every version of HTTP, as httpcore's trace extension names it


class RequestDeparture:
    """Tells it once for each call. What goes wrong with that keeps the request from leaving."""

    def __init__(self) -> None:
        self._tell: Callable[[], None] | None = None
        self._error: Exception | None = None

    @property
    def hooks(self) -> dict[str, list[Callable[[Any], None]]]:
        """What a client of httpx is made with."""
        return {"request": [self._follow]}

    def expect(self, tell: Callable[[], None]) -> None:
        """The next request is a call of the model; others cost nothing."""
        self._tell, self._error = tell, None

    def now(self) -> None:
        """It leaves, or has left already."""
        tell, self._tell = self._tell, None
        if tell is None:
            return
        try:
            tell()
        except Exception as error:
            self._error = error  # a client makes an error of its own of it
            raise

    def check(self) -> None:
        """Raise what went wrong with telling it."""
        if self._error:
            raise self._error

    def _follow(self, request: Any) -> None:
        request.extensions = {**request.extensions, "trace": self._trace}

    def _trace(self, event: str, _facts: dict[str, Any]) -> None:
        if event.endswith(_HEADERS):
            self.now()
