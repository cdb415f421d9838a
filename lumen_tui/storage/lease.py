"""The engine's lease: the process that holds the flock on engine.lock drives. The file's content is informative."""

from __future__ import annotations

import os
import time

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import files, locks, process
from lumen_tui.storage.layout import Layout

# A child of a killed engine has its descriptors, and so its lock, until it has become another program. That takes
# microseconds, and on a busy machine as long as the child waits for its turn.
_LOOKS, _PAUSE = 250, 0.02  # seconds


class LeaseInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """The process that took the lease. `epoch` grows with each takeover; records of a lower epoch are stale."""

    epoch: int = 0
    pid: int = 0
    start_ticks: int = 0
    boot_id: str = ""
    host: str = ""


class Lease(msgspec.Struct):
    """A held lease. The kernel releases it when the process ends, however it ends."""

    fd: int
    info: LeaseInfo

    def release(self) -> None:
        """Let another engine drive."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def read_lease(layout: Layout) -> LeaseInfo:
    """Return what the last holder wrote; all zero where nothing is readable."""
    try:
        return msgspec.json.decode(files.read(layout.engine_lock) or b"{}", type=LeaseInfo)
    except (*UNDECODABLE, files.StoreError, OSError):
        return LeaseInfo()


def is_held(layout: Layout) -> bool:
    """Return whether an engine drives this state folder now."""
    return locks.is_locked(layout.engine_lock)


def take_lease(layout: Layout) -> Lease | None:
    """Become the engine of this state folder; return None where there is another one."""
    fd = locks.try_lock(layout.engine_lock)
    for _ in range(_LOOKS):
        if fd is not None or not _was_killed(read_lease(layout)):
            break
        time.sleep(_PAUSE)
        fd = locks.try_lock(layout.engine_lock)
    if fd is None:
        return None
    me = process.myself()
    info = LeaseInfo(
        epoch=read_lease(layout).epoch + 1,
        pid=me.pid,
        start_ticks=me.start_ticks,
        boot_id=me.boot_id,
        host=process.host(),
    )
    locks.overwrite_locked(fd, msgspec.json.encode(info) + b"\n")
    return Lease(fd=fd, info=info)


def _was_killed(holder: LeaseInfo) -> bool:
    """Whether the process that took the lease has ended, so that what holds it is no engine."""
    leader = process.ProcessId(holder.pid, holder.start_ticks, holder.boot_id)
    return holder.host == process.host() and holder.boot_id == process.boot_id() and not process.is_same(leader)
