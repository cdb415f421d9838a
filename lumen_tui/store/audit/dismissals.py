"""Which items that need a person were dismissed or snoozed, from the actions journal."""

from __future__ import annotations

import contextlib

from lumen_tui.model.attention import unsnoozed
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import Stage
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.store.audit.journal import ActionLine, decode_action_line

VERBS = frozenset({"attention.dismiss", "attention.snooze"})
BACK = "attention.back"


_MARKS = (b'"attention.', b'does"', b'"stage"')  # one of them is in each line that counts here


class Dismissals:
    """Follows the journal; what was undone no longer counts."""

    def __init__(self, layout: Layout) -> None:
        self._follower = Follower(layout.actions)
        # action id -> (target or `target until WHEN`, brought back, what an undo names)
        self._targets: dict[str, tuple[str, bool, str]] = {}
        self._turnings: dict[str, ActionLine] = {}  # without a recorded end so far
        self._undone: set[str] = set()
        self.revision = 0

    def close(self) -> None:
        """Close the journal."""
        self._follower.close()

    def refresh(self) -> bool:
        """Read what is new; return whether there was anything."""
        if not self._follower.changed():
            return False
        self.revision += 1
        for offset, data in self._follower.pieces():
            for _, line in split_lines(data, offset):
                if not any(mark in line for mark in _MARKS):
                    continue
                with contextlib.suppress(*UNDECODABLE):
                    self._take(decode_action_line(line))
        return True

    def _take(self, action: ActionLine) -> None:
        if action.stage in (Stage.DONE, Stage.DROPPED):
            self._end(action)
        elif action.undoes or action.redoes:
            self._turnings[action.id] = action
            self._turn(action, undone=bool(action.undoes))
        elif action.verb in VERBS or action.verb == BACK:
            self._targets[action.id] = (action.target, action.verb == BACK, action.group or action.id)

    def _end(self, action: ActionLine) -> None:
        """Reverse an undo or redo that was not completed."""
        turning = self._turnings.pop(action.id, None)
        if turning is not None and action.stage == Stage.DROPPED:
            self._turn(turning, undone=not turning.undoes)

    def _turn(self, action: ActionLine, *, undone: bool) -> None:
        turned = action.undoes or action.redoes
        if undone:
            self._undone.add(turned)
        else:
            self._undone.discard(turned)

    def targets(self) -> frozenset[str]:
        """Return what is dismissed now, and what is snoozed with the moments until when, as they were named."""
        by_target: dict[str, set[str]] = {}  # target -> the names under which it is dismissed
        for name, is_back, undo_id in self._targets.values():
            if undo_id in self._undone:
                continue
            if is_back:
                by_target.pop(name, None)
            else:
                by_target.setdefault(unsnoozed(name), set()).add(name)
        return frozenset(name for names in by_target.values() for name in names)
