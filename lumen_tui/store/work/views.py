"""Work units, their lanes and who holds those, read usually without a library, for commands that must start fast.

The front matter that this program writes is lines of `name = "text"` and lists of such texts. Whatever is written in
another way, or is wrong, goes to the full reader, which says what is wrong with it. The lanes of all work units are
cached beside the index until something changes in the folder of work units.
"""

from __future__ import annotations

import os

from lumen_tui.model import ids, lanes
from lumen_tui.model.jsontext import dumps
from lumen_tui.model.views import HolderView, UnitView, fields_of, present_unit_fields
from lumen_tui.storage import files, raw_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lumen_tui.storage.layout import Layout

_FENCE = "+++"
_NAME = "index/lanes.json"


def read_unit(root: files.StrPath, wu_id: str) -> UnitView | None:
    """Return one work unit; None where there is none. A ValueError (BadFile) where a person must fix it."""
    data = files.read(f"{root}/work/{ids.check_wu(wu_id)}.md")
    if data is None:
        return None
    fields_read = _usual(data.decode(errors="replace"))
    fields = fields_of(UnitView, {**present_unit_fields(fields_read), "id": wu_id}) if fields_read is not None else None
    return UnitView(**fields) if fields else _in_full(root, wu_id)


def _in_full(root: files.StrPath, wu_id: str) -> UnitView | None:
    from pathlib import Path

    import msgspec

    from lumen_tui.storage.layout import Layout
    from lumen_tui.store.work import work_units

    unit = work_units.read_tracked(Layout(Path(root)), wu_id)
    return UnitView(**fields_of(UnitView, msgspec.to_builtins(unit)) or {}) if unit else None


def _usual(text: str) -> dict[str, object] | None:
    """Return the fields and the body where everything is written in the usual way; None otherwise."""
    lines = text.split("\n")
    if lines[0] != _FENCE or _FENCE not in lines[1:]:
        return None
    end = lines.index(_FENCE, 1)
    fields: dict[str, object] = {"body": "\n".join(lines[end + 1 :]).strip("\n")}
    numbered_lines = iter(lines[1:end])
    for line in numbered_lines:
        name, equals, value = line.partition(" = ")
        field_value = _quoted_list(numbered_lines) if value == "[" else _quoted(value)
        if not equals or not name.isidentifier() or name in fields or field_value is None:
            return None
        fields[name] = field_value
    return fields


def _quoted(value: str) -> str | None:
    """Return the text between two quotes; None where anything is escaped in it."""
    inner = value[1:-1]
    plain = len(value) > 1 and value[0] == value[-1] == '"' and inner.isprintable()
    return inner if plain and "\\" not in inner and '"' not in inner else None


def _quoted_list(lines: Iterator[str]) -> list[str] | None:
    """Return the texts up to the line that closes the list."""
    texts: list[str] = []
    for line in lines:
        if line == "]":
            return texts
        item = _quoted(line.strip().removesuffix(","))
        if item is None or not line.endswith(","):
            return None
        texts.append(item)
    return None


def known_lanes(root: files.StrPath) -> list[str]:
    """Return each lane once, sorted. Units that cannot be read have none."""
    stored = _stored_lanes(root, _stamp(f"{root}/work"))
    return _read_lanes(root) if stored is None else stored


def is_known_lane(root: files.StrPath, name: str) -> bool:
    """Return whether a work unit is in this lane. If so, the lanes are cached; an unknown name writes nothing."""
    stamp = _stamp(f"{root}/work")
    stored = _stored_lanes(root, stamp)
    if stored is not None:
        return name in stored
    lanes = _read_lanes(root)
    if name in lanes:
        try:
            files.replace(f"{root}/{_NAME}", dumps({"stamp": stamp, "lanes": lanes}).encode())
        except (files.StoreError, OSError):
            pass  # the next call tries again
    return name in lanes


def _stored_lanes(root: files.StrPath, stamp: str) -> list[str] | None:
    stored = raw_json.read(f"{root}/{_NAME}") or {}
    lanes = stored.get("lanes")
    if not stamp or stored.get("stamp") != stamp or not isinstance(lanes, list):
        return None
    return [lane for lane in lanes if isinstance(lane, str)]


def _read_lanes(root: files.StrPath) -> list[str]:
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
        unit = read_unit(root, wu_id)
    except (ValueError, OSError, files.StoreError):
        return ""
    return unit.lane if unit else ""


def lane_holders(layout: Layout, lane: str) -> list[HolderView]:
    """Return who is entered in the lock of this lane; empty where it cannot be read."""
    raw = (raw_json.read(layout.lane_lock(lane)) or {}).get("holders")
    entries = (
        [fields_of(HolderView, entry) for entry in raw if isinstance(entry, dict)] if isinstance(raw, list) else []
    )
    holders = [HolderView(**entry) for entry in entries if entry]
    return [holder for holder in holders if lanes.key(holder.lane) == lanes.key(lane)]
