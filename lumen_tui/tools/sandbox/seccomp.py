"""A seccomp filter as bytes: system calls that no command of a worker has any use for, and kinds of socket.

It stands behind the walls of both tiers. What namespaces and Landlock do not cover is refused here: kernel
key rings, new namespaces, mounts, io_uring (which makes sockets past every filter), and UNIX sockets, which
Landlock does not see.
"""

from __future__ import annotations

import os
import struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # classic BPF
_ALLOW, _ERRNO, _ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
_EPERM, _ENOSYS, _EOPNOTSUPP = 1, 38, 95
_NR, _ARCH, _ARG0 = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000
_NEW_NAMESPACE = 0x7E020000  # CLONE_NEW*, all that clone takes

UNIX, INET, INET6, NETLINK = 1, 2, 10, 16

# mount umount2 pivot_root chroot unshare setns keyctl add_key request_key bpf perf_event_open userfaultfd
# io_uring_{setup,enter,register} open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr init_module
# finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff open_by_handle_at syslog
_REFUSED = {
    "x86_64": (
        165, 166, 155, 161, 272, 308, 250, 248, 249, 321, 298, 323, 425, 426, 427, 428, 429, 430, 431, 432, 433, 442,
        175, 313, 176, 246, 320, 169, 167, 168, 304, 103,
    ),
    "aarch64": (
        40, 39, 41, 51, 97, 268, 219, 217, 218, 280, 241, 282, 425, 426, 427, 428, 429, 430, 431, 432, 433, 442,
        105, 273, 106, 104, 294, 142, 224, 225, 265, 116,
    ),
}  # fmt: skip
_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_SOCKET = {"x86_64": 41, "aarch64": 198}


def supported(machine: str = "") -> bool:
    """Whether there is a filter for this kind of processor."""
    return (machine or os.uname().machine) in _ARCHES


# Flags of files that the kernel keeps beside their modes, and text typed into a terminal.
_IOCTL = {"x86_64": 16, "aarch64": 29}
_CONTROLS = (0x40086602, 0x401C5820, 0x5412, 0x541C)
_FCNTL = {"x86_64": 72, "aarch64": 25}
_LEASE = 1024  # while a reader has one, whoever would write is refused
# Where processes and memory of others are in sight: a number that is not 0 stands for somebody else. Call -> which
# argument that is, and what as the first one means all processes of a user.
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
    "x86_64": (188, 189, 190, 197, 198, 199, 463, 466), "aarch64": (5, 6, 7, 14, 15, 16, 463, 466),
}  # fmt: skip


def program(families: tuple[int, ...], machine: str = "", asked: tuple[int, ...] | None = None) -> bytes:
    """The filter that lets `socket` make only these families. KeyError for an unknown processor.

    `asked` are the calls that a listener decides about. Where it is given, no namespace keeps others' processes and
    memory, and no mount others' files, out of sight: what would reach them is refused.
    """
    machine = machine or os.uname().machine
    lines = [_op(_LOAD, _ARCH), _op(_EQUAL, _ARCHES[machine], 1, 0), _error(_ENOSYS), _op(_LOAD, _NR)]
    if machine == "x86_64":
        lines += [_op(_AT_LEAST, _X32, 0, 1), _error(_ENOSYS)]
    # clone3 keeps its flags where a filter cannot read them; libraries fall back to clone
    lines += [_op(_EQUAL, _CLONE3, 0, 1), _error(_ENOSYS)]
    for number in _REFUSED[machine]:
        lines += [_op(_EQUAL, number, 0, 1), _error(_EPERM)]
    lines += _unless(_IOCTL[machine], 1, _CONTROLS) + _unless(_FCNTL[machine], 1, (_LEASE,))
    if asked is not None:
        lines += _not_seen(machine, asked)
    lines += [_op(_EQUAL, _CLONE[machine], 0, 4), _op(_LOAD, _ARG0), _op(_ANY_BIT, _NEW_NAMESPACE, 0, 1)]
    lines += [_error(_EPERM), _op(_RETURN, _ALLOW)]
    return b"".join(lines + _sockets(_SOCKET[machine], families))


def _not_seen(machine: str, asked: tuple[int, ...]) -> list[bytes]:
    """What no namespace and no mount keeps away."""
    lines = []
    for numbers, verdict in (
        (_SHARED[machine], _error(_EPERM)), (_ATTRIBUTES[machine], _error(_EOPNOTSUPP)), (asked, _op(_RETURN, _ASK)),
    ):  # fmt: skip
        for number in numbers:
            lines += [_op(_EQUAL, number, 0, 1), verdict]
    for number, (argument, of_a_user) in _OF_OTHERS[machine].items():
        lines += _own_only(number, argument, of_a_user)
    return lines


def _own_only(number: int, argument: int, of_a_user: int) -> list[bytes]:
    """A call that takes 0 for the caller itself. `of_a_user`, as the first argument, would mean all of the user's."""
    lines = [_op(_LOAD, _ARG0), _op(_EQUAL, of_a_user, 0, 1), _error(_EPERM)] if of_a_user else []
    lines += [_op(_LOAD, _ARG0 + 8 * argument), _op(_EQUAL, 0, 1, 0), _error(_EPERM), _op(_RETURN, _ALLOW)]
    return [_op(_EQUAL, number, 0, len(lines)), *lines]


def _unless(number: int, argument: int, values: tuple[int, ...]) -> list[bytes]:
    """A call that is refused for these values of an argument."""
    lines = [_op(_LOAD, _ARG0 + 8 * argument)]
    for value in values:
        lines += [_op(_EQUAL, value, 0, 1), _error(_EPERM)]
    lines.append(_op(_RETURN, _ALLOW))
    return [_op(_EQUAL, number, 0, len(lines)), *lines]


def _sockets(number: int, families: tuple[int, ...]) -> list[bytes]:
    lines = [_op(_EQUAL, number, 1, 0), _op(_RETURN, _ALLOW), _op(_LOAD, _ARG0)]
    for family in families:
        lines += [_op(_EQUAL, family, 0, 1), _op(_RETURN, _ALLOW)]
    return [*lines, _error(_EPERM)]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _error(number: int) -> bytes:
    return _op(_RETURN, _ERRNO | number)
