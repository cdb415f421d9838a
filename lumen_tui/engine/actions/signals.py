"""Signals: sent for good, read by receipts of one reader each."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from lumen_tui.engine.actions import checks, fields, places
from lumen_tui.engine.outcome import ActionError, Done
from lumen_tui.store.memory import nodes
from lumen_tui.store.signals import inbox
from lumen_tui.store.signals.compaction import archive_path
from lumen_tui.store.store import Store


def send(
    store: Store, *, by: str, now: float, message: str, to: str = "", wu_id: str = "", lane: str = "",
    priority: str = "", type: str = "coordination", reply_to: str = "", key: str = "", session_id: str = "",
) -> Done:  # fmt: skip
    """Append a signal. `to` names the agent meant; everybody can read it. The same `key` sends one.

    Its lane is that of its work unit where none is given; a work unit that is not there is made.
    """
    answered = next(iter(checks.signal_ids(store, reply_to))) if reply_to else ""
    unit = places.work_to_be(store.root, wu_id) if wu_id else ""
    record = fields.signal(
        message, by=by, now=now, to=to, wu_id=unit, lane=lane or places.lane_of(store.root, unit), priority=priority,
        type=type, reply_to=answered, session_id=session_id,
    )  # fmt: skip
    made = places.make_sure(store.root, unit, by=by, now=now)
    if key:
        return _send_once(store, fields.keyed(record, key), made)
    store.signals.append(record)
    return Done(summary="signal sent" + (f" to {to}" if to else ""), target=record["id"], aside=made)


def _send_once(store: Store, record: dict[str, Any], aside: str) -> Done:
    """A signal that cleanup has put into the archive was sent as well."""
    there = Done(summary="the signal was sent already under this key", target=record["id"])
    if nodes.find(archive_path(store.layout), [record["id"]]):
        return there
    made = nodes.append_once(store.layout.signals, record)
    return Done(summary="signal sent", target=record["id"], aside=aside) if made else there


def read(store: Store, *, by: str, now: float, signal_ids: str | Iterable[str]) -> Done:
    """Mark these signals as read by the operator; nobody else's inbox changes."""
    found = checks.signal_ids(store, signal_ids)
    store.receipts.append_all(fields.receipt(one, reader=by, now=now, offset=at) for one, at in found.items())
    return Done(summary=f"{len(found)} signal{'s' if len(found) > 1 else ''} read", target=next(iter(found)))


def read_all(store: Store, *, by: str, now: float) -> Done:
    """Mark everything that is there now as read by the operator, with one receipt."""
    newest = inbox.newest(os.fspath(store.layout.signals))
    if newest is None:
        raise ActionError("there are no signals", missing=True)
    signal_id, offset = newest
    store.receipts.append(fields.receipt(signal_id, reader=by, now=now, offset=offset, upto=True))
    return Done(summary="all signals read", target=signal_id)
