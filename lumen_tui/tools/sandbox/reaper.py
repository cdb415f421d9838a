"""A process group that ends with this process, however that ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

# Its input ends when nobody holds the other side. What ends a pipeline by TERM must not end its guard first.
_WORDS = "trap '' TERM; read -r _; kill -{signal} 0"


class ProcessReaper:
    """Leads a group that others may join. Where this process goes without a word, the whole group gets `signal`.

    bubblewrap's --die-with-parent is not enough: killed before it has asked the kernel for that, bwrap lives on; killed
    before it has told its child who it is, the child waits for that for good, as the first process of a namespace that
    only KILL ends. It has not left the group by then.
    """

    def __init__(self, signal_name: str = "KILL") -> None:
        command = ["/bin/sh", "-c", _WORDS.format(signal=signal_name)]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0)
        self.group = self._child.pid

    def end(self) -> None:
        """KILL what is left of the group, its guard included. May be called twice."""
        if self._child.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        self._child.wait()
        if self._child.stdin:
            self._child.stdin.close()
