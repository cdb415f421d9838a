"""The engine's side of the kill switch: no worker lives and nothing starts while it is thrown."""

from __future__ import annotations

from lumen_tui.actions.killing import Clock, end_all
from lumen_tui.engine.events import EventLog
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks.kill_file import Kill, is_thrown, read_kill


class KillSwitch:
    """The engine's side: looks for kill.json, ends the workers, tells when it came and when it went."""

    def __init__(self, store: Store, log: EventLog, running: Clock) -> None:
        self._layout, self._log, self._running = store.layout, log, running
        self.kill: Kill | None = None

    def changed(self) -> bool:
        """Whether the switch was thrown or lifted since the last look: one `stat`."""
        return is_thrown(self._layout) != (self.kill is not None)

    def poll(self, now: float) -> Kill | None:
        """The kill in force, with no worker left alive; None where there is none."""
        before, self.kill = self.kill, read_kill(self._layout)
        if self.kill is not None:
            ended = end_all(self._layout, self.kill, now, self._running)
            if before is None or ended:
                self._log.add("killed", f"{self.kill.words} ({len(ended)} workers ended)", now, ended=ended)
        elif before is not None:
            self._log.add("unkilled", f"goes on; it was {before.words}", now)
        return self.kill
