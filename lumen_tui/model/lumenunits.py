"""LumenFlow's work units as ours, and back: a YAML document, events in wu-events.jsonl, and a stamp once it is done.

What a unit of ours has no field for stays in its front matter under `lumenflow`, the events too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lumen_tui.model import ids, times
from lumen_tui.model.foreign import MARK, Raw
from lumen_tui.model.ids import short_hash
from lumen_tui.model.jsontext import table_of, text_of
from lumen_tui.model.kinds import PRIORITIES
from lumen_tui.model.patterns import lazy_re

TABLE = "lumenflow"  # of the front matter
SOURCE = "source"  # in it: the hash of what was imported
CHANGED_AT = "changed_at"  # in it: when the unit was changed last in LumenFlow
STATE = (
    "status",
    "claimed_by",
    "claimed_at",
    "claimed_in",
    "blocked_by",
    "blocked_at",
    "blocked_reason",
    "done_by",
    "done_at",
)
STATES = ("ready", "in_progress", "blocked", "done")
EVENTS = ("create", "claim", "block", "unblock", "complete", "checkpoint", "delegation", "release")
_BY = "lumenflow"
_ENDED = ("cancelled", "abandoned", "superseded", "closed")  # over, and not by being done
STATUS = {
    **dict.fromkeys(("todo", "ready", "backlog"), "ready"),
    **dict.fromkeys(("in_progress", "waiting"), "in_progress"),
    **dict.fromkeys(("blocked", "deferred"), "blocked"),
    **dict.fromkeys(("done", "completed", *_ENDED), "done"),
}
AFTER = {
    "create": "ready",
    "claim": "in_progress",
    "block": "blocked",
    "unblock": "in_progress",
    "complete": "done",
    "release": "ready",
}
_TYPES = {"feature": "feature", "bug": "bug"}
_TAKEN = ("id", "title", "status", "priority", "lane", "description", "notes", MARK)
_NOTES = "## Notes"
_STAMP = lazy_re(r"WU (WU-\d{1,9})\s*[—-]\s*(.+)")
_COMPLETED = lazy_re(r"^Completed:\s*(\S+)", re.MULTILINE)


class UnitSource(Struct):
    """What a LumenFlow folder has of one work unit. `stamp` is None without one."""

    id: str
    document: Raw = {}
    events: list[Raw] = []
    stamp: str | None = None


class Unit(Struct):
    """A work unit of ours: its front matter and its text."""

    front: Raw
    body: str


def unit_of(source: UnitSource) -> Unit:
    """Return the work unit that this comes to."""
    mark = table_of(source.document, MARK)
    if table_of(mark, "front"):
        return _returned(source, mark)
    front = _front(source)
    table = {key: value for key, value in source.document.items() if key not in _TAKEN}
    status = text_of(source.document, "status")
    table |= {"status": status} if status and status != front["status"] else {}
    table |= {"events": source.events} if source.events else {}
    front[TABLE] = {**table, CHANGED_AT: times.iso(changed_at(source))}
    return Unit(plain(front), _body(source.document, text_of(front, "title")))


def _front(source: UnitSource) -> Raw:
    document, events = source.document, source.events
    named = next((event for event in reversed(events) if text_of(event, "title")), {})
    stamped = _STAMP.search(source.stamp or "")
    title = text_of(document, "title") or text_of(named, "title") or (stamped[2].strip() if stamped else "")
    priority = text_of(document, "priority")
    front: Raw = {
        "id": source.id,
        "title": title or source.id,
        "lane": text_of(document, "lane") or text_of(named, "lane"),
        "type": _TYPES.get(text_of(document, "type"), "task"),
        "priority": priority if priority in PRIORITIES else "P2",
        "status": status_of(source),
        "acceptance": accepted(document.get("acceptance")),
        "created_at": _iso(document.get("created")) or _when(events, ("create", "claim")),
        "created_by": _BY,
    }
    front |= _state(source, text_of(front, "status"))
    return {key: value for key, value in front.items() if value not in ("", [])}


def status_of(source: UnitSource) -> str:
    """Return ready, in_progress, blocked or done. A stamp says done; else the document; else the last event."""
    if source.stamp is not None:
        return "done"
    status = STATUS.get(text_of(source.document, "status"))
    return status or next((AFTER[kind] for kind in kinds(source.events) if kind in AFTER), "ready")


def ended_otherwise(source: UnitSource) -> str:
    """Return the word for a unit that is over without being done (cancelled, superseded …), or the empty string."""
    status = text_of(source.document, "status")
    return status if status in _ENDED else ""


def kinds(events: Sequence[Raw]) -> Iterable[str]:
    """Yield the types of the events, the last first."""
    return (text_of(event, "type") for event in reversed(events))


def _state(source: UnitSource, status: str) -> Raw:
    document, events = source.document, source.events
    if status == "in_progress":
        claimed_at = _iso(document.get("claimed_at")) or _when(events, ("claim", "unblock"))
        return {"claimed_by": text_of(document, "assigned_to") or _BY, "claimed_at": claimed_at}
    if status == "blocked":
        reasons = (text_of(event, "reason") for event in reversed(events) if event.get("type") == "block")
        reason = text_of(document, "blocked_reason") or next(reasons, "")
        blocked_at = _iso(document.get("blocked_at")) or _when(events, ("block",))
        return {
            "blocked_by": _BY,
            "blocked_at": blocked_at,
            "blocked_reason": reason or f"{text_of(document, 'status') or 'blocked'} in LumenFlow",
        }
    if status == "done":
        stamped = _COMPLETED.search(source.stamp or "")
        done_at = _iso(document.get("completed_at") or document.get("completed")) or _when(events, ("complete",))
        return {"done_by": text_of(document, "assigned_to") or _BY, "done_at": done_at or _iso(stamped and stamped[1])}
    return {}


def _when(events: Sequence[Raw], kinds: tuple[str, ...]) -> str:
    return next((_iso(event.get("timestamp")) for event in reversed(events) if event.get("type") in kinds), "")


def _iso(value: object) -> str:
    seconds = times.epoch(value) if isinstance(value, str) else 0.0
    return times.iso(seconds) if seconds else ""


def changed_at(source: UnitSource) -> float:
    """Return when the unit was changed last there, in seconds since 1970; 0 where no date can be read."""
    keys = ("created", "claimed_at", "blocked_at", "completed", "completed_at", "approved_at", "escalation_resolved_at")
    stamped = _COMPLETED.search(source.stamp or "")
    dates = [text_of(source.document, key) for key in keys] + [text_of(event, "timestamp") for event in source.events]
    return max([times.epoch(date) for date in dates] + [times.epoch(stamped[1]) if stamped else 0.0])


def accepted(value: object) -> list[str]:
    """Return the acceptance criteria; those by category with the category before them."""
    if isinstance(value, dict):
        return [f"{name}: {line}" for name, lines in value.items() for line in accepted(lines)]
    if isinstance(value, list):
        return [str(line) for line in value if isinstance(line, str | int | float)]
    return [value] if isinstance(value, str) and value else []


def _body(document: Raw, title: str) -> str:
    notes = document.get("notes")
    text = "\n".join(map(str, notes)) if isinstance(notes, list) else text_of(document, "notes")
    parts = [
        f"# {title}",
        text_of(document, "description").strip(),
        f"{_NOTES}\n\n{text.strip()}" if text.strip() else "",
    ]
    return "\n\n".join(part for part in parts if part)


def plain(value: Raw) -> Raw:
    """Return the table without empty values, which TOML does not know, and without half characters."""
    return {_text(key): _plain_value(inner) for key, inner in value.items() if inner is not None}


def _plain_value(value: object) -> object:
    if isinstance(value, dict):
        return plain(value)
    if isinstance(value, list):
        return [_plain_value(inner) for inner in value if inner is not None]
    return _text(value) if isinstance(value, str) else value


def _text(value: str) -> str:
    return value.encode("utf-8", "replace").decode()


def _returned(source: UnitSource, mark: Raw) -> Unit:
    """Return a unit that was exported from here, with what was changed in LumenFlow since."""
    unit = Unit(dict(table_of(mark, "front")), text_of(mark, "body"))
    unit.front["id"] = source.id
    exported, events = table_of(mark, "there"), [event for event in source.events if not event.get(MARK)]
    changed = {key for key, value in exported.items() if source.document.get(key) != value}
    theirs = _front(replace(source, events=events))
    for key in changed & {"title", "lane", "priority", "type", "acceptance"}:
        unit.front[key] = theirs.get(key, "")
    added = len(events) > _count(mark.get("events"))
    if "status" in changed or added or (source.stamp is not None and text_of(unit.front, "status") != "done"):
        unit.front = {key: value for key, value in unit.front.items() if key not in STATE}
        unit.front |= {key: value for key, value in theirs.items() if key in STATE}
    if changed & {"description", "notes"}:
        unit.body = _body(source.document, text_of(unit.front, "title"))
    if events:
        unit.front[TABLE] = {**table_of(unit.front, TABLE), "events": events}
    return Unit(plain(unit.front), unit.body)


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def relations(source: UnitSource) -> list[Raw]:
    """Return the edges that a unit's document has: `blocks` and `blocked_by`."""
    if table_of(table_of(source.document, MARK), "front"):
        return []  # exported from here, with its edges beside it
    at = _iso(source.document.get("created")) or _when(source.events, ("create", "claim")) or times.iso(0)
    pairs = [(source.id, other) for other in _units(source.document.get("blocks"))]
    pairs += [(other, source.id) for other in _units(source.document.get("blocked_by"))]
    return [{"from_id": start, "to_id": finish, "type": "blocks", "created_at": at} for start, finish in pairs]


def _units(value: object) -> list[str]:
    return [name for name in accepted(value) if ids.is_wu(name)]


def checkpoint_of(event: Raw) -> Raw:
    """Return the checkpoint that an event of this type becomes in the memory."""
    metadata = {key: event[key] for key in ("progress", "nextSteps") if text_of(event, key)}
    wu_id, at, note = (text_of(event, key) for key in ("wuId", "timestamp", "note"))
    node: Raw = {
        "id": f"mem-{short_hash(f'wu-events {wu_id} {at} {note}')}",
        "type": "checkpoint",
        "lifecycle": "session",
        "content": note,
        "created_at": at,
        "wu_id": wu_id,
        **({"session_id": event["sessionId"]} if text_of(event, "sessionId") else {}),
        "metadata": {**metadata, "from": "wu-events"},
        "schema": 1,
    }
    return node


def usable(event: Raw) -> bool:
    """Return whether this is an event of a work unit."""
    return (
        event.get("type") in EVENTS
        and ids.is_wu(text_of(event, "wuId"))
        and times.epoch(text_of(event, "timestamp"), -1) >= 0
    )
