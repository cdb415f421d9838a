"""What an engine and its hosts say to each other, and what the link hands on for the processes of this machine."""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.frames import Frame, HostOrder
from lumen_tui.model.hosting import HostFacts


class Describe(Struct, frozen=True, tag=True):
    """Say who you are and how you stand."""


class Begin(Struct, frozen=True, tag=True):
    """Begin an attempt, or find it again."""

    order: HostOrder


class Look(Struct, frozen=True, tag=True):
    """Say how an attempt stands, with frames behind a number; wait so many seconds for news. It renews the lease."""

    task_id: str
    attempt: int
    after: int = 0
    wait: float = 0.0


class Tell(Struct, frozen=True, tag=True):
    """Write what the engine wrote for a worker, or take it away with None; with an offset, add to a journal."""

    task_id: str
    attempt: int
    name: str
    data: bytes | None = None
    offset: int = -1


class End(Struct, frozen=True, tag=True):
    """End the worker of an attempt."""

    task_id: str
    attempt: int
    reason: str


class Discard(Struct, frozen=True, tag=True):
    """Remove the folders of these attempts, (task, number): they have ended, and all that is wanted of them is here."""

    attempts: tuple[tuple[str, int], ...]


class Leave(Struct, frozen=True, tag=True):
    """End your service once you have answered: nothing runs here any more, and nothing is to come."""


Demand = Describe | Begin | Look | Tell | End | Discard | Leave


class RemoteState(Struct, frozen=True):
    """How an attempt stands on its host. Once it is not `alive`, `last` is the number of its last frame ever."""

    attempt: int
    alive: bool
    last: int
    told: dict[str, int] = {}  # how many bytes it has of each file that the engine writes


class HostRequest(Struct, frozen=True):
    """A demand for one host. The answer to it bears the same number."""

    host: str
    nonce: str
    demand: Demand


class HostAnswer(Struct, frozen=True):
    """What came of a demand: `refused` says why nothing did."""

    nonce: str
    refused: str = ""
    facts: HostFacts | None = None
    state: RemoteState | None = None
    frames: tuple[Frame, ...] = ()


class LinkRequest(Struct, frozen=True):
    """A process of this machine to the link: ask a host."""

    host: str
    demand: Demand


class LinkAnswer(Struct, frozen=True):
    """The link to a process of this machine: what the host answered, or why it did not."""

    answer: HostAnswer | None = None
    trouble: str = ""
