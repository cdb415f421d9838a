"""Decay by hand: pin a node, or touch it so that its age counts from now."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.actions import checks, edits, touches
from lumen_tui.actions.edits import Fields
from lumen_tui.actions.outcome import Done
from lumen_tui.storage.store import Store
from lumen_tui.store.memory.nodes import Raw


def pin(store: Store, *, by: str, now: float, node_ids: str | Sequence[str], pinned: bool = True) -> Done:
    """Pinned nodes never decay."""

    def decide(_: Raw) -> Fields:
        return {"metadata.pinned": True if pinned else None}

    said = "{} pinned" if pinned else "{} no longer pinned"
    found = checks.node_ids(store, node_ids)
    return edits.edit_nodes(store, found, decide, verb="decay.pin", said=said, by=by, now=now)


def touch(store: Store, *, by: str, now: float, node_ids: str | Sequence[str]) -> Done:
    """Append touches; the nodes themselves stay as they are."""
    found = checks.node_ids(store, node_ids)
    return touches.add(store, found, "decay.touch", "{} touched", by=by, now=now)
