"""One network for all commands of a task: what runs in the background listens, and the next command reaches it.

bubblewrap gives each command a network namespace of its own, with nothing in it but 127.0.0.1. The first one in the
background lends its namespace to all that come later in the task: they enter it before their own bubblewrap begins. No
way leads from there to this machine or any other task.

As a program, `python -I -S task_network.py USERS NETWORK COMMAND...`, it enters the namespaces behind two descriptors
and becomes the command. Standard library alone, and no thread: the kernel lets none change its user namespace.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import subprocess
import sys
from typing import NoReturn

_NEW_USERS, _NEW_NETWORK = 0x10000000, 0x40000000  # clone(2)
_OWNER = 0xB701  # NS_GET_USERNS of ioctl_ns(2): the user namespace to which another one belongs
_FAILED = 126
_SECONDS = 10.0


class TaskNetwork:
    """The namespace, held open until `close`, also when the command that it was made for has ended."""

    def __init__(self, users: int, network: int) -> None:
        self.fds = (users, network)

    def entering(self, command: list[str]) -> list[str]:
        """Return the arguments that run a command in it; `fds` must be passed on."""
        return [sys.executable, "-I", "-S", os.path.abspath(__file__), *map(str, self.fds), *command]

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


def network_of(pid: int) -> TaskNetwork | None:
    """Return the network of a process in its sandbox; None where it cannot be entered."""
    try:
        network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        users = fcntl.ioctl(network, _OWNER)
    except OSError:
        os.close(network)
        return None
    os.set_inheritable(users, False)
    found = TaskNetwork(users, network)
    if not _can_be_entered(found):
        found.close()
        return None
    return found


def _can_be_entered(network: TaskNetwork) -> bool:
    try:
        argv = network.entering(["true"])
        return subprocess.run(argv, pass_fds=network.fds, capture_output=True, timeout=_SECONDS).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def main(arguments: list[str]) -> NoReturn:
    libc = ctypes.CDLL(None, use_errno=True)
    users, network, *command = arguments
    for fd, kind in ((int(users), _NEW_USERS), (int(network), _NEW_NETWORK)):
        if libc.setns(fd, kind):
            os.write(2, f"the network of the task: {os.strerror(ctypes.get_errno())}\n".encode())
            sys.exit(_FAILED)
        os.close(fd)
    os.execvp(command[0], command)  # noqa: S606 - bubblewrap, which sets the sandbox up


if __name__ == "__main__":
    main(sys.argv[1:])
