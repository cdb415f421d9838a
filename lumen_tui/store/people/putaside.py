"""Which items of what needs a person were put aside, or off, from the journal of actions."""

from __future__ import annotations

import contextlib

import msgspec

from lumen_tui.model.attention import unsnoozed
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.store.journal import Follower
from lumen_tui.store.layout import Layout
from lumen_tui.store.lines import split_lines

VERBS = frozenset({"attention.dismiss", "attention.snooze"})
BACK = "attention.back"


class _Head(msgspec.Struct):
    """What counts of an action here; its changes, which may be long, are passed over."""

    id: str
    verb: str
    target: str
    undoes: str = ""
    redoes: str = ""


_decode = msgspec.json.Decoder(_Head).decode


class PutAside:
    """Follows the journal; what was taken back counts no more."""

    def __init__(self, layout: Layout) -> None:
        self._follower = Follower(layout.actions)
        self._targets: dict[str, tuple[str, bool]] = {}  # action id -> (target or `target until WHEN`, brought back)
        self._undone: set[str] = set()
        self.revision = 0

    def refresh(self) -> bool:
        """Take in what is new; True where something is."""
        if not self._follower.changed():
            return False
        self.revision += 1
        for offset, data in self._follower.pieces():
            for _, line in split_lines(data, offset):
                with contextlib.suppress(*UNDECODABLE):
                    self._take(_decode(line))
        return True

    def _take(self, action: _Head) -> None:
        if action.verb in VERBS or action.verb == BACK:
            self._targets[action.id] = (action.target, action.verb == BACK)
        if action.undoes:
            self._undone.add(action.undoes)
        if action.redoes:
            self._undone.discard(action.redoes)

    def targets(self) -> frozenset[str]:
        """What is put aside now, with the moments to which it was put off, as they were named."""
        found: dict[str, set[str]] = {}  # target -> the names under which it is put aside
        for action, (name, back) in self._targets.items():
            if action in self._undone:
                continue
            if back:
                found.pop(name, None)
            else:
                found.setdefault(unsnoozed(name), set()).add(name)
        return frozenset(name for names in found.values() for name in names)
