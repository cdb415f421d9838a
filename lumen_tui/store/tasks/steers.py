"""tasks/<id>/steers.jsonl: what the operator says to a task, and what its worker made of it.

Each change is a read and an append under the journal's own lock, so that a message is either withdrawn or read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.steering import Steer, SteerState, closed, standing
from lumen_tui.storage import files, journal
from lumen_tui.storage.line_access import split_lines

_NAME = "steers.jsonl"
_MOST_BYTES = 4 * 1024 * 1024


class TakesNone(Exception):
    """The worker takes no message any more; the text says why."""


def path_of(folder: Path) -> Path:
    """Return the journal of a task's folder."""
    return folder / _NAME


def size(folder: Path) -> int:
    """Return its size in bytes; 0 where nothing was said."""
    try:
        return os.stat(path_of(folder)).st_size
    except OSError:
        return 0


def _decoded(data: bytes) -> list[Steer]:
    lines = []
    for _, line in split_lines(data, 0):
        try:
            lines.append(decode_safe(line, Steer))
        except UNDECODABLE:
            continue  # it spoils itself alone
    return lines


def read(folder: Path) -> list[Steer]:
    """Return the messages to a task as they stand, every text made safe; none where they cannot be read."""
    try:
        return standing(_decoded(files.read(path_of(folder), _MOST_BYTES) or b""))
    except (files.StoreError, OSError):
        return []


def _change(folder: Path, decide: Callable[[list[Steer]], list[Steer]]) -> list[Steer]:
    """Append the lines that `decide` makes of those that are there. Raises StoreError, and what it raises."""
    with files.locked_log(path_of(folder)) as fd:
        data = os.pread(fd, _MOST_BYTES, 0)
        new = decide(_decoded(data))
        if new:
            files.append_locked(fd, b"".join(journal.encode(line) for line in new))
    return new


def tell(folder: Path, steer: Steer, attempt: int, most: int) -> None:
    """Put a message on file for the worker of this attempt. TakesNone where it takes none, or has got so many."""

    def decide(lines: list[Steer]) -> list[Steer]:
        if reason := closed(lines, attempt):
            raise TakesNone(reason)
        if len(standing(lines)) >= most:
            raise TakesNone(f"it has got {most} messages, the most that one task takes")
        return [steer]

    _change(folder, decide)


def set_state(folder: Path, steer_id: str, wanted: SteerState, now: float) -> Steer | None:
    """Withdraw a message or tell it again; return it as it stood, and change nothing where it was read."""
    matches: list[Steer] = []

    def decide(lines: list[Steer]) -> list[Steer]:
        matches.extend(steer for steer in standing(lines) if steer.id == steer_id)
        open_ones = (SteerState.TOLD, SteerState.WITHDRAWN)
        return [Steer(steer_id, times.iso(now), wanted)] if matches and matches[0].state in open_ones else []

    _change(folder, decide)
    return matches[0] if matches else None


def take(folder: Path, attempt: int, now: float, *, again: bool = False) -> list[Steer]:
    """Return the messages that no request held yet, and mark them as read; with `again` those as well that one did."""
    wanted = (SteerState.TOLD, SteerState.READ) if again else (SteerState.TOLD,)
    return _mark(folder, SteerState.READ, wanted, attempt, now)


def close(folder: Path, attempt: int, reason: str, now: float) -> list[Steer]:
    """Take no message any more in this attempt; return those that no request held, which are marked as unseen."""
    end = Steer("", times.iso(now), SteerState.CLOSED, text=reason, attempt=attempt)
    return _mark(folder, SteerState.UNSEEN, (SteerState.TOLD,), attempt, now, end)


def _mark(
    folder: Path, state: SteerState, wanted: tuple[SteerState, ...], attempt: int, now: float, *more: Steer
) -> list[Steer]:
    chosen: list[Steer] = []

    def decide(lines: list[Steer]) -> list[Steer]:
        chosen.extend(steer for steer in standing(lines) if steer.state in wanted)
        return [*(Steer(steer.id, times.iso(now), state, attempt=attempt) for steer in chosen), *more]

    _change(folder, decide)
    return chosen


def encoded(steer: Steer) -> dict[str, object]:
    """Return a message as plain JSON values."""
    fields: dict[str, object] = msgspec.to_builtins(steer)
    return fields
