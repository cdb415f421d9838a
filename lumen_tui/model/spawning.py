"""What the engine and its zygote say to each other: one JSON record in each packet of a private socket."""

from __future__ import annotations

import msgspec

WORKER, PROXY = "lumen_tui.worker.__main__", "lumen_tui.hosts.proxy"  # of a task that runs here, and of one on a host


class Order(msgspec.Struct, frozen=True, tag=True):
    """Engine to zygote: fork a worker for the task in `folder`, or what stands for it: `program` names its module.

    Three descriptors travel with it: the held run.lock, worker.log, and a pipe with the environment as JSON. The
    child alone reads that pipe, so no key is ever in the zygote's memory.
    """

    number: int
    folder: str
    program: str


class Ready(msgspec.Struct, frozen=True, tag=True):
    """Zygote to engine: everything is imported; `pss` is what it weighs in KiB (0 where that is not known)."""

    pss: int = 0


class Born(msgspec.Struct, frozen=True, tag=True):
    """Zygote to engine: the answer to one order; pid 0 and the reason where the system gave no process."""

    number: int
    pid: int = 0
    start_ticks: int = 0
    why: str = ""


class Ended(msgspec.Struct, frozen=True, tag=True):
    """Zygote to engine: a child ended. `code` as subprocess has it: negative for a signal."""

    pid: int
    code: int


Answer = Ready | Born | Ended
_answers = msgspec.json.Decoder(Answer)
_orders = msgspec.json.Decoder(Order)
MOST = 16 * 1024  # bytes of one packet
MOST_ENVIRONMENT = 60 * 1024  # what a pipe takes without a reader


def answer(data: bytes) -> Answer:
    """Return one packet of the zygote. MsgspecError where it is none."""
    reply: Answer = _answers.decode(data)
    return reply


def order(data: bytes) -> Order:
    """Return one packet of the engine. MsgspecError where it is none."""
    return _orders.decode(data)
