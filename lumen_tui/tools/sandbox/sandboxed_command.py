"""Starts one command inside the sandbox of a tier, with its limits, and tells whether the sandbox was in place."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line
from lumen_tui.tools.sandbox import bubblewrap, groups, landlock, limits
from lumen_tui.tools.sandbox.limits import Caps
from lumen_tui.tools.sandbox.policy import Policy
from lumen_tui.tools.sandbox.protected_paths import Quarantine
from lumen_tui.tools.sandbox.task_network import TaskNetwork, network_of

BUBBLEWRAP, LANDLOCK, ASK = "bubblewrap", "landlock", "ask"
TIERS = (BUBBLEWRAP, LANDLOCK, ASK)  # strongest first
_STARTED = b'"exit-code"'  # in the status report once the command really began
_SLACK = 8  # processes of the sandbox itself
_CHILD_PID = lazy_re(rb'"child-pid": *(\d+)')  # the first process inside: the kernel ends the others before it
# Seconds of processor time above the limit: the watch ends the command first and gives the reason; the kernel cannot.
_GRACE_SECONDS = 5
# Shells differ in the option for processes; a limit that is already lower is kept.
_LIMITS = """ulimit -c 0 2>/dev/null; ulimit -St {cpu} 2>/dev/null; ulimit -Ht {killed} 2>/dev/null
ulimit -d {data} 2>/dev/null
ulimit -f {blocks} 2>/dev/null; ulimit -n {files} 2>/dev/null; {processes}
(echo 1000 >/proc/$$/oom_score_adj) 2>/dev/null; {session}; exec "$0" "$@" """
_SESSION = 'command -v setsid >/dev/null 2>&1 && exec setsid "$0" "$@"'  # without a controlling terminal
# Its input ends when the other end of the pipe is closed. It ignores TERM, which ends the pipeline it guards.
_REAPER_SCRIPT = "trap '' TERM; read -r _; kill -KILL 0"


class ProcessReaper:
    """Leads a process group that others may join; when this process disappears, the whole group is killed.

    bubblewrap's --die-with-parent is not enough: killed before it has asked the kernel for that, bwrap lives on; killed
    before it has told its child who it is, the child waits for that for good, as the first process of a namespace that
    only KILL ends. It has not left the group by then.
    """

    def __init__(self) -> None:
        self._child = subprocess.Popen(["/bin/sh", "-c", _REAPER_SCRIPT], stdin=subprocess.PIPE, process_group=0)
        self.group = self._child.pid

    def end(self) -> None:
        """KILL the remaining group, its leader included. May be called twice."""
        if self._child.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        self._child.wait()
        if self._child.stdin:
            self._child.stdin.close()


class SandboxedCommand:
    """A running command: its process, its process group, and the pipe on which its sandbox reports."""

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
        self.child = child
        self._status = status
        self._control_group = control_group
        self.group = group or child.pid
        self._reaper = reaper
        self._reported = reported
        self._quarantine = quarantine or Quarantine()

    def began_sandboxed(self) -> bool:
        """Return whether the command began inside its sandbox; always true without one. Call it once, after the end."""
        return self._status < 0 or _STARTED in self._report()

    def refused(self) -> bool:
        """Return whether the kernel refused the command one more process."""
        return bool(self._control_group) and groups.refused(self._control_group)

    def network(self) -> TaskNetwork | None:
        """Return the network of its sandbox for other commands; None where it has none of its own."""
        inside = _CHILD_PID.search(self._reported)
        return network_of(int(inside[1])) if inside else None

    def check_quarantine(self) -> str:
        """Quarantine new files that programs would run later; return why the command must end, or an empty string."""
        return self._quarantine.check()

    @property
    def quarantined(self) -> list[str]:
        """The paths to which files of the command were moved."""
        return self._quarantine.moved

    def _report(self) -> bytes:
        try:
            while part := os.read(self._status, 65_536):
                self._reported += part
        except BlockingIOError:
            pass  # killed, and not gone yet
        return self._reported

    def close(self) -> None:
        """Wait for the remaining processes to go, and release the control group, the reaper and the status pipe."""
        if self._status >= 0 and (inside := _CHILD_PID.search(self._report())):
            limits.wait_gone(int(inside[1]))
        if self._reaper:
            self._reaper.end()
        groups.drop(self._control_group)
        if self._status >= 0:
            os.close(self._status)
        self._control_group, self._status = "", -1
        self._quarantine.check()


def start(
    tier: str,
    policy: Policy,
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    *,
    stdin: int,
    stdout: int,
    stderr: int,
    network: TaskNetwork | None = None,
) -> SandboxedCommand:
    """Start `argv` in the sandbox of `tier`, in a process group of its own.

    Under bubblewrap a command that may not use the network gets that of its task, `network`, else one of its own.
    None of its processes outlives this one. Raises OSError and ValueError as Popen does.
    """
    # The other tiers have a launcher that ends by itself.
    reaper = ProcessReaper() if tier == BUBBLEWRAP else None
    try:
        group = reaper.group if reaper else 0
        streams = (stdin, stdout, stderr)
        if tier == ASK:
            limited = [*landlock.unsandboxed(), *_with_limits(policy.caps, argv, own_count=False)]
            return SandboxedCommand(_popen(limited, cwd, env, streams, group, ()), -1, group=group)
        entered = None if policy.network else network
        return _start_sandboxed(tier, policy, argv, cwd, env, streams, group, reaper, entered)
    except BaseException:
        if reaper:
            reaper.end()
        raise


_Streams = tuple[int, int, int]


def _start_sandboxed(
    tier: str,
    policy: Policy,
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    streams: _Streams,
    group: int,
    reaper: ProcessReaper | None,
    network: TaskNetwork | None,
) -> SandboxedCommand:
    report, status = os.pipe()
    os.set_blocking(report, False)
    block_fd, release_fd = os.pipe()
    fds = [status, block_fd]
    is_bubblewrap = tier == BUBBLEWRAP
    control_group = groups.make(_SLACK + 4 * policy.caps.processes)
    try:
        if is_bubblewrap:
            fds.append(_memory_file(landlock.call_filter(landlock.INTERNET)))
            tool = bubblewrap.program(env.get("PATH", os.defpath)) or "bwrap"
            entered = network is not None
            arguments = bubblewrap.arguments(policy, cwd, status_fd=status, filter_fd=fds[2], entered=entered)
            outer = [tool, *bubblewrap.with_barrier(arguments, block_fd), "--"]
            outer = network.entering(outer) if network else outer
        else:
            outer = landlock.arguments(policy, cwd, status_fd=status)
        own_count = is_bubblewrap and _counts_by_namespace()
        inner = _with_limits(policy.caps, argv, own_count=own_count, session=is_bubblewrap)
        env = _environment_inside(tier, policy, env)
        argv = groups.with_group(control_group, [*outer, *inner])
        passed_on = (*fds, *(network.fds if network else ())) if is_bubblewrap else (status,)
        child = _popen(argv, "/", env, streams, group, passed_on)
        reported = _release(child, report, arguments, release_fd) if is_bubblewrap else b""
        quarantine = Quarantine(policy.absent, policy.links)
        return SandboxedCommand(
            child, report, control_group, group=group, reaper=reaper, reported=reported, quarantine=quarantine
        )
    except BaseException:
        groups.drop(control_group)
        os.close(report)
        raise
    finally:
        for fd in (*fds, release_fd):
            os.close(fd)


def _release(child: subprocess.Popen[bytes], report: int, arguments: list[str], release_fd: int) -> bytes:
    """Let the command begin once its mounts are verified; return what bwrap reported until then. OSError where not."""
    reported = b""
    end_fd = os.pidfd_open(child.pid)
    try:
        while not (inside := _CHILD_PID.search(reported)):
            if report not in select.select([report, end_fd], [], [])[0]:
                return reported  # it failed earlier and gives the reason itself
            reported += os.read(report, 65_536)
        reason = bubblewrap.check(arguments, int(inside[1]), end_fd)
    finally:
        os.close(end_fd)
    if reason:
        limits.end([child.pid])
        child.wait()
        raise OSError(reason)
    os.write(release_fd, b"\n")
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


def _environment_inside(tier: str, policy: Policy, env: dict[str, str]) -> dict[str, str]:
    """Return the environment with a writable folder for temporary files."""
    if not policy.scratch:
        return env
    place = "/tmp" if tier == BUBBLEWRAP else policy.temporary or policy.scratch  # noqa: S108 - the command's private one, in memory
    return {**env, "TMPDIR": place, "XDG_CACHE_HOME": os.path.join(place, ".cache")}


def _with_limits(caps: Caps, argv: list[str], *, own_count: bool, session: bool = False) -> list[str]:
    """Prefix `argv` with a shell that sets the kernel's limits and execs it."""
    most = 4 * caps.processes  # the kernel counts threads
    words = _LIMITS.format(
        cpu=caps.cpu_seconds + _GRACE_SECONDS,
        killed=caps.cpu_seconds + 2 * _GRACE_SECONDS,
        data=caps.memory // 1024,
        blocks=caps.file_size // 512,
        files=caps.open_files,
        processes=f"ulimit -u {most} 2>/dev/null || ulimit -p {most} 2>/dev/null" if own_count else ":",
        session=_SESSION if session else ":",
    )
    return ["/bin/sh", "-c", words, *argv]


