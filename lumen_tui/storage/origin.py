"""Whose process this is: the operator's own room or command line, or one that an agent started.

An order of the operator is one that comes from a process of the first kind. Names and options prove nothing, so none
is asked: what counts is what a process cannot take off itself. A sandbox stays on for good (no_new_privs, unless the
whole container has it), ancestors are told by the kernel, and who sits at a terminal has a controlling one. Where
something cannot be seen the answer is no. It cannot be held against a program of the same user outside of every
sandbox, which can write the state folder.

On the path of the hot verbs: it imports nothing but `os`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WORKER = "LUMEN_WORKER"  # set in whatever a worker starts
# Variables that programs of agents set in what they start.
MARKS = (
    WORKER, "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE", "GOOSE_TERMINAL", "CLINE_ACTIVE", "AUGMENT_AGENT",
    "AI_AGENT", "AGENT",
)  # fmt: skip
PROGRAMS = frozenset({
    "claude", "codex", "gemini", "cursor-agent", "opencode", "goose", "aider", "cline", "amp", "crush", "lumen-worker",
    "lumen-zygote",
})  # fmt: skip
_SANDBOXES = frozenset({"bwrap", "firejail", "minijail0", "nsjail"})  # the first process in what they make
_WORKERS = b"lumen_tui.worker"  # in the command line of workers and of the process that forks them
TOKEN = "LUMEN_TOKEN"  # noqa: S105 - a name: of a one-time token, with which a command without a terminal is the operator's
_SESSION = "LUMEN_SESSION"  # an agent's session of work
_DEEPEST = 64  # ancestors
_BYTES = 1 << 20


def operator_name(environ: Mapping[str, str]) -> str:
    """Return the operator's name: `$LUMEN_OPERATOR`, else the login name."""
    for name in ("LUMEN_OPERATOR", "LOGNAME", "USER", "LNAME", "USERNAME"):
        if value := environ.get(name, "").strip():
            return value
    try:
        import pwd

        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "operator"


def agent_evidence(environ: Mapping[str, str]) -> str:
    """Return what shows that an agent started this process, in a few words; empty where nothing does."""
    if name := next((name for name in MARKS if environ.get(name)), ""):
        return f"{name} is set"
    top, top_name = os.getpid(), ""
    for pid, name, _ in _lineage():
        if pid == 0:
            return "not all of its ancestors can be seen"
        if name in PROGRAMS or _WORKERS in _read(f"/proc/{pid}/cmdline"):
            return f"it was started below {name}"
        if mark := _mark_of(_read(f"/proc/{pid}/environ")):
            return f"{mark} is set in an ancestor"
        top, top_name = pid, name
    if _no_new_privs("self") and not (_no_new_privs(top) and top_name not in _SANDBOXES):
        return "it runs in a sandbox"
    return ""


def below_worker(environ: Mapping[str, str]) -> bool:
    """Return whether one of our own workers started this process; also where its ancestors cannot be seen."""
    if environ.get(WORKER):
        return True
    for pid, _, _ in _lineage():
        held = _read(f"/proc/{pid}/environ")
        if pid == 0 or _WORKERS in _read(f"/proc/{pid}/cmdline") or f"\0{WORKER}=".encode() in b"\0" + held:
            return True
    return False


def no_operator(environ: Mapping[str, str]) -> str:
    """Return why what this process asks for is no order of the operator; empty where it is one."""
    if evidence := agent_evidence(environ):
        return evidence
    if environ.get(_SESSION):
        return f"it belongs to the session of an agent ({_SESSION} is set)"
    own = next(_lineage(), (0, "", 0))
    return "" if own[2] else "it has no terminal"


def _lineage() -> Iterator[tuple[int, str, int]]:
    """Yield pid, name and terminal of this process and its ancestors; pid 0 for one that cannot be seen."""
    pid = os.getpid()
    for _ in range(_DEEPEST):
        head, _, after_name = _read(f"/proc/{pid}/stat").rpartition(b")")
        fields = after_name.split()
        if len(fields) < 5:
            yield 0, "", 0
            return
        yield pid, head.partition(b"(")[2].decode(errors="replace"), int(fields[4])
        pid = int(fields[1])
        if pid <= 1:
            return
    yield 0, "", 0


def _mark_of(environment: bytes) -> str:
    names = {entry.partition(b"=")[0] for entry in environment.split(b"\0") if entry.partition(b"=")[2]}
    return next((name for name in MARKS if name.encode() in names), "")


def _no_new_privs(pid: int | str) -> bool:
    """Return whether a process can gain no rights: a sandbox has set it, or a container for all that is in it."""
    return b"\nNoNewPrivs:\t0\n" not in _read(f"/proc/{pid}/status")


def _read(path: str) -> bytes:
    """Return a file of /proc; empty where it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts: list[bytes] = []
        while (part := os.read(fd, 65_536)) and len(parts) * 4096 < _BYTES:
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)
