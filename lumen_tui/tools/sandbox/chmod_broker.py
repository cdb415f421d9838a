"""Modes, owners and times of files under Landlock, which knows nothing of them. The standard library alone.

The kernel holds each such call of the command and asks the launcher, which makes it in the command's place: on a file
that it has opened by then, so that nobody swaps it, and only below what may be written. See seccomp_unotify(2).
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import stat
import struct

from lumen_tui.tools.files.below import is_below, is_below_any

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_PIDFD_GETFD = 438
_FILTER, _LISTENER, _WAIT_KILLABLE = 1, 1 << 3, 1 << 5  # the mode, and two flags
_RECEIVE, _SEND, _VALID = 0xC0502100, 0xC0182101, 0x40082102
_NOTE = struct.Struct("=QIIiIQ6Q")
_HERE, _NOFOLLOW, _EMPTY = -100, 0x100, 0x1000  # AT_FDCWD and two flags
_PATH_MAX, _PAGE = 4096, 4096
_TIMES = 32  # bytes of two `struct timespec`
_ANSWER = b"y"

# Number of the call -> its name, the places of folder, path and flags among its arguments; -1: it has none.
_CALLS: dict[str, dict[int, tuple[str, int, int, int]]] = {
    "x86_64": {
        90: ("mode", -1, 0, -1), 91: ("mode", 0, -1, -1), 268: ("mode", 0, 1, -1), 452: ("mode", 0, 1, 3),
        92: ("owner", -1, 0, -1), 93: ("owner", 0, -1, -1), 94: ("own link", -1, 0, -1), 260: ("owner", 0, 1, 4),
        280: ("times", 0, 1, 3),
    },
    "aarch64": {
        52: ("mode", 0, -1, -1), 53: ("mode", 0, 1, -1), 452: ("mode", 0, 1, 3), 54: ("owner", 0, 1, 4),
        55: ("owner", 0, -1, -1), 88: ("times", 0, 1, 3),
    },
}  # fmt: skip


def calls(machine: str) -> tuple[int, ...]:
    """The system calls that are asked about."""
    return tuple(_CALLS[machine])


class ChmodBroker:
    """Answers for one command, in a thread of the launcher."""

    def __init__(self, roots: list[str], protected: list[str]) -> None:
        self._granted = [(root, [path for path in protected if not is_below(root, path)]) for root in roots]
        self._calls = _CALLS[os.uname().machine]
        self._report, self._told = os.pipe()
        self._heard, self._answer = os.pipe()

    def listen(self, program: bytes) -> None:
        """In the child: set the filter, and wait until the launcher listens. OSError where it does not."""
        os.close(self._report)
        os.close(self._answer)
        fd = _filter(program)
        os.write(self._told, b"%d" % fd)
        if (answer := os.read(self._heard, 500)) != _ANSWER:
            reason = answer.decode(errors="replace") or "the launcher has ended"
            raise OSError(f"nobody watches over the modes of files: {reason}")
        for descriptor in (fd, self._told, self._heard):
            os.close(descriptor)

    def start(self, child: int) -> None:
        """In the launcher, after the fork."""
        os.close(self._told)
        os.close(self._heard)
        _thread.start_new_thread(self._serve, (child,))

    def _serve(self, child: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the main thread's
        try:
            message = os.read(self._report, 16)
            if not message:
                return
            listener = _taken(child, int(message))
            os.write(self._answer, _ANSWER)
        except OSError as error:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._answer, str(error).encode(errors="replace")[:400])
            return
        finally:
            os.close(self._report)
            os.close(self._answer)
        try:
            while self._one(listener):
                pass
        finally:
            os.close(listener)  # from here on the kernel refuses; with it open, every command would wait for good

    def _one(self, listener: int) -> bool:
        notification = bytearray(_NOTE.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, notification)
        except OSError as error:
            return error.errno in (errno.EINTR, errno.ENOENT)  # else nobody is left
        request_id, *_ = _NOTE.unpack(notification)
        error_number = self._said(listener, bytes(notification))
        try:
            fcntl.ioctl(listener, _SEND, struct.pack("=QqiI", request_id, 0, -error_number, 0))
        except OSError:
            pass  # it was ended meanwhile
        return True

    def _said(self, listener: int, notification: bytes) -> int:
        """Do what was asked for; 0, or the error's number."""
        request_id, pid, _, call, _, _, *arguments = _NOTE.unpack(notification)
        action, folder, path, flags = self._calls[call]
        fd = -1
        try:
            start = _signed(arguments[folder]) if folder >= 0 else _HERE
            alone = path < 0 or (action == "times" and not arguments[path] and start != _HERE)
            fd = self._opened(pid, start, None if alone else arguments[path], _flags(action, arguments, flags))
            values = arguments[max(folder, path) + 1 :]
            times = _bytes(pid, values[0], _TIMES) if action == "times" and values[0] else None
            fcntl.ioctl(listener, _VALID, struct.pack("=Q", request_id))  # it is still the process that was looked at
            self._check(fd, action)
            _do(fd, action, values, times)
        except OSError as error:
            return error.errno or errno.EPERM
        except Exception:  # noqa: BLE001 - the edge: the command waits for an answer, and what is not understood is no
            return errno.EPERM
        finally:
            if fd >= 0:
                os.close(fd)
        return 0

    def _opened(self, pid: int, folder: int, address: int | None, flags: int) -> int:
        """The file that is meant, as a descriptor that only names it. Without an address it is `folder` itself."""
        base = f"/proc/{pid}/cwd" if folder == _HERE else f"/proc/{pid}/fd/{folder}"
        path = b"" if address is None else _text(pid, address)
        if folder != _HERE and not path.startswith(b"/") and not os.path.lexists(base):
            raise OSError(errno.EBADF, "")
        if not path:
            if address is not None and not flags & _EMPTY:
                raise FileNotFoundError(errno.ENOENT, "")
            return os.open(base, os.O_PATH | os.O_CLOEXEC)
        for own in (b"/proc/self/", b"/proc/thread-self/"):
            if path.startswith(own):
                path = b"/proc/%d/" % pid + path[len(own) :]
        last = os.O_NOFOLLOW if flags & _NOFOLLOW else 0
        return os.open(os.path.join(base.encode(), path), os.O_PATH | os.O_CLOEXEC | last)

    def _check(self, fd: int, action: str) -> None:
        status = os.fstat(fd)
        if action in ("owner", "own link"):
            return  # it is only looked at
        if status.st_uid != os.geteuid() and (action == "mode" or os.geteuid() == 0):
            raise PermissionError(errno.EPERM, "")  # who writes a file of others may touch it: the kernel knows
        if stat.S_ISLNK(status.st_mode) and action == "mode":
            raise OSError(errno.EOPNOTSUPP, "")
        place = os.readlink(f"/proc/self/fd/{fd}")
        if not place.startswith("/") or not status.st_nlink:
            return  # a pipe, memory, what is removed already
        if not any(is_below(place, root) and not is_below_any(place, protected) for root, protected in self._granted):
            raise PermissionError(errno.EPERM, "")


