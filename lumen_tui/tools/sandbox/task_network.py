"""One network for all commands of a task: what runs in the background listens, and the next command reaches it.

bubblewrap gives each command a network namespace of its own, with nothing in it but 127.0.0.1. The first one in the
background lends its namespace to all that come later in the task: they enter it before their own bubblewrap begins. No
way leads from there to this machine or any other task.

For a task that reaches hosts through a proxy it is made before the first command, with a socket that listens in it: a
socket stays in the network in which it was made, whoever holds it. So the worker serves the proxy from outside, nothing
of it runs inside, and commands need no way out but a port of their 127.0.0.1.

As a program, `python -I -S task_network.py enter USERS NETWORK COMMAND...`, it enters the namespaces behind two
descriptors and becomes the command; `listen CHANNEL PORT` sends a listening socket and the namespace it is in over a
descriptor. Standard library alone, and no thread: the kernel lets none change its user namespace.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
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
        return [sys.executable, "-I", "-S", os.path.abspath(__file__), "enter", *map(str, self.fds), *command]

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


def network_of(pid: int) -> TaskNetwork | None:
    """Return the network of a process in its sandbox; None where it cannot be entered."""
    try:
        network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    return _entered(network)


def _entered(network: int) -> TaskNetwork | None:
    """Return the network behind a descriptor, which is closed where it cannot be entered."""
    try:
        users = fcntl.ioctl(network, _OWNER)
    except OSError:
        os.close(network)
        return None
    os.set_inheritable(users, False)
    candidate = TaskNetwork(users, network)
    if not _can_be_entered(candidate):
        candidate.close()
        return None
    return candidate


def with_listener(bubblewrap: str, port: int) -> tuple[TaskNetwork, socket.socket]:
    """Return a new network with nothing in it but 127.0.0.1, and a socket that listens there. OSError where not."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(_SECONDS)
        words = [bubblewrap, "--unshare-user", "--unshare-net", "--die-with-parent", "--ro-bind", "/", "/", "--"]
        words += [sys.executable, "-I", "-S", os.path.abspath(__file__), "listen", str(theirs.fileno()), str(port)]
        child = subprocess.Popen(
            words,
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        try:
            _, fds, _, _ = socket.recv_fds(ours, 1, 2, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            fds = []
        finally:
            child.kill()
            error = child.communicate()[1]
    if len(fds) != 2:
        for fd in fds:
            os.close(fd)
        raise OSError(error.decode("utf-8", "replace").strip() or "no network could be made")
    listener = socket.socket(fileno=fds[0])
    if (network := _entered(fds[1])) is None:
        listener.close()
        raise OSError("the network cannot be entered")
    return network, listener


def _can_be_entered(network: TaskNetwork) -> bool:
    try:
        argv = network.entering(["true"])
        return subprocess.run(argv, pass_fds=network.fds, capture_output=True, timeout=_SECONDS).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def _listen(channel: int, port: int) -> None:
    """Send a socket that listens here, and this network."""
    with socket.socket(fileno=channel) as out, socket.create_server(("127.0.0.1", port), backlog=64) as listener:
        network = os.open("/proc/self/ns/net", os.O_RDONLY)
        socket.send_fds(out, [b"."], [listener.fileno(), network])


def main(arguments: list[str]) -> None:
    command, *operands = arguments
    if command == "listen":
        _listen(int(operands[0]), int(operands[1]))
    else:
        _enter(*operands)


def _enter(users: str, network: str, *command: str) -> NoReturn:
    libc = ctypes.CDLL(None, use_errno=True)
    for fd, kind in ((int(users), _NEW_USERS), (int(network), _NEW_NETWORK)):
        if libc.setns(fd, kind):
            os.write(2, f"the network of the task: {os.strerror(ctypes.get_errno())}\n".encode())
            sys.exit(_FAILED)
        os.close(fd)
    os.execvp(command[0], command)  # noqa: S606 - bubblewrap, which sets the sandbox up


if __name__ == "__main__":
    main(sys.argv[1:])
