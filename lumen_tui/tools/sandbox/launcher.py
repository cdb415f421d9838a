"""Runs a command under Landlock: `python -I -S launcher.py ORDER COMMAND...`, with the standard library alone.

This process forks. The child gives up its rights and execs the command; the parent keeps none of its pipes, waits, ends
whatever the command left behind, and passes on its exit code. It also ends everything on TERM, which the kernel sends
when the worker dies. An `unsandboxed` order does all that without a sandbox.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import json
import os
import resource
import signal
import struct
import sys
import time
from types import ModuleType
from typing import NoReturn, TypedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lumen_tui.tools.sandbox.chmod_broker import ChmodBroker

CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every processor
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_ALL_FS = (1 << 16) - 1
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_READ = _EXECUTE | _READ_FILE | _READ_DIR
# Without making devices and sockets.
_WRITE = _ALL_FS & ~(1 << 6) & ~(1 << 9) & ~(1 << 11) & ~_IOCTL
_TERM = frozenset({signal.SIGTERM})
_TCP, _SCOPED, _SIGNALS = 3, 3, 2  # bind and connect; abstract UNIX sockets and signals; signals
_SET_PDEATHSIG, _SET_SUBREAPER, _SET_NO_NEW_PRIVS, _DROP_BOUND = 1, 36, 38, 24  # prctl(2)
_CAPSET = {"x86_64": 126, "aarch64": 91}
_LAST_CAPABILITY = 63
_FAILED = 126
_ROUNDS, _ROUND_SECONDS = 400, 0.005  # of ending the remaining processes
_NICE = 5  # a busy command must not starve the worker that watches it


class LaunchOrder(TypedDict, total=False):
    """What the launcher is told, as JSON. An `unsandboxed` order has that and `parent` alone."""

    unsandboxed: bool
    parent: int  # pid of the worker
    cwd: str
    status: int  # descriptor on which it says that the sandbox is in place
    network: bool
    hidden: list[str]  # real paths, as all below
    writable: list[str]
    protected: list[str]
    devices: list[str]
    processes: int  # at most, threads included
    filter: str  # the system-call filter, in hexadecimal


_libc = ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _prctl(option: int, *values: object) -> int:
    padded = [*values, *[0] * (4 - len(values))]
    result: int = _libc.prctl(option, *[ctypes.c_ulong(v) if isinstance(v, int) else v for v in padded])
    return result


def parts(top: str, excluded: list[str]) -> tuple[list[str], list[str]]:
    """Return `top` without the `excluded` paths: whole paths, and folders that had to be split. Links are left out."""
    if any(top == path or top.startswith(path.rstrip("/") + "/") for path in excluded):
        return [], []
    below = [path for path in excluded if path.startswith(top.rstrip("/") + "/")]
    if not below:
        return [top], []
    whole, split = [], [top]
    with contextlib.suppress(OSError), os.scandir(top) as entries:
        for entry in entries:
            if not entry.is_symlink():
                whole_below, split_below = parts(entry.path, below)
                whole += whole_below
                split += split_below
    return whole, split


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # removed meanwhile: nothing is granted
    try:
        if os.readlink(f"/proc/self/fd/{fd}") != path:
            return  # somebody put a link there meanwhile
        if not os.path.isdir(f"/proc/self/fd/{fd}"):
            rights &= _FILE_RIGHTS
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, fd))
        _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
    finally:
        os.close(fd)


def _ruleset(order: LaunchOrder) -> int:
    network = 0 if order["network"] else _TCP
    attributes = struct.pack("=QQQ", _ALL_FS, network, _SCOPED)
    size = ctypes.c_size_t(len(attributes))
    ruleset = _call(CREATE_RULESET, ctypes.create_string_buffer(attributes), size, ctypes.c_uint32(0))
    whole, split = parts("/", [*order["hidden"], "/dev"])
    for path in whole:
        _allow(ruleset, path, _READ)
    for path in split:
        _allow(ruleset, path, _READ_DIR)  # can be listed, but its files not read
    for device in order["devices"]:
        _allow(ruleset, device, _READ_FILE | _WRITE_FILE | _IOCTL)
    for root in order["writable"]:
        for path in parts(root, _protected_below(root, order["protected"]))[0]:
            _allow(ruleset, path, _READ | _WRITE)
    return ruleset


def _protected_below(root: str, protected: list[str]) -> list[str]:
    """Return the protected paths below `root`; a granted root inside a protected folder stays writable."""
    return [path for path in protected if root != path and not root.startswith(path.rstrip("/") + "/")]


def _drop_capabilities() -> None:
    for number in range(_LAST_CAPABILITY + 1):
        _prctl(_DROP_BOUND, number)  # fails without the capability, and above the last one
    header, data = struct.pack("=Ii", 0x20080522, 0), bytes(24)
    _call(_CAPSET[os.uname().machine], ctypes.create_string_buffer(header), ctypes.create_string_buffer(data))


def _import_broker() -> ModuleType:
    """Import the chmod broker, which is beside this file and needs the standard library alone as well."""
    top = os.path.abspath(__file__)
    for _ in range(4):
        top = os.path.dirname(top)
    if top not in sys.path:
        sys.path.append(top)
    from lumen_tui.tools.sandbox import chmod_broker

    return chmod_broker


def _prefer_for_oom() -> None:
    """Let the OOM killer choose this command before anything else."""
    with contextlib.suppress(OSError):
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(fd, b"1000")
        os.close(fd)


def _limit_processes(most: int) -> None:
    """Set RLIMIT_NPROC, which counts all threads of the user and does not apply to root."""
    if os.getuid() == 0:
        return
    own = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{pid}").st_uid == os.getuid():
                own += len(os.listdir(f"/proc/{pid}/task"))
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    limit = own + most if hard == resource.RLIM_INFINITY else min(own + most, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _exec_command(order: LaunchOrder, command: list[str], broker: ChmodBroker | None) -> NoReturn:
    os.setsid()
    if broker is None:
        os.execvp(command[0], command)  # noqa: S606 - the policy was applied before
    _prefer_for_oom()
    _limit_processes(order["processes"])
    os.chdir(order["cwd"])
    ruleset = _ruleset(order)
    _drop_capabilities()
    if _prctl(_SET_NO_NEW_PRIVS, 1) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)
    broker.listen(bytes.fromhex(order["filter"]))
    os.write(order["status"], b'{"exit-code"')  # the sandbox is in place
    os.close(order["status"])
    os.execvp(command[0], command)  # noqa: S606 - the policy was applied before


def _child(order: LaunchOrder, command: list[str], broker: ChmodBroker | None) -> NoReturn:
    try:
        for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _TERM)
        _exec_command(order, command, broker)
    except BaseException as error:  # noqa: BLE001 - the edge: a child that cannot become the command must end here
        os.write(2, f"{command[0]}: {error}\n".encode(errors="replace"))
        os._exit(_FAILED)


def _only_below(parent: int) -> None:
    """Restrict this process to sending signals to its own descendants.

    Then `kill(-1)` reaches exactly those, atomically: nothing can fork away from it. Without the restriction it would
    reach every process of the user, so a signal to `parent` is tried, which the kernel must refuse.
    """
    attributes = struct.pack("=QQQ", _REFER, 0, _SIGNALS)
    size = ctypes.c_size_t(len(attributes))
    ruleset = _call(CREATE_RULESET, ctypes.create_string_buffer(attributes), size, ctypes.c_uint32(0))
    _allow(ruleset, "/", _REFER)  # otherwise moving files between folders would be refused, whatever is granted later
    if _prctl(_SET_NO_NEW_PRIVS, 1) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)
    with contextlib.suppress(PermissionError):
        os.kill(parent, 0)
        raise OSError("signals are not kept in")


def _descendants() -> list[int]:
    """Return all living descendants: orphans were reparented to this process."""
    pids, pending = [], [os.getpid()]
    while pending:
        for listed in glob.glob(f"/proc/{pending.pop()}/task/*/children"):
            with contextlib.suppress(OSError), open(listed, encoding="ascii") as names:
                children = [int(name) for name in names.read().split()]
                pids += children
                pending += children
    return pids


def _end_each() -> None:
    """KILL each descendant; STOP them first, so that none forks away meanwhile."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in _descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _end_all(*, unsandboxed: bool) -> None:
    """KILL all descendants until none is left."""
    for _ in range(_ROUNDS):
        try:
            if unsandboxed:
                _end_each()
            else:
                os.kill(-1, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # no process is left, or only zombies
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_ROUND_SECONDS)


def _wait(child: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def main(arguments: list[str]) -> int:
    order, command = json.loads(arguments[0]), arguments[1:]

    def on_term(number: int, frame: object) -> None:
        _end_all(unsandboxed=order["unsandboxed"])
        os._exit(128 + number)

    # TERM is blocked until signals are restricted: before that its handler would end every process
    signal.pthread_sigmask(signal.SIG_BLOCK, _TERM)
    _prctl(_SET_PDEATHSIG, signal.SIGTERM)
    _prctl(_SET_SUBREAPER, 1)
    if os.getppid() != order["parent"]:
        return _FAILED  # the worker died before the parent-death signal was set
    broker: ChmodBroker | None = None
    if not order["unsandboxed"]:
        os.set_inheritable(order["status"], False)
        _only_below(order["parent"])
        broker = _import_broker().ChmodBroker(order["writable"], order["protected"])
    signal.signal(signal.SIGTERM, on_term)
    os.nice(_NICE)
    child = os.fork()
    if child == 0:
        _child(order, command, broker)
    if broker:
        broker.start(child)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _TERM)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if not order["unsandboxed"]:
        os.close(order["status"])
    code = _wait(child)
    _end_all(unsandboxed=order["unsandboxed"])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