def _filter(program: bytes) -> int:
    """From here on the filter holds; the descriptor on which it asks."""
    code = ctypes.create_string_buffer(program)
    head = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    flags = ctypes.c_ulong(_LISTENER | _WAIT_KILLABLE)
    fd: int = libc.syscall(ctypes.c_long(_SECCOMP[os.uname().machine]), ctypes.c_long(_FILTER), flags, head)
    if fd < 0:
        raise OSError(f"the kernel takes no filter that asks: {os.strerror(ctypes.get_errno())}")
    return fd


def _taken(child: int, number: int) -> int:
    """The child's descriptor as one of ours; OSError where the system does not let us."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(child)
    try:
        fd: int = libc.syscall(ctypes.c_long(_PIDFD_GETFD), process, number, 0)
    finally:
        os.close(process)
    if fd < 0:
        reason = os.strerror(ctypes.get_errno())
        raise OSError(
            f"pidfd_getfd: {reason} (kernel.yama.ptrace_scope above 1, or a container's own filter, forbids it)"
        )
    return fd


def _signed(value: int) -> int:
    return ctypes.c_int(value & 0xFFFFFFFF).value


def _flags(action: str, arguments: list[int], at: int) -> int:
    return _NOFOLLOW if action == "own link" else arguments[at] & 0xFFFFFFFF if at >= 0 else 0


def _do(fd: int, action: str, values: list[int], times: bytes | None) -> None:
    if action == "mode":
        _set_mode(fd, values[0] & 0o7777)
    elif action == "times":
        _set_times(fd, times)
    else:
        status = os.fstat(fd)
        for requested, current in zip(values, (status.st_uid, status.st_gid), strict=False):
            if _signed(requested) != -1 and requested & 0xFFFFFFFF != current:
                raise PermissionError(errno.EPERM, "")  # nobody is given anything


def _set_mode(fd: int, mode: int) -> None:
    """No program may run with the rights of its owner or group; for folders the bit only says whose new files are."""
    if mode & (stat.S_ISUID | stat.S_ISGID) and not stat.S_ISDIR(os.fstat(fd).st_mode):
        raise PermissionError(errno.EPERM, "")
    os.chmod(f"/proc/self/fd/{fd}", mode)


def _set_times(fd: int, times: bytes | None) -> None:
    """As they were given: `now` is the kernel's own, whose clock for files is coarser than ours."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.utimensat(_HERE, b"/proc/self/fd/%d" % fd, times, 0) != 0:
        raise OSError(ctypes.get_errno(), "")


def _bytes(pid: int, address: int, size: int) -> bytes:
    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.pread(fd, size, address)
    except OSError as error:
        raise OSError(errno.EFAULT, "") from error
    finally:
        os.close(fd)
    if len(data) != size:
        raise OSError(errno.EFAULT, "")  # it has ended: there is nothing, and never will be
    return data


def _text(pid: int, address: int) -> bytes:
    """A text up to its NUL, page by page: the next one may not be there."""
    data = b""
    while len(data) < _PATH_MAX:
        at = address + len(data)
        data += _bytes(pid, at, _PAGE - at % _PAGE)
        text, end, _ = data.partition(b"\0")
        if end:
            return text
    raise OSError(errno.ENAMETOOLONG, "")
