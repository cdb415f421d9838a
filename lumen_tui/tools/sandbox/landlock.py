"""The kernel's own restrictions: the seccomp filter, as bytes, of both tiers, and Landlock, the second tier.

The filter refuses what namespaces and Landlock do not cover: kernel key rings, new namespaces, mounts, io_uring (which
makes sockets past every filter), UNIX sockets (which lead out of both), set-ID programs, and newer system calls.

Landlock is for systems without bubblewrap or without user namespaces: a launcher (`launcher.py`, the standard library
alone) restricts itself and execs the command.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys

from lumen_tui.tools.files.opening import is_below_any
from lumen_tui.tools.sandbox import chmod_broker, launcher
from lumen_tui.tools.sandbox.policy import Cover, Policy

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06  # classic BPF
_ALLOW, _ERRNO, _ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
_EPERM, _EINVAL, _ENOSYS, _EOPNOTSUPP = 1, 22, 38, 95
_NR, _ARCH, _ARG0 = 0, 4, 16  # offsets in struct seccomp_data
_NEW_NAMESPACE = 0x7E020000  # CLONE_NEW*, all that clone takes
_THREAD, _FILES = 0x10000, 0x400  # CLONE_THREAD, CLONE_FILES
_CLOSE_RANGE, _UNSHARE = 436, 2  # the same on every processor; CLOSE_RANGE_UNSHARE

_UNIX = 1
INTERNET = (2, 10, 16)  # IPv4, IPv6, and netlink, which tells of both

# mount umount2 pivot_root chroot unshare setns keyctl add_key request_key bpf perf_event_open userfaultfd
# io_uring_{setup,enter,register} open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr open_tree_attr
# init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff open_by_handle_at syslog
# file_setattr
_REFUSED = {
    "x86_64": (
        165, 166, 155, 161, 272, 308, 250, 248, 249, 321, 298, 323, 425, 426, 427, 428, 429, 430, 431, 432, 433, 442,
        467, 175, 313, 176, 246, 320, 169, 167, 168, 304, 103, 469,
    ),
    "aarch64": (
        40, 39, 41, 51, 97, 268, 219, 217, 218, 280, 241, 282, 425, 426, 427, 428, 429, 430, 431, 432, 433, 442,
        467, 105, 273, 106, 104, 294, 142, 224, 225, 265, 116, 469,
    ),
}  # fmt: skip
_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Unreviewed calls fail as on an older kernel; so do the calls of x32, which begin at 0x40000000.
_FIRST_UNKNOWN = 470
# clone3 and openat2 keep flags and modes where a filter cannot read them: libraries fall back to clone and openat.
# The memory of memfd_secret is in no count of a process's memory.
_MISSING = (435, 437, 447)
_CLONE = {"x86_64": 56, "aarch64": 220}
_SOCKET = {"x86_64": 41, "aarch64": 198}
_SOCKETPAIR = {"x86_64": 53, "aarch64": 199}
# A datagram socket of a pair may be connected again, to the socket of any service.
_STREAM, _SEQPACKET, _TYPE_BITS = 1, 5, 0xF


def supported() -> bool:
    """Return whether there is a filter for this processor."""
    return os.uname().machine in _ARCHES


# Flags, versions and keys that a file system keeps beside a file's mode ask for its owner alone, and need nothing open
# for writing. The types that file systems share, as the second byte of the request, let through what only reads or
# copies: {GETFLAGS,GETVERSION} FSGETXATTR FIEMAP GETFSLABEL GET_ENCRYPTION_{POLICY,POLICY_EX,KEY_STATUS,NONCE}
# {MEASURE,READ_METADATA of}_VERITY FICLONE FICLONERANGE FIDEDUPERANGE. `f`, `v`, `X`, btrfs, f2fs.
_IOCTL = {"x86_64": 16, "aarch64": 29}
_OF_FILE_SYSTEMS = (0x66, 0x76, 0x58, 0x94, 0xF5)
_READS = (
    0x80086601, 0x80087601, 0x801C581F, 0xC020660B, 0x81009431, 0x400C6615, 0xC0096616, 0xC080661A, 0x8010661B,
    0xC0046686, 0xC0286687, 0x40049409, 0x4020940D, 0xC0189436,
)  # fmt: skip
_CONTROLS = (0x5412, 0x541C, 0x40047211)  # text typed into the terminal, twice; the attributes of FAT
# Programs that run with the rights of their owner or group, for whoever starts them. Call -> where its mode stands.
_SET_ID = 0o6000
_MODES = {"x86_64": {85: 1, 133: 1, 259: 2}, "aarch64": {33: 2}}  # creat mknod mknodat
_OPENS = {"x86_64": {2: 1, 257: 2}, "aarch64": {56: 2}}  # open openat -> where the flags stand, the mode behind them
_MAKES = 0o100 | 0o20000000  # O_CREAT, and what makes O_TMPFILE
_CHMODS = {"x86_64": {90: 1, 91: 1, 268: 2, 452: 2}, "aarch64": {52: 1, 53: 2, 452: 2}}  # {,f}chmod fchmodat{,2}
# Memory of System V, which stays when no process has it any more: only as much as a data base marks itself with.
_SIZES = {"x86_64": {29: (1, 65_536), 64: (1, 64)}, "aarch64": {194: (1, 65_536), 190: (1, 64)}}  # shmget semget
# Space that is reserved and never written escapes the count of written bytes: libraries write instead.
_FALLOCATE = {"x86_64": 285, "aarch64": 47}
_GIVES_BACK = 0x2 | 0x8  # FALLOC_FL_PUNCH_HOLE, FALLOC_FL_COLLAPSE_RANGE
_FCNTL = {"x86_64": 72, "aarch64": 25}
_LEASE = 1024  # while a reader has one, whoever would write is refused
# Calls on a process by its number, used where other processes are visible: anything but 0 is another process.
# Call -> the position of the number, and the first argument that would mean all processes of a user.
# prlimit64 setpriority sched_set{affinity,scheduler,param,attr} ioprio_set
_OF_OTHERS = {
    "x86_64": {302: (0, 0), 141: (1, 2), 203: (0, 0), 144: (0, 0), 142: (0, 0), 314: (0, 0), 251: (1, 3)},
    "aarch64": {261: (0, 0), 140: (1, 2), 122: (0, 0), 119: (0, 0), 118: (0, 0), 274: (0, 0), 30: (1, 3)},
}
# shm{get,at,ctl} sem{get,op,ctl,timedop} msg{get,snd,rcv,ctl} mq_{open,unlink} fanotify_init utime utimes futimesat
_SHARED = {
    "x86_64": (29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71, 240, 241, 300, 132, 235, 261),
    "aarch64": (194, 196, 195, 190, 193, 191, 192, 186, 189, 188, 187, 180, 181, 262),
}
# {,l,f}setxattr {,l,f}removexattr setxattrat removexattrat
_ATTRIBUTES = {
    "x86_64": (188, 189, 190, 197, 198, 199, 463, 466),
    "aarch64": (5, 6, 7, 14, 15, 16, 463, 466),
}


def call_filter(families: tuple[int, ...], machine: str = "", asked: tuple[int, ...] | None = None) -> bytes:
    """Return the filter that lets `socket` make only these families. KeyError for an unknown processor.

    `asked` are the calls that a listener decides about. Where it is given there are no namespaces or mounts that hide
    other processes, memory and files, so calls that would reach those are refused.
    """
    machine = machine or os.uname().machine
    lines = [_op(_LOAD, _ARCH), _op(_EQUAL, _ARCHES[machine], 1, 0), _error(_ENOSYS), _op(_LOAD, _NR)]
    lines += [_op(_AT_LEAST, _FIRST_UNKNOWN, 0, 1), _error(_ENOSYS)]
    for numbers, number_of_error in ((_MISSING, _ENOSYS), (_REFUSED[machine], _EPERM)):
        for number in numbers:
            lines += [_op(_EQUAL, number, 0, 1), _error(number_of_error)]
    lines += _fallocate(_FALLOCATE[machine]) + _ioctl(_IOCTL[machine])
    lines += _unless(_FCNTL[machine], 1, (_LEASE,)) + _set_ids(machine)
    lines += _not_seen(machine, asked) if asked is not None else _own_spaces(machine)
    lines += _clone(_CLONE[machine]) + _unless_bits(_CLOSE_RANGE, 2, _UNSHARE) + _pairs(_SOCKETPAIR[machine])
    return b"".join(lines + _sockets(_SOCKET[machine], families))


def _own_spaces(machine: str) -> list[bytes]:
    """Limit what is private under bubblewrap; without it these calls are refused, or a listener decides."""
    lines = []
    for number, argument in _CHMODS[machine].items():
        lines += _unless_bits(number, argument, _SET_ID)
    for number, (argument, most) in _SIZES[machine].items():
        upper = _ARG0 + 8 * argument + 4  # of 64 bits
        asks = [_op(_LOAD, upper), _op(_EQUAL, 0, 0, 2), _op(_LOAD, upper - 4), _op(_AT_LEAST, most + 1, 0, 1)]
        lines += _call(number, [*asks, _error(_EINVAL)])
    return lines


def _set_ids(machine: str) -> list[bytes]:
    """Refuse to create set-ID files."""
    lines = []
    for number, argument in _MODES[machine].items():
        lines += _unless_bits(number, argument, _SET_ID)
    for number, flags in _OPENS[machine].items():
        makes = [_op(_LOAD, _ARG0 + 8 * flags), _op(_ANY_BIT, _MAKES, 0, 3)]  # otherwise the mode is ignored
        mode = [_op(_LOAD, _ARG0 + 8 * (flags + 1)), _op(_ANY_BIT, _SET_ID, 0, 1), _error(_EPERM)]
        lines += _call(number, [*makes, *mode])
    return lines


def _clone(number: int) -> list[bytes]:
    """Refuse new namespaces, and threads with descriptors of their own, which the watch would not see."""
    lines = [_op(_LOAD, _ARG0), _op(_ANY_BIT, _NEW_NAMESPACE, 3, 0), _op(_AND, _THREAD | _FILES)]
    return _call(number, [*lines, _op(_EQUAL, _THREAD, 1, 0), _op(_RETURN, _ALLOW), _error(_EPERM)])


def _fallocate(number: int) -> list[bytes]:
    """Fail as on a file system that cannot reserve space, except for calls that free it."""
    return _call(number, [_op(_LOAD, _ARG0 + 8), _op(_ANY_BIT, _GIVES_BACK, 1, 0), _error(_EOPNOTSUPP)])


def _ioctl(number: int) -> list[bytes]:
    lines = [_op(_LOAD, _ARG0 + 8)]
    for value in _READS:
        lines += [_op(_EQUAL, value, 0, 1), _op(_RETURN, _ALLOW)]
    for value in _CONTROLS:
        lines += [_op(_EQUAL, value, 0, 1), _error(_EPERM)]
    lines.append(_op(_AND, 0xFF00))
    for kind in _OF_FILE_SYSTEMS:
        lines += [_op(_EQUAL, kind << 8, 0, 1), _error(_EPERM)]
    return _call(number, lines)


def _pairs(number: int) -> list[bytes]:
    """Allow pairs of UNIX sockets that stay connected to each other."""
    lines = [_op(_LOAD, _ARG0), _op(_EQUAL, _UNIX, 1, 0), _error(_EPERM), _op(_LOAD, _ARG0 + 8)]
    lines += [_op(_AND, _TYPE_BITS), _op(_EQUAL, _STREAM, 2, 0), _op(_EQUAL, _SEQPACKET, 1, 0), _error(_EPERM)]
    return _call(number, lines)


def _call(number: int, lines: list[bytes]) -> list[bytes]:
    """Apply these instructions to one call, which is allowed where none of them returns."""
    return [_op(_EQUAL, number, 0, len(lines) + 1), *lines, _op(_RETURN, _ALLOW)]


def _unless_bits(number: int, argument: int, bits: int) -> list[bytes]:
    """Refuse a call where an argument has any of these bits."""
    return _call(number, [_op(_LOAD, _ARG0 + 8 * argument), _op(_ANY_BIT, bits, 0, 1), _error(_EPERM)])


def _not_seen(machine: str, asked: tuple[int, ...]) -> list[bytes]:
    """Refuse calls that would reach other processes, or ask the listener."""
    lines = []
    for numbers, verdict in (
        (_SHARED[machine], _error(_EPERM)),
        (_ATTRIBUTES[machine], _error(_EOPNOTSUPP)),
        (asked, _op(_RETURN, _ASK)),
    ):
        for number in numbers:
            lines += [_op(_EQUAL, number, 0, 1), verdict]
    for number, (argument, of_a_user) in _OF_OTHERS[machine].items():
        lines += _own_only(number, argument, of_a_user)
    return lines


def _own_only(number: int, argument: int, of_a_user: int) -> list[bytes]:
    """Refuse a call whose argument is not 0, the caller itself; `of_a_user` as first argument means all of a user's."""
    lines = [_op(_LOAD, _ARG0), _op(_EQUAL, of_a_user, 0, 1), _error(_EPERM)] if of_a_user else []
    return _call(number, [*lines, _op(_LOAD, _ARG0 + 8 * argument), _op(_EQUAL, 0, 1, 0), _error(_EPERM)])


