"""Between the port, which touches the disk, and the event loop, which must never wait for it."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.engine.port import Port
from lumen_tui.model.requests.base import Request
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.storage import integrity
from lumen_tui.tui.words import sentence

_TRY_AGAIN = 2.0  # seconds
_FIRST_FRAME = 1.0  # seconds that the reading of a large folder waits for it at most


class Refusal(str):
    """Why an action was not carried out, for people; `reason` leaves out what could be done instead."""

    reason: str

    def __new__(cls, text: str, reason: str = "") -> Refusal:
        refusal = super().__new__(cls, text)
        refusal.reason = reason or text
        return refusal


Answer = Callable[[Done | None, Refusal], None]  # what was done, or why not


class Bridge:
    """One thread that follows the port and one that carries out actions in the order in which they were asked for.

    Both are daemons: a room that must go at once does not wait for a disk that hangs.
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
        self._asked: queue.SimpleQueue[tuple[Request, Answer] | None] = queue.SimpleQueue()

    def start(self) -> None:
        """Begin to follow and to act. What they call runs in the caller's context: a timer needs the application."""
        self._context = contextvars.copy_context()
        threading.Thread(target=self._follow, name="room-follow", daemon=True).start()
        threading.Thread(target=self._act, name="room-act", daemon=True).start()

    def stop(self) -> None:
        """Ask both threads to end; what was asked for before is still carried out."""
        self._stop.set()
        self._painted.set()
        self._asked.put(None)

    def submit(self, request: Request, answer: Answer) -> None:
        """Carry out one action soon; `answer` is called in the event loop."""
        self._asked.put((request, answer))

    def _follow(self) -> None:
        while not self._stop.is_set():
            # The edge of the room: a reader that breaks is reported and tried again; the screen stays.
            try:
                for snapshot in self._port.changes(self._stop):
                    self._offer(snapshot)
                    if snapshot.loading < 1:
                        self._painted.wait(_FIRST_FRAME)  # a thread that reads would take every other turn from it
            except Exception as error:  # noqa: BLE001
                self._call(self._tell, integrity.program_replaced() or f"the state folder cannot be followed: {error}")
            self._stop.wait(_TRY_AGAIN)

    def await_snapshot(self, patience: float) -> None:
        """Wait for the first snapshot, at most so many seconds, and show it. To be called in the event loop."""
        if self._came.wait(patience):
            self._fetch()

    def painted(self) -> None:
        """Say that the first frame is on the screen: a large folder is read on from here."""
        self._painted.set()

    def _offer(self, snapshot: Snapshot) -> None:
        """Hand the newest snapshot over; one that was not fetched yet is replaced."""
        with self._lock:
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
        while (asked := self._asked.get()) is not None:
            request, answer = asked
            done, refusal = carry_out(self._port, request)
            self._call(answer, done, refusal)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments, context=self._context)
        except RuntimeError:
            self._stop.set()  # the event loop is gone, and so is the room


def carry_out(port: Port, request: Request) -> tuple[Done | None, Refusal]:
    """Return what one action did, or why it could not be carried out. Touches the disk."""
    try:
        return port.submit(request), Refusal("")
    except ActionError as error:
        near = f" (perhaps {', '.join(error.candidates[:3])})" if error.candidates else ""
        return None, Refusal(f"{error}{near}", error.reason)
    except Exception as error:  # noqa: BLE001 - the edge of the room: a full disk is reported, not fatal
        return None, Refusal(integrity.program_replaced() or reason_first(request.verb, str(error)))


def reason_first(verb: str, text: str) -> str:
    """`/state/tasks/x.tmp/spec.json: the disk is full; …` as `The disk is full; … (task.new)`: the end may be cut."""
    where, colon, reason = text.partition(": ")
    shown = reason if colon and where.startswith("/") and " " not in where else text
    return f"{sentence(shown)} ({verb})"
