"""The background process behind the hooks: it makes the checkpoints that they ask for.

One runs at a time: it inherits the lock from the hook that started it. A request that comes while it ends is not
lost: the hook writes its request before it looks at the lock, this process looks again after it let the lock go.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import perform
from lumen_tui.engine.hooks import deeds
from lumen_tui.model import times
from lumen_tui.model.jsontext import decode
from lumen_tui.model.requests.sessions import SaveCheckpoint
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, locks
from lumen_tui.storage.journal import Journal, encode
from lumen_tui.storage.store import Store
from lumen_tui.store.sessions import hook_journal
from lumen_tui.store.work import sessions

Raw = dict[str, object]
_ROTATE_AT, _KEEP = 8 * 1024 * 1024, 2 * 1024 * 1024  # bytes of the journal


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
    record = partial(
        note,
        store.root,
        now=now,
        answers=[str(request["id"]) for request in requests],
        session=str(last.get("session") or ""),
        wu_id=str(last.get("wu") or ""),
    )
    try:
        by = _agent(store, ses)
        request = SaveCheckpoint(
            session=ses,
            note=deeds.note(str(store.root), requests),
            trigger=str(last["ask"]),
            folder=str(last.get("cwd") or ""),
        )
        saved = perform(store, request, by=by, now=now, client="hook")
    except (ActionError, files.StoreError, OSError, LookupError) as error:
        record(ok=False, message=str(error))
        return
    except Exception as error:  # an edge: nobody watches this process, so what fails must be recorded
        record(ok=False, message=f"{type(error).__name__}: {error}")
        raise
    record(ok=True, message=saved.summary, node_id=saved.target)


def note(
    root: Path | str,
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
    files.append(Path(root) / hook_journal.NAME, encode(record))


def _agent(store: Store, ses: str) -> str:
    session = sessions.read(store.layout, ses)
    if session is None:
        raise ActionError(f"the work session {ses!r} is gone")
    return session.agent


def shorten(store: Store) -> None:
    """Keep the newest part of a journal that has grown large, with a line on what was there before."""
    path = store.root / hook_journal.NAME
    if os.stat(path).st_size > _ROTATE_AT:
        Journal(path).rewrite(_newest)


def _newest(lines: Iterator[bytes]) -> Iterable[bytes]:
    tail: deque[bytes] = deque()
    size = dropped = 0
    first = ""
    for line in lines:
        tail.append(line)
        size += len(line) + 1
        while size > _KEEP:
            oldest = tail.popleft()
            size -= len(oldest) + 1
            record = decode(oldest) or {}
            first = first or str(record.get("first") or record.get("at") or "")
            dropped += _counts(record)
    head = {"at": first, "event": hook_journal.EARLIER, "first": first, "count": dropped, "schema": 1}
    return [msgspec.json.encode(head), *tail] if dropped else tail


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
