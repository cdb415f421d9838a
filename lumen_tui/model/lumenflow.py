"""The records of LumenFlow's memory layer: ours in its shapes, and back.

Its reader refuses a whole file for one line with an id, a date or a type that it does not know. So what it would refuse
is put in its words, and what it has no place for goes into a mark (`model.foreign`).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping

from lumen_tui.model import times
from lumen_tui.model.digests import sha256
from lumen_tui.model.foreign import MARK, Raw, difference, restored
from lumen_tui.model.kinds import LIFECYCLE_BY_TYPE, LIFECYCLES, NODE_TYPES
from lumen_tui.model.patterns import lazy_re

_ID = lazy_re(r"mem-[a-z0-9]{4}")
_WU = lazy_re(r"WU-\d+", re.ASCII)
_DATE = lazy_re(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z", re.ASCII)
_UUID = lazy_re(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE)
_SESSIONS = uuid.UUID("5a1f6f0e-6f6a-4b0c-9d52-0d2b6f7c1e55")  # the name space of session ids
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_PLACES = 36**4
MOST_NODES = _PLACES // 2  # beyond that a free id is looked for too long
_EMPTY = "(empty)"
_STATUS = "metadata.status"  # in a mark: promoted here is closed there


class TooManyNodes(ValueError):
    """LumenFlow's ids have four characters: more nodes have no place."""


def short_ids(node_ids: Iterable[str]) -> dict[str, str]:
    """Return an id of LumenFlow's form for each of ours; ids of that form stay. The same ids give the same result."""
    every = list(dict.fromkeys(node_ids))
    if len(every) > MOST_NODES:
        raise TooManyNodes(f"{len(every):,} nodes: LumenFlow has ids for {MOST_NODES:,}")
    names = {node_id: node_id for node_id in every if _ID.fullmatch(node_id)}
    taken = set(names)
    for node_id in every:
        if node_id in names:
            continue
        number = int.from_bytes(bytes.fromhex(sha256(node_id.encode("utf-8", "replace")))[:8], "big") % _PLACES
        while (name := _written(number)) in taken:
            number = (number + 1) % _PLACES
        taken.add(name)
        names[node_id] = name
    return names


def _written(number: int) -> str:
    digits = ""
    for _ in range(4):
        number, digit = divmod(number, 36)
        digits += _DIGITS[digit]
    return f"mem-{digits}"


def session_id(ours: str) -> str:
    """Return a session id as LumenFlow takes it: a UUID, derived from ours where that is none."""
    return ours if _UUID.fullmatch(ours) else str(uuid.uuid5(_SESSIONS, ours))


def date(text: object) -> str:
    """Return a date as its schema takes it, in UTC with a Z; the beginning of 1970 for what is no date."""
    value = text if isinstance(text, str) else ""
    seconds = times.epoch(value)
    return value if seconds and _DATE.fullmatch(value) else times.iso(seconds)


def node_there(ours: Raw, names: Mapping[str, str]) -> Raw:
    """Return a node as LumenFlow's reader takes it. `names` has the id of each node there."""
    kind = _one_of(ours.get("type"), NODE_TYPES, "note")
    theirs: Raw = {
        "id": names[str(ours["id"])],
        "type": kind,
        "lifecycle": _one_of(ours.get("lifecycle"), LIFECYCLES, LIFECYCLE_BY_TYPE[kind]),
        "content": _words(ours.get("content")),
        "created_at": date(ours.get("created_at")),
    }
    if "updated_at" in ours:
        theirs["updated_at"] = date(ours["updated_at"])
    if isinstance(unit := ours.get("wu_id"), str) and _WU.fullmatch(unit):
        theirs["wu_id"] = unit
    if isinstance(session := ours.get("session_id"), str) and session:
        theirs["session_id"] = session_id(session)
    if isinstance(tags := ours.get("tags"), list) and all(isinstance(tag, str) for tag in tags):
        theirs["tags"] = tags
    given = ours.get("metadata")
    metadata = {key: value for key, value in given.items() if key != MARK} if isinstance(given, dict) else None
    if metadata is not None:
        theirs["metadata"] = metadata
    mark = difference(ours, theirs)
    if mark and metadata is None and "metadata" not in ours:
        mark["metadata"] = {}  # there is none, but for the mark
    if metadata is not None and metadata.get("status") == "promoted":
        mark[_STATUS] = {"here": "promoted", "there": "closed"}
        metadata["status"] = "closed"
    return {**theirs, "metadata": {**(metadata or {}), MARK: mark}} if mark else theirs


