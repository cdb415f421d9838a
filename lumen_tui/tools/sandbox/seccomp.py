"""A seccomp filter as bytes: system calls that no command of a worker has any use for, and kinds of socket.

It stands behind the walls of both tiers. What namespaces and Landlock do not cover is refused here: kernel
key rings, new namespaces, mounts, io_uring (which makes sockets past every filter), and UNIX sockets, which
Landlock does not see.
"""

from __future__ import annotations

import os
import struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # classic BPF
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS = 1, 38
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


def program(families: tuple[int, ...], machine: str = "") -> bytes:
    """The filter that lets `socket` make only these families. KeyError for an unknown processor."""
    machine = machine or os.uname().machine
    lines = [_op(_LOAD, _ARCH), _op(_EQUAL, _ARCHES[machine], 1, 0), _error(_ENOSYS), _op(_LOAD, _NR)]
    if machine == "x86_64":
        lines += [_op(_AT_LEAST, _X32, 0, 1), _error(_ENOSYS)]
    # clone3 keeps its flags where a filter cannot read them; libraries fall back to clone
    lines += [_op(_EQUAL, _CLONE3, 0, 1), _error(_ENOSYS)]
    for number in _REFUSED[machine]:
        lines += [_op(_EQUAL, number, 0, 1), _error(_EPERM)]
    lines += [_op(_EQUAL, _CLONE[machine], 0, 4), _op(_LOAD, _ARG0), _op(_ANY_BIT, _NEW_NAMESPACE, 0, 1)]
    lines += [_error(_EPERM), _op(_RETURN, _ALLOW)]
    return b"".join(lines + _sockets(_SOCKET[machine], families))


def _sockets(number: int, families: tuple[int, ...]) -> list[bytes]:
    lines = [_op(_EQUAL, number, 1, 0), _op(_RETURN, _ALLOW), _op(_LOAD, _ARG0)]
    for family in families:
        lines += [_op(_EQUAL, family, 0, 1), _op(_RETURN, _ALLOW)]
    return [*lines, _error(_EPERM)]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _error(number: int) -> bytes:
    return _op(_RETURN, _ERRNO | number)
