"""Acts that hold until they are undone, followed in the journal of actions."""

from __future__ import annotations

import contextlib

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import Stage
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.store.audit.action_line import ActionLine, decode_action_line

_TURNED = (b'does"', b'"stage"')  # one of them is in each line that takes something back, or says how it ended


class StandingActs:
    """Follows the journal, with `end` up to there; `keep` gets what was done, `stands` says whether it was undone."""

    MARKS: tuple[bytes, ...] = ()  # one of them is in each line that counts here

    def __init__(self, layout: Layout, end: int | None = None) -> None:
        self._follower = Follower(layout.actions, end)
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
                if self.counts(line):
                    with contextlib.suppress(*UNDECODABLE):
                        self._take(decode_action_line(line))
        return True

    def counts(self, line: bytes) -> bool:
        """Return whether a line may matter here, without decoding it."""
        return any(mark in line for mark in (*self.MARKS, *_TURNED))

    def keep(self, action: ActionLine) -> None:
        """Take in what was done."""

    def drop(self, action: ActionLine) -> None:
        """Forget what was begun and did not happen."""

    def stands(self, undo_id: str) -> bool:
        """Return whether what an undo would name so was not undone."""
        return undo_id not in self._undone

    def _take(self, action: ActionLine) -> None:
        if action.stage in (Stage.DONE, Stage.DROPPED):
            self._end(action)
        elif action.undoes or action.redoes:
            self._turnings[action.id] = action
            self._turn(action, undone=bool(action.undoes))
        else:
            self.keep(action)

    def _end(self, action: ActionLine) -> None:
        """Reverse an undo or redo that was not completed."""
        if action.stage == Stage.DROPPED:
            self.drop(action)
        turning = self._turnings.pop(action.id, None)
        if turning is not None and action.stage == Stage.DROPPED:
            self._turn(turning, undone=not turning.undoes)

    def _turn(self, action: ActionLine, *, undone: bool) -> None:
        turned = action.undoes or action.redoes
        if undone:
            self._undone.add(turned)
        else:
            self._undone.discard(turned)
