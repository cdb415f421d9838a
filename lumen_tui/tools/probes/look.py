"""Runs one probe with a time limit: an alarm interrupts whatever does not return by itself."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from lumen_tui.model.facts import Outcome, Probe, Reading
from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.probes import commands, files
from lumen_tui.tools.probes.commands import failed
from lumen_tui.tools.probes.files import Gone

_SLACK = 0.25  # seconds after its own limit in which a command may be ended properly


class _Late(BaseException):
    """The time of a probe is over. Not an Exception, so that nothing on the way up takes it for its own."""


def run_probe(context: Context, probe: Probe, seconds: float) -> Reading:
    """Run a probe. Drift is checked twice: a value that differs between the two is a failure, not drift.

    Call it in the main thread of a process of its own: it uses the alarm clock.
    """
    try:
        with _alarm(seconds + _SLACK):
            first = _look(context, probe, seconds)
            if first.outcome is not Outcome.DRIFTED:
                return first
            again = _look(context, probe, seconds)
    except _Late:
        return failed(f"stopped after {seconds:.1f} s")
    except ToolError as error:
        return failed(str(error))
    except (OSError, ValueError, MemoryError, RecursionError) as error:
        return failed(f"it could not look: {error}")
    if (again.outcome, again.value) != (first.outcome, first.value):
        return failed(f"it changes from one look to the next: {first.evidence}; then {again.evidence}")
    return first


def _look(context: Context, probe: Probe, seconds: float) -> Reading:
    try:
        if probe.kind in _PLAIN:
            return _PLAIN[probe.kind](context, probe)
        return _TIMED[probe.kind](context, probe, seconds)
    except Gone as gone:
        return Reading(Outcome.DRIFTED, str(gone))


_PLAIN = {
    "file": files.look_file, "hash": files.look_hash, "text": files.look_text, "json": files.look_json,
    "port": commands.look_port,
}  # fmt: skip
_TIMED = {
    "output": commands.look_output, "exit": commands.look_exit, "git": commands.look_git, "http": commands.look_http,
}  # fmt: skip


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
