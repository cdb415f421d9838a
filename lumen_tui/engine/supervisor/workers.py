"""Starting, adopting and ending worker processes. Two rules: never two on one task, and every one has an end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.engine.supervisor.zygote import ZygoteClient, ZygoteGone
from lumen_tui.model.spawning import PROXY, WORKER
from lumen_tui.model.tasks import Run, StopRequest
from lumen_tui.model.times import iso
from lumen_tui.storage import directories, files, locks, process
from lumen_tui.storage.process import ProcessId
from lumen_tui.store.tasks.task_records import STOP_FILE, ask_to_stop, identity, read_json

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_KEPT_ENV = (
    "PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "VIRTUAL_ENV", "PYTHONPATH", "TMPDIR", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NO_PROXY", "no_proxy", *_PROXIES,
)  # fmt: skip
_HERE = "localhost,127.0.0.1,::1"
_LOOK_EVERY = 0.05  # seconds between two looks at a worker that was asked to stop


def worker_env(keys: Iterable[str]) -> dict[str, str]:
    """Return the environment of a worker; `keys` names the API keys that its models need."""
    names = [*_KEPT_ENV, *keys, *(name for name in os.environ if name.startswith("LC_"))]
    env = {name: os.environ[name] for name in names if name in os.environ}
    if any(env.get(name) for name in _PROXIES):  # models on this machine are not reached through one
        past = ",".join(part for part in (env.get("no_proxy") or env.get("NO_PROXY"), _HERE) if part)
        env |= {"NO_PROXY": past, "no_proxy": past}
    # PYTHONSAFEPATH: a folder `lumen_tui` that a worker left in its task folder must not be imported by the next
    return env | {"PYTHONSAFEPATH": "1"}


def next_attempt(folder: Path) -> int:
    """Return the number of the attempt that would begin now, from 1."""
    earlier = [path.name.split(".")[1] for path in folder.glob("run.*.json")]
    return max((int(number) for number in earlier if number.isdigit()), default=0) + 1


class Started(Struct):
    """A worker's process. `child` is there where it is our own child, started cold; pid 0 is not known."""

    pid: int = 0
    child: subprocess.Popen[bytes] | None = None
    leader: ProcessId = ProcessId(0, 0, "")


class NoProcess(Exception):
    """The system gives no process now: the task waits."""


_PROXY_LOG = "proxy.log"  # worker.log is then a copy of the one there


def start(
    folder: Path,
    *,
    env: dict[str, str],
    kind: str,
    epoch: int,
    now: float,
    zygote: ZygoteClient | None = None,
    host: str = "",
) -> Started | None:
    """Start a worker on the task in `folder`; None where one is alive already. NoProcess.

    `kind` is the kind of provider (see providers.preload) that a zygote must have at hand to be of use. With `host` it
    is the proxy of a worker there; what that notes in begun.json may be lost with the host.
    run.json is durable before the process exists: a crash between the two leaves a task that is seen as lost
    and tried again, never one that runs twice.
    """
    lock = locks.try_lock(folder / "run.lock")
    if lock is None:
        return None
    held = [lock]
    try:
        earlier = read_json(folder / "run.json", Run)  # there where the attempt ended, and is checked now
        began = earlier.started_at if earlier else iso(now)
        run = Run(attempt=next_attempt(folder), started_at=began, epoch=epoch, notes_begun=True, host=host)
        files.replace(folder / "run.json", msgspec.json.encode(run))
        program = PROXY if host else WORKER
        started = _launch(folder, held, env, program, zygote if zygote and zygote.usable(kind) else None)
        started.leader = me = process.identify(started.pid)
        run = msgspec.structs.replace(run, pid=me.pid, start_ticks=me.start_ticks, boot_id=me.boot_id)
        files.replace(folder / "run.json", msgspec.json.encode(run))
    except NoProcess:
        if earlier is None:
            directories.remove(folder / "run.json")
        raise
    finally:
        for fd in held:
            os.close(fd)  # the worker holds the lock through its own copy
    return started


def _launch(folder: Path, held: list[int], env: dict[str, str], program: str, zygote: ZygoteClient | None) -> Started:
    """Start warm if possible, else cold. `held` is the list of the one descriptor that holds the lock."""
    log = files.open_append(folder / (_PROXY_LOG if program == PROXY else "worker.log"))
    try:
        if zygote is not None and (started := _warm(folder, held, log, env, program, zygote)):
            return started
        return _cold(folder, held[0], log, env, program)
    finally:
        os.close(log)


def _warm(
    folder: Path, held: list[int], log: int, env: dict[str, str], program: str, zygote: ZygoteClient
) -> Started | None:
    """Fork a worker from the zygote; None if there is none and none can come of it any more."""
    try:
        born = zygote.start(folder, held[0], log, env, program)
    except ZygoteGone:
        return _after_failure(folder, held)
    except OSError:
        return None  # nothing was asked for yet
    return Started(pid=born.pid) if born.pid else None


def _after_failure(folder: Path, held: list[int]) -> Started | None:
    """Take the lock again after the zygote died over an order: only its holder knows that no worker came of it."""
    os.close(held.pop())
    lock = locks.try_lock(folder / "run.lock")
    if lock is None:
        return Started()  # it lives, and is found by its lock
    held.append(lock)
    return None


def _cold(folder: Path, lock: int, log: int, env: dict[str, str], program: str) -> Started:
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", program.removesuffix(".__main__"), str(folder)],
            cwd=folder,
            env=env | {"LUMEN_LOCK_FD": str(lock)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(lock,),
            start_new_session=True,
        )
    except OSError as error:
        raise NoProcess(error.strerror or str(error)) from error
    return Started(pid=child.pid, child=child)


def keep_attempt(folder: Path, attempt: int) -> None:
    """Keep the record of a lost attempt and make the task ready for the next one."""
    directories.remove(folder / STOP_FILE)
    directories.move(folder / "run.json", folder / f"run.{attempt}.json")


async def end(folder: Path, run: Run, *, status: str, reason: str, ask: float, term: float) -> None:
    """Ask, wait, TERM, wait, KILL: returns when no process of the worker's session is left.

    `ask` and `term` are the waits in seconds. A worker that had no time to write its exit gets none here: the
    caller sees an ended task without one.
    """
    ask_to_stop(folder, StopRequest(status, reason))
    directories.remove(folder / "hold.json")  # one that rests could not hear it
    lock, leader = folder / "run.lock", identity(run)
    if await _gone(lock, leader, ask):
        return
    process.signal_sessions([leader], signal.SIGTERM)
    if await _gone(lock, leader, term):
        return
    process.signal_sessions([leader], signal.SIGKILL)
    process.kill_lock_holders(str(lock))  # also where run.json names no process, or one that has gone
    await _gone(lock, leader, 5.0)


async def _gone(lock: Path, leader: ProcessId, seconds: float) -> bool:
    """Wait and return whether the worker ended in time. Its folder may be archived, so the lock alone does not say."""
    import asyncio  # late: see `supervisor`

    for _ in range(max(1, round(seconds / _LOOK_EVERY))):
        if not locks.is_locked(lock) and not process.is_same(leader):
            return True
        await asyncio.sleep(_LOOK_EVERY)
    return False
