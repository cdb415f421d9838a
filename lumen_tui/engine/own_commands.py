"""Runs a command of the operator's own to its end: its output is kept to a limit, and it ends with whoever waits."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping

from msgspec import Struct

from lumen_tui.model.text import safe

_OUTPUT = 256 * 1024  # bytes that are kept: the first ones
_LOOK = 0.1  # seconds between two looks whether it is to end
_PATIENCE = 2.0  # seconds between TERM and KILL


class Finished(Struct, frozen=True):
    """What became of a command. The output is safe to show; `why` says why it was ended, or did not start."""

    output: str
    code: int | None
    seconds: float
    why: str = ""
    cut: bool = False  # there was more output


def run(script: str, variables: Mapping[str, str], seconds: float, stop: threading.Event) -> Finished:
    """Run a script in a shell and a session of its own, without input, until it ends, is late, or `stop` is set."""
    began = time.monotonic()
    try:
        child = subprocess.Popen(
            ["/bin/sh", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Finished("", None, 0.0, f"it cannot be started: {error}")
    with child:
        output, reason = _read(child, began + seconds, stop)
        reason = reason if reason != "late" else f"ended after {seconds:g} s"
        _end(child)
    text = safe(output[:_OUTPUT].decode(errors="replace"))
    return Finished(text, child.returncode, time.monotonic() - began, reason, len(output) > _OUTPUT)


def _read(child: subprocess.Popen[bytes], until: float, stop: threading.Event) -> tuple[bytes, str]:
    """Read what it writes until it closes its output; return that, one byte above the limit at most, and why not."""
    output = b""
    if child.stdout is None:
        return output, ""
    with selectors.DefaultSelector() as waiting:
        waiting.register(child.stdout, selectors.EVENT_READ)
        while True:
            if stop.is_set():
                return output, "ended: its page was left"
            if time.monotonic() > until:
                return output, "late"
            if not waiting.select(_LOOK):
                if child.poll() is not None:
                    return output, ""  # what it left behind may hold the pipe open for ever
                continue
            data = os.read(child.stdout.fileno(), 65_536)
            if not data:
                return output, ""
            output += data[: _OUTPUT + 1 - len(output)]


def _end(child: subprocess.Popen[bytes]) -> None:
    """Wait for it; what still runs in its session is asked to end, then killed."""
    for number in (0, signal.SIGTERM, signal.SIGKILL):
        try:
            if number:
                os.killpg(child.pid, number)
            child.wait(_PATIENCE if number else _LOOK)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
