"""The lock files of lanes: their paths and who is entered in them, read without a library."""

from __future__ import annotations

import os

from lumen_tui.model import lanes
from lumen_tui.model.views import HolderView, fields_of
from lumen_tui.storage import raw_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from lumen_tui.storage.layout import Layout

_SLUG_LENGTH = 58
_OWN = ("work", "roles", "operator", "sessions")  # the program's own locks; empty files, held while something changes


def slug(lane: str) -> str:
    """Return the slug of a lane (`Framework: Core` -> `framework-core`); several lanes may share one."""
    flat = "".join([c if c.isascii() and c.isalnum() else "-" for c in lane.lower()])
    return "-".join(part for part in flat.split("-") if part)[:_SLUG_LENGTH].strip("-") or "lane"


def lock_path(layout: Layout, lane: str) -> Path:
    """Return the lock file of a lane. An existing empty one is the program's own and never taken for a lane's."""
    path = layout.lock(slug(lane))
    try:
        own = slug(lane) in _OWN or os.stat(path, follow_symlinks=False).st_size == 0
    except OSError:
        own = False
    return layout.lock(f"{slug(lane)}-lane") if own else path


def holders(layout: Layout, lane: str) -> list[HolderView]:
    """Return who is entered in the lock of this lane; empty where it cannot be read."""
    raw = (raw_json.read(lock_path(layout, lane)) or {}).get("holders")
    entries = (
        [fields_of(HolderView, entry) for entry in raw if isinstance(entry, dict)] if isinstance(raw, list) else []
    )
    return [HolderView(**entry) for entry in entries if entry and lanes.key(entry.get("lane", "")) == lanes.key(lane)]
