"""What a worker on another host asks its engine, and what it is told: asks.jsonl and answers.jsonl of its task.

Asks are numbered over the whole task, so that one which is carried out a second time is known by its number.
"""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.ids import short_hash
from lumen_tui.model.tasks import Usage

ASKS, ANSWERS = "asks.jsonl", "answers.jsonl"


class HoldAsk(Struct, frozen=True, tag="hold", omit_defaults=True):
    """Set aside what a model call can cost; `least` is what it costs with a short answer."""

    usage: Usage
    model: str
    least: Usage | None = None
    tells: bool = False  # whether a SentNote comes before the request leaves
    purpose: str = ""
    seconds: float = 0.0  # of work since the last call
    waited: float = 0.0


class NewsAsk(Struct, frozen=True, tag="news"):
    """Tell once there may be room where there was none."""


class CapsAsk(Struct, frozen=True, tag="caps"):
    """Say which of the task's own caps is reached."""


class SentNote(Struct, frozen=True, tag="sent"):
    """The request of a held call leaves now."""

    hold: int  # the number of its HoldAsk


class PaidNote(Struct, frozen=True, tag="paid", omit_defaults=True):
    """What a held call did cost, by the number of its HoldAsk, or by the key that an attempt before was told."""

    usage: Usage
    hold: int = 0
    key: str = ""
    seconds: float = 0.0


class SpentNote(Struct, frozen=True, tag="spent", omit_defaults=True):
    """What a call did cost for which nothing was set aside."""

    usage: Usage
    model: str
    seconds: float = 0.0


class WaitNote(Struct, frozen=True, tag="wait", omit_defaults=True):
    """A call waits for room, for that reason, and needs so much at least."""

    reason: str
    usage: Usage
    model: str


Question = HoldAsk | NewsAsk | CapsAsk | SentNote | PaidNote | SpentNote | WaitNote


class Ask(Struct, frozen=True):
    """One line of asks.jsonl."""

    number: int  # from 1, over all attempts
    attempt: int
    what: Question


class HoldReply(Struct, frozen=True, tag="hold", omit_defaults=True):
    """What came of a HoldAsk or a CapsAsk. `short` says why there is no room; then nothing is held."""

    key: str = ""
    day: str = ""
    short: str = ""
    own: str = ""  # the key of the task's own cap that is short: no wait helps
    output: int = 0  # tokens that the answer may have, where they are fewer than asked for, and ...
    words: str = ""  # ... why


class Noted(Struct, frozen=True, tag="noted"):
    """It was taken in; there is nothing to say."""


class AskRefused(Struct, frozen=True, tag="refused"):
    """It was not carried out, for that reason."""

    reason: str


AskReply = HoldReply | Noted | AskRefused


class AskAnswer(Struct, frozen=True):
    """One line of answers.jsonl: what came of the ask of that number."""

    number: int
    reply: AskReply


def key_of(task_id: str, number: int) -> str:
    """Return under which key a HoldAsk is in the ledger: the same whenever and by whomever it is carried out."""
    return f"spd-{short_hash(f'{task_id} ask {number}')}"
