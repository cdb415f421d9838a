"""Commands about what needs a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lumen_tui.model import times
from lumen_tui.model.approvals import Approval
from lumen_tui.model.attention import until_tomorrow
from lumen_tui.model.snapshot import Attention, EngineLife, Need, Snapshot
from lumen_tui.tui import words
from lumen_tui.tui.commands import BY_ACTION, DECAY, DISCOVERIES, LOOP, SIGNALS, WORKERS, shown_key
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.handlers.facts import FactsHandler
from lumen_tui.tui.handlers.relays import RelayHandler

if TYPE_CHECKING:
    from lumen_tui.tui.screens.approval_answers import Desk

_WHERE = {
    Need.P0_SIGNAL: SIGNALS, Need.FAILED: WORKERS, Need.LOST: WORKERS, Need.STALLED: WORKERS, Need.EXPIRED: WORKERS,
    Need.P0_DISCOVERY: DISCOVERIES,
}  # fmt: skip

# Target -> the command that enter on its row runs.
_ANSWERED_BY = {"kill": "kill", "constitution": "evolution", "proposals": "evolution"}

# Single events. The others end with their cause, and what was put aside once would stay silent the next time.
_SETTLED = frozenset(
    {
        Need.FAILED, Need.LOST, Need.P0_SIGNAL, Need.P0_DISCOVERY, Need.PROGRESS, Need.RETIREMENT, Need.EXPIRED,
    }
)  # fmt: skip


_BEFORE_NO = 300.0  # seconds before a question counts as no at which it is shown again


def can_wait(need: Attention) -> bool:
    """Whether a need may be put aside."""
    return need.need in _SETTLED or need.target.startswith("budget-warning-")  # named by its day


def put_off(need: Attention, day: str) -> tuple[str, str]:
    """The name under which a need is put off until the day after the budget's `day`, or why it cannot be."""
    if need.need in (Need.APPROVAL, Need.ENGINE):
        return "", f"what is about the {need.need} cannot wait"
    try:
        return until_tomorrow(need.target, day), ""
    except ValueError:
        return "", "what day it is here is not known yet: try again in a moment"


def for_an_hour(need: Attention, questions: Iterable[Approval], now: float) -> tuple[float, str]:
    """For how many seconds a need can be put off, or why it cannot be. A question comes back before it counts as no."""
    if need.need is Need.ENGINE:
        return 0.0, "what is about the engine cannot wait"
    ends = next((one.expires for one in questions if one.id == need.target), 0.0)
    left = ends - now - _BEFORE_NO if ends else times.HOUR
    if left < _BEFORE_NO:
        return 0.0, "it counts as no too soon to be put off"
    return min(times.HOUR, left), ""


