"""The lanes of all work units: kept beside the index, as long as nothing in the folder of the work units changed."""

from __future__ import annotations

import os

from lumen_tui.model.jsontext import dumps
from lumen_tui.storage import files, raw_json
from lumen_tui.store.work import unit_views

_NAME = "index/lanes.json"


def known(root: files.StrPath) -> list[str]:
    """Each lane once, in order. Units that cannot be read have none."""
    kept = _kept(root, _stamp(f"{root}/work"))
    return _read(root) if kept is None else kept


def knows(root: files.StrPath, name: str) -> bool:
    """Whether a work unit is in this lane. If so, the lanes are kept for the next look; a wrong name writes nothing."""
    stamp = _stamp(f"{root}/work")
    kept = _kept(root, stamp)
    if kept is not None:
        return name in kept
    lanes = _read(root)
    if name in lanes:
        try:
            files.replace(f"{root}/{_NAME}", dumps({"stamp": stamp, "lanes": lanes}).encode())
        except (files.StoreError, OSError):
            pass  # the next look tries again
    return name in lanes


def _kept(root: files.StrPath, stamp: str) -> list[str] | None:
    kept = raw_json.read(f"{root}/{_NAME}") or {}
    lanes = kept.get("lanes")
    if not stamp or kept.get("stamp") != stamp or not isinstance(lanes, list):
        return None
    return [one for one in lanes if isinstance(one, str)]


def _read(root: files.StrPath) -> list[str]:
    return sorted({lane for name in _units(f"{root}/work") if (lane := _lane(root, name))})


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
        unit = unit_views.read(root, wu_id)
    except (ValueError, OSError, files.StoreError):
        return ""
    return unit.lane if unit else ""
