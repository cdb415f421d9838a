"""Runs child processes of tools: sandboxed, without input, with bounded output and time."""

from __future__ import annotations

import os
import select
import selectors
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from lumen_tui.model.text import one_line
from lumen_tui.tools.base import REPORT_EVERY, Context, ToolError
from lumen_tui.tools.sandbox import limits, protected_paths, sandboxed_command
from lumen_tui.tools.sandbox.admission import Admission, admit
from lumen_tui.tools.sandbox.limits import Caps
from lumen_tui.tools.sandbox.quarantine import report
from lumen_tui.tools.shell.programs import reads_at_large

_POLL = 0.1  # seconds between two looks at the stop flag and at the limits
_TERM_SECONDS = 2.0
_READ = 64 * 1024
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "VIRTUAL_ENV")


class CommandResult(Struct, frozen=True):
    """How a pipeline ended. `exit_code` is that of its last command: 128 and more, or negative, for a signal."""

    output: bytes
    exit_code: int
    left_out: int = 0  # bytes of output that were thrown away
    timed_out: bool = False
    too_much_output: bool = False  # ended because it wrote far more than is kept
    exceeded: str = ""  # ended because of this limit: a sentence
    tier: str = ""  # the sandbox tier it ran in
    writable: str = ""  # where it could write, in words
    caps: Caps = Caps()


def environment(context: Context) -> dict[str, str]:
    """Return the minimal environment of a child: no keys, and nothing that runs a program."""
    passed_on = {name: context.environ[name] for name in _PASSED_ON if name in context.environ}
    path = [part for part in passed_on.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(part)]
    return {**passed_on, "PATH": os.pathsep.join(path), "TERM": "dumb", "PAGER": "cat", "NO_COLOR": "1"}


class Pipeline:
    """One or more commands joined by pipes, each in its sandbox. ToolError where one cannot be started."""

    def __init__(self, admission: Admission, commands: list[list[str]], cwd: str, env: dict[str, str]) -> None:
        self.admission = admission
        self._commands: list[sandboxed_command.SandboxedCommand] = []
        self._group = 0
        self.quarantined: list[str] = []  # what they made where programs would run it later, under new names
        policy = admission.policy
        self._watch = limits.ResourceWatch(policy.caps, policy.writable, policy.covers[0].folder, policy.scratch)
        self.output, sink = os.pipe()
        try:
            for number, argv in enumerate(commands, start=1):
                self._start(argv, cwd, env, sink, last=number == len(commands))
        except (OSError, ValueError) as error:
            self.end()
            raise ToolError(f"{argv[0]} could not be started: {getattr(error, 'strerror', '') or error}") from error
        finally:
            os.close(sink)

    def _start(self, argv: list[str], cwd: str, env: dict[str, str], sink: int, *, last: bool) -> None:
        """Start one command that reads the one before. All errors and the last one's output go to `sink`."""
        source = self._commands[-1].child.stdout if self._commands else None
        started = sandboxed_command.start(
            self.admission.tier,
            self.admission.policy,
            argv,
            cwd,
            env,
            stdin=source or subprocess.DEVNULL,
            stdout=sink if last else subprocess.PIPE,
            stderr=sink,
            group=self._group,
        )
        if source:
            source.close()
        self._commands.append(started)
        self._group = self._group or started.group

    def wait(self, seconds: float) -> bool:
        """Return whether all commands ended within that time, counted for each."""
        return all(_ended(command.child, seconds) for command in self._commands)

    @property
    def caps(self) -> Caps:
        return self.admission.policy.caps

    @property
    def exit_code(self) -> int:
        return self._commands[-1].child.returncode or 0

    @property
    def ended(self) -> bool:
        """Whether every command has ended; one that was put in the background does not count."""
        return all(command.child.poll() is not None for command in self._commands)

    def exceeded(self) -> str:
        """Return the limit that the commands broke, or empty. The kernel reports bursts of processes between checks."""
        if any(command.refused() for command in self._commands):
            return f"it had more than {self.caps.processes} processes"
        if obeyed_later := next(filter(None, [command.check_quarantine() for command in self._commands]), ""):
            return obeyed_later
        return self._watch.check([command.child.pid for command in self._commands if command.child.returncode is None])

    def limit_of_exit(self) -> str:
        """Return the limit for which the kernel ended a command, as a sentence, or empty. Call it after the end."""
        sentences = (limits.exceeded_by_exit(command.child.returncode or 0, self.caps) for command in self._commands)
        return next(filter(None, sentences), "")

    def began_sandboxed(self) -> bool:
        """Return whether all commands began in their sandbox. Call it after the end; if not, nothing was run."""
        return all(command.began_sandboxed() for command in self._commands)

    def end(self) -> None:
        """End all commands and their descendants by TERM, wait, KILL."""
        os.close(self.output)
        if not self._group:
            return
        self._signal(signal.SIGTERM)
        if not self.wait(_TERM_SECONDS):
            limits.end([command.child.pid for command in self._commands])
            self.wait(_TERM_SECONDS)
        self._signal(signal.SIGKILL)
        for command in self._commands:
            command.close()
            self.quarantined += command.quarantined
            if command.child.stdout:
                command.child.stdout.close()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._group, number)
        except (ProcessLookupError, PermissionError):
            pass  # all gone


