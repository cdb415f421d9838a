"""What the operator says to a task while it runs: each message, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

MOST = 20  # messages to one task
LONGEST = 8_000  # characters of one


class SteerState(StrEnum):
    """What became of a message."""

    TOLD = "told"  # on file: the next request holds it
    READ = "read"  # it was in a request
    WITHDRAWN = "withdrawn"
    UNSEEN = "unseen"  # the task ended before its next request
    CLOSED = "closed"  # no message, but the worker's word that it takes no more


class Steer(Struct, frozen=True, omit_defaults=True):
    """One line of tasks/<id>/steers.jsonl; of one id the last line says how it stands."""

    id: str
    at: str
    state: SteerState = SteerState.TOLD
    by: str = ""
    text: str = ""  # of `closed`: why
    order: bool = False  # the operator's own: the process that said it was seen to be theirs
    attempt: int = 0  # of the worker that read it, or takes no more
    schema: int = 1


def standing(lines: Iterable[Steer]) -> list[Steer]:
    """Return each message as it stands now, in the order in which they were said."""
    known: dict[str, Steer] = {}
    for line in lines:
        if line.state is SteerState.CLOSED:
            continue
        first = known.get(line.id)
        if first is None:
            known[line.id] = line
        elif line.state is not SteerState.TOLD or first.state is SteerState.WITHDRAWN:  # told again by redo
            known[line.id] = Steer(first.id, first.at, line.state, first.by, first.text, first.order, line.attempt)
    return list(known.values())


def closed(lines: Iterable[Steer], attempt: int) -> str:
    """Return why the worker of this attempt takes no message any more; empty where it does."""
    ends = [line for line in lines if line.state is SteerState.CLOSED and line.attempt == attempt]
    return ends[-1].text if ends else ""
