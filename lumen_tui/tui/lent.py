"""A program that has the room's terminal for a while, such as an editor: it ends with the terminal, and with the room.

The event loop stands still meanwhile, so this waits for the program, for the terminal and for the signals at once.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from lumen_tui.storage import process

_STDIN = 0  # what the program reads from
_PATIENCE = 0.2  # seconds between HUP, TERM and KILL: an editor keeps at the first what was typed
_LOOK = 200  # milliseconds between two looks where the system does not tell of the end of a process


def run(words: list[str]) -> int:
    """The exit code of the program, which is ended where its terminal goes or a signal asks the room to end. OSError"""
    with _asked_to_end() as asked, subprocess.Popen(words) as program:
        ended = process.open_pidfd(process.identify(program.pid))
        look = select.poll()
        if stat.S_ISCHR(os.fstat(_STDIN).st_mode):
            look.register(_STDIN, 0)  # tells of a hang-up, and of nothing else
        for fd in (asked, ended):
            if fd >= 0:
                look.register(fd, select.POLLIN)
        while program.poll() is None:
            if any(fd != ended for fd, _ in look.poll(_LOOK if ended < 0 else None)):
                _end(program)
        if ended >= 0:
            os.close(ended)
        return program.returncode


@contextmanager
def _asked_to_end() -> Iterator[int]:
    """A descriptor that becomes readable at HUP or TERM. The event loop hears of them too, once it turns again."""
    reading, writing = os.pipe()
    numbers = (signal.SIGHUP, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: os.write(writing, b"x")) for number in numbers]
    try:
        yield reading
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)


def _end(program: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
        program.send_signal(number)
        try:
            program.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        return
