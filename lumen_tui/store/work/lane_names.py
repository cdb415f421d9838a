"""The lanes of all work units, cached beside the index until something changes in the folder of work units."""

from __future__ import annotations

import os

from lumen_tui.model.jsontext import dumps
from lumen_tui.storage import files, raw_json
from lumen_tui.store.work import unit_views

_NAME = "index/lanes.json"


def known(root: files.StrPath) -> list[str]:
    """Return each lane once, sorted. Units that cannot be read have none."""
    stored = _kept(root, _stamp(f"{root}/work"))
    return _read(root) if stored is None else stored


def knows(root: files.StrPath, name: str) -> bool:
    """Return whether a work unit is in this lane. If so, the lanes are cached; an unknown name writes nothing."""
    stamp = _stamp(f"{root}/work")
    stored = _kept(root, stamp)
    if stored is not None:
        return name in stored
    lanes = _read(root)
    if name in lanes:
        try:
            files.replace(f"{root}/{_NAME}", dumps({"stamp": stamp, "lanes": lanes}).encode())
        except (files.StoreError, OSError):
            pass  # the next call tries again
    return name in lanes


def _kept(root: files.StrPath, stamp: str) -> list[str] | None:
    stored = raw_json.read(f"{root}/{_NAME}") or {}
    lanes = stored.get("lanes")
    if not stamp or stored.get("stamp") != stamp or not isinstance(lanes, list):
        return None
    return [lane for lane in lanes if isinstance(lane, str)]


def _read(root: files.StrPath) -> list[str]:
    return sorted({lane for name in _units(f"{root}/work") if (lane := _lane(root, name))})


def _stamp(folder: str) -> str:
    """Return a stamp that changes when a work unit is written, which always creates a name in its folder."""
    try:
        stat = os.stat(folder)
    except OSError:
        return ""
    return f"{stat.st_dev}:{stat.st_ino}:{stat.st_mtime_ns}"


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