def _counts_by_namespace() -> bool:
    """Return whether the kernel counts processes per namespace (5.14 and later) and not per user."""
    release = os.uname().release.split("-")[0].split(".")
    return [int(part) for part in release[:2] if part.isdigit()] >= [5, 14]


def _memory_file(content: bytes) -> int:
    fd = os.memfd_create("lumen-filter", 0)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


# A folder that holds something protected takes no new file under Landlock. The prompt says it in the same words.
LANDLOCK_GAPS = (
    "nothing below .git, so that git commit does not work, and no new file right beside .git or another protected one "
    "(write_file makes it there)"
)


def describe_access(policy: Policy, tier: str = "") -> str:
    """Describe what a command may do, and which requested folders were not granted."""
    network = "" if policy.network else ", and reaches no network"
    if policy.hosts and not policy.network and tier == BUBBLEWRAP:
        network = f", and reaches {', '.join(policy.hosts)} alone, through the proxy in HTTPS_PROXY"
    if not policy.writable:
        return f"it can change no file{network}"
    narrowed = [f"not in {one_line(path, 100)} ({reason})" for path, reason in policy.not_granted]
    gaps = f", but {LANDLOCK_GAPS}" if tier == LANDLOCK and policy.protected else ""
    return "; ".join([f"it can write only in {', '.join(policy.writable)}{gaps}{network}", *narrowed])
