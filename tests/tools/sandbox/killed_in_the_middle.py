"""`TIER FOLDER MARK`: over and over a process that has started a command in its sandbox is killed, a little later each
time. Every round is a fork, so that no time goes into imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from lumen_tui.tools.sandbox import sandboxed_command
from lumen_tui.tools.sandbox.policy import Policy

ROUNDS, STEP = 16, 0.003  # seconds; bubblewrap is up after about 10 ms, the launcher of Landlock after about 40


def start(tier: str, folder: str, mark: str) -> None:
    script = f"sleep 600.{mark} & setsid sleep 600.{mark} & sleep 600.{mark}"
    none = subprocess.DEVNULL
    sandboxed_command.start(
        tier, Policy(writable=(folder,), scratch=folder), ["/bin/sh", "-c", script], folder,
        {"PATH": os.environ["PATH"]}, stdin=none, stdout=none, stderr=none,
    ).child.wait()  # fmt: skip


def main(tier: str, folder: str, mark: str) -> None:
    for number in range(ROUNDS):
        pid = os.fork()
        if pid == 0:
            start(tier, folder, mark)
            os._exit(0)
        time.sleep(number * STEP)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