def _ended(child: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether it ends in time. Popen.wait looks again and again, up to 50 ms too late."""
    if child.poll() is not None:
        return True
    fd = os.pidfd_open(child.pid)
    try:
        ready = select.poll()
        ready.register(fd, select.POLLIN)
        ready.poll(1000 * seconds)
    finally:
        os.close(fd)
    return child.poll() is not None


@contextmanager
def started(
    context: Context, commands: list[list[str]], cwd: str, env: dict[str, str], *, checked: bool = False
) -> Iterator[Pipeline]:
    """Start a pipeline that is ended on every way out, and not interrupted while it starts or ends.

    `checked` is for commands known to change nothing. Without a sandbox all others ask first, and so do those that
    read whole folders.
    """
    named = checked and not any(reads_at_large(argv, cwd) for argv in commands)
    admission = admit(context, _words(commands), cwd, checked=named)
    pipeline: Pipeline | None = None
    if not checked:
        context.begins("shell")
    try:
        with context.guard():
            pipeline = Pipeline(admission, commands, cwd, env)
        yield pipeline
    finally:
        with context.guard():
            if pipeline:
                pipeline.end()
                report(context, pipeline.quarantined)
            protected_paths.check_afterwards(context)


def _words(commands: list[list[str]]) -> str:
    """Return the command as a person who is asked reads it."""
    if len(commands) == 1 and commands[0][:2] == ["/bin/sh", "-c"]:
        return commands[0][2]
    return " | ".join(map(shlex.join, commands))


def run(
    context: Context,
    commands: list[list[str]],
    cwd: str,
    env: dict[str, str],
    *,
    seconds: float,
    keep: int,
    checked: bool = False,
) -> CommandResult:
    """Run a pipeline for at most `seconds` and keep the first `keep` bytes it writes.

    Raises Stopped where the task was asked to end meanwhile, ToolError where it cannot be started or may not.
    """
    with started(context, commands, cwd, env, checked=checked) as pipeline:
        ran = _Collector(context, pipeline, seconds, keep).collect()
        if not (ran.timed_out or ran.too_much_output or ran.exceeded) and not pipeline.began_sandboxed():
            raise _fallen(pipeline.admission.tier, ran.output)
    return ran


def _fallen(tier: str, output: bytes) -> ToolError:
    reason = one_line(output.decode("utf-8", "replace"), 300)
    return ToolError(
        f"nothing was run: its sandbox ({tier}) could not be set up: {reason}. See `lumen-tui doctor --sandbox`"
    )


class _Collector:
    """Reads the output of a pipeline until it ends or must be ended."""

    def __init__(self, context: Context, pipeline: Pipeline, seconds: float, keep: int) -> None:
        self._context, self._pipeline, self._keep = context, pipeline, keep
        self._began = context.monotonic()
        self._ends, self._report_at, self._look_at = self._began + seconds, self._began + REPORT_EVERY, self._began
        self._kept, self._seen = bytearray(), 0

    def collect(self) -> CommandResult:
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipeline.output, selectors.EVENT_READ)
            while True:
                if result := self._stopped():
                    return result
                ended = self._pipeline.ended  # asked first: what it wrote before is in the pipe
                if selector.select(0 if ended else _POLL):
                    if not self._read():
                        break
                elif ended:
                    break
        return self._wait()

    def _stopped(self) -> CommandResult | None:
        """The end that has to be now: the time, a limit, too much output."""
        self._context.check()
        now = self._context.monotonic()
        if now > self._ends:
            return self._ran(-signal.SIGTERM, timed_out=True)
        if self._seen > 64 * max(self._keep, _READ):
            return self._ran(-signal.SIGTERM, too_much_output=True)
        if now >= self._look_at:
            self._look_at = now + _POLL
            if exceeded := self._pipeline.exceeded():
                return self._ran(-signal.SIGKILL, exceeded=exceeded)
        if now > self._report_at:
            self._report_at = now + REPORT_EVERY
            self._context.progress(f"running for {now - self._began:.0f} s, {self._seen:,} bytes of output")
        return None

    def _read(self) -> bool:
        part = os.read(self._pipeline.output, _READ)
        self._kept += part[: max(0, self._keep - len(self._kept))]
        self._seen += len(part)
        return bool(part)

    def _wait(self) -> CommandResult:
        """Wait for commands that closed their output."""
        while not self._pipeline.wait(_POLL):
            if result := self._stopped():
                return result
        code = self._pipeline.exit_code
        return self._ran(code, exceeded=(self._pipeline.exceeded() if code else "") or self._pipeline.limit_of_exit())

    def _ran(
        self, code: int, *, timed_out: bool = False, too_much_output: bool = False, exceeded: str = ""
    ) -> CommandResult:
        admission = self._pipeline.admission
        return CommandResult(
            bytes(self._kept),
            code,
            max(0, self._seen - self._keep),
            timed_out,
            too_much_output,
            exceeded,
            admission.tier,
            sandboxed_command.describe_writable(admission.policy),
            admission.policy.caps,
        )
