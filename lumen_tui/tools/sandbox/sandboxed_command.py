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
        control_group: str = "",
        *,
        group: int = 0,
        reaper: ProcessReaper | None = None,
        reported: bytes = b"",
        quarantine: Quarantine | None = None,
    ) -> None:
        self.child, self._status, self._group = child, status, control_group
        self.group = group or child.pid
        self._guard = reaper
        self._said, self._aside = reported, quarantine or Quarantine()

    def began_sandboxed(self) -> bool:
        """Whether the walls stood and the command began. Asked once, after the end; without walls always."""
        return self._status < 0 or _STARTED in self._report()

    def refused(self) -> bool:
        """Whether the kernel refused it one more process."""
        return bool(self._group) and groups.refused(self._group)

    def check_quarantine(self) -> str:
        """Why it must end for what it makes where programs would run it later, or empty."""
        return self._aside.look()

    @property
    def aside(self) -> list[str]:
        """What it made there, under new names."""
        return self._aside.moved

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
    tier: str,
    policy: Policy,
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    *,
    stdin: int | IO[bytes],
    stdout: int,
    stderr: int,
    group: int,
) -> SandboxedCommand:
    """Start `argv` within the walls of `tier`, in the process group `group` or, where that is 0, in one of its own.

    Nothing of it outlives this process. Raises OSError and ValueError as Popen does.
    """
    reaper = (
        ProcessReaper() if not group and tier == BUBBLEWRAP else None
    )  # the launcher of the others looks after itself
    try:
        group = reaper.group if reaper else group
        streams = (stdin, stdout, stderr)
        if tier == ASK:
            limited = [*landlock.unsandboxed(), *_limited(policy.caps, argv, own_count=False)]
            return SandboxedCommand(_popen(limited, cwd, env, streams, group, ()), -1, group=group)
        return _walled(tier, policy, argv, cwd, env, streams, group, reaper)
    except BaseException:
        if reaper:
            reaper.end()
        raise


_Streams = tuple[int | IO[bytes], int, int]


def _walled(
    tier: str,
    policy: Policy,
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    streams: _Streams,
    group: int,
    reaper: ProcessReaper | None,
) -> SandboxedCommand:
    report, status = os.pipe()
    os.set_blocking(report, False)
    release_fd, barrier_fd = os.pipe()
    fds = [status, release_fd]
    is_bubblewrap = tier == BUBBLEWRAP
    control_group = groups.make(_SLACK + 4 * policy.caps.processes)
    try:
        if is_bubblewrap:
            fds.append(_memory_file(seccomp.program(seccomp.INTERNET)))
            tool = bubblewrap.program(env.get("PATH", os.defpath)) or "bwrap"
            words = bubblewrap.arguments(policy, cwd, status_fd=status, filter_fd=fds[2])
            outer = [tool, *mounted.with_barrier(words, release_fd), "--"]
        else:
            outer = landlock.arguments(policy, cwd, status_fd=status)
        inner = _limited(policy.caps, argv, own_count=is_bubblewrap and _counts_by_namespace(), session=is_bubblewrap)
        env = _inside(tier, policy, env)
        argv = groups.with_group(control_group, [*outer, *inner])
        child = _popen(argv, "/", env, streams, group, tuple(fds) if is_bubblewrap else (status,))
        reported = _let_go(child, report, words, barrier_fd) if is_bubblewrap else b""
        quarantine = Quarantine(policy.absent, policy.links)
        return SandboxedCommand(
            child, report, control_group, group=group, reaper=reaper, reported=reported, quarantine=quarantine
        )
    except BaseException:
        groups.drop(control_group)
        os.close(report)
        raise
    finally:
        for fd in (*fds, barrier_fd):
            os.close(fd)


def _let_go(child: subprocess.Popen[bytes], report: int, words: list[str], barrier_fd: int) -> bytes:
    """Let the command begin where its walls are what was meant; what they reported until then. OSError where not."""
    reported = b""
    end_fd = os.pidfd_open(child.pid)
    try:
        while not (inside := _INSIDE.search(reported)):
            if report not in select.select([report, end_fd], [], [])[0]:
                return reported  # it failed before, and says itself why
            reported += os.read(report, 65_536)
        reason = mounted.check(words, int(inside[1]), end_fd)
    finally:
        os.close(end_fd)
    if reason:
        limits.end([child.pid])
        child.wait()
        raise OSError(reason)
    os.write(barrier_fd, b"\n")
    return reported


def _popen(
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    streams: _Streams,
    group: int,
    fds: tuple[int, ...],
) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        process_group=group,
        pass_fds=fds,
    )


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
        cpu=caps.cpu_seconds + _LATER,
        killed=caps.cpu_seconds + 2 * _LATER,
        data=caps.memory // 1024,
        blocks=caps.file_size // 512,
        files=caps.open_files,
        processes=f"ulimit -u {most} 2>/dev/null || ulimit -p {most} 2>/dev/null" if own_count else ":",
        session=_SESSION if session else ":",
    )
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
    narrowed = [f"not in {one_line(path, 100)} ({reason})" for path, reason in policy.not_granted]
    return "; ".join([", ".join(policy.writable) or "nowhere", *narrowed])
