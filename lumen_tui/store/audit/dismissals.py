"""Which items that need a person were dismissed or snoozed, from the actions journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lumen_tui.model.attention import unsnoozed
from lumen_tui.storage.layout import Layout
from lumen_tui.store.audit.action_line import ActionLine
from lumen_tui.store.audit.standing import StandingActs

VERBS = frozenset({"attention.dismiss", "attention.snooze"})
BACK = "attention.back"


class Dismissals(StandingActs):
    """Follows the journal, with `ends` up to that offset alone; what was undone no longer counts."""

    MARKS = (b'"attention.',)

    def __init__(self, layout: Layout, ends: Mapping[Path, int] | None = None) -> None:
        super().__init__(layout, ends[layout.actions] if ends else None)
        # action id -> (target or `target until WHEN`, brought back, what an undo names)
        self._targets: dict[str, tuple[str, bool, str]] = {}

    def keep(self, action: ActionLine) -> None:
        if action.verb in VERBS or action.verb == BACK:
            self._targets[action.id] = (action.target, action.verb == BACK, action.group or action.id)

    def targets(self) -> frozenset[str]:
        """Return what is dismissed now, and what is snoozed with the moments until when, as they were named."""
        by_target: dict[str, set[str]] = {}  # target -> the names under which it is dismissed
        for name, is_back, undo_id in self._targets.values():
            if not self.stands(undo_id):
                continue
            if is_back:
                by_target.pop(name, None)
            else:
                by_target.setdefault(unsnoozed(name), set()).add(name)
        return frozenset(name for names in by_target.values() for name in names)
