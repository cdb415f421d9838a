"""tasks/<id>/lease.json: how long a worker on another host may go on without word from its engine.

A task without the file runs where its engine is, and needs no lease. A worker whose lease is over finishes its step and
rests: it begins no call, of a model or of a tool, until the lease is renewed. `running` is the time in seconds since
boot, with those asleep: a wall clock that is moved ends no lease and draws none out.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.frames import HostLease
from lumen_tui.storage import files, process

NAME = "lease.json"
SECONDS = 60.0
_EARLY = 15.0  # seconds less to go that are worth a write


def is_needed(folder: Path) -> bool:
    """Return whether the task runs on a host that has its engine elsewhere."""
    return os.path.lexists(folder / NAME)


def is_over(folder: Path, running: float) -> bool:
    """Return whether the task has a lease that is over. One that cannot be read is over."""
    try:
        lease = _read(folder)
    except (*UNDECODABLE, files.StoreError, OSError):
        return True
    return lease is not None and lease.over(running, process.boot_id())


def renew(folder: Path, running: float, seconds: float = SECONDS) -> None:
    """Let the worker go on for so long from now. StoreError where that cannot be written: it rests then."""
    try:
        known = _read(folder)
    except (*UNDECODABLE, files.StoreError, OSError):
        known = None
    new = HostLease(running + seconds, process.boot_id())
    if known is None or known.boot_id != new.boot_id or not new.until - _EARLY < known.until <= new.until:
        files.replace(folder / NAME, msgspec.json.encode(new), durable=False)  # it counts for this boot alone


def _read(folder: Path) -> HostLease | None:
    data = files.read(folder / NAME)
    return None if data is None else msgspec.json.decode(data, type=HostLease)
