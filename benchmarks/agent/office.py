"""A state folder with its engine, real workers, and time that is moved on as a day would."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lumen_apiserver import ApiServer
from lumen_clock import MovedClock

from benchmarks.agent.bill import Call, call_of
from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.engine import Engine
from lumen_tui.storage.store import Store

_LOOK = 0.01  # seconds between two looks at what is at work
_LONGEST = 300.0  # real seconds that a story waits for what is at work
_CALL = 4.0  # seconds that a model is taken to need for an answer
_LOOPS = 6  # that one piece of news may bring at most, so that a loop that orders itself ends the story
SETTLE = 5.0  # seconds


class Office:
    """One engine on a folder, and what its calls cost. The clock stands where the story puts it, calls move it on."""

    def __init__(self, root: Path, server: ApiServer, clock: MovedClock, settings: str = "") -> None:
        self.clock, self._server = clock, server
        self.store = Store(root)
        self.calls: list[Call] = []
        self.during: dict[int, Callable[[], None]] = {}  # what happens while the call of that number is made
        self.loops = 0
        self.store.layout.create()
        self.store.layout.config.write_text(settings)
        server.cache.now = clock.now
        server.on_bill = self._bill
        os.environ.update(server.anthropic_env)
        self.engine = Engine.open(root, clock)
        self.engine.supervisor.configure(self.engine.config, "anthropic")
        self.engine.supervisor.dispatcher.warm_up(self.engine.config)

    def _bill(self, request: Any, usage: dict[str, Any]) -> None:
        self.calls.append(call_of(request, usage))
        self.during.pop(len(self.calls), lambda: None)()
        self.clock.pass_time(_CALL)

    def close(self) -> None:
        """End the engine; no worker is left at the end of a story."""
        self.engine.close("done")

    def say(self, message: str, *, by: str, priority: str = "", order: bool = False) -> None:
        """Send a signal; as the operator where it is an order."""
        fields = {"message": message, "to": "lumen"} | ({"priority": priority} if priority else {})
        perform(self.store, named("signal.send", fields), by=by, now=self.clock.now(), order=order)

    def task(self, objective: str, role: str, *, by: str = "ann") -> str:
        """Order a task; return its id."""
        request = named("task.new", {"objective": objective, "role": role})
        return perform(self.store, request, by=by, now=self.clock.now()).target

    def tell(self, task_id: str, text: str, *, by: str = "ann") -> None:
        """Say something to a task that runs, as the operator."""
        request = named("task.tell", {"task_id": task_id, "text": text})
        perform(self.store, request, by=by, now=self.clock.now(), order=True)

    async def beat(self, *, loops: int = _LOOPS) -> None:
        """Beat as the engine's timer does: again for what is news by then, a few seconds later."""
        for _ in range(loops):
            report = self.engine.beat(self.clock.now())
            self.loops += bool(report.loop)
            await self._work()
            ends = self.engine.loop.gathers_until
            if not (self.engine.loop.has_waking_news(self.engine.config) or ends):
                return
            self.clock.pass_time(max(SETTLE, ends - self.clock.now()))

    async def _work(self) -> None:
        """Let workers work until none is at work and none could start."""
        deadline = self.clock.running() - self.clock.ahead + _LONGEST
        while self._busy():
            if self.clock.running() - self.clock.ahead > deadline:
                raise TimeoutError("what is at work does not end")
            await asyncio.sleep(_LOOK)
            self.engine.poll(self.clock.now())

    def _busy(self) -> bool:
        self.engine.poll(self.clock.now())
        index = self.engine.supervisor.index
        return bool(self.engine.loop.at_work or any(not view.finished for view in index.live()))
