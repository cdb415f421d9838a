"""Signals: sent permanently, marked as read by receipts, one reader each."""

from __future__ import annotations

import os

from lumen_tui.actions import acting, checks, edits, places
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import fields
from lumen_tui.model.records import Change
from lumen_tui.model.requests.signals import ReadAllSignals, ReadSignals, SendSignal
from lumen_tui.model.text import one_line
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.signals import inbox, receipts
from lumen_tui.store.signals.compaction import archive_path

_THERE = "the signal was sent already under this key"
SENT_KIND = "signal"  # of a change
ANNOUNCED_KIND = "announcement"
reads_now, put_reads = edits.sides(lambda store: store.layout.receipts)


def send(store: Store, request: SendSignal, *, by: str, now: float) -> Done:
    """Append a signal. `to` names the intended agent; everybody can read it. The same `key` sends one.

    The lane defaults to that of its work unit; a missing work unit is made.
    """
    answered = next(iter(checks.signal_ids(store, request.reply_to))) if request.reply_to else ""
    unit = places.work_to_be(store.root, request.wu_id) if request.wu_id else ""
    record = fields.signal(
        request.message,
        by=by,
        now=now,
        to=request.to,
        wu_id=unit,
        lane=request.lane or places.lane_of(store.root, unit),
        priority=request.priority,
        type=request.type,
        reply_to=answered,
        session_id=request.session_id,
        order=acting.caller().order,
    )
    unit_note = places.ensure_unit(store.root, unit, by=by, now=now)
    if request.key:
        return _send_once(store, fields.keyed(record, request.key), unit_note, by=by, now=now)
    return _send(store, record, unit_note, by=by, now=now)


def _send(store: Store, record: Raw, aside: str, *, by: str, now: float) -> Done:
    name = str(record["id"])
    to = record.get("target_agent")
    text = "signal sent" + (f" to {to}" if to else "")
    summary = f"{text}: {one_line(record['message'], 60)}"
    action = edits.new_action("signal.send", [sent_change(name)], summary=summary, by=by, now=now)
    try:
        with journal.carrying_out(store.layout, action):
            if not nodes.append_once(store.layout.signals, record):
                raise FileExistsError(name)
    except FileExistsError:  # by somebody else with the same key, at this moment
        return Done(summary=_THERE, target=name)
    return Done(summary=text, target=name, action_id=action.id, aside=aside)


def _send_once(store: Store, record: Raw, aside: str, *, by: str, now: float) -> Done:
    """Send the signal unless it is there under its key already, in the journal or in the archive."""
    name = record["id"]
    if any(nodes.find(path, [name]) for path in (store.layout.signals, archive_path(store.layout))):
        return Done(summary=_THERE, target=name)
    return _send(store, record, aside, by=by, now=now)


def announce(store: Store, record: Raw, verb: str, *, by: str, now: float) -> None:
    """Send a signal that belongs to an action: undoing that takes it back, unless somebody has read it."""
    change = Change(ANNOUNCED_KIND, str(record["id"]), before=None, after={"sent": True})
    action = edits.new_action(verb, [change], summary="the others were told", by=by, now=now)
    with journal.carrying_out(store.layout, action):
        store.signals.append(record)


def put_announcement(store: Store, change: Change) -> str:
    """For undo: as `put_sent`, but a signal that was read stays."""
    try:
        put_sent(store, change)
    except ActionError:
        return "the signal about it stays, as it was read"
    return ""


def sent_change(signal_id: str) -> Change:
    """Return the change of sending a signal."""
    return Change(SENT_KIND, signal_id, before=None, after={"sent": True})


def sent_now(store: Store, change: Change) -> Side | None:
    """For undo: whether the signal can be read now."""
    return {"sent": True} if receipts.is_there(store.layout, change.key) else None


def may_send(store: Store, change: Change) -> None:
    """For undo: refuse to take back a signal that somebody has read."""
    if change.after is not None:
        return
    if readers := receipts.readers(store.layout, change.key):
        more = f" and {len(readers) - 1} more" if len(readers) > 1 else ""
        hint = f"send a correction (`signal TEXT --reply-to {change.key}`)"
        raise ActionError(f"it was read by {readers[0]}{more}: {hint}")


def put_sent(store: Store, change: Change) -> None:
    """For undo: take back a signal that nobody has read yet, or send it again."""
    if change.after is not None:
        receipts.bring_back(store.layout, change.key)
        return
    may_send(store, change)
    order = acting.caller()
    receipts.withdraw(store.layout, change.key, by=order.by, now=order.now)


def read(store: Store, request: ReadSignals, *, by: str, now: float) -> Done:
    """Append a receipt for each, whose lines undo takes out."""
    offsets = checks.signal_ids(store, request.signal_ids)
    receipts = [fields.receipt(signal_id, reader=by, now=now, offset=at) for signal_id, at in offsets.items()]
    summary = f"{len(offsets)} signal{'s' if len(offsets) > 1 else ''} read"
    return _mark(store, receipts, "signal.read", summary, by=by, now=now)


def read_all(store: Store, _request: ReadAllSignals, *, by: str, now: float) -> Done:
    """Append a receipt that reaches up to the newest signal."""
    newest = inbox.newest(os.fspath(store.layout.signals))
    if newest is None:
        raise ActionError("there are no signals", missing=True)
    signal_id, offset = newest
    receipts = [fields.receipt(signal_id, reader=by, now=now, offset=offset, upto=True)]
    return _mark(store, receipts, "signal.read_all", "all signals read", by=by, now=now)


def _mark(store: Store, receipts: list[Raw], verb: str, summary: str, *, by: str, now: float) -> Done:
    target = str(receipts[0]["signal_id"])
    changes = edits.changes_of(edits.READ_KIND, receipts)
    action = edits.new_action(verb, changes, summary=summary, by=by, now=now, target=target)
    with journal.carrying_out(store.layout, action):
        store.receipts.append_all(receipts)
    return Done(summary=summary, target=target, action_id=action.id)