def node_here(theirs: Raw) -> Raw:
    """Return the node that was exported, with what was changed there since; any other record as it is."""
    metadata = theirs.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(mark := metadata.get(MARK), dict):
        return theirs
    record = {key: value for key, value in theirs.items() if key != "metadata"}
    metadata_here = restored(
        {key: value for key, value in metadata.items() if key != MARK}, {"status": mark.get(_STATUS)}
    )
    sides = mark.get("metadata")
    if metadata_here or not isinstance(sides, dict) or "there" in sides:
        record["metadata"] = metadata_here
    return restored(record, {key: value for key, value in mark.items() if key != _STATUS})


def _one_of(value: object, known: tuple[str, ...], usual: str) -> str:
    return value if isinstance(value, str) and value in known else usual


def _words(value: object) -> str:
    return value if isinstance(value, str) and value.strip() else _EMPTY


def signal_there(ours: Raw, *, read: bool) -> Raw:
    """Return a signal as LumenFlow's reader takes it. It has one inbox: `read` is whether anybody here read it."""
    theirs = {
        **{key: value for key, value in ours.items() if key != MARK},
        "id": _words(ours.get("id")),
        "message": _words(ours.get("message")),
        "created_at": date(ours.get("created_at")),
        "read": read or ours.get("read") is True,
        "type": _words(ours.get("type") or "coordination"),
        "sender": _words(ours.get("sender") or "system"),
        "origin": _words(ours.get("origin") or "local"),
        "remote_id": _words(ours.get("remote_id") or ours.get("id")),
    }
    return {**theirs, MARK: difference(ours, theirs)}


def marked_here(theirs: Raw) -> Raw:
    """Return the signal or session that was exported; any other record as it is."""
    if not isinstance(mark := theirs.get(MARK), dict):
        return theirs
    return restored({key: value for key, value in theirs.items() if key != MARK}, mark)


def edge_there(ours: Raw, names: Mapping[str, str]) -> Raw | None:
    """Return a relationship as LumenFlow takes it; None where an end is no node, or where it was withdrawn."""
    ends = [names.get(str(ours.get(key))) for key in ("from_id", "to_id")]
    if None in ends or ours.get("removed"):
        return None
    theirs: Raw = {
        "from_id": ends[0],
        "to_id": ends[1],
        "type": ours.get("type"),
        "created_at": date(ours.get("created_at")),
    }
    mark = difference(ours, theirs)
    return {**theirs, "metadata": {MARK: mark}} if mark else theirs


def edge_here(theirs: Raw, names: Mapping[str, str]) -> Raw:
    """Return the relationship that was exported; of any other, the ends that `names` knows become ours."""
    metadata = theirs.get("metadata")
    if isinstance(metadata, dict) and isinstance(mark := metadata.get(MARK), dict):
        return restored({key: value for key, value in theirs.items() if key != "metadata"}, mark)
    ends = {key: names.get(str(theirs.get(key))) for key in ("from_id", "to_id")}
    return {**theirs, **{key: name for key, name in ends.items() if name}}


def session_there(ours: Raw) -> Raw:
    """Return the current session as LumenFlow reads it to know what a new node belongs to."""
    name, unit = ours.get("session_id"), ours.get("active_wu")
    theirs = {
        **{key: value for key, value in ours.items() if key != MARK},
        **({"session_id": session_id(name)} if isinstance(name, str) and name else {}),
        **({"wu_id": unit} if isinstance(unit, str) and _WU.fullmatch(unit) else {}),
    }
    return {**theirs, MARK: difference(ours, theirs)}
