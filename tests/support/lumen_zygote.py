"""A zygote for all engines of a test process: to load what a worker needs takes longer than most tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lumen_until import until

from lumen_tui.engine.engine import Engine
from lumen_tui.engine.supervisor.zygote import ZygoteClient


class LentZygote(ZygoteClient):
    """Goes from engine to engine; `kind` names the provider whose library it has loaded."""

    def __init__(self, log: Path, kind: str) -> None:
        super().__init__(log)
        self._kind = kind

    def retire(self) -> None:
        """Stay for the next engine."""

    def lend(self, engine: Engine) -> None:
        """Give it to an engine that has just been opened."""
        until(self._is_there)
        self.take_ended()
        dispatcher = engine.supervisor.dispatcher
        dispatcher.local.zygote = self
        dispatcher.wakeups.watch_fd(self.fileno())

    def _is_there(self) -> bool:
        """Start one where there is none, also in the place of one that was killed."""
        self.launch(self._kind, {"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd()}, 3600)
        return self.usable(self._kind)


def kill(engine: Engine | None) -> None:
    """Leave of an engine what SIGKILL leaves: its lease and its descriptors are gone, and nothing is written.

    A user has 128 descriptors of inotify, and so has a whole run of the tests.
    """
    if engine is not None and engine._lease is not None:
        engine.supervisor.dispatcher.close()
        engine._lease.release()


def lent(log: Path, kind: str) -> Iterator[LentZygote]:
    """Yield one, and end it with the run."""
    zygote = LentZygote(log, kind)
    yield zygote
    ZygoteClient.retire(zygote)
