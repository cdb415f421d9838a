"""Carries out chmod, chown and utime for commands under Landlock, which does not cover them. Standard library alone.

The kernel suspends each such call and asks the launcher (seccomp_unotify(2)), which makes it in the command's place: on
a descriptor that it has opened, so that nobody can swap the file, and only below the writable folders.
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

from lumen_tui.tools.files.opening import is_below, is_below_any

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_PIDFD_GETFD = 438
_FILTER, _LISTENER, _WAIT_KILLABLE = 1, 1 << 3, 1 << 5  # the operation, and two flags
_RECEIVE, _SEND, _VALID = 0xC0502100, 0xC0182101, 0x40082102
_NOTE = struct.Struct("=QIIiIQ6Q")
_HERE, _NOFOLLOW, _EMPTY = -100, 0x100, 0x1000  # AT_FDCWD and two flags
_PATH_MAX, _PAGE = 4096, 4096
_TIMES = 32  # bytes of two `struct timespec`
_ANSWER = b"y"

# Call number -> action, and the positions of folder, path and flags among its arguments; -1: it has none.
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
    """Return the system calls that the kernel asks about."""
    return tuple(_CALLS[machine])


class ChmodBroker:
    """Answers the kernel for one command, in a thread of the launcher."""

    def __init__(self, roots: list[str], protected: list[str]) -> None:
        self._granted = [(root, [path for path in protected if not is_below(root, path)]) for root in roots]
        self._calls = _CALLS[os.uname().machine]
        self._launcher_in, self._child_out = os.pipe()
        self._child_in, self._launcher_out = os.pipe()

    def listen(self, program: bytes) -> None:
        """In the child: install the filter and wait until the launcher listens. OSError where it does not."""
        os.close(self._launcher_in)
        os.close(self._launcher_out)
        fd = _install_filter(program)
        os.write(self._child_out, b"%d" % fd)
        if (answer := os.read(self._child_in, 500)) != _ANSWER:
            reason = answer.decode(errors="replace") or "the launcher has ended"
            raise OSError(f"nobody watches over the modes of files: {reason}")
        for descriptor in (fd, self._child_out, self._child_in):
            os.close(descriptor)

    def start(self, child: int) -> None:
        """In the launcher, after the fork: answer from a thread."""
        os.close(self._child_out)
        os.close(self._child_in)
        _thread.start_new_thread(self._serve, (child,))

    def _serve(self, child: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # signals belong to the main thread
        try:
            message = os.read(self._launcher_in, 16)
            if not message:
                return
            listener = _fetch_descriptor(child, int(message))
            os.write(self._launcher_out, _ANSWER)
        except OSError as error:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._launcher_out, str(error).encode(errors="replace")[:400])
            return
        finally:
            os.close(self._launcher_in)
            os.close(self._launcher_out)
        try:
            while self._answer_one(listener):
                pass
        finally:
            os.close(listener)  # now the kernel refuses the calls; left open, every command would wait forever

    def _answer_one(self, listener: int) -> bool:
        notification = bytearray(_NOTE.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, notification)
        except OSError as error:
            return error.errno in (errno.EINTR, errno.ENOENT)  # otherwise no process is left
        request_id, *_ = _NOTE.unpack(notification)
        error_number = self._perform(listener, bytes(notification))
        try:
            fcntl.ioctl(listener, _SEND, struct.pack("=QqiI", request_id, 0, -error_number, 0))
        except OSError:
            pass  # the process ended meanwhile
        return True

    def _perform(self, listener: int, notification: bytes) -> int:
        """Carry out the requested call; return 0 or an errno."""
        request_id, pid, _, call, _, _, *arguments = _NOTE.unpack(notification)
        action, folder, path, flags = self._calls[call]
        fd = -1
        try:
            start = _signed(arguments[folder]) if folder >= 0 else _HERE
            alone = path < 0 or (action == "times" and not arguments[path] and start != _HERE)
            fd = self._open_target(pid, start, None if alone else arguments[path], _flags(action, arguments, flags))
            values = arguments[max(folder, path) + 1 :]
            times = _read_memory(pid, values[0], _TIMES) if action == "times" and values[0] else None
            fcntl.ioctl(listener, _VALID, struct.pack("=Q", request_id))  # the pid is still that process
            self._check(fd, action)
            _apply(fd, action, values, times)
        except OSError as error:
            return error.errno or errno.EPERM
        except Exception:  # noqa: BLE001 - the edge: the command waits for an answer, and an unknown error is a refusal
            return errno.EPERM
        finally:
            if fd >= 0:
                os.close(fd)
        return 0

    def _open_target(self, pid: int, folder: int, address: int | None, flags: int) -> int:
        """Return an O_PATH descriptor of the target. Without an address that is `folder` itself."""
        base = f"/proc/{pid}/cwd" if folder == _HERE else f"/proc/{pid}/fd/{folder}"
        path = b"" if address is None else _read_string(pid, address)
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
            return  # ownership is only compared
        if status.st_uid != os.geteuid() and (action == "mode" or os.geteuid() == 0):
            raise PermissionError(errno.EPERM, "")  # times of others' writable files: the kernel decides
        if stat.S_ISLNK(status.st_mode) and action == "mode":
            raise OSError(errno.EOPNOTSUPP, "")
        place = os.readlink(f"/proc/self/fd/{fd}")
        if not place.startswith("/") or not status.st_nlink:
            return  # a pipe, memory, or a removed file
        if not any(is_below(place, root) and not is_below_any(place, protected) for root, protected in self._granted):
            raise PermissionError(errno.EPERM, "")


def _install_filter(program: bytes) -> int:
    """Install the filter for this process and return the descriptor on which it asks."""
    code = ctypes.create_string_buffer(program)
    head = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    flags = ctypes.c_ulong(_LISTENER | _WAIT_KILLABLE)
    fd: int = libc.syscall(ctypes.c_long(_SECCOMP[os.uname().machine]), ctypes.c_long(_FILTER), flags, head)
    if fd < 0:
        raise OSError(f"the kernel takes no filter that asks: {os.strerror(ctypes.get_errno())}")
    return fd


def _fetch_descriptor(child: int, number: int) -> int:
    """Duplicate a descriptor of the child into this process; OSError where the system forbids it."""
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


def _apply(fd: int, action: str, values: list[int], times: bytes | None) -> None:
    if action == "mode":
        _set_mode(fd, values[0] & 0o7777)
    elif action == "times":
        _set_times(fd, times)
    else:
        status = os.fstat(fd)
        for requested, current in zip(values, (status.st_uid, status.st_gid), strict=False):
            if _signed(requested) != -1 and requested & 0xFFFFFFFF != current:
                raise PermissionError(errno.EPERM, "")  # no file changes its owner


def _set_mode(fd: int, mode: int) -> None:
    """Set the mode, without set-ID bits on programs; on folders they only set the group of new files."""
    if mode & (stat.S_ISUID | stat.S_ISGID) and not stat.S_ISDIR(os.fstat(fd).st_mode):
        raise PermissionError(errno.EPERM, "")
    os.chmod(f"/proc/self/fd/{fd}", mode)


def _set_times(fd: int, times: bytes | None) -> None:
    """Set the times as given; None is the kernel's own `now`, whose clock for files is coarser."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.utimensat(_HERE, b"/proc/self/fd/%d" % fd, times, 0) != 0:
        raise OSError(ctypes.get_errno(), "")


def _read_memory(pid: int, address: int, size: int) -> bytes:
    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.pread(fd, size, address)
    except OSError as error:
        raise OSError(errno.EFAULT, "") from error
    finally:
        os.close(fd)
    if len(data) != size:
        raise OSError(errno.EFAULT, "")  # the process has ended
    return data


def _read_string(pid: int, address: int) -> bytes:
    """Read a string up to its NUL, page by page: the next page may not be mapped."""
    data = b""
    while len(data) < _PATH_MAX:
        at = address + len(data)
        data += _read_memory(pid, at, _PAGE - at % _PAGE)
        text, end, _ = data.partition(b"\0")
        if end:
            return text
    raise OSError(errno.ENAMETOOLONG, "")
