"""What became of a hook's request: a line in the journal of hooks."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model import times
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.journal import encode
from lumen_tui.storage.store import Store
from lumen_tui.store.sessions import hook_journal


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
    """Record it durably; StoreError where that cannot be done."""
    record = {"at": times.iso(now), "event": hook_journal.OUTCOME, "session": session, "ok": ok, "wu": wu_id}
    record |= {"node": node_id} if node_id else {}
    record |= {"said": one_line(message, 500), "answers": list(answers), "schema": 1}
    files.append(store.root / hook_journal.NAME, encode(record))
