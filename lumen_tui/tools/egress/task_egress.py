"""The proxy of a task from its first command that needs it to its end, and what a command must know to use it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from lumen_tui.model.egress import Connection
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.journal import Journal
from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.sandbox import bubblewrap, task_network
from lumen_tui.tools.sandbox.admission import Admission
from lumen_tui.tools.sandbox.sandboxed_command import BUBBLEWRAP
from lumen_tui.tools.sandbox.task_network import TaskNetwork

JOURNAL = "network.jsonl"  # in the task's folder
PORT = 3128
_HERE = "localhost,127.0.0.1,::1"  # what the task itself serves is reached past the proxy


class TaskEgress:
    """The network of a task's commands, with a proxy behind a port of its 127.0.0.1."""

    def __init__(self, context: Context) -> None:
        from lumen_tui.tools.egress.proxy import TaskProxy  # its parser is paid by tasks that have a proxy

        self._context = context
        self._journal = Journal(context.folder / JOURNAL)
        self._lock = threading.Lock()
        program = bubblewrap.program(context.environ.get("PATH", os.defpath)) or "bwrap"
        self.network, listener = task_network.with_listener(program, PORT)
        self.proxy = TaskProxy(listener, self, self._keep, now=context.now)

    def hosts(self) -> Iterable[str]:
        """Return the patterns of hosts that are allowed now: the role's, and those that a person added."""
        return (*self._context.rules.command_hosts, *self._context.memo.hosts)

    def private(self) -> Iterable[str]:
        """Return the hosts that may be at an address of this machine or network."""
        return self._context.rules.private

    def _keep(self, record: Connection) -> None:
        with self._lock:
            self._context.memo.web |= self.proxy.reached
            try:
                self._journal.append(record)
            except StoreError:
                return  # the state folder is full or gone: the worker itself says so with its next event

    def take_refused(self) -> list[str]:
        """Return what the proxy refused since this was last asked."""
        return self.proxy.take_refused()

    def close(self) -> None:
        """End all connections and let go of the network."""
        self.proxy.close()
        self.network.close()


def joined(context: Context, admission: Admission, *, reading: bool) -> tuple[TaskNetwork | None, dict[str, str]]:
    """Return the network that a command enters, and the variables that tell it of the proxy.

    A command that only reads, and one on another tier than bubblewrap, gets no proxy.
    """
    if reading or not context.rules.proxied or admission.tier != BUBBLEWRAP or admission.policy.network:
        return context.memo.network, {}
    if context.memo.egress is None:
        try:
            with context.guard():
                context.memo.egress = TaskEgress(context)
        except OSError as error:
            raise ToolError(f"nothing was run: the network of this task cannot be set up: {error}") from error
    return context.memo.egress.network, _variables()


def _variables() -> dict[str, str]:
    proxy = f"http://127.0.0.1:{PORT}"
    named = {name: proxy for upper in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for name in (upper, upper.lower())}
    return {**named, "NO_PROXY": _HERE, "no_proxy": _HERE, "NODE_USE_ENV_PROXY": "1"}


def refusals(context: Context) -> list[str]:
    """Return what the proxy refused since this was last asked."""
    return context.memo.egress.take_refused() if context.memo.egress is not None else []
