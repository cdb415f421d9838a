"""Which items of what needs a person were put aside, or off, from the journal of actions."""

from __future__ import annotations

import msgspec

from lumen_tui.model.records import Action
from lumen_tui.store.journal import Follower
from lumen_tui.store.layout import Layout
from lumen_tui.store.lines import split_lines

VERBS = frozenset({"attention.dismiss", "attention.snooze"})


class PutAside:
    """Follows the journal; what was taken back counts no more."""

    def __init__(self, layout: Layout) -> None:
        self._follower = Follower(layout.actions)
        self._targets: dict[str, str] = {}  # action id -> target, or `target until WHEN`
        self._undone: set[str] = set()
        self.revision = 0

    def refresh(self) -> bool:
        """Take in what is new; True where something is."""
        if not self._follower.changed():
            return False
        self.revision += 1
        offset, data = self._follower.poll()
        for _, line in split_lines(data, offset):
            try:
                self._take(msgspec.json.decode(line, type=Action))
            except msgspec.MsgspecError:
                continue
        return True

    def _take(self, action: Action) -> None:
        if action.verb in VERBS:
            self._targets[action.id] = action.target
        if action.undoes:
            self._undone.add(action.undoes)
        if action.redoes:
            self._undone.discard(action.redoes)

    def targets(self) -> frozenset[str]:
        """What is put aside now, with the moments to which it was put off, as they were named."""
        return frozenset(target for action, target in self._targets.items() if action not in self._undone)
