"""Operator commands to the engine: read once, answered once."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.supervisor.pauses import PauseControl
from lumen_tui.engine.supervisor.supervisor import TaskSupervisor
from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.loop import Command, CommandReceipt, Pause
from lumen_tui.model.tasks import ALIVE, StopRequest
from lumen_tui.storage import files
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks import task_records

_STALE = 60.0  # seconds: "beat" and "stop" are meant for the engine that runs when they are given
_REMEMBERED = 1000  # ids of answered commands held: what is twice in the file is close together
_TOO_OLD = "too old: given before this engine ran"


@dataclass
class PendingRequests:
    """What the commands of one pass ask of the engine itself."""

    beat: bool = False
    stop: str = ""  # the reason, where a stop was asked for
    carried_out: int = 0


class CommandInbox:
    """Follows commands.jsonl and answers each command in command-receipts.jsonl."""

    def __init__(self, store: Store, log: EventLog, supervisor: TaskSupervisor, pauses: PauseControl) -> None:
        self._store = store
        self._log = log
        self._supervisor = supervisor
        self._pauses = pauses
        self.stops_after_tasks = ""  # the reason, where the engine is to stop once no task runs
        self._follower = Follower(store.layout.commands)
        self._generation = -1  # of the follower when the receipts were read last
        self._answered: deque[str] = deque(maxlen=_REMEMBERED)
        self._unanswered: deque[Command] = deque()
        self._requests = PendingRequests()  # of commands that were answered since they were handed over last

    @property
    def waiting(self) -> bool:
        """Whether there may be a command to carry out: one `stat`."""
        return bool(self._unanswered) or self._follower.changed()

    def carry_out(self, now: float) -> PendingRequests:
        """Carry out every command that has no receipt yet.

        StoreError where an answer cannot be written: that command and those behind it wait for the next call, and so
        does what the ones before it asked for.
        """
        self._pauses.end_expired(now)
        self._read_new()
        while self._unanswered:
            self._answer(self._unanswered[0], now)
            self._unanswered.popleft()
        requests = self._requests
        self._requests = PendingRequests()
        return requests

    def _read_new(self) -> None:
        """Queue new commands. A file read from its first line holds answered ones too: the receipts say which."""
        answered: Collection[str] = self._answered
        for offset, data in self._follower.pieces():
            if self._generation != self._follower.generation:
                answered = self._ever_answered()
            waiting = {command.id for command in self._unanswered}
            for _, line in split_lines(data, offset):
                try:
                    command = msgspec.json.decode(line, type=Command)
                except UNDECODABLE:
                    continue
                if command.id not in answered and command.id not in waiting:
                    self._unanswered.append(command)

    def _ever_answered(self) -> set[str]:
        try:
            answered = [receipt.command_id for receipt in self._store.command_receipts.records(CommandReceipt)]
        except (files.StoreError, OSError):
            self._follower.rewind()  # what this pass has read is read again by the next
            raise
        self._generation = self._follower.generation
        self._answered.extend(answered)
        return set(answered)

    def _answer(self, command: Command, now: float) -> None:
        ok, text = self._execute(command, now)
        receipt = CommandReceipt(command_id=command.id, at=times.iso(now), ok=ok, text=text)
        self._store.command_receipts.append(receipt)
        self._answered.append(command.id)
        self._log.add("command", f"{command.by}: {command.verb} {command.target} → {text}", now, ok=ok)
        self._requests.carried_out += 1

    def _execute(self, command: Command, now: float) -> tuple[bool, str]:
        handler = getattr(self, f"_do_{command.verb}", None)
        if handler is None:
            return False, f"unknown command {command.verb!r}"
        try:
            ok, text = handler(command, self._requests, now)
        except files.StoreError as error:
            return False, f"it could not be done: {error}"
        return ok, text

    def _do_beat(self, command: Command, requests: PendingRequests, now: float) -> tuple[bool, str]:
        if now - times.epoch(command.at) > _STALE:
            return False, _TOO_OLD
        requests.beat = True
        return True, "beating now"

    def _do_stop(self, command: Command, requests: PendingRequests, now: float) -> tuple[bool, str]:
        if now - times.epoch(command.at) > _STALE:
            return False, _TOO_OLD
        reason = command.reason or f"asked by {command.by}"
        if command.after == "task":
            self.stops_after_tasks = reason
            return True, "nothing new starts; the engine stops when the running tasks have ended"
        requests.stop = reason
        if command.after == "now":
            ended = self._end_all(f"stopped with the engine by {command.by}", now)
            return True, f"stopping, {ended} workers with it"
        return True, "stopping; workers go on and are adopted by the next engine"

    def _end_all(self, reason: str, now: float) -> int:
        self._supervisor.index.refresh(now, {}, only=set())
        alive = self._supervisor.index.of_status(ALIVE)
        for view in alive:
            self._supervisor.end(view, status="cancelled", reason=reason, now=now)
        return len(alive)

    def _do_pause(self, command: Command, requests: PendingRequests, now: float) -> tuple[bool, str]:
        record = Pause(
            at=times.iso(now), by=command.by, reason=command.reason, until=command.until, after=command.after or "task"
        )
        if record.over(now):
            return False, "its time is over already"
        return self._pauses.pause(command.target, record)

    def _do_resume(self, command: Command, requests: PendingRequests, now: float) -> tuple[bool, str]:
        requests.beat = True
        self.stops_after_tasks = ""
        return self._pauses.resume(command.target, alone=command.after == "alone")

    def _do_cancel(self, command: Command, requests: PendingRequests, now: float) -> tuple[bool, str]:
        view = self._supervisor.index.find(command.target)
        if view is None:
            return False, f"there is no task {command.target}"
        if view.status.ended or view.archived or view.finished:
            return False, f"it has ended already ({view.status})"
        reason = f"cancelled by {command.by}" + (f": {command.reason}" if command.reason else "")
        if command.after == "step" and view.status.alive:
            task_records.ask_to_stop(self._store.layout.task(view.id), StopRequest("cancelled", reason, after="step"))
            return True, "it ends after the step it is at"
        self._supervisor.end(view, status="cancelled", reason=reason, now=now)
        return True, "cancelled" if not view.status.alive else "ending it: ask, terminate, kill"