class NeedsHandler(Handler):
    """The one queue of what needs a person."""

    at = ""  # the one that was gone to last

    def _why(self) -> str:
        off = len(self.snapshot.snoozed)
        later = f"; {words.number(off)} snoozed" if off else ""
        return "" if self.snapshot.attention else f"nothing needs you{later}"

    why_next_need = why_previous_need = why_needs = _why

    def do_next_need(self) -> None:
        self._step(1)

    def do_previous_need(self) -> None:
        self._step(-1)

    def do_needs(self) -> None:
        from lumen_tui.tui.screens.attention_screen import AttentionScreen

        screen = AttentionScreen(self.snapshot, self._why_stays, self._desk(), self.at)
        self.room.lumen.push_screen(screen, self._chosen)

    def _desk(self) -> Desk:
        from lumen_tui.store import approvals
        from lumen_tui.store.layout import Layout
        from lumen_tui.tui.screens.approval_answers import Desk
        from lumen_tui.tui.screens.approval_risk import walls_of

        return Desk(
            self._send,
            self.reasons.ask,
            lambda: self.refusal,
            self._open_task,
            lambda need: put_off(need, self.snapshot.spend.day),
            lambda need: for_an_hour(need, self.snapshot.approvals, self.room.lumen.clock()),
            lambda request: walls_of(request, self.snapshot),
            lambda name: approvals.decision(Layout(Path(self.snapshot.root)), name),
        )

    def _send(self, verb: str, told: Callable[[str, bool], None], **arguments: Any) -> None:
        """Carry out one action, and say how it ended in the footer and to who asked."""

        def failed() -> None:
            told(self.room.notice.text if self.room.notice else f"{verb} failed", True)

        self.room.lumen.submit(verb, lambda done: told(done.summary, False), failed, **arguments)

    def _open_task(self, task_id: str) -> None:
        from lumen_tui.tui.screens.task_detail_screen import TaskDetailScreen

        lumen = self.room.lumen
        lumen.push_screen(TaskDetailScreen(lumen.port, task_id, refusal=self.refusal, standing=self.snapshot.standing))

    def _chosen(self, need: Attention | None) -> None:
        if need is None:
            return
        if action := _ANSWERED_BY.get(need.target, "budget" if need.need is Need.BUDGET else ""):
            self.room.action_do(action)
            return
        if need.need is Need.ENGINE and self.snapshot.engine.life is EngineLife.NONE:
            self.room.action_do("engine")
            return
        if need.need is Need.PROBLEM:
            self._show_problems(need.text)
            return
        if need.need is Need.FACT:
            FactsHandler(self.room).show_facts(need.target)
            return
        if need.need is Need.RELAY:
            RelayHandler(self.room).show_relays(need.target)
            return
        if need.need is Need.RETIREMENT:
            self._show_role(need.target.removeprefix("retire-").rpartition("-")[0])
            return
        self._go(need)

    def why_problems(self) -> str:
        return "" if self.snapshot.problems else "every file can be read"

    def do_problems(self) -> None:
        self._show_problems("")

    def _show_problems(self, at: str) -> None:
        from lumen_tui.tui.screens.problems_screen import ProblemsScreen

        self.room.lumen.push_screen(ProblemsScreen(self.snapshot, at))

    def _show_role(self, name: str) -> None:
        from lumen_tui.tui.screens.roles_screen import RolesScreen

        self.room.lumen.push_screen(RolesScreen(self.room.lumen.port, self.snapshot, at=name))

    def _why_stays(self, need: Attention) -> str:
        """Why one cannot be taken off the list, or the empty string."""
        if need.need is Need.APPROVAL:
            return "a worker waits for your word on this: y or d answers it"
        if not can_wait(need):
            hint = "" if need.need is Need.ENGINE else "; l puts it off until tomorrow"
            return f"what is about the {need.need} goes away with its cause and cannot be put aside{hint}"
        return self.refusal

    def _step(self, by: int) -> None:
        needs = self.snapshot.attention
        names = [_name(need) for need in needs]
        if not names:
            self.room.say("Nothing needs you.")
            return
        start = names.index(self.at) if self.at in names else (-1 if by > 0 else len(names))
        self._go(needs[(start + by) % len(needs)])

    def _go(self, need: Attention) -> None:
        self.at = _name(need)
        names = [_name(each) for each in self.snapshot.attention]
        place = f"{names.index(self.at) + 1} of {len(names)}: " if self.at in names else ""
        hint = f" ({_key(self.snapshot, 'problems')} says what to do)" if need.need is Need.PROBLEM else ""
        self.room.say(f"{place}{need.text}{hint}")
        if need.need is Need.APPROVAL:
            self._open_approval(need.target)
            return
        if need.need is Need.RETIREMENT:
            return  # low as it is, it opens nothing by itself
        pane = self.room.pane(_WHERE.get(need.need, _elsewhere(need)))
        self.room.go_to(pane)
        if pane.rows is not None and need.target:
            pane.rows.set_filter("")
            pane.rows.select_key(need.target)

    def _open_approval(self, approval_id: str) -> None:
        from lumen_tui.tui.screens.approval_screen import ApprovalScreen

        def left(where: str | None) -> None:
            if where:
                self._step(1 if where == "next" else -1)

        self.room.lumen.push_screen(ApprovalScreen(self.snapshot, approval_id, self._desk()), left)


def _key(snapshot: Snapshot, action: str) -> str:
    return shown_key(BY_ACTION[action], snapshot.config.keys)


def _name(need: Attention) -> str:
    """As the list names its rows, so that it opens on the one that was gone to last."""
    return f"{need.need}:{need.target}" + (f":{need.text}" if need.need is Need.PROBLEM else "")


def _elsewhere(need: Attention) -> str:
    """Where to look for what is not a row."""
    return DECAY if need.target.startswith("mem-") else LOOP
