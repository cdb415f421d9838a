"""Where a new session begins to read: what its login had read to the end before is not news to it."""

from __future__ import annotations

import os

from lumen_tui.storage import backwards, files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.signals.read_state import decode_receipt
from lumen_tui.store.work import open_sessions


def read_before(layout: Layout, agent: str) -> str:
    """The signal up to which the agent, or a session of it that is over, read everything last; nothing for none.

    A session that is still open is another reader: what it read is news to one beside it.
    """
    try:
        fd = files.open_plain(layout.receipts)
    except FileNotFoundError:
        return ""
    over = set(open_sessions.names(f"{layout.root}/sessions/ended"))
    try:
        for _, line in backwards.lines(fd):
            receipt = decode_receipt(line) if b'"upto"' in line else None
            if receipt and receipt.upto and _is_earlier(layout, receipt.reader, agent, over):
                return receipt.signal_id
    finally:
        os.close(fd)
    return ""


def _is_earlier(layout: Layout, reader: str, agent: str, over: set[str]) -> bool:
    if reader == agent or reader not in over:
        return reader == agent
    session = open_sessions.load(open_sessions.path(layout.root, reader, ended=True))
    return session is not None and session.agent == agent
