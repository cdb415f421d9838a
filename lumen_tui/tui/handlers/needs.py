"""Commands about what needs a person."""

from __future__ import annotations

from lumen_tui.model.snapshot import Attention, EngineLife, Need
from lumen_tui.tui.commands import DECAY, DISCOVERIES, LOOP, SIGNALS, WORKERS
from lumen_tui.tui.handlers.base import Handler

_WHERE = {
    Need.P0_SIGNAL: SIGNALS, Need.FAILED: WORKERS, Need.LOST: WORKERS, Need.STALLED: WORKERS,
    Need.P0_DISCOVERY: DISCOVERIES,
}  # fmt: skip

# Single events. The others end with their cause, and what was put aside once would stay silent the next time.
_SETTLED = frozenset({Need.FAILED, Need.LOST, Need.P0_SIGNAL, Need.P0_DISCOVERY, Need.PROGRESS})


def can_wait(need: Attention) -> bool:
    """Whether a need may be put aside."""
    return need.need in _SETTLED


class NeedsHandler(Handler):
    """The one queue of what needs a person."""

    at = ""  # the one that was gone to last

    def _why(self) -> str:
        return "" if self.snapshot.attention else "nothing needs you"

    why_next_need = why_previous_need = why_needs = _why

    def do_next_need(self) -> None:
        self._step(1)

    def do_previous_need(self) -> None:
        self._step(-1)

    def do_needs(self) -> None:
        from lumen_tui.tui.screens.attention_screen import AttentionScreen

        self.room.lumen.push_screen(AttentionScreen(self.snapshot, self._put_aside), self._chosen)

    def _chosen(self, need: Attention | None) -> None:
        if need is None:
            return
        if need.need is Need.ENGINE and self.snapshot.engine.life is EngineLife.NONE:
            self.room.action_do("engine")
            return
        self._go(need)

    def _put_aside(self, need: Attention) -> str:
        """Take one off the list; returns why it stays, or the empty string."""
        if not can_wait(need):
            return f"what is about the {need.need} goes away with its cause and cannot be put aside"
        if self.refusal:
            return self.refusal
        self.submit("attention.dismiss", targets=[need.target])
        return ""

    def _step(self, by: int) -> None:
        needs = self.snapshot.attention
        names = [_name(need) for need in needs]
        start = names.index(self.at) if self.at in names else (-1 if by > 0 else len(names))
        self._go(needs[(start + by) % len(needs)])

    def _go(self, need: Attention) -> None:
        self.at = _name(need)
        names = [_name(each) for each in self.snapshot.attention]
        place = f"{names.index(self.at) + 1} of {len(names)}: " if self.at in names else ""
        self.room.say(f"{place}{need.text}")
        pane = self.room.pane(_WHERE.get(need.need, _elsewhere(need)))
        self.room.go_to(pane)
        if pane.rows is not None and need.target:
            pane.rows.set_filter("")
            pane.rows.select_key(need.target)


def _name(need: Attention) -> str:
    return f"{need.need}:{need.target}:{need.text}"


def _elsewhere(need: Attention) -> str:
    """Where to look for what is not a row."""
    return DECAY if need.target.startswith("mem-") else LOOP
