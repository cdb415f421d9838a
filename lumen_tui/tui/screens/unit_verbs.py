"""What can be done with a work unit, in the list of units and on the page of one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from lumen_tui.engine.port import Port
from lumen_tui.model import agent
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.requests.work import (
    BlockWorkUnit,
    ClaimWorkUnit,
    FinishWorkUnit,
    ReleaseWorkUnit,
    UnblockWorkUnit,
)
from lumen_tui.model.snapshot import Revisions, Snapshot
from lumen_tui.model.text import one_line
from lumen_tui.model.work import Tracked
from lumen_tui.tui.kit.questions import ReasonPrompt
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import LoadedSheet, act
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.screens.signals import SignalForm
from lumen_tui.tui.screens.task_form import TaskForm, here

R = TypeVar("R")
T = TypeVar("T")


class UnitVerbs:
    """What the keys do with the work unit that is chosen on a sheet."""

    def __init__(self, sheet: UnitSheet[Any, Any], port: Port, refusal: str) -> None:
        """`refusal` tells why nothing can be written from here; empty where it can."""
        self._sheet, self._port, self._refusal = sheet, port, refusal

    def submit(self, request: Request) -> None:
        """Carry out one action, and read the sheet again."""
        self._sheet.run_worker(act(self._sheet, self._port, request), group="act")

    def _chosen(self) -> Tracked | None:
        """Return the unit that a key is about; None, with a sentence, where nothing can be done."""
        if self._refusal:
            self._sheet.say(self._refusal, bad=True)
            return None
        if (unit := self._sheet.unit()) is None:
            self._sheet.say("Nothing is selected.", bad=True)
        return unit

    def task(self) -> None:
        """Give a worker a task on it."""
        if (unit := self._chosen()) is None:
            return
        workers = [role for role in self._sheet.snapshot.roles if role.name != agent.ROLE]
        given = {"folder": here(), "wu_id": unit.id, "lane": unit.lane, "priority": unit.priority}
        form = TaskForm(workers, {**given, "objective": f"{unit.title}\n"})
        self._sheet.app.push_screen(form, lambda request: self.submit(request) if request else None)

    def signal(self) -> None:
        """Send a signal about it."""
        if (unit := self._chosen()) is not None:
            form = SignalForm(None, self._sheet.snapshot.lanes, {"wu_id": unit.id, "lane": unit.lane})
            self._sheet.app.push_screen(form, lambda request: self.submit(request) if request else None)

    def claim(self) -> None:
        """Claim it, or release it."""
        if (unit := self._chosen()) is not None:
            self.submit((ReleaseWorkUnit if unit.status == "in_progress" else ClaimWorkUnit)(wu_id=unit.id))

    def block(self) -> None:
        """Block it with a reason, or make it ready again."""
        if (unit := self._chosen()) is None:
            return
        if unit.status == "blocked":
            self.submit(UnblockWorkUnit(wu_id=unit.id))
        else:
            self._ask("Block", unit, "wu.block", lambda reason: BlockWorkUnit(wu_id=unit.id, reason=reason))

    def done(self) -> None:
        """Finish it; where its acceptance was disproved, the reason is asked for."""
        if (unit := self._chosen()) is None:
            return
        if why := self._sheet.why_open():
            self._sheet.say(f"done: {why}", bad=True)
        elif self._sheet.disproved:
            self._ask("Finish", unit, "wu.done", lambda reason: FinishWorkUnit(wu_id=unit.id, reason=reason))
        else:
            self.submit(FinishWorkUnit(wu_id=unit.id))

    def _ask(self, verb: str, unit: Tracked, journal_verb: str, request: Callable[[str], Request]) -> None:
        known = partial(self._port.recent_reasons, journal_verb)
        prompt = ReasonPrompt(f"{verb} {unit.id} {one_line(unit.title, 60)}", (), look=known)
        self._sheet.app.push_screen(prompt, lambda reason: self.submit(request(reason)) if reason else None)

    def undo(self) -> None:
        """Undo the operator's last action."""
        if self._refusal:
            self._sheet.say(self._refusal, bad=True)
        else:
            self.submit(Undo())


class UnitSheet(LoadedSheet[R, T]):
    """A list about work units, with what can be done with the chosen one."""

    SCOPE = "unit"
    OF_ROWS = frozenset({"new_task", "send_signal", "unit_done", "claim", "unit_block", "sort"})
    WHY = True
    REPEATS = frozenset({"wu.claim", "wu.release", "wu.block", "wu.unblock"})
    disproved = False  # whether the last checks of the chosen unit's acceptance say that it does not hold

    def __init__(self, heading: str, port: Port, snapshot: Snapshot, read: Callable[[], T], refusal: str = "") -> None:
        super().__init__(heading, snapshot.taken, read)
        self._port, self._refusal, self.snapshot = port, refusal, snapshot
        self.verbs = UnitVerbs(self, port, refusal)

    def unit(self) -> Tracked | None:
        """Return the work unit that keys are about."""
        raise NotImplementedError

    @property
    def subject(self) -> str:
        """The number of the work unit that keys are about."""
        unit = self.unit() if self.is_mounted else None
        return unit.id if unit is not None else ""

    def show(self, snapshot: Snapshot) -> None:
        """Read again where a journal that it goes by has news; who works on what is in the snapshot itself."""
        before, now = self.snapshot.revisions, snapshot.revisions
        self.snapshot = snapshot
        if self.news(before) != self.news(now):
            super().show(snapshot)

    def news(self, revisions: Revisions) -> object:
        """Return the counters that it goes by; `problems` counts the changes of work units as well."""
        return revisions.problems, revisions.signals, revisions.nodes

    def keys(self) -> Keys:
        return (*self.offer("new_task", "send_signal", "unit_done", "claim", "unit_block"), *super().keys())

    def why_not(self, command: RoomCommand) -> str:
        if command.scope == "unit" and self._refusal:
            return self._refusal
        if command.action == "unit_done" and (why := self.why_open()):
            return why
        return super().why_not(command)

    def why_open(self) -> str:
        """Return why the chosen unit cannot be finished from here, with what to do; the empty string where it can."""
        unit = self.unit() if self.is_mounted else None
        return f"{unit.id} is done already" if unit is not None and unit.status == "done" else ""
