"""One command in its walls: what is started, with which limits, and whether the walls really stood."""

from __future__ import annotations

import os
import re
import select
import subprocess
from typing import IO

from lumen_tui.model.text import one_line
from lumen_tui.tools.sandbox import bubblewrap, groups, landlock, limits, mounted, seccomp
from lumen_tui.tools.sandbox.limits import Caps
from lumen_tui.tools.sandbox.policy import Policy
from lumen_tui.tools.sandbox.quarantine import Quarantine
from lumen_tui.tools.sandbox.reaper import ProcessReaper

BUBBLEWRAP, LANDLOCK, ASK = "bubblewrap", "landlock", "ask"
TIERS = (BUBBLEWRAP, LANDLOCK, ASK)  # strongest first
_STARTED = b'"exit-code"'  # stands in the status where the command was really begun
_SLACK = 8  # processes of the walls themselves
_INSIDE = re.compile(rb'"child-pid": *(\d+)')  # the first process inside: the kernel ends the others before it
_LATER = 5  # seconds of processor time for who looks on, so that it is ended with its reason and not by the kernel
# Shells differ in the letter for processes; a limit that is lower already stays.
_LIMITS = """ulimit -c 0 2>/dev/null; ulimit -St {cpu} 2>/dev/null; ulimit -Ht {killed} 2>/dev/null
ulimit -d {data} 2>/dev/null
ulimit -f {blocks} 2>/dev/null; ulimit -n {files} 2>/dev/null; {processes}
(echo 1000 >/proc/$$/oom_score_adj) 2>/dev/null; {session}; exec "$0" "$@" """
_SESSION = 'command -v setsid >/dev/null 2>&1 && exec setsid "$0" "$@"'  # no terminal is its own from here on


