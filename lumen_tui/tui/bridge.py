"""Between the port, which touches the disk, and the event loop, which must never wait for it."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.engine.port import Port
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.storage import integrity
from lumen_tui.tui.words import sentence

_TRY_AGAIN = 2.0  # seconds
_RUN_PROGRAMS = frozenset({"fact.check", "changes.push"})  # verbs that wait for other programs: nothing waits for them
_BURST = 0.5  # seconds that answers wait for those of what was asked for right behind them
_FIRST_FRAME, _FRAME = 1.0, 0.05  # seconds that reading waits at most until what was read is painted


class ActionRefusal(str):
    """Why an action was not carried out, for people; `reason` leaves out what could be done instead."""

    reason: str

    def __new__(cls, text: str, reason: str = "") -> ActionRefusal:
        refusal = super().__new__(cls, text)
        refusal.reason = reason or text
        return refusal


Answer = Callable[[Done | None, ActionRefusal], None]  # what was done, or why not


class _Asked(NamedTuple):
    """An action that is to be carried out."""

    request: Request
    answer: Answer
    behind: bool  # whether those before it were not answered yet when it was asked for


class Bridge:
    """One thread that follows the port and one that carries out actions in the order in which they were asked for.

    Both are daemons: a room that must go at once does not wait for a disk that hangs. When an answer comes, the rows
    that it changed are shown already.
    """

    def __init__(
        self,
        port: Port,
        loop: asyncio.AbstractEventLoop,
        show: Callable[[Snapshot], None],
        tell: Callable[[str], None],
    ) -> None:
        self._port = port
        self._loop = loop
        self._show = show
        self._tell = tell
        self._context = contextvars.copy_context()
        self._stop = threading.Event()
        self._latest: Snapshot | None = None
        self._came = threading.Event()
        self._painted = threading.Event()
        self._lock = threading.Lock()
        self._newest = 0  # serial of the snapshot that was handed over last
        self._loaded = False  # whether a whole one was
        self._asked: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._unanswered = 0
        self._busy = False
        self._actor = threading.Thread(target=self._act, name="room-act", daemon=True)

    def start(self) -> None:
        """Begin to follow and to act. What they call runs in the caller's context: a timer needs the application."""
        self._context = contextvars.copy_context()
        threading.Thread(target=self._follow, name="room-follow", daemon=True).start()
        self._actor.start()

    def stop(self) -> None:
        """Ask both threads to end; what was asked for before is still carried out."""
        self._stop.set()
        self._painted.set()
        self._asked.put(None)

    def finish(self, patience: float) -> int:
        """Wait, at most so many seconds, for what was asked for; return how many actions were not carried out."""
        if not self._stop.is_set():
            self.stop()
        if self._actor.is_alive():
            self._actor.join(patience)
        return self._asked.qsize() - 1 + self._busy if self._actor.is_alive() else 0

    def submit(self, request: Request, answer: Answer) -> None:
        """Carry out one action soon; `answer` is called in the event loop, where this is called as well."""

        def answered(done: Done | None, refusal: ActionRefusal) -> None:
            self._unanswered -= 1
            answer(done, refusal)

        if request.verb in _RUN_PROGRAMS:
            alone = threading.Thread(target=self._act_alone, args=(request, answer), name="room-run", daemon=True)
            alone.start()
            return
        self._asked.put(_Asked(request, answered, behind=self._unanswered > 0))
        self._unanswered += 1

    def _follow(self) -> None:
        patience = _FIRST_FRAME
        while not self._stop.is_set():
            # The edge of the room: a reader that breaks is reported and tried again; the screen stays.
            try:
                for snapshot in self._port.changes(self._stop):
                    self._painted.clear()
                    self._offer(snapshot)
                    self._painted.wait(patience)  # a thread that reads would take every other turn from the paint
                    patience = _FRAME
            except Exception as error:  # noqa: BLE001
                self._call(self._tell, integrity.program_replaced() or f"the state folder cannot be followed: {error}")
            self._stop.wait(_TRY_AGAIN)

    def await_snapshot(self, patience: float) -> None:
        """Wait for the first snapshot, at most so many seconds, and show it. To be called in the event loop."""
        if self._came.wait(patience):
            self._fetch()

    def painted(self) -> None:
        """Say that what was shown is on the screen: the folder is read on from here."""
        self._painted.set()

    def _offer(self, snapshot: Snapshot) -> None:
        """Hand the newest snapshot over; one that was not fetched yet is replaced."""
        with self._lock:
            if snapshot.serial < self._newest:
                return
            self._newest, self._loaded = snapshot.serial, snapshot.loading >= 1
            waiting, self._latest = self._latest is not None, snapshot
        self._came.set()
        if not waiting:
            self._call(self._fetch)

    def _fetch(self) -> None:
        with self._lock:
            snapshot, self._latest = self._latest, None
        if snapshot is not None:
            self._show(snapshot)

    def _act(self) -> None:
        answers: list[Callable[[], None]] = []
        refused, began = False, 0.0  # whether the action before was refused; when the first of the answers came
        while (asked := self._asked.get()) is not None:
            self._busy = True
            if refused and asked.behind and isinstance(asked.request, Undo):
                done, refusal = None, ActionRefusal("nothing was undone: what was typed before it could not be done")
            else:
                done, refusal = carry_out(self._port, asked.request)
            self._busy, refused = False, done is None
            began = began if answers else time.monotonic()
            answers.append(partial(asked.answer, done, refusal))
            if self._asked.empty() or time.monotonic() - began > _BURST:
                self._give(answers)
                answers.clear()

    def _act_alone(self, request: Request, answer: Answer) -> None:
        self._give([partial(answer, *carry_out(self._port, request))])

    def _give(self, answers: Sequence[Callable[[], None]]) -> None:
        """Hand over what the folder holds now, unless it is being read for the first time, and then the answers."""
        if self._loaded and not self._stop.is_set():
            # The edge of the room: of a reader that breaks the thread that follows tells; actions go on.
            with suppress(Exception):
                self._offer(self._port.snapshot())
        for answer in answers:
            self._call(answer)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments, context=self._context)
        except RuntimeError:
            self._stop.set()  # the event loop is gone, and so is the room


def carry_out(port: Port, request: Request) -> tuple[Done | None, ActionRefusal]:
    """Return what one action did, or why it could not be carried out. Touches the disk."""
    try:
        return port.submit(request), ActionRefusal("")
    except ActionError as error:
        near = f" (perhaps {', '.join(error.candidates[:3])})" if error.candidates else ""
        return None, ActionRefusal(f"{error}{near}", error.reason)
    except Exception as error:  # noqa: BLE001 - the edge of the room: a full disk is reported, not fatal
        return None, ActionRefusal(integrity.program_replaced() or reason_first(request.verb, str(error)))


def reason_first(verb: str, text: str) -> str:
    """`/state/tasks/x.tmp/spec.json: the disk is full; …` as `The disk is full; … (task.new)`: the end may be cut."""
    where, colon, reason = text.partition(": ")
    shown = reason if colon and where.startswith("/") and " " not in where else text
    return f"{sentence(shown)} ({verb})"
