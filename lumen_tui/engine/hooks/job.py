"""The background process behind the hooks: it makes the checkpoints that they ask for.

One runs at a time: it inherits the lock from the hook that started it. A request that comes while it ends is not
lost: the hook writes its request before it looks at the lock, this process looks again after it let the lock go.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import perform
from lumen_tui.engine.hooks import outcome
from lumen_tui.storage import files, locks
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.raw_json import decode
from lumen_tui.storage.store import Store
from lumen_tui.store.sessions import hook_journal
from lumen_tui.store.work import sessions

Raw = dict[str, Any]
_ROTATE_AT, _KEEP = 8 * 1024 * 1024, 2 * 1024 * 1024  # bytes of the journal
_NOTES = {
    "subagent_stop": "a sub-agent stopped", "pre_compact": "before the context is compacted",
    "tests_pass": "tests passed", "milestone": "a step was completed",
}  # fmt: skip


def work(store: Store, now: float) -> int:
    """Answer every request there is, one checkpoint for each work session; returns how many requests those were."""
    by_session: dict[str, list[Raw]] = {}
    for request in hook_journal.pending(str(store.root), now):
        by_session.setdefault(str(request.get("ses") or ""), []).append(request)
    for ses, requests in by_session.items():
        _answer(store, ses, requests, now)
    return sum(map(len, by_session.values()))


def _answer(store: Store, ses: str, requests: list[Raw], now: float) -> None:
    last = requests[-1]
    note = partial(
        outcome.note, store, now=now, answers=[str(one["id"]) for one in requests],
        session=str(last.get("session") or ""), wu_id=str(last.get("wu") or ""),
    )  # fmt: skip
    try:
        by = _agent(store, ses)
        given = {"session": ses, "note": _words(requests), "trigger": str(last["ask"])}
        given["folder"] = str(last.get("cwd") or "")
        done = perform(store, "checkpoint.save", given, by=by, now=now, client="hook")
    except (ActionError, files.StoreError, OSError, LookupError) as error:
        note(ok=False, said=str(error))
        return
    except Exception as error:  # an edge: nobody watches this process, so what fails must be recorded
        note(ok=False, said=f"{type(error).__name__}: {error}")
        raise
    note(ok=True, said=done.summary, node_id=done.target)


def _agent(store: Store, ses: str) -> str:
    found = sessions.read(store.layout, ses)
    if found is None:
        raise ActionError(f"the work session {ses!r} is gone")
    return found.agent


def _words(requests: list[Raw]) -> str:
    """What the checkpoint says: what asked for it."""
    asks = dict.fromkeys(str(one["ask"]) for one in requests)
    calls = sum(one["calls"] for one in requests if isinstance(one.get("calls"), int))
    parts = [f"{calls} tool calls" if ask == "tool_calls" else _NOTES.get(ask, ask) for ask in asks]
    return ", ".join(parts)


def shorten(store: Store) -> None:
    """Keep the newest part of a journal that has grown large, with a line on what was there before."""
    path = store.root / hook_journal.NAME
    if os.stat(path).st_size > _ROTATE_AT:
        Journal(path).rewrite(_newest)


def _newest(lines: Iterator[bytes]) -> Iterable[bytes]:
    kept: deque[bytes] = deque()
    size = dropped = 0
    first = ""
    for line in lines:
        kept.append(line)
        size += len(line) + 1
        while size > _KEEP:
            gone = kept.popleft()
            size -= len(gone) + 1
            found = decode(gone) or {}
            first = first or str(found.get("first") or found.get("at") or "")
            dropped += _counts(found)
    head = {"at": first, "event": hook_journal.EARLIER, "first": first, "count": dropped, "schema": 1}
    return [msgspec.json.encode(head), *kept] if dropped else kept


def _counts(record: Raw) -> int:
    count = record.get("count")
    if record.get("event") == hook_journal.EARLIER and isinstance(count, int):
        return count
    return record.get("event") != hook_journal.OUTCOME


def main(root: str, lock: int) -> None:
    """Work until nothing is asked for; the lock goes with the descriptor."""
    os.closerange(3, lock)  # whatever the agent's program left open
    os.closerange(lock + 1, 1024)
    store = Store(Path(root))
    held: int | None = lock
    while held is not None:
        try:
            while work(store, time.time()):
                pass
            shorten(store)
        finally:
            os.close(held)
        if not hook_journal.pending(root, time.time()):
            return
        held = locks.try_lock(f"{root}/{hook_journal.LOCK}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
