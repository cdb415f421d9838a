"""The checks of a task, run again on what its calls left in the shadow."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import nullcontext

import msgspec

from lumen_tui.model import acceptance
from lumen_tui.model.acceptance import FACT, BadCheck, CheckResult
from lumen_tui.storage.journal import Journal
from lumen_tui.tools.base import Context
from lumen_tui.tools.toolbox import Toolbox
from lumen_tui.worker.checking import Checker
from lumen_tui.worker.record import Recorder

_SECONDS = 300.0  # for all checks together


def checked_again(context: Context, known: Sequence[CheckResult]) -> list[CheckResult | None]:
    """Return what each check finds in the shadow; None for one that looks elsewhere. Raises Stopped."""
    role = msgspec.structs.replace(context.role, network=False, command_hosts=())
    toolbox = Toolbox(role, context.spec, context)
    journal = Journal(context.folder / "events.jsonl")
    events = Recorder(journal, 1, context.now, context.redact, lambda **_: nullcontext())
    checker = Checker(dataclasses.replace(context, rules=toolbox.rules), toolbox, events, _SECONDS)
    try:
        return [checker.run([result.check]).results[0] if _is_inside(result.check) else None for result in known]
    finally:
        toolbox.close()


def _is_inside(text: str) -> bool:
    """Return whether a check looks at the task's folder alone."""
    try:
        return acceptance.parse(text).kind != FACT
    except BadCheck:
        return False
