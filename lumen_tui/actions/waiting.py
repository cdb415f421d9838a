"""What something waits for: the open nodes and work units that block it."""

from __future__ import annotations

from lumen_tui.model import times
from lumen_tui.model.page import Blocker
from lumen_tui.model.text import one_line
from lumen_tui.store.work import unit_views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lumen_tui.queries.trail.trail import Trail
    from lumen_tui.storage.folder import Folder

BLOCKS = "blocks"


def blockers(store: Folder, trail: Trail, identifier: str, *, now: float) -> list[Blocker]:
    """What is still open of that which blocks a work unit or a node."""
    found = [_blocker(store, trail, one, now) for one in trail.sources_of(identifier, BLOCKS)]
    return [one for one in found if one is not None]


def _blocker(store: Folder, trail: Trail, identifier: str, now: float) -> Blocker | None:
    """A thing that blocks, None where it is closed or gone."""
    if not identifier.startswith("WU-"):
        node = trail.node(identifier) if trail.is_open(identifier) else None
        return _told(node.id, node.title, node.status, node.created_by, node.created_at, now) if node else None
    try:
        unit = unit_views.read(store.root, identifier)
    except ValueError:  # no id of a work unit, or a file to be mended
        return Blocker(id=identifier, title="(its file cannot be read)", status="unknown")
    if unit is None or unit.status == "done":
        return None
    at, who = unit.claimed_at or unit.created_at, unit.claimed_by or unit.created_by
    return _told(unit.id, unit.title, unit.status, who, at, now)


def _told(identifier: str, title: str, status: str, by: str, at: str, now: float) -> Blocker:
    age = max(0.0, now - times.epoch(at, now))
    return Blocker(
        id=identifier, title=one_line(title, 200), status=one_line(status, 40), by=by, at=at, age_seconds=age
    )
