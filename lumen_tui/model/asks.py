"""What a worker on another host asks its engine, and what it is told: asks.jsonl and answers.jsonl of its task.

Asks are numbered over the whole task, so that one which is carried out a second time is known by its number.
"""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.approvals import Acted, Approval, Decision
from lumen_tui.model.ids import short_hash
from lumen_tui.model.steering import Steer
from lumen_tui.model.tasks import Usage

ASKS, ANSWERS = "asks.jsonl", "answers.jsonl"
MOST_BYTES = 768 * 1024  # of one line: a reader takes a MiB


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


class ApprovalAsk(Struct, frozen=True, tag="approval"):
    """Show a request to a person as it is on file, with what became of it."""

    id: str


class PersonAsk(Struct, frozen=True, tag="person"):
    """Put a request to a person on file."""

    request: Approval


class DecisionAsk(Struct, frozen=True, tag="decision", omit_defaults=True):
    """Take the decision on a request; with `waits` once there is one."""

    id: str
    waits: bool = False


class QuestionsAsk(Struct, frozen=True, tag="questions"):
    """Say how many questions the task has asked."""


class SteersAsk(Struct, frozen=True, tag="steers", omit_defaults=True):
    """Take what was said to the task; with `again` what this attempt did not take of what an earlier one read."""

    again: bool = False


class DeafNote(Struct, frozen=True, tag="deaf"):
    """The worker takes no message any more, for that reason."""

    reason: str


class ToolAsk(Struct, frozen=True, tag="tool", omit_defaults=True):
    """Make a call of a tool that works on the state of the agent. `web` is where the task has read until now."""

    name: str
    arguments: str  # as a JSON object
    web: tuple[str, ...] = ()
    waited: bool = False  # for the tasks that a ToolWaits named


class TasksAsk(Struct, frozen=True, tag="tasks"):
    """Say which of these tasks have not ended."""

    tasks: tuple[str, ...]


Question = (
    HoldAsk | NewsAsk | CapsAsk | SentNote | PaidNote | SpentNote | WaitNote | ApprovalAsk | PersonAsk | DecisionAsk
    | QuestionsAsk | SteersAsk | DeafNote | ToolAsk | TasksAsk
)  # fmt: skip


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


class ApprovalFile(Struct, frozen=True, tag="approval", omit_defaults=True):
    """A request to a person as it is on file."""

    request: Approval | None = None
    decision: Decision | None = None
    acted: Acted | None = None


class Asked(Struct, frozen=True, tag="asked"):
    """How many questions a task has asked."""

    number: int


class Steers(Struct, frozen=True, tag="steers"):
    """What was said to the task."""

    taken: tuple[Steer, ...]


class ToolBegun(Struct, frozen=True, tag="begun"):
    """A call that must not be made twice begins: no answer yet, and the last word where a kill comes before one."""


class ToolDone(Struct, frozen=True, tag="tool", omit_defaults=True):
    """The result of a call; `data` is a JSON object. `approval` allowed it."""

    text: str
    ok: bool = True
    data: str = "{}"
    summary: str = ""
    approval: str = ""


class ToolWaits(Struct, frozen=True, tag="waits"):
    """The call waits for these tasks first, so many seconds at most."""

    tasks: tuple[str, ...]
    seconds: float


class OpenTasks(Struct, frozen=True, tag="tasks"):
    """The tasks that have not ended."""

    tasks: tuple[str, ...]


AskReply = (
    HoldReply | Noted | AskRefused | ApprovalFile | Asked | Steers | ToolBegun | ToolDone | ToolWaits | OpenTasks
)  # fmt: skip


class AskAnswer(Struct, frozen=True):
    """One line of answers.jsonl: what came of the ask of that number."""

    number: int
    reply: AskReply


def key_of(task_id: str, number: int) -> str:
    """Return under which key a HoldAsk is in the ledger: the same whenever and by whomever it is carried out."""
    return f"spd-{short_hash(f'{task_id} ask {number}')}"
