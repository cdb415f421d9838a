"""Build and check the fields of a new signal, receipt or memory node. ValueError says what to write instead.

On the path of the hot verbs: imports nothing but the ids and times of the model, kinds where one is named.
"""

from __future__ import annotations

from lumen_tui.model import ids, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Record = dict[str, Any]

MAX_TEXT = 60_000  # bytes of UTF-8; a journal line has 64 KiB


def prose(text: str, name: str) -> str:
    """Return a text that is not empty and can be written as UTF-8."""
    scrubbed = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    if not scrubbed.strip():
        raise ValueError(f"the {name} is empty: say it in a few words")
    if len(scrubbed) > MAX_TEXT // 4 and len(scrubbed.encode()) > MAX_TEXT:
        raise ValueError(f"the {name} is longer than {MAX_TEXT:,} bytes: put it in a file and name the file here")
    return scrubbed


def priority(text: str) -> str:
    """Return P0 to P3, given in either case, or an empty text."""
    if not text:
        return ""
    from lumen_tui.model.kinds import PRIORITIES  # a signal seldom has one

    if text.upper() not in PRIORITIES:
        raise ValueError(f"priority {text!r} is unknown: one of {', '.join(PRIORITIES)}")
    return text.upper()


def label(text: str, name: str) -> str:
    """Return a lane, reader or tag on one line, or an empty text."""
    return ids.check_label(text, name) if text else ""


def work_unit(text: str) -> str:
    """Return the id of a work unit, given in either case, or an empty text; the unit need not exist."""
    return ids.check_wu(text.upper()) if text else ""


def signal(
    message: str,
    *,
    by: str,
    now: float,
    to: str = "",
    wu_id: str = "",
    lane: str = "",
    priority: str = "",
    type: str = "coordination",
    reply_to: str = "",
    session_id: str = "",
    order: bool = False,
) -> Record:
    """Build a new line of signals.jsonl; `order` where the process that sends it is the operator's own."""
    optional = {
        "target_agent": label(to, "reader"),
        "wu_id": work_unit(wu_id),
        "lane": label(lane, "lane"),
        "priority": _priority(priority),
        "reply_to": reply_to,
        "session_id": session_id,
    }
    record: Record = {
        "id": ids.new_id("sig"),
        "message": prose(message, "message"),
        "created_at": times.iso(now),
        "type": label(type, "type") or "coordination",
        "sender": ids.check_label(by, "sender"),
    }
    record.update({key: value for key, value in optional.items() if value})
    if order:
        record["order"] = True
    record["schema"] = 1
    return record


_priority = priority


def node(
    content: str,
    *,
    by: str,
    now: float,
    type: str = "discovery",
    tags: Sequence[str] = (),
    priority: str = "",
    wu_id: str = "",
    session_id: str = "",
) -> Record:
    """Build a new line of memory.jsonl. `type` may be one of DISCOVERY_ALIASES."""
    from lumen_tui.model.kinds import DISCOVERY_ALIASES, LIFECYCLE_BY_TYPE  # a signal is of none

    kind = "discovery" if type in DISCOVERY_ALIASES else type
    if kind not in LIFECYCLE_BY_TYPE:
        raise ValueError(f"type {type!r} is unknown: one of {', '.join((*LIFECYCLE_BY_TYPE, *DISCOVERY_ALIASES))}")
    record: Record = {
        "id": ids.new_id("mem"),
        "type": kind,
        "lifecycle": LIFECYCLE_BY_TYPE[kind],
        "content": prose(content, "content"),
        "created_at": times.iso(now),
        "created_by": ids.check_label(by, "author"),
    }
    if wu_id:
        record["wu_id"] = work_unit(wu_id)
    if session_id:
        record["session_id"] = session_id
    labels = dict.fromkeys([label(tag, "tag") for tag in tags if tag] + ([type] if kind != type else []))
    if labels:
        record["tags"] = list(labels)
    if priority:
        record["metadata"] = {"priority": _priority(priority)}
    record["schema"] = 1
    return record


def said_before(node: Record) -> str:
    """Say that another node has exactly the same text."""
    meta = node.get("metadata")
    status = meta.get("status") if isinstance(meta, dict) else ""
    return f"{node['id']} says the same word for word" + (f" ({status})" if status else "")


UNDER_KEY = "was there already under this key"


def keyed(record: Record, key: str, verb: str = "") -> Record:
    """Return the record with the id that an idempotency key leads to: same key and verb, same id."""
    return {**record, "id": keyed_id(str(record["id"]).partition("-")[0], key, verb)} if key else record


def keyed_id(kind: str, key: str, verb: str = "") -> str:
    """Return the id of this kind that an idempotency key leads to."""
    salted = f"{verb} {label(key, 'key')}" if verb else label(key, "key")
    return f"{kind}-{ids.short_hash(f'key {salted}')}"


def archived(reason: str, *, by: str, now: float) -> Record:
    """Return the fields of an archived node."""
    return {
        "metadata.status": "archived",
        "metadata.archive_reason": reason,
        "metadata.archived_at": times.iso(now),
        "metadata.archived_by": by,
    }


def noted(verb: str, target: str, summary: str, *, by: str, now: float, client: str = "", group: str = "") -> Record:
    """Build a new line of actions.jsonl without `model.records.Action`, whose import hot verbs avoid."""
    at = times.iso(now)
    record = {"id": ids.new_id("act"), "at": at, "by": by, "verb": verb, "target": target, "summary": summary}
    return {**record, **({"client": client} if client else {}), **({"group": group} if group else {})}


def made_node(record: Record) -> Record:
    """Return the change that makes a node: its `before` is the status deleted."""
    return made("node", record["id"], {"metadata.status": "deleted"}, {"metadata.status": None})


def made(kind: str, name: str, before: Record | None, after: Record | None) -> Record:
    """Return one change of a line of actions.jsonl."""
    return {"kind": kind, "key": name, "before": before, "after": after}


def receipt(signal_id: str, *, reader: str, now: float, offset: int = -1, upto: bool = False) -> Record:
    """Build a new line of signal-receipts.jsonl; `upto` covers that signal and every earlier one."""
    record: Record = {"signal_id": signal_id, "read_at": times.iso(now), "reader": reader}
    if upto:
        record["upto"] = True
    if offset >= 0:
        record["offset"] = offset
    record["schema"] = 1
    return record
