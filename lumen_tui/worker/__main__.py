"""The worker process: `python -m lumen_tui.worker TASK_FOLDER` does one task under one role and ends.

Where the attempt before is finished and its task has checks, it runs those instead: no model is called.

No command outlives it, or reads its environment. exit.json is its very last act.
Exit codes: 0 done, 1 failed or stopped, 2 it could not begin, 3 it waits for an answer without a process: then there is
no exit.json, and parked.json says where the next attempt goes on.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

# The current folder is the task's own: nothing a command left there may be imported.
sys.path[:] = [part for part in sys.path if part not in ("", os.getcwd())]

if __name__ == "__main__":  # a signal that comes while the rest loads waits until the worker can act on it
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
    gc.disable()  # importing makes nothing that could be collected

import ctypes  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

from lumen_tui.model.quick_imports import import_basics  # noqa: E402

import_basics()

import msgspec  # noqa: E402

from lumen_tui.model import ids  # noqa: E402
from lumen_tui.model.tasks import Exit  # noqa: E402
from lumen_tui.model.text import safe  # noqa: E402
from lumen_tui.model.times import iso  # noqa: E402
from lumen_tui.storage import files, integrity  # noqa: E402
from lumen_tui.store.tasks import claims, leases, task_records  # noqa: E402
from lumen_tui.tools.base import Stopped, TaskParked  # noqa: E402
from lumen_tui.tools.policy.fence import redactor  # noqa: E402
from lumen_tui.tools.sandbox import limits  # noqa: E402
from lumen_tui.worker import claimed  # noqa: E402
from lumen_tui.worker.closing import PutBack  # noqa: E402
from lumen_tui.worker.engine_link import EngineLink  # noqa: E402
from lumen_tui.worker.run_lock import NoLock, take_lock  # noqa: E402
from lumen_tui.worker.stopping import Stopper  # noqa: E402
from lumen_tui.worker.task import CannotBegin, Task, read_attempt  # noqa: E402
from lumen_tui.worker.world import TaskTally, World  # noqa: E402

_PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
_PR_SET_DUMPABLE = 4
_ROUNDS = 20
_PUT_BACK = "put back"  # a status for this process alone: the task has not ended
PARKED = 3


def work(world: World, tally: TaskTally) -> tuple[str, str]:
    """Do the task; returns status and reason. Stopped may come at any moment until the stopper is disarmed.

    Raises TaskParked.
    """
    started: list[Task] = []
    try:
        status, reason = _attempt(world, tally, started)
        world.stopper.disarm()
    except Stopped:
        world.stopper.disarm()
        status, reason = world.stopper.status, world.stopper.reason
    except TaskParked:
        world.stopper.disarm()
        raise
    reason = world.redact(reason)
    for task in started:
        if world.stopper.after_step and world.stopper.status:
            task.keep_partial(reason)
        _last_event(task, status, reason)
    return status, reason


def _attempt(world: World, tally: TaskTally, started: list[Task]) -> tuple[str, str]:
    try:
        task = Task(world, tally)
        started.append(task)
        task.limits.begin()
        outcome = task.run()
    except CannotBegin as error:
        return "failed", str(error)
    except PutBack as error:
        started.clear()  # its last event stands: it is not over
        return _PUT_BACK, str(error)
    except Exception as error:  # noqa: BLE001 - the edge of the process: whatever it was becomes an exit
        _tell_where(world)
        return "failed", integrity.program_replaced() or f"{type(error).__name__}: {error}"
    return ("done", "") if outcome.ok else ("failed", outcome.reason)


def _tell_where(world: World) -> None:
    """Write on stderr where the exception came from that is being handled."""
    import traceback  # 5 ms, which nearly no worker needs

    sys.stderr.write(world.redact(safe(traceback.format_exc())))


def _last_event(task: Task, status: str, reason: str) -> None:
    try:
        task.finished(status, reason)
    except (files.StoreError, OSError) as error:  # a full disk must not keep exit.json from being tried
        sys.stderr.write(f"the last event was not written: {error}\n")


def adopt_orphans() -> None:
    """Make orphans of this process its own children, so that they can be found at the end.

    It also stops being dumpable: its memory and /proc/<pid>/environ, where keys stand, are closed to its commands.
    """
    try:
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (OSError, AttributeError):
        pass  # not Linux: process groups alone


def end_children() -> None:
    """KILL every child there is, and what they leave, until none is left."""
    for _ in range(_ROUNDS):
        children = limits.children(os.getpid())
        if not children:
            return
        limits.end(children)
        for pid in children:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def run(folder: Path, environ: dict[str, str]) -> int:
    """Run the task in `folder`, and write exit.json; the lock is held."""
    began = time.monotonic()
    stopper = Stopper(folder, time.monotonic, time.time)
    attempt = read_attempt(folder)
    link = EngineLink(folder, attempt, stopper) if leases.is_needed(folder) else None
    world = World(folder, time.time, time.monotonic, environ, stopper, redactor(environ), link)
    tally = TaskTally()
    claim = claims.unchecked(folder, attempt)
    stopper.arm()
    if claim is not None:
        return _check(world, claim)
    try:
        status, reason = work(world, tally)
    except TaskParked:
        end_children()
        return PARKED
    end_children()
    if status == _PUT_BACK:
        task_records.put_back(folder, tally.attempt, reason)
        return 0
    ended = Exit(
        task_id=folder.name,
        status=status,
        finished_at=iso(time.time()),
        attempt=tally.attempt,
        reason=reason,
        seconds=round(time.monotonic() - began + tally.seconds, 3),
        usage=tally.usage,
        brain=tally.brain,
        session=tally.session,
        cap=tally.cap,
        unanswered=tally.unanswered,
    )
    if status == "done" and tally.has_checks:
        claims.leave(folder, ended)
    else:
        files.replace(folder / "exit.json", msgspec.json.encode(claims.with_earlier(folder, ended)))
    return 0 if status == "done" else 1


def _check(world: World, claim: Exit) -> int:
    """Check what the worker before claims, and write what follows from that."""
    stopper = world.stopper
    try:
        judgement = claimed.check(world, claim)
        stopper.disarm()
    except Stopped:
        stopper.disarm()
        end_children()
        ended = msgspec.structs.replace(claim, status=stopper.status, reason=world.redact(stopper.reason))
        claims.settle(world.folder, ended, None, time.time())
        return 1
    except CannotBegin as error:
        judgement = claimed.not_checked(str(error))
    except (files.StoreError, OSError):
        raise  # a full disk: it is checked again once there is room
    except Exception as error:  # noqa: BLE001 - the edge of the process: whatever it was, nothing is proved
        _tell_where(world)
        judgement = claimed.not_checked(integrity.program_replaced() or f"{type(error).__name__}: {error}")
    stopper.disarm()
    end_children()
    return 0 if claimed.conclude(world, claim, judgement) == "done" else 1


def main(arguments: list[str]) -> int:
    """Check the call, take the lock and work."""
    gc.freeze()
    gc.enable()
    os.umask(0o077)
    try:
        (named,) = arguments
        folder = Path(named).resolve(strict=True)
        ids.check_name(folder.name, "task id")
        environ = dict(os.environ)
        lock = take_lock(folder, environ)
    except (ValueError, OSError, NoLock, files.StoreError) as error:
        sys.stderr.write(f"usage: python -m lumen_tui.worker TASK_FOLDER\n{error}\n")
        return 2
    adopt_orphans()
    try:
        return run(folder, environ)
    finally:
        os.close(lock)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
