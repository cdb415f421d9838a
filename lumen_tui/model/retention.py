"""How long a memory node stays when nobody touches it, by its lifecycle; archived then, never deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from lumen_tui.model.kinds import is_decided
from lumen_tui.model.times import DAY, HOUR


class Retention(Struct, frozen=True):
    """Seconds since the last touch. `project` nodes are kept for good."""

    ephemeral: float = 0.0
    session: float = HOUR
    wu: float = 7 * DAY

    def of(self, lifecycle: str) -> float | None:
        """Return the limit of one lifecycle; None where there is none."""
        return {"ephemeral": self.ephemeral, "session": self.session, "wu": self.wu}.get(lifecycle)


def is_pending_decision(node: Mapping[str, Any]) -> bool:
    """Return whether a note asks for a decision that has no answer yet: it must not be put away."""
    metadata, tags = node.get("metadata"), node.get("tags")
    if node.get("type") != "note" or not isinstance(tags, (list, tuple)) or "decision" not in tags:
        return False
    return not is_decided(tags, node.get("content"), metadata.get("answer") if isinstance(metadata, dict) else "")
