"""The lock files of lanes: where they stand and who is entered in them, read without a library."""

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
_OWN = ("work", "roles", "operator", "sessions")  # the program's locks; empty files, held while something changes


def slug(lane: str) -> str:
    """`Framework: Core` -> `framework-core`; two lanes may share one, their entries name the lane."""
    flat = "".join([c if c.isascii() and c.isalnum() else "-" for c in lane.lower()])
    return "-".join(part for part in flat.split("-") if part)[:_SLUG_LENGTH].strip("-") or "lane"


def lock_path(layout: Layout, lane: str) -> Path:
    """The lock file of a lane. One that is there and empty is the program's own and is never taken for a lane's."""
    path = layout.lock(slug(lane))
    try:
        own = slug(lane) in _OWN or os.stat(path, follow_symlinks=False).st_size == 0
    except OSError:
        own = False
    return layout.lock(f"{slug(lane)}-lane") if own else path


def holders(layout: Layout, lane: str) -> list[HolderView]:
    """Who is entered in the lock of this lane; nothing where it cannot be read."""
    raw = (raw_json.read(lock_path(layout, lane)) or {}).get("holders")
    entries = [fields_of(HolderView, one) for one in raw if isinstance(one, dict)] if isinstance(raw, list) else []
    return [HolderView(**one) for one in entries if one and lanes.key(one.get("lane", "")) == lanes.key(lane)]
