"""What one beat did."""

from __future__ import annotations

from dataclasses import dataclass, field

from lumen_tui.engine.command_inbox import PendingRequests
from lumen_tui.engine.supervisor.supervisor import SupervisionResult


@dataclass
class BeatReport:
    """What one beat did."""

    beat: int
    reason: str
    supervised: SupervisionResult = field(default_factory=SupervisionResult)
    requests: PendingRequests = field(default_factory=PendingRequests)
    loop: int = 0  # the number of the loop that ran, 0 where none did
    skipped: str = ""  # why there was no loop

    @property
    def idle(self) -> bool:
        """Whether there was nothing to do."""
        supervised = self.supervised
        return not (
            supervised.started or supervised.collected or supervised.lost or self.loop or self.requests.carried_out
        )
