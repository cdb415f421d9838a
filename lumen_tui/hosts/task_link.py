"""An attempt on a host as its engine has it: what it wrote comes here, what it asks is answered, what is new is told.

All of it may be done once more by another process, from what is on disk here: no frame is written twice, no ask is
carried out twice, and the host adds nothing that it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from lumen_tui.hosts.ask_handler import AskHandler
from lumen_tui.hosts.copying import Copier
from lumen_tui.hosts.downlink import Downlink
from lumen_tui.hosts.messages import Demand, HostAnswer, Look, RemoteState
from lumen_tui.model.frames import ENDS, Frame
from lumen_tui.model.tasks import Exit, Spec
from lumen_tui.model.text import one_line
from lumen_tui.model.transcript import session_id
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks.task_records import read_json

_WAIT = 5.0  # seconds for which a host waits for news; each look renews the lease
_TICK = 0.1  # seconds between two looks at what there is to tell


class NotThere(Exception):
    """A host does not have the attempt, or does not do what it is asked; the text says why."""


class TaskLink:
    """The link to one attempt. `ask` asks its host, and raises what the way there raises."""

    def __init__(
        self,
        ask: Callable[[Demand], Awaitable[HostAnswer]],
        layout: Layout,
        spec: Spec,
        attempt: int,
        host: str,
        now: Callable[[], float],
    ) -> None:
        """Go on from what is here. StoreError, OSError."""
        self._ask = ask
        self._task_id, self._attempt = spec.id, attempt
        self._folder = folder = layout.task(spec.id)
        self._copier = Copier(folder, layout.transcript(session_id(spec, attempt)), attempt, host)
        self._handler = AskHandler(layout, spec, attempt, now)
        self._downlink = Downlink(folder, attempt)
        self._told: dict[str, int] = {}

    @property
    def seq(self) -> int:
        """The number of the last frame that is here."""
        return self._copier.seq

    async def follow(self) -> None:
        """Return when the worker has gone and all that it wrote is here.

        NotThere, BadFrame, StoreError, OSError, and what the way to the host raises: another call goes on from there.
        """
        while True:
            state = await self._look()
            if self.seq >= state.last and (not state.alive or self._has_exit()):
                self._handler.close()
                return

    def _has_exit(self) -> bool:
        """Return whether what a worker writes last is here: its process need not be waited for."""
        ended = read_json(self._folder / "exit.json", Exit)
        return ended is not None and ended.attempt == self._attempt

    async def _look(self) -> RemoteState:
        """Take in what the worker wrote; until there is something, tell it what is new."""
        looking = asyncio.ensure_future(self._ask(Look(self._task_id, self._attempt, self.seq, _WAIT)))
        try:
            while not looking.done():
                await asyncio.wait({looking}, timeout=_TICK)
                self._handler.serve()
                await self._tell()
            answer = looking.result()
        finally:
            looking.cancel()
        state = self._state(answer)
        for batch in _before_the_end(answer.frames):
            self._copier.take(batch)
            self._handler.serve()  # once its end is here, nobody asks for another process that books its last calls
        await self._tell()
        return state

    async def _tell(self) -> None:
        for demand in self._downlink.news(self._told):
            self._state(await self._ask(demand))

    def _state(self, answer: HostAnswer) -> RemoteState:
        """Return how the attempt stands, and remember what its host has. NotThere."""
        if answer.state is None:
            raise NotThere(one_line(answer.refused, 300) or "the host says nothing of the attempt")
        self._told = dict(answer.state.told)
        return answer.state


def _before_the_end(frames: Sequence[Frame]) -> tuple[Sequence[Frame], Sequence[Frame]]:
    """Return the frames before the first that ends the attempt, and the rest."""
    at = next((at for at, frame in enumerate(frames) if frame.name in ENDS), len(frames))
    return frames[:at], frames[at:]
