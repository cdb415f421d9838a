"""What persons decided of discoveries and proposals since the loop before, for the agent's briefing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, takewhile

from lumen_tui.model import times
from lumen_tui.model.briefing import bounded
from lumen_tui.model.loop import Packet
from lumen_tui.model.records import Action
from lumen_tui.model.text import one_line
from lumen_tui.storage.layout import Layout
from lumen_tui.store.audit import journal
from lumen_tui.tools.policy.fence import fence

MOST = 1200  # characters
_VERBS = ("triage.promote", "triage.archive", "triage.merge")
_LOOKED_AT = 500  # acts of persons


def entries(layout: Layout, packets: Sequence[Packet], mark: str) -> list[str]:
    """Tell who decided what, and why; behind a fence, as a title may be anybody's words."""
    before = next((packet for packet in reversed(packets) if not packet.failed), None)
    if before is None:
        return []
    since = times.epoch(before.completed_at)
    acts = (entry.first for entry in islice(journal.in_effect(layout, lambda _: True), _LOOKED_AT))
    newer = takewhile(lambda act: times.epoch(act.at) > since, acts)
    lines = [_said(act) for act in newer if act.verb in _VERBS]
    return [fence(bounded("\n".join(lines[::-1]), MOST), "what persons decided of discoveries", mark)] if lines else []


def _said(act: Action) -> str:
    reason = f", because: {one_line(act.reason, 200)}" if act.reason else ""
    return f"{one_line(act.by, 60)}: {one_line(act.summary, 200)}{reason}"
