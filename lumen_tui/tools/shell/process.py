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

import msgspec
from msgspec import Struct

from lumen_tui.model.text import one_line
from lumen_tui.storage.origin import WORKER
from lumen_tui.tools.base import REPORT_EVERY, Context, ToolError
from lumen_tui.tools.egress.task_egress import joined, refusals
from lumen_tui.tools.sandbox import limits, protected_paths, sandboxed_command
from lumen_tui.tools.sandbox.admission import Admission, admit
from lumen_tui.tools.sandbox.limits import Caps
from lumen_tui.tools.sandbox.protected_paths import report
from lumen_tui.tools.sandbox.task_network import TaskNetwork

_POLL = 0.1  # seconds between two looks at the stop flag and at the limits
_TERM_SECONDS = 2.0
_READ = 64 * 1024
_SHELL = ["/bin/sh", "-c"]
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "VIRTUAL_ENV")


class CommandResult(Struct, frozen=True):
    """How a command ended. `exit_code` is 128 and more, or negative, for a signal."""

    output: bytes
    exit_code: int
    left_out: int = 0  # bytes of output that were thrown away
    timed_out: bool = False
    too_much_output: bool = False  # ended because it wrote far more than is kept
    exceeded: str = ""  # ended because of this limit: a sentence
    tier: str = ""  # the sandbox tier it ran in
    access: str = ""  # what its sandbox let it do, in words
    caps: Caps = Caps()
    refused: tuple[str, ...] = ()  # connections that the task's proxy did not make

    @property
    def interrupted(self) -> bool:
        """Whether it was ended and did not end by itself."""
        return self.timed_out or self.too_much_output or bool(self.exceeded)


def environment(context: Context) -> dict[str, str]:
    """Return the minimal environment of a child: no keys, and nothing that runs a program."""
    passed_on = {name: context.environ[name] for name in _PASSED_ON if name in context.environ}
    passed_on[WORKER] = context.spec.id  # what is started here is never the operator
    path = [part for part in passed_on.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(part)]
    return {**passed_on, "PATH": os.pathsep.join(path), "TERM": "dumb", "PAGER": "cat", "NO_COLOR": "1"}


class Streams(Struct, frozen=True):
    """Descriptors that a command gets as its input and for its errors; they stay open here."""

    stdin: int
    stderr: int


class RunningCommand:
    """A command in its sandbox, with its limits watched and its output in one pipe. ToolError where it cannot start.

    It reads nothing and writes its errors into that pipe, too, unless `streams` have descriptors for these.
    """

    def __init__(
        self,
        admission: Admission,
        argv: list[str],
        cwd: str,
        env: dict[str, str],
        network: TaskNetwork | None = None,
        streams: Streams | None = None,
    ) -> None:
        self.admission = admission
        policy = admission.policy
        self._watch = limits.ResourceWatch(policy.caps, policy.writable, policy.covers[0].folder, policy.scratch)
        self.output, sink = os.pipe()
        try:
            self._command = sandboxed_command.start(
                admission.tier,
                policy,
                argv,
                cwd,
                env,
                stdin=streams.stdin if streams else subprocess.DEVNULL,
                stdout=sink,
                stderr=streams.stderr if streams else sink,
                network=network,
            )
        except (OSError, ValueError) as error:
            os.close(self.output)
            raise ToolError(f"{argv[0]} could not be started: {getattr(error, 'strerror', '') or error}") from error
        finally:
            os.close(sink)

    def wait(self, seconds: float) -> bool:
        """Return whether it ended within that time."""
        return _ended(self._command.child, seconds)

    def network(self) -> TaskNetwork | None:
        """Return its own network, for other commands of the task; None where it has that of the machine, or none."""
        return None if self.admission.policy.network else self._command.network()

    @property
    def caps(self) -> Caps:
        return self.admission.policy.caps

    @property
    def exit_code(self) -> int:
        return self._command.child.returncode or 0

    @property
    def ended(self) -> bool:
        """Whether it has ended; what it left in the background does not count."""
        return self._command.child.poll() is not None

    @property
    def quarantined(self) -> list[str]:
        """What it made where programs would run it later, under the new names. Complete after the end."""
        return self._command.quarantined

    def exceeded(self) -> str:
        """Return the limit that it broke, or empty. The kernel reports bursts of processes between checks."""
        if self._command.refused():
            return f"it had more than {self.caps.processes} processes"
        if obeyed_later := self._command.check_quarantine():
            return obeyed_later
        child = self._command.child
        return self._watch.check([child.pid] if child.returncode is None else [])

    def limit_of_exit(self) -> str:
        """Return the limit for which the kernel ended it, as a sentence, or empty. Call it after the end."""
        return limits.exceeded_by_exit(self._command.child.returncode or 0, self.caps)

    def began_sandboxed(self) -> bool:
        """Return whether it began in its sandbox. Call it after the end; if not, nothing was run."""
        return self._command.began_sandboxed()

    def end(self) -> None:
        """End it and its descendants by TERM, wait, KILL."""
        os.close(self.output)
        self._signal(signal.SIGTERM)
        if not self.wait(_TERM_SECONDS):
            limits.end([self._command.child.pid])
            self.wait(_TERM_SECONDS)
        self._signal(signal.SIGKILL)
        self._command.close()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._command.group, number)
        except (ProcessLookupError, PermissionError):
            pass  # all gone


