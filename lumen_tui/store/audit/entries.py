"""What the operators did, newest first, read from the end of actions.jsonl without what each action changed."""

from __future__ import annotations

import msgspec

from lumen_tui.model.listings import AuditEntry
from lumen_tui.model.records import Stage
from lumen_tui.model.text import one_line
from lumen_tui.storage.layout import Layout
from lumen_tui.store.audit.journal import joined, newest_parts

_LOOKED_AT = 2000  # actions looked through for reasons
_LONGEST = 300  # characters of a text that are kept


class _Line(msgspec.Struct):
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


_decode = msgspec.json.Decoder(_Line).decode


def recent(layout: Layout, limit: int) -> list[AuditEntry]:
    """The newest `limit` actions, the last one first. Damaged lines, and what nothing stands of, are passed over."""
    found: list[AuditEntry] = []
    last_word: dict[str, bool] = {}  # by action: whether its newest undo or redo was an undo
    for deed in joined(newest_parts(layout, lambda line: _deed(_decode(line))), _merged):
        if deed.stage == Stage.DROPPED:
            continue
        if (turned := deed.undoes or deed.redoes) and deed.stage != Stage.BEGUN:
            last_word.setdefault(turned, bool(deed.undoes))
        found.append(msgspec.structs.replace(deed, undone=last_word.get(deed.group or deed.id, False)))
        if len(found) >= limit:
            break
    return found


def recent_reasons(layout: Layout, verb: str, limit: int) -> tuple[str, ...]:
    """The last reasons that were given with a verb, each once, the newest first."""
    reasons = dict.fromkeys(deed.reason for deed in recent(layout, _LOOKED_AT) if deed.verb == verb and deed.reason)
    return tuple(reasons)[:limit]


def _merged(later: AuditEntry, earlier: AuditEntry) -> AuditEntry:
    return msgspec.structs.replace(earlier, changes=earlier.changes + later.changes)


def _deed(line: _Line) -> AuditEntry:
    names = ("id", "at", "by", "verb", "target", "summary", "reason", "undoes", "redoes", "client", "group", "final")
    texts = {name: one_line(getattr(line, name), _LONGEST) for name in names}
    return msgspec.convert({**texts, "stage": line.stage, "changes": len(line.changes)}, AuditEntry)
