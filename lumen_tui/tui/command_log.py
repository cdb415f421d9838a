"""What was done from this room, each as the command line that does the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from lumen_tui.model.requests.base import Request

_MOST = 1000  # commands that are remembered


class LoggedCommand(Struct, frozen=True):
    """One command: when it ended (seconds since 1970), what was asked for, and what came of it.

    `typed` is the line as the operator wrote it, where there was no key; `request` is what the room asked for itself.
    """

    number: int
    at: float
    result: str
    failed: bool = False
    typed: str = ""
    request: Request | None = None

    @property
    def line(self) -> str:
        """The command line; empty where none does the same."""
        from lumen_tui.model.requests.spelling import command_line  # not before the first paint

        return self.typed or (command_line(self.request) if self.request is not None else "")


class CommandLog:
    """The commands of one room, the newest last; nothing of it is written to the disk."""

    def __init__(self) -> None:
        self._commands: deque[LoggedCommand] = deque(maxlen=_MOST)
        self._count = 0

    @property
    def commands(self) -> Sequence[LoggedCommand]:
        """All that are remembered."""
        return tuple(self._commands)

    def did(self, request: Request, at: float, result: str, *, failed: bool) -> None:
        """Remember what a key of the room asked for."""
        self._add(LoggedCommand(self._next(), at, result, failed, request=request))

    def ran(self, line: str, at: float, result: str, *, failed: bool) -> None:
        """Remember a line that was typed."""
        self._add(LoggedCommand(self._next(), at, result, failed, typed=line))

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _add(self, command: LoggedCommand) -> None:
        self._commands.append(command)
