"""What became of the requests of hooks: lines in the journal of hooks, and the engine's events made from them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from lumen_tui.engine.events import EventLog
from lumen_tui.model import times
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.journal import Follower, encode
from lumen_tui.storage.json_scanner import decode
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.store import Store
from lumen_tui.store.sessions import hook_journal

_MOST = 1024 * 1024  # bytes of one look


def note(
    store: Store,
    *,
    now: float,
    ok: bool,
    message: str,
    answers: Sequence[str] = (),
    session: str = "",
    wu_id: str = "",
    node_id: str = "",
) -> None:
    """Record an outcome durably. Raises StoreError."""
    record = {"at": times.iso(now), "event": hook_journal.OUTCOME, "session": session, "ok": ok, "wu": wu_id}
    record |= {"node": node_id} if node_id else {}
    record |= {"said": one_line(message, 500), "answers": list(answers), "schema": 1}
    files.append(store.root / hook_journal.NAME, encode(record))


class HookNews:
    """Follows the outcomes in the hooks' journal from now on."""

    def __init__(self, store: Store, log: EventLog, now: float) -> None:
        self._log = log
        self._after = now
        self._follower = Follower(store.root / hook_journal.NAME)
        self._generation = self._follower.generation
        try:
            status = os.stat(store.root / hook_journal.NAME, follow_symlinks=False)
            self._follower.resume((status.st_dev, status.st_ino, status.st_size))
        except OSError:
            pass  # there is none yet: it is read from its first line on

    def poll(self, now: float) -> None:
        """Record new outcomes as events."""
        if not self._follower.pending():
            return
        try:
            offset, data = self._follower.poll(_MOST)
        except (files.StoreError, OSError):
            return  # whoever shows the journal reports it as a problem
        restarted = self._generation != self._follower.generation
        self._generation = self._follower.generation
        until = self._after if restarted else 0.0
        for _, line in split_lines(data, offset):
            if b'"outcome"' in line:
                self._report(decode(line) or {}, now, until)

    def _report(self, record: dict[str, Any], now: float, until: float) -> None:
        """Record one outcome; those at or before `until` (seconds) were recorded already."""
        at = times.epoch(str(record.get("at")))
        if record.get("event") != hook_journal.OUTCOME or at <= until:
            return
        self._after = max(at, self._after)
        message = one_line(str(record.get("said")), 300)
        kind = "hook_checkpoint" if record.get("ok") else "hook_failed"
        self._log.add(kind, message, now, node=one_line(str(record.get("node") or ""), 80))
