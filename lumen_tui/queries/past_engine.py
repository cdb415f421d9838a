"""Whether an engine drove at a moment, and what held it back: from its events, and from commands that it answered."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.liveness import EngineLife, EngineView
from lumen_tui.model.loop import Command, CommandReceipt, EngineEvent, Heartbeat, Packet, Pause, Pauses
from lumen_tui.model.records import Action, Stage
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.dated_lines import DatedLines
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store.audit.journal import marked
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.pauses import Kill
from lumen_tui.store.tasks.task_records import read_json

_STARTED, _STOPPED = "engine_started", "engine_stopped"
_MARK = b'"kind":"engine_st'
_KILLS = (b'"verb":"kill"', b'"verb":"unkill"', b'"stage":"dropped"')
T = TypeVar("T")
_TICK = 0.001  # seconds: dates are recorded in milliseconds
_decoder = lazy_decoder(EngineEvent)


class _Turn(NamedTuple):
    """An engine started or stopped."""

    at: float
    started: bool
    text: str


class EnginePast:
    """Reads the starts and stops of engines once, and again where their log was changed."""

    def __init__(self, layout: Layout) -> None:
        logs = [layout.earlier_events, layout.events]
        self._layout = layout
        self._logs = [DatedLines(path, b"at") for path in logs]
        self._turns = Stamped(lambda: logs, lambda: sorted(_turns(layout)))

    def at(self, moment: float, packets: tuple[Packet, ...]) -> EngineView:
        """Return the engine of a moment; its brain is that of the last of `packets`. Touches the disk."""
        self._turns.refresh()
        turns = self._turns.value
        place = bisect_right(turns, moment, key=lambda turn: turn.at)
        last = turns[place - 1] if place else None
        if last is None:
            return EngineView(why="no engine has run here yet")
        beat = Heartbeat(0, "asleep", times.iso(moment), brain=packets[-1].brain if packets else "")
        if not last.started:
            why = f"stopped {times.ago(moment - last.at)}: {one_line(last.text, 120)}"
            return EngineView(EngineLife.NONE, msgspec.structs.replace(beat, phase="stopped"), why)
        if self._gave_a_sign(moment, turns[place] if place < len(turns) else None):
            return EngineView(EngineLife.ALIVE, beat)
        return EngineView(EngineLife.NONE, beat, "left no sign of life after that: it had crashed, or did so soon")

    def _gave_a_sign(self, moment: float, following: _Turn | None) -> bool:
        """Return whether the engine that had started gave a sign of life after a moment."""
        if following is not None and not following.started:
            return True
        ahead = [dated.at for log in self._logs if (dated := log.after(moment - _TICK))]
        if ahead and (following is None or min(ahead) < following.at):
            return True
        beat = read_json(self._layout.heartbeat, Heartbeat)
        return following is None and beat is not None and times.epoch(beat.at) >= moment - beat.every_seconds


def _turns(layout: Layout) -> Iterator[_Turn]:
    for path in (layout.earlier_events, layout.events):
        try:
            lines = [line for line in Journal(path).lines() if _MARK in line]
        except (files.StoreError, OSError):
            continue
        for line in lines:
            try:
                event = _decoder.decode(line)
            except UNDECODABLE:
                continue
            if event.kind in (_STARTED, _STOPPED):
                yield _Turn(times.epoch(event.at), event.kind == _STARTED, event.text)


class HoldsPast:
    """What operators held back: pauses of everything, the loop, roles and providers, and the kill switch."""

    def __init__(self, layout: Layout) -> None:
        self._kills = Stamped(lambda: [layout.actions], lambda: list(_kills(layout)))
        answers = [layout.commands, layout.command_receipts]
        self._answered = Stamped(lambda: answers, lambda: sorted(_answered(layout), key=lambda one: one.at))

    def killed(self, moment: float) -> str:
        """Return who had killed the agent and why; empty where nobody had. Touches the disk."""
        self._kills.refresh()
        last = [kill for kill in self._kills.value if times.epoch(kill.at) <= moment][-1:]
        return Kill(last[0].at, last[0].by, last[0].reason).words if last and last[0].verb == "kill" else ""

    def paused(self, moment: float) -> dict[str, str]:
        """Return what was paused, by whom and why. Touches the disk."""
        self._answered.refresh()
        paused = dict[str, Pause]()
        for answered in self._answered.value:
            if answered.at <= moment:
                _carry_out(paused, answered.command)
        return _words(paused, moment)


def _kills(layout: Layout) -> Iterator[Action]:
    """Yield each use of the kill switch, without what was dropped."""
    actions = list(marked(layout, *_KILLS))
    dropped = {action.id for action in actions if action.stage == Stage.DROPPED}
    uses = (action for action in actions if action.verb in ("kill", "unkill") and action.id not in dropped)
    return (action for action in uses if action.stage != Stage.DONE)


class _Answered(NamedTuple):
    """A command that an engine carried out, and when."""

    at: float
    command: Command


def _answered(layout: Layout) -> Iterator[_Answered]:
    commands = {command.id: command for command in _records(layout.commands, Command)}
    for receipt in _records(layout.command_receipts, CommandReceipt):
        if receipt.ok and (command := commands.get(receipt.command_id)) and command.verb in ("pause", "resume"):
            yield _Answered(times.epoch(receipt.at), command)


def _records(path: Path, kind: type[T]) -> Iterator[T]:
    try:
        yield from Journal(path).records(kind)
    except (files.StoreError, OSError):
        return


def _carry_out(paused: dict[str, Pause], command: Command) -> None:
    if command.verb == "pause":
        paused[command.target] = Pause(command.at, command.by, command.reason, command.until)
    elif command.target or command.after == "alone":
        paused.pop(command.target, None)
    else:
        paused.clear()


def _words(paused: dict[str, Pause], moment: float) -> dict[str, str]:
    def parts(beginning: str) -> dict[str, Pause]:
        return {scope.removeprefix(beginning): pause for scope, pause in paused.items() if scope.startswith(beginning)}

    held = Pauses(loop=paused.get("loop"), roles=parts("role:"), providers=parts(pauses.PROVIDER))
    return pauses.words(paused.get(""), held, moment)
