"""shell_start, shell_output and shell_stop: commands that run while the worker does something else.

Each has its own sandbox and limits, and ends when its time is up, when it is stopped, or with the task.
"""

from __future__ import annotations

import os
import selectors
import threading
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.tools.base import BackgroundJob, Context, Effect, Tool, ToolError, ToolResult, plural
from lumen_tui.tools.egress.task_egress import joined, refusals
from lumen_tui.tools.files.paths import folder
from lumen_tui.tools.sandbox import protected_paths
from lumen_tui.tools.sandbox.admission import admit
from lumen_tui.tools.sandbox.protected_paths import report
from lumen_tui.tools.shell import process
from lumen_tui.tools.shell.process import RunningCommand
from lumen_tui.tools.shell.tool import BLANKS, home, lines_shown, paths_of_kernel

_AT_ONCE = 4
_KEEP = 1_000_000  # bytes of output that wait to be asked for; the oldest go first
_MOST = 64 * _KEEP
_POLL = 0.1
_READ = 64 * 1024


class StartArguments(Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, Meta(min_length=1, max_length=20_000, description="the command line")]
    cwd: Annotated[str, Meta(description="the folder to run it in; empty: the task's own files")] = ""
    timeout: Annotated[float, Meta(gt=0, le=7200, description="seconds after which it is ended, 7200 at most")] = 600.0


class OutputArguments(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="what shell_start gave, such as job-1")]
    timeout: Annotated[float, Meta(ge=0, le=60, description="seconds to wait for new output or its end")] = 0.0


class StopArguments(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="what shell_start gave")]


class BackgroundCommand:
    """One command in the background: a thread reads what it writes and ends it when it has to."""

    def __init__(self, running: RunningCommand, command: str, ends: float, monotonic: Callable[[], float]) -> None:
        self.command = command
        self._running, self._ends, self._monotonic = running, ends, monotonic
        self._began = monotonic()
        self._new = threading.Condition()
        self._output = bytearray()
        self._dropped = self._seen = self._reported = 0
        self._stop = threading.Event()
        self.exit_code: int | None = None
        self.why = ""  # why it was ended, where it did not end by itself
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._running.output, selectors.EVENT_READ)
            while not (reason := self._reason()):
                ended = self._running.ended  # asked first: what it wrote before is in the pipe
                if selector.select(0 if ended else _POLL):
                    if not self._read():
                        reason = "" if self._running.wait(_POLL) else self._wait()
                        break
                elif ended:
                    break
        self._finish(reason)

    def _wait(self) -> str:
        """Wait for a command that closed its output; return why it must end, or empty."""
        while not (reason := self._reason()):
            if self._running.wait(_POLL):
                return ""
        return reason

    def take_quarantined(self) -> list[str]:
        """Return the quarantined paths that nobody took before. Call it after the end."""
        moved = self._running.quarantined[self._reported :]
        self._reported += len(moved)
        return moved

    @property
    def state(self) -> str:
        """The state in words, which change while it runs, so that asking again is no repeated call."""
        if self.exit_code is None:
            return f"it runs: {self._monotonic() - self._began:.0f} s so far, {self._seen:,} bytes written"
        return f"ended: {self.why}" if self.why else f"ended, exit code {self.exit_code}"

    def _reason(self) -> str:
        if self._stop.is_set():
            return "stopped"
        if self._monotonic() > self._ends:
            return "its time was up"
        return "it wrote far more than is kept" if self._seen > _MOST else self._running.exceeded()

    def _read(self) -> bool:
        part = os.read(self._running.output, _READ)
        with self._new:
            self._output += part
            self._seen += len(part)
            over = max(0, len(self._output) - _KEEP)
            self._dropped += over
            del self._output[:over]
            self._new.notify_all()
        return bool(part)

    def _finish(self, reason: str) -> None:
        self._running.end()
        with self._new:
            self.why = reason or self._running.limit_of_exit()
            self.exit_code = self._running.exit_code
            self._new.notify_all()

    def take(self, seconds: float, check: Callable[[], None]) -> tuple[bytes, int]:
        """Return the output since the last call and how many bytes of it were dropped; wait up to `seconds`."""
        ends = self._monotonic() + seconds
        while self.exit_code is None and not self._output and self._monotonic() < ends:
            check()
            with self._new:
                self._new.wait(_POLL)
        with self._new:
            output, dropped = bytes(self._output), self._dropped
            self._output.clear()
            self._dropped = 0
        return output, dropped

    def stop(self) -> None:
        """End it and wait for that."""
        self._stop.set()
        self._thread.join(10)


