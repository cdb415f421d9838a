"""Starting, adopting and ending worker processes. Two rules: never two on one task, and every one has an end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec

from lumen_tui.model.tasks import Exit, Run
from lumen_tui.model.times import iso
from lumen_tui.providers.choose import key_names
from lumen_tui.store import files, process
from lumen_tui.store.process import ProcessId

_KEPT_ENV = ("PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "VIRTUAL_ENV", "PYTHONPATH", "TMPDIR", "SSL_CERT_FILE")
_LOOK_EVERY = 0.05  # seconds between two looks at a worker that was asked to stop


def worker_env(lock_fd: int, provider: str) -> dict[str, str]:
    """What a worker may know of our environment. Keys go along only where a provider needs them."""
    names = [*_KEPT_ENV, *key_names(provider), *(name for name in os.environ if name.startswith("LC_"))]
    env = {name: os.environ[name] for name in names if name in os.environ}
    # PYTHONSAFEPATH: a folder `lumen_tui` that a worker left in its task folder must not be imported by the next
    return env | {"LUMEN_LOCK_FD": str(lock_fd), "PYTHONSAFEPATH": "1"}


def next_attempt(folder: Path) -> int:
    """The number of the attempt that would begin now, from 1."""
    earlier = [path.name.split(".")[1] for path in folder.glob("run.*.json")]
    return max((int(number) for number in earlier if number.isdigit()), default=0) + 1


def start(folder: Path, *, provider: str, epoch: int, now: float) -> subprocess.Popen[bytes] | None:
    """Start a worker on the task in `folder`; None where one is alive already.

    run.json is durable before the process exists: a crash between the two leaves a task that is seen as lost
    and tried again, never one that runs twice.
    """
    lock_fd = files.try_lock(folder / "run.lock")
    if lock_fd is None:
        return None
    try:
        run = Run(attempt=next_attempt(folder), started_at=iso(now), epoch=epoch)
        files.replace(folder / "run.json", msgspec.json.encode(run))
        child = _launch(folder, lock_fd, provider)
        me = process.identify(child.pid)
        run = msgspec.structs.replace(run, pid=me.pid, start_ticks=me.start_ticks, boot_id=me.boot_id)
        files.replace(folder / "run.json", msgspec.json.encode(run))
    finally:
        os.close(lock_fd)  # the worker holds the lock through its own copy
    return child


def _launch(folder: Path, lock_fd: int, provider: str) -> subprocess.Popen[bytes]:
    log = files.open_append(folder / "worker.log")
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "lumen_tui.worker", str(folder)],
            cwd=folder, env=worker_env(lock_fd, provider), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            pass_fds=(lock_fd,), start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(log)


def identity(run: Run) -> ProcessId:
    """The process that a run names."""
    return ProcessId(pid=run.pid, start_ticks=run.start_ticks, boot_id=run.boot_id)


def put_aside(folder: Path, attempt: int) -> None:
    """Keep the record of a lost attempt and make the task ready for the next one."""
    files.remove(folder / "stop.json")
    files.move(folder / "run.json", folder / f"run.{attempt}.json")


def write_exit(folder: Path, task_id: str, status: str, reason: str, *, attempt: int, now: float) -> None:
    """Write the exit of a task that has no worker to do it."""
    record = Exit(task_id=task_id, status=status, reason=reason, attempt=attempt, finished_at=iso(now))
    files.replace(folder / "exit.json", msgspec.json.encode(record))


async def end(folder: Path, run: Run, *, status: str, reason: str, ask: float, term: float) -> None:
    """Ask, wait, TERM, wait, KILL: returns when no process of the worker's session is left.

    `ask` and `term` are the waits in seconds. A worker that had no time to write its exit gets none here: the
    caller sees an ended task without one.
    """
    files.replace(folder / "stop.json", msgspec.json.encode({"status": status, "reason": reason}))
    lock, leader = folder / "run.lock", identity(run)
    if await _gone(lock, leader, ask):
        return
    process.signal_session(leader, signal.SIGTERM)
    if await _gone(lock, leader, term):
        return
    process.signal_session(leader, signal.SIGKILL)
    await _gone(lock, leader, 5.0)


async def _gone(lock: Path, leader: ProcessId, seconds: float) -> bool:
    """Whether the worker ends in time. Its folder may be archived meanwhile, so the lock alone does not tell."""
    for _ in range(max(1, round(seconds / _LOOK_EVERY))):
        if not files.is_locked(lock) and not process.is_same(leader):
            return True
        await asyncio.sleep(_LOOK_EVERY)
    return False
