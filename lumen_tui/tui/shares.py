"""How the panes of a column share its lines: one without content takes one, the others by what they have to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

EMPTY = 1  # lines of a pane without content: its title
LEAST = 4  # lines of a pane with content: a frame around two rows
_STEPS = (2, 3, 4, 6, 8, 11, 15, 20, 30, 45, 70)  # rows in which needs grow: a row more rarely moves every pane


class SteadyRows:
    """Rows that panes need: more of them at once, fewer once they were not needed for so many seconds.

    A loop that ends and begins, a task that comes and goes would move all panes of a column each time. One that is
    empty gives its lines away at once.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._needed: dict[str, tuple[int, float]] = {}  # by pane: rows, and when so many were needed last

    def of(self, scope: str, rows: int, now: float) -> int:
        """Return the rows to give a pane that needs so many now, in seconds since 1970."""
        most, last = self._needed.get(scope, (0, now))
        if not rows or rows >= most or abs(now - last) >= self._seconds:
            self._needed[scope] = rows, now
            return rows
        return most

    def forget(self) -> None:
        """Begin again, with other panes."""
        self._needed.clear()


class Want(NamedTuple):
    """What one pane asks for: `rows` of content, 0 for none, and how much its work weighs beside the others'."""

    scope: str
    rows: int
    weight: int = 1
    frame: int = 2  # lines around the rows

    @property
    def lines(self) -> int:
        """Lines in which all of it would be seen, in steps."""
        return next((step for step in _STEPS if step >= self.rows), _STEPS[-1]) + self.frame


def shares(wants: Sequence[Want], height: int, more: Mapping[str, int]) -> dict[str, int]:
    """Return the lines of each pane, `height` in all; `more` are lines by which an operator moved the borders.

    The first pane takes what nobody has a use for. Where there is too little for all, each has a frame and two rows
    at most, and those that come last are cut.
    """
    filled = [want for want in wants if want.rows] or list(wants[:1])
    given = {want.scope: EMPTY for want in wants}
    for want in filled:
        given[want.scope] = min(LEAST, max(EMPTY, height - sum(given.values()) + EMPTY))
    remaining = height - sum(given.values())
    while remaining > 0:
        hungry = [want for want in filled if given[want.scope] < want.lines] or filled[:1]
        poorest = min(hungry, key=lambda want: given[want.scope] / want.weight)
        given[poorest.scope] += 1
        remaining -= 1
    _move_borders(given, [want.scope for want in filled], more)
    return given


def _move_borders(given: dict[str, int], scopes: Sequence[str], more: Mapping[str, int]) -> None:
    """Move lines between panes with content, as far as each keeps its least."""
    for scope in scopes:
        for _ in range(abs(more.get(scope, 0))):
            others = [other for other in scopes if other != scope]
            if more[scope] > 0:
                giver, taker = max(others, key=given.__getitem__, default=""), scope
            else:
                giver, taker = scope, min(others, key=given.__getitem__, default="")
            if not giver or not taker or given[giver] <= LEAST:
                break
            given[giver] -= 1
            given[taker] += 1
