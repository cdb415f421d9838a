"""Child processes of tools: own process group, no input, bounded output and time, and always an end."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from lumen_tui.tools.base import REPORT_EVERY, Context, ToolError

_POLL = 0.1  # seconds between two looks at the stop flag
_TERM_SECONDS = 1.0
_READ = 64 * 1024
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "VIRTUAL_ENV")


class Ran(Struct, frozen=True):
    """How a pipeline ended. `exit_code` is that of its last command, negative for a signal."""

    output: bytes
    exit_code: int
    left_out: int = 0  # bytes of output that were thrown away
    timed_out: bool = False
    too_much: bool = False  # ended because it wrote far more than is kept


def environment(context: Context) -> dict[str, str]:
    """The minimal environment of a child: nothing that holds a key, nothing that runs a program."""
    found = {name: context.environ[name] for name in _PASSED_ON if name in context.environ}
    path = [part for part in found.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(part)]
    return {**found, "PATH": os.pathsep.join(path), "TERM": "dumb", "PAGER": "cat", "NO_COLOR": "1"}


class Pipeline:
    """One or more commands joined by pipes, in one process group."""

    def __init__(self, commands: list[list[str]], cwd: str, env: dict[str, str]) -> None:
        self._children: list[subprocess.Popen[bytes]] = []
        self._group = 0
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
        source = self._children[-1].stdout if self._children else None
        child = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=source or subprocess.DEVNULL, stdout=sink if last else subprocess.PIPE,
            stderr=sink, process_group=self._group,
        )  # fmt: skip
        if source:
            source.close()
        self._children.append(child)
        self._group = self._group or child.pid

    def wait(self, seconds: float) -> bool:
        """Whether all of them ended within that time."""
        try:
            for child in self._children:
                child.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def exit_code(self) -> int:
        return self._children[-1].returncode or 0

    @property
    def ended(self) -> bool:
        """Whether every command has ended; one that was put in the background does not count."""
        return all(child.poll() is not None for child in self._children)

    def end(self) -> None:
        """TERM, wait, KILL for the whole group: what a command left running in the background ends as well."""
        os.close(self.output)
        if not self._group:
            return
        self._signal(signal.SIGTERM)
        if not self.wait(_TERM_SECONDS):
            self._signal(signal.SIGKILL)
            self.wait(_TERM_SECONDS)
        self._signal(signal.SIGKILL)
        for child in self._children:
            if child.stdout:
                child.stdout.close()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._group, number)
        except (ProcessLookupError, PermissionError):
            pass  # all gone


@contextmanager
def _started(context: Context, commands: list[list[str]], cwd: str, env: dict[str, str]) -> Iterator[Pipeline]:
    """A pipeline that is ended on every way out, and not interrupted while it starts or ends."""
    pipeline: Pipeline | None = None
    try:
        with context.guard():
            pipeline = Pipeline(commands, cwd, env)
        yield pipeline
    finally:
        with context.guard():
            if pipeline:
                pipeline.end()


def run(
    context: Context, commands: list[list[str]], cwd: str, env: dict[str, str], *, seconds: float, keep: int
) -> Ran:
    """Run a pipeline for at most `seconds` and keep the first `keep` bytes it writes.

    Raises Stopped where the task was asked to end meanwhile, ToolError where it cannot be started.
    """
    with _started(context, commands, cwd, env) as pipeline:
        return _collect(context, pipeline, seconds, keep)


def _collect(context: Context, pipeline: Pipeline, seconds: float, keep: int) -> Ran:
    began = context.monotonic()
    ends, report_at = began + seconds, began + REPORT_EVERY
    kept, seen = bytearray(), 0
    with selectors.DefaultSelector() as selector:
        selector.register(pipeline.output, selectors.EVENT_READ)
        while True:
            context.check()
            now = context.monotonic()
            if now > ends:
                return Ran(bytes(kept), -signal.SIGTERM, max(0, seen - keep), timed_out=True)
            if now > report_at:
                report_at = now + REPORT_EVERY
                context.progress(f"running for {now - began:.0f} s, {seen:,} bytes of output")
            ended = pipeline.ended  # asked first: what it wrote before is in the pipe
            if not selector.select(0 if ended else _POLL):
                if ended:
                    break
                continue
            if not (part := os.read(pipeline.output, _READ)):
                break
            kept += part[: max(0, keep - len(kept))]
            seen += len(part)
            if seen > 64 * max(keep, _READ):
                return Ran(bytes(kept), -signal.SIGTERM, seen - keep, too_much=True)
    _wait(context, pipeline, ends)
    return Ran(bytes(kept), pipeline.exit_code, max(0, seen - keep))


def _wait(context: Context, pipeline: Pipeline, ends: float) -> None:
    """Wait for commands that closed their output; what is still there at the end of the time is ended."""
    while not pipeline.wait(_POLL):
        context.check()
        if context.monotonic() > ends:
            return
