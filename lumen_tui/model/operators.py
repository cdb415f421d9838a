"""Several operators on one agent: who has a room open, what they claimed and changed, and the hand-over note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from lumen_tui.model import times

RECENT = 10 * times.MINUTE  # for how long it is told that somebody else changed a thing
MOST_NOTE = 8_000  # characters


class OpenRoom(Struct, frozen=True, omit_defaults=True):
    """sessions/rooms/<client>.json: a room that is open as long as the process in its name lives."""

    client: str  # `room-` and the process
    operator: str
    login: str = ""  # the user of the machine
    origin: str = ""  # where the terminal is: `ssh 192.0.2.7`, `tmux`
    since: str = ""
    schema: int = 1


class Claim(Struct, frozen=True):
    """Somebody is at it. It warns others, and locks nothing."""

    target: str
    by: str
    at: float  # seconds since 1970
    until: float


class HandoverNote(Struct, frozen=True):
    """What one operator left for the next."""

    id: str  # of the action
    by: str
    at: float
    text: str


class Deed(Struct, frozen=True):
    """What another operator did a moment ago."""

    id: str
    by: str
    at: float
    target: str
    summary: str


class OperatorsView(Struct, frozen=True):
    """All of it at one moment, as one operator sees it. Texts are safe."""

    me: str = ""
    rooms: tuple[OpenRoom, ...] = ()
    claims: Mapping[str, Claim] = field(default_factory=dict)  # by target
    note: HandoverNote | None = None
    deeds: tuple[Deed, ...] = ()  # of others, oldest first

    def holder(self, target: str) -> str:
        """Return who has a thing: `you have it`, `ana has it`; empty where nobody does."""
        claim = self.claims.get(target)
        if claim is None:
            return ""
        return "you have it" if claim.by == self.me else f"{claim.by} has it"

    def here(self) -> str:
        """Return who is here, where it is more than one room: `ana, bo (2)`."""
        if len(self.rooms) < 2:
            return ""
        names = [room.operator for room in self.rooms]
        return ", ".join(name if (n := names.count(name)) == 1 else f"{name} ({n})" for name in dict.fromkeys(names))


def in_force(claims: Iterable[tuple[Claim, str]], rooms: Iterable[OpenRoom], now: float) -> dict[str, Claim]:
    """Return the claims that hold, by target; each comes with the client that made it.

    One that was made in a room ends with the last room of its operator; all end by their time.
    """
    present = {room.operator for room in rooms}
    return {
        claim.target: claim
        for claim, client in claims
        if claim.until > now and (claim.by in present or not client.startswith("room-"))
    }


def changed_words(deed: Deed, now: float) -> str:
    """Return who changed a thing and when: `changed by ana 12 s ago: denied: not today`."""
    seconds = max(0.0, now - deed.at)
    ago = f"{int(seconds)} s ago" if seconds < times.MINUTE else times.ago(seconds)
    return f"changed by {deed.by} {ago}: {deed.summary}"
