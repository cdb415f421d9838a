"""What can be repeated: for each verb its command, and the field of its request that names what it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from lumen_tui.model.requests.base import Request

if TYPE_CHECKING:
    from lumen_tui.tui.host import Host


class Told(Protocol):
    """A screen that has a line for a sentence."""

    def say(self, text: str, bad: bool = False) -> None:
        """Show a sentence."""


class Repeatable(NamedTuple):
    """How a verb is repeated. Without a field its command is carried out again, which may ask as it did before."""

    action: str
    field: str = ""


CLAIMS = ("operator.claim", "operator.release")

REPEATABLE: Mapping[str, Repeatable] = {
    "task.cancel": Repeatable("cancel_task", "task_id"),
    "task.tell": Repeatable("tell_task", "task_id"),
    "task.retry": Repeatable("retry_task"),
    "attention.dismiss": Repeatable("dismiss", "targets"),
    "attention.snooze": Repeatable("answer_snooze"),
    "signal.read": Repeatable("read_signal", "signal_ids"),
    "triage.promote": Repeatable("promote", "node_ids"),
    "triage.archive": Repeatable("archive", "node_ids"),
    "triage.keep": Repeatable("later", "node_ids"),
    "triage.edit": Repeatable("retype", "node_ids"),
    "triage.merge": Repeatable("merge"),
    "decay.pin": Repeatable("pin", "node_ids"),
    "decay.touch": Repeatable("touch", "node_ids"),
    "decay.apply": Repeatable("run_decay"),
    "node.archive": Repeatable("archive_node", "node_ids"),
    "fact.confirm": Repeatable("facts_confirm", "fact_ids"),
    "fact.check": Repeatable("facts_probe", "fact_ids"),
    "fact.retire": Repeatable("facts_retire", "fact_ids"),
    "wu.claim": Repeatable("claim", "wu_id"),
    "wu.release": Repeatable("claim", "wu_id"),
    "wu.block": Repeatable("unit_block", "wu_id"),
    "wu.unblock": Repeatable("unit_block", "wu_id"),
    **dict.fromkeys(CLAIMS, Repeatable("claim", "targets")),
    "kill": Repeatable("kill"),
    "unkill": Repeatable("kill"),
}


def about(request: Request, names: Sequence[str]) -> list[Request]:
    """Return a request with other things for what it was about; one for each where it takes a single one."""
    field = REPEATABLE[request.verb].field
    if field.endswith("_id"):
        return [msgspec.structs.replace(request, **{field: name}) for name in names]
    return [msgspec.structs.replace(request, **{field: list(names)})] if names else []


def carry_out(host: Host, sheet: Told, request: Request) -> None:
    """Carry out one action, and say on the sheet in front what came of it."""
    host.submit(request, lambda done: sheet.say(done.summary), lambda why: sheet.say(why, bad=True))
