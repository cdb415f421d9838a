"""The lanes of all work units: kept beside the index, as long as nothing in the folder of the work units changed."""

from __future__ import annotations

import os

from lumen_tui.model.jsontext import dumps
from lumen_tui.store import files, rawjson
from lumen_tui.store.units import unitviews

_NAME = "index/lanes.json"


def known(root: files.StrPath) -> list[str]:
    """Each lane once, in order. Units that cannot be read have none."""
    stamp = _stamp(f"{root}/work")
    kept = rawjson.read(f"{root}/{_NAME}") or {}
    lanes = kept.get("lanes")
    if stamp and kept.get("stamp") == stamp and isinstance(lanes, list):
        return [one for one in lanes if isinstance(one, str)]
    found = sorted({lane for name in _units(f"{root}/work") if (lane := _lane(root, name))})
    try:
        files.replace(f"{root}/{_NAME}", dumps({"stamp": stamp, "lanes": found}).encode())
    except (files.StoreError, OSError):
        pass  # the next look tries again
    return found


def _stamp(folder: str) -> str:
    """What changes when a work unit is written, which is always by a new name in its folder."""
    try:
        found = os.stat(folder)
    except OSError:
        return ""
    return f"{found.st_dev}:{found.st_ino}:{found.st_mtime_ns}"


def _units(folder: str) -> list[str]:
    try:
        return [name[:-3] for name in os.listdir(folder) if name.startswith("WU-") and name.endswith(".md")]
    except OSError:
        return []


def _lane(root: files.StrPath, wu_id: str) -> str:
    try:
        unit = unitviews.read(root, wu_id)
    except (ValueError, OSError, files.StoreError):
        return ""
    return unit.lane if unit else ""
