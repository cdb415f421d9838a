"""Who else is there, what they have claimed and changed, and the note that they left."""

from __future__ import annotations

from collections.abc import Mapping

from lumen_tui.model import times
from lumen_tui.model.operators import OpenRoom, OperatorsView, in_force
from lumen_tui.storage import origin, process
from lumen_tui.storage.layout import Layout
from lumen_tui.store.audit.operators import OperatorActs
from lumen_tui.store.sessions import rooms
from lumen_tui.store.sessions.rooms import OpenRooms


class OperatorsIndex:
    """Follows rooms and acts for one operator."""

    def __init__(self, layout: Layout, operator: str, *, news: bool = True) -> None:
        self._operator = operator
        self._acts = OperatorActs(layout, operator, news=news)
        self._rooms = OpenRooms(layout)

    def close(self) -> None:
        """Close the journal."""
        self._acts.close()

    def refresh(self, now: float) -> None:
        """Take in what changed."""
        self._acts.look(now)
        self._rooms.refresh()

    @property
    def revision(self) -> int:
        """Grows whenever somebody comes, goes, or does something."""
        return self._acts.revision + self._rooms.revision

    def view(self, now: float) -> OperatorsView:
        """Return all of it, as of the last refresh."""
        present = self._rooms.rooms
        claims = in_force(self._acts.claims(), present, now)
        return OperatorsView(self._operator, present, claims, self._acts.note(), self._acts.deeds())


def enter_room(layout: Layout, operator: str, environ: Mapping[str, str], now: float) -> None:
    """Say that this process is a room of an operator. Raise files.StoreError."""
    login = origin.operator_name({name: value for name, value in environ.items() if name != "LUMEN_OPERATOR"})
    rooms.enter(layout, OpenRoom(_client(), operator, login, _from(environ), times.iso(now)))


def leave_room(layout: Layout) -> None:
    """Say that this process is a room no more."""
    rooms.leave(layout, _client())


def _client() -> str:
    return f"room-{process.name(process.myself())}"


def _from(environ: Mapping[str, str]) -> str:
    """Return where the room's terminal is, as far as the environment says."""
    address = environ.get("SSH_CONNECTION", "").partition(" ")[0]
    inside = "tmux" if environ.get("TMUX") else "screen" if environ.get("STY") else ""
    return ", ".join(part for part in (f"ssh {address}" if address else "", inside) if part) or "here"
