"""What operators did, newest first, read from the end of actions.jsonl without the changes themselves."""

from __future__ import annotations

import msgspec

from lumen_tui.model.listings import AuditEntry
from lumen_tui.model.records import Stage
from lumen_tui.model.text import one_line
from lumen_tui.storage.layout import Layout
from lumen_tui.store.audit.journal import joined, newest_parts

_LOOKED_AT = 2000  # actions searched for reasons
_LONGEST = 300  # characters of a text that are kept


class _EntryLine(msgspec.Struct):
    id: str
    at: str = ""
    by: str = ""
    verb: str = ""
    target: str = ""
    summary: str = ""
    reason: str = ""
    undoes: str = ""
    redoes: str = ""
    client: str = ""
    group: str = ""
    final: str = ""
    stage: str = ""
    changes: tuple[msgspec.Raw, ...] = ()


_decode = msgspec.json.Decoder(_EntryLine).decode


def recent(layout: Layout, limit: int) -> list[AuditEntry]:
    """Return the newest `limit` actions, the last one first. Damaged lines and dropped actions are skipped."""
    entries: list[AuditEntry] = []
    last_word: dict[str, bool] = {}  # by action: whether its newest undo or redo was an undo
    for entry in joined(newest_parts(layout, lambda line: _audit_entry(_decode(line))), _merged):
        if entry.stage == Stage.DROPPED:
            continue
        if (turned := entry.undoes or entry.redoes) and entry.stage != Stage.BEGUN:
            last_word.setdefault(turned, bool(entry.undoes))
        entries.append(msgspec.structs.replace(entry, undone=last_word.get(entry.group or entry.id, False)))
        if len(entries) >= limit:
            break
    return entries


def recent_reasons(layout: Layout, verb: str, limit: int) -> tuple[str, ...]:
    """Return the last reasons that were given with a verb, each once, the newest first."""
    reasons = dict.fromkeys(entry.reason for entry in recent(layout, _LOOKED_AT) if entry.verb == verb and entry.reason)
    return tuple(reasons)[:limit]


def _merged(later: AuditEntry, earlier: AuditEntry) -> AuditEntry:
    return msgspec.structs.replace(earlier, changes=earlier.changes + later.changes)


def _audit_entry(line: _EntryLine) -> AuditEntry:
    names = ("id", "at", "by", "verb", "target", "summary", "reason", "undoes", "redoes", "client", "group", "final")
    texts = {name: one_line(getattr(line, name), _LONGEST) for name in names}
    return msgspec.convert({**texts, "stage": line.stage, "changes": len(line.changes)}, AuditEntry)