def shell_start(context: Context, arguments: StartArguments) -> ToolResult:
    if context.rules.shell != "any":
        raise ToolError("this role starts nothing in the background: use shell")
    names = [name for name, job in _jobs(context).items() if job.exit_code is None]
    if len(names) >= _AT_ONCE:
        raise ToolError(f"{_AT_ONCE} commands run already ({', '.join(names)}): stop one first")
    cwd = str(folder(context, arguments.cwd or home(context)))
    if paths_of_kernel(cwd):
        raise ToolError("commands are not run inside /proc: name a file there instead")
    argv = process.for_shell(arguments.command)
    admission = admit(context, arguments.command, cwd)
    name = f"job-{len(_jobs(context)) + 1}"
    context.begins("shell_start")
    with context.guard():
        network, variables = joined(context, admission, reading=False)
        environment = {**process.environment(context), "PWD": cwd, **variables}
        running = RunningCommand(admission, argv, cwd, environment, network)
        if context.memo.egress is None:
            context.memo.network = context.memo.network or running.network()
        ends = context.monotonic() + arguments.timeout
        context.memo.running[name] = BackgroundCommand(running, arguments.command, ends, context.monotonic)
    return ToolResult(
        f"{name} runs, for {arguments.timeout:g} seconds at most: read it with shell_output, end it with shell_stop",
        data={"name": name},
        summary=name,
    )


def _jobs(context: Context) -> dict[str, BackgroundJob]:
    return context.memo.running


def _job(context: Context, name: str) -> BackgroundJob:
    job = _jobs(context).get(name)
    if job is None:
        raise ToolError(f"there is no {name!r}: {', '.join(_jobs(context)) or 'nothing was started'}")
    return job


def shell_output(context: Context, arguments: OutputArguments) -> ToolResult:
    job = _job(context, arguments.name)
    output, dropped = job.take(arguments.timeout, context.check)
    text = output.decode("utf-8", "replace")
    notes = [f"{dropped:,} bytes before this were dropped"] if dropped else []
    notes += [f"network: {refusal}" for refusal in refusals(context)]
    notes.append(job.state)
    data = {"running": job.exit_code is None, "exit_code": job.exit_code, "output": text}
    return ToolResult(
        text + "".join(f"\n[{note}]" for note in notes),
        data=data,
        truncated=dropped,
        summary=f"{plural(text.count(chr(10)), 'line')}, {job.state}",
    )


def shell_stop(context: Context, arguments: StopArguments) -> ToolResult:
    job = _job(context, arguments.name)
    with context.guard():
        job.stop()
        report(context, job.take_quarantined())
        protected_paths.check_afterwards(context)
    return ToolResult(f"{arguments.name}: {job.state}", summary=job.state)


def stop_all(context: Context) -> None:
    """End everything that runs: the task ends."""
    for job in _jobs(context).values():
        job.stop()
        report(context, job.take_quarantined())
    if context.memo.egress is not None:
        context.memo.egress.close()
        context.memo.egress = None
    if context.memo.network:
        context.memo.network.close()
        context.memo.network = None
    protected_paths.check_afterwards(context, last=True)


SHELL_START = Tool(
    "shell_start",
    "Start a command that goes on while you work, such as a server or a long build. You get a name such as job-1 at "
    "once, for shell_output and shell_stop; four run at the same time. It ends with its timeout, when you stop it, "
    "or with the task.",
    StartArguments,
    shell_start,
    lambda a: f"in the background: {lines_shown(a.command)}",
    target=lambda c, a: a.command.strip(BLANKS),
    folder=lambda a: a.cwd,
    risk="It runs a command that may change files, and goes on running.",
    effect=Effect.OWN,
)
SHELL_OUTPUT = Tool(
    "shell_output",
    "Read what a command of shell_start wrote since you last asked, and whether it still runs. With a timeout it "
    "waits for new output or the end, so that you need not ask again and again. Of output that waited too long the "
    "oldest part is dropped, and that is said.",
    OutputArguments,
    shell_output,
    lambda a: f"output of {a.name}",
    effect=Effect.NONE,
)
SHELL_STOP = Tool(
    "shell_stop",
    "End a command of shell_start and all that it started. Use it as soon as it is no longer needed. You get how it "
    "ended; what it wrote can still be read with shell_output.",
    StopArguments,
    shell_stop,
    lambda a: f"stop {a.name}",
    effect=Effect.NONE,
)
