"""A process group that ends when this process does, even by KILL."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

# Its input ends when the other end of the pipe is closed. It ignores TERM, which ends the pipeline it guards.
_SCRIPT = "trap '' TERM; read -r _; kill -{signal} 0"


class ProcessReaper:
    """Leads a process group that others may join; when this process disappears, the whole group gets the signal.

    bubblewrap's --die-with-parent is not enough: killed before it has asked the kernel for that, bwrap lives on; killed
    before it has told its child who it is, the child waits for that for good, as the first process of a namespace that
    only KILL ends. It has not left the group by then.
    """

    def __init__(self, signal_name: str = "KILL") -> None:
        command = ["/bin/sh", "-c", _SCRIPT.format(signal=signal_name)]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0)
        self.group = self._child.pid

    def end(self) -> None:
        """KILL the remaining group, its leader included. May be called twice."""
        if self._child.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        self._child.wait()
        if self._child.stdin:
            self._child.stdin.close()