class SandboxedCommand:
    """A command that was started: its process, its process group, and the pipe on which its walls report."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        status: int,
        counted: str = "",
        *,
        group: int = 0,
        guard: ProcessReaper | None = None,
        said: bytes = b"",
        aside: Quarantine | None = None,
    ) -> None:
        self.child, self._status, self._group = child, status, counted
        self.group = group or child.pid
        self._guard = guard
        self._said, self._aside = said, aside or Quarantine()

    def stood(self) -> bool:
        """Whether the walls stood and the command began. Asked once, after the end; without walls always."""
        return self._status < 0 or _STARTED in self._report()

    def refused(self) -> bool:
        """Whether the kernel refused it one more process."""
        return bool(self._group) and groups.refused(self._group)

    def strays(self) -> str:
        """Why it must end for what it makes where programs would run it later, or empty."""
        return self._aside.look()

    @property
    def aside(self) -> list[str]:
        """What it made there, under new names."""
        return self._aside.made

    def _report(self) -> bytes:
        try:
            while part := os.read(self._status, 65_536):
                self._said += part
        except BlockingIOError:
            pass  # killed, and not gone yet
        return self._said

    def close(self) -> None:
        """After the end: wait for what is left inside to be gone, and let go of what was needed to hold it."""
        if self._status >= 0 and (inside := _INSIDE.search(self._report())):
            limits.wait_gone(int(inside[1]))
        if self._guard:
            self._guard.end()
        groups.drop(self._group)
        if self._status >= 0:
            os.close(self._status)
        self._group, self._status = "", -1
        self._aside.look()


def start(
    tier: str, policy: Policy, argv: list[str], cwd: str, env: dict[str, str], *, stdin: int | IO[bytes], stdout: int,
    stderr: int, group: int,
) -> SandboxedCommand:  # fmt: skip
    """Start `argv` within the walls of `tier`, in the process group `group` or, where that is 0, in one of its own.

    Nothing of it outlives this process. Raises OSError and ValueError as Popen does.
    """
    guard = (
        ProcessReaper() if not group and tier == BUBBLEWRAP else None
    )  # the launcher of the others looks after itself
    try:
        group = guard.group if guard else group
        streams = (stdin, stdout, stderr)
        if tier == ASK:
            limited = [*landlock.unsandboxed(), *_limited(policy.caps, argv, own_count=False)]
            return SandboxedCommand(_popen(limited, cwd, env, streams, group, ()), -1, group=group)
        return _walled(tier, policy, argv, cwd, env, streams, group, guard)
    except BaseException:
        if guard:
            guard.end()
        raise


_Streams = tuple[int | IO[bytes], int, int]


def _walled(
    tier: str, policy: Policy, argv: list[str], cwd: str, env: dict[str, str], streams: _Streams, group: int,
    guard: ProcessReaper | None,
) -> SandboxedCommand:  # fmt: skip
    report, status = os.pipe()
    os.set_blocking(report, False)
    held, hold = os.pipe()
    fds = [status, held]
    boxed = tier == BUBBLEWRAP
    counted = groups.make(_SLACK + 4 * policy.caps.processes)
    try:
        if boxed:
            fds.append(_memory_file(seccomp.program(seccomp.INTERNET)))
            tool = bubblewrap.program(env.get("PATH", os.defpath)) or "bwrap"
            words = bubblewrap.arguments(policy, cwd, status_fd=status, filter_fd=fds[2])
            outer = [tool, *mounted.with_barrier(words, held), "--"]
        else:
            outer = landlock.arguments(policy, cwd, status_fd=status)
        inner = _limited(policy.caps, argv, own_count=boxed and _counts_by_namespace(), session=boxed)
        env = _inside(tier, policy, env)
        argv = groups.with_group(counted, [*outer, *inner])
        child = _popen(argv, "/", env, streams, group, tuple(fds) if boxed else (status,))
        said = _let_go(child, report, words, hold) if boxed else b""
        aside = Quarantine(policy.absent, policy.links)
        return SandboxedCommand(child, report, counted, group=group, guard=guard, said=said, aside=aside)
    except BaseException:
        groups.drop(counted)
        os.close(report)
        raise
    finally:
        for fd in (*fds, hold):
            os.close(fd)


def _let_go(child: subprocess.Popen[bytes], report: int, words: list[str], hold: int) -> bytes:
    """Let the command begin where its walls are what was meant; what they reported until then. OSError where not."""
    said = b""
    ended = os.pidfd_open(child.pid)
    try:
        while not (inside := _INSIDE.search(said)):
            if report not in select.select([report, ended], [], [])[0]:
                return said  # it failed before, and says itself why
            said += os.read(report, 65_536)
        why = mounted.check(words, int(inside[1]), ended)
    finally:
        os.close(ended)
    if why:
        limits.end([child.pid])
        child.wait()
        raise OSError(why)
    os.write(hold, b"\n")
    return said


def _popen(
    argv: list[str], cwd: str, env: dict[str, str], streams: _Streams, group: int,
    fds: tuple[int, ...],
) -> subprocess.Popen[bytes]:  # fmt: skip
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, process_group=group, pass_fds=fds,
    )  # fmt: skip


def _inside(tier: str, policy: Policy, env: dict[str, str]) -> dict[str, str]:
    """The environment, with a place for temporary files that can be written."""
    if not policy.scratch:
        return env
    place = "/tmp" if tier == BUBBLEWRAP else policy.scratch  # noqa: S108 - the command's own, in memory
    return {**env, "TMPDIR": place, "XDG_CACHE_HOME": os.path.join(place, ".cache")}


def _limited(caps: Caps, argv: list[str], *, own_count: bool, session: bool = False) -> list[str]:
    """`argv` behind a shell that sets the kernel's limits and becomes it."""
    most = 4 * caps.processes  # the kernel counts threads
    words = _LIMITS.format(
        cpu=caps.cpu_seconds + _LATER, killed=caps.cpu_seconds + 2 * _LATER, data=caps.memory // 1024,
        blocks=caps.file_size // 512, files=caps.open_files,
        processes=f"ulimit -u {most} 2>/dev/null || ulimit -p {most} 2>/dev/null" if own_count else ":",
        session=_SESSION if session else ":",
    )  # fmt: skip
    return ["/bin/sh", "-c", words, *argv]


def _counts_by_namespace() -> bool:
    """Whether the limit on processes counts within the sandbox; older kernels count all of the user's."""
    release = os.uname().release.split("-")[0].split(".")
    return [int(part) for part in release[:2] if part.isdigit()] >= [5, 14]


def _memory_file(content: bytes) -> int:
    fd = os.memfd_create("lumen-filter", 0)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def describe_writable(policy: Policy) -> str:
    """Where a command may write, in words, and where it was meant to and may not."""
    narrowed = [f"not in {one_line(path, 100)} ({why})" for path, why in policy.narrowed]
    return "; ".join([", ".join(policy.writable) or "nowhere", *narrowed])
