"""Runs one probe with a time limit: an alarm interrupts whatever does not return by itself.

A probe reads and changes nothing, whoever wrote it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import msgspec

from lumen_tui.model.facts import Outcome, Probe, Reading, failed
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.base import Context, TaskRules, ToolError
from lumen_tui.tools.probes import kinds
from lumen_tui.tools.probes.batch import PASSED_ON
from lumen_tui.tools.probes.kinds import Gone
from lumen_tui.tools.sandbox import secrets

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
    "file": kinds.look_file,
    "hash": kinds.look_hash,
    "text": kinds.look_text,
    "json": kinds.look_json,
    "port": kinds.look_port,
}
_TIMED = {
    "output": kinds.look_output,
    "exit": kinds.look_exit,
    "git": kinds.look_git,
    "http": kinds.look_http,
}


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


NAME = "probe"


def context(store: Store, task_id: str = "", folder: str = "") -> Context:
    """Return the context in which probes run: that of facts, or with the rules of a task.

    Whatever a role may do, a probe changes nothing.
    """
    config = load_config(store.layout)[0]
    environ = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    role, spec = Role(name=NAME, purpose="confirms facts"), Spec(id=NAME, objective="confirm facts")
    rules = TaskRules(hosts=config.web.hosts, private=config.web.private, role=NAME)
    if task_id:
        from lumen_tui.store.settings.roles import load_role  # facts are looked at for no task
        from lumen_tui.store.tasks import task_files
        from lumen_tui.tools.policy.rules import derive

        spec = task_files.read_spec(store.layout, task_id) or spec
        role = load_role(store.layout, spec.role)
        rules = msgspec.structs.replace(derive(role, spec, config), write=False, network=False)
    hidden = tuple(secrets.existing(environ.get("HOME", ""), config.sandbox.hidden))
    return Context(
        role=role,
        spec=msgspec.structs.replace(spec, folder=folder),
        store=store,
        folder=store.layout.task(task_id) if task_id else store.root,
        now=time.time,
        monotonic=time.monotonic,
        environ=environ,
        rules=msgspec.structs.replace(rules, hidden=hidden),
    )