def _unless(number: int, argument: int, values: tuple[int, ...]) -> list[bytes]:
    """Refuse a call for these values of an argument."""
    lines = [_op(_LOAD, _ARG0 + 8 * argument)]
    for value in values:
        lines += [_op(_EQUAL, value, 0, 1), _error(_EPERM)]
    return _call(number, lines)


def _sockets(number: int, families: tuple[int, ...]) -> list[bytes]:
    lines = [_op(_EQUAL, number, 1, 0), _op(_RETURN, _ALLOW), _op(_LOAD, _ARG0)]
    for family in families:
        lines += [_op(_EQUAL, family, 0, 1), _op(_RETURN, _ALLOW)]
    return [*lines, _error(_EPERM)]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _error(number: int) -> bytes:
    return _op(_RETURN, _ERRNO | number)


LEAST_ABI = 6  # an older one does not stop signals to the engine and abstract UNIX sockets
_DEVICES = ("null", "zero", "full", "random", "urandom")


def abi() -> int:
    """Return the Landlock version of the kernel; 0 without Landlock."""
    if not supported() or not sys.platform.startswith("linux"):
        return 0
    version: int = ctypes.CDLL(None).syscall(launcher.CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(0, version)


def arguments(policy: Policy, cwd: str, *, status_fd: int) -> list[str]:
    """Return the launcher's command line, up to the command itself."""
    hidden = [*policy.hidden, *_uncovered_entries(policy)]
    protected = [*policy.protected, *hidden]
    roots = [root for root in policy.writable if not is_below_any(root, protected)]
    order: launcher.LaunchOrder = {
        "unsandboxed": False,
        "cwd": cwd,
        "status": status_fd,
        "network": policy.network,
        "hidden": hidden,
        "writable": roots,
        "protected": [*protected, *(cover.folder for cover in policy.covers)],
        "devices": [f"/dev/{name}" for name in _DEVICES],
        "processes": 4 * policy.caps.processes,
        "parent": os.getpid(),
        "filter": call_filter(families(policy), asked=chmod_broker.calls(os.uname().machine)).hex(),
    }
    return _launcher(order)


def unsandboxed() -> list[str]:
    """Return the launcher's command line for a command without a sandbox, whose processes still end with this one."""
    return _launcher({"unsandboxed": True, "parent": os.getpid()})


def _launcher(order: launcher.LaunchOrder) -> list[str]:
    return [sys.executable, "-I", "-S", launcher.__file__, json.dumps(order)]


def families(policy: Policy) -> tuple[int, ...]:
    """Return the allowed socket families: none without a network, as Landlock ignores UDP and UNIX sockets."""
    return INTERNET if policy.network else ()


def _not_shown(cover: Cover, below: str) -> list[str]:
    """Return the paths of entries that are not shown, in the covered folder or `below` it."""
    names = [os.path.join(below, name) for name in os.listdir(os.path.join(cover.folder, below))]
    ways = [name for name in names if any(shown.startswith(f"{name}/") for shown in cover.shown)]
    hidden = [os.path.join(cover.folder, name) for name in names if name not in (*cover.shown, *ways)]
    return hidden + [path for way in ways for path in _not_shown(cover, way)]


def _uncovered_entries(policy: Policy) -> list[str]:
    """Return the entries of covered folders that are not shown."""
    paths = []
    for cover in policy.covers:
        try:
            paths += _not_shown(cover, "")
        except OSError:
            paths.append(cover.folder)
    return paths