def _ended(child: subprocess.Popen[bytes], seconds: float) -> bool:
    """Return whether it ends in time. Popen.wait looks again and again, up to 50 ms too late."""
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
    context: Context,
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    *,
    reading: bool = False,
    trusted: bool = False,
    streams: Streams | None = None,
) -> Iterator[RunningCommand]:
    """Start a command that is ended on every way out, and not interrupted while it starts or ends.

    `reading` and `trusted` as `admit` takes them.
    """
    admission = admit(context, command_line(argv), cwd, reading=reading, trusted=trusted)
    network, variables = joined(context, admission, reading=reading)
    running: RunningCommand | None = None
    may_change = not reading or admission.tier == sandboxed_command.ASK
    if may_change and not trusted:
        context.begins("shell")
    try:
        with context.guard():
            running = RunningCommand(admission, argv, cwd, {**env, **variables}, network, streams)
        yield running
    finally:
        with context.guard():
            if running:
                running.end()
                report(context, running.quarantined)
            protected_paths.check_afterwards(context)


def for_shell(command: str) -> list[str]:
    """Return the argument list that runs a command line in a shell."""
    if "\0" in command:
        raise ToolError("the command holds a NUL character")
    return [*_SHELL, command]


def command_line(argv: list[str]) -> str:
    """Return the command as a person who is asked reads it."""
    return argv[-1] if argv[:-1] == _SHELL else shlex.join(argv)


def run(
    context: Context,
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    *,
    seconds: float,
    keep: int,
    reading: bool = False,
    trusted: bool = False,
    streams: Streams | None = None,
) -> CommandResult:
    """Run a command for at most `seconds` and keep the first `keep` bytes it writes.

    Raises Stopped where the task was asked to end meanwhile, ToolError where it cannot be started or may not.
    """
    env = {**env, "PWD": cwd}
    with started(context, argv, cwd, env, reading=reading, trusted=trusted, streams=streams) as running:
        result = _Collector(context, running, seconds, keep).collect()
        if not result.interrupted and not running.began_sandboxed():
            raise _fallen(running.admission.tier, result.output)
    return msgspec.structs.replace(result, refused=tuple(refusals(context)))


def _fallen(tier: str, output: bytes) -> ToolError:
    reason = one_line(output.decode("utf-8", "replace"), 300)
    return ToolError(
        f"nothing was run: its sandbox ({tier}) could not be set up: {reason}. See `lumen-tui doctor --sandbox`"
    )


class _Collector:
    """Reads the output of a command until it ends or must be ended."""

    def __init__(self, context: Context, running: RunningCommand, seconds: float, keep: int) -> None:
        self._context, self._running, self._keep = context, running, keep
        self._began = context.monotonic()
        self._ends, self._report_at, self._look_at = self._began + seconds, self._began + REPORT_EVERY, self._began
        self._kept, self._seen = bytearray(), 0

    def collect(self) -> CommandResult:
        with selectors.DefaultSelector() as selector:
            selector.register(self._running.output, selectors.EVENT_READ)
            while True:
                if result := self._stopped():
                    return result
                ended = self._running.ended  # asked first: what it wrote before is in the pipe
                if selector.select(0 if ended else _POLL):
                    if not self._read():
                        break
                elif ended:
                    break
        return self._wait()

    def _stopped(self) -> CommandResult | None:
        """Return the result where it must end now: for the time, a limit, or too much output."""
        self._context.check()
        now = self._context.monotonic()
        if now > self._ends:
            return self._ran(-signal.SIGTERM, timed_out=True)
        if self._seen > 64 * max(self._keep, _READ):
            return self._ran(-signal.SIGTERM, too_much_output=True)
        if now >= self._look_at:
            self._look_at = now + _POLL
            if exceeded := self._running.exceeded():
                return self._ran(-signal.SIGKILL, exceeded=exceeded)
        if now > self._report_at:
            self._report_at = now + REPORT_EVERY
            self._context.progress(f"running for {now - self._began:.0f} s, {self._seen:,} bytes of output")
        return None

    def _read(self) -> bool:
        part = os.read(self._running.output, _READ)
        self._kept += part[: max(0, self._keep - len(self._kept))]
        self._seen += len(part)
        return bool(part)

    def _wait(self) -> CommandResult:
        """Wait for a command that closed its output."""
        while not self._running.wait(_POLL):
            if result := self._stopped():
                return result
        code = self._running.exit_code
        return self._ran(code, exceeded=(self._running.exceeded() if code else "") or self._running.limit_of_exit())

    def _ran(
        self, code: int, *, timed_out: bool = False, too_much_output: bool = False, exceeded: str = ""
    ) -> CommandResult:
        admission = self._running.admission
        return CommandResult(
            bytes(self._kept),
            code,
            max(0, self._seen - self._keep),
            timed_out,
            too_much_output,
            exceeded,
            admission.tier,
            sandboxed_command.describe_access(admission.policy, admission.tier),
            admission.policy.caps,
        )
