"""Probes that run or ask something: a command that only reads, git, an address, a port of this machine."""

from __future__ import annotations

from collections.abc import Iterator

from lumen_tui.model.facts import Outcome, Probe, Reading
from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.files.paths import folder as resolve_folder
from lumen_tui.tools.net import web_fetch
from lumen_tui.tools.probes.files import compared, reading, searched
from lumen_tui.tools.sandbox.limits import says_denied
from lumen_tui.tools.shell import git_status, process
from lumen_tui.tools.shell.process import CommandResult

_KEEP = 64 * 1024  # bytes of output
_LISTENS = "0A"  # a state in /proc/net/tcp


def look_output(context: Context, probe: Probe, seconds: float) -> Reading:
    """What a command writes: all of it, or what a pattern finds there."""
    result = _run(context, probe.target, seconds)
    if result.left_out:
        raise ToolError(f"it wrote more than {_KEEP:,} bytes")
    text = result.output.decode("utf-8", "replace").strip()
    if result.exit_code:
        raise ToolError(f"exit code {result.exit_code}: {one_line(text, 150)}")
    if probe.pattern:
        return searched(probe, text, f"`{probe.target}`")
    return compared(probe, one_line(text, 200), f"`{probe.target}` says “{one_line(text, 100)}”")


def look_exit(context: Context, probe: Probe, seconds: float) -> Reading:
    """The exit code of a command."""
    result = _run(context, probe.target, seconds)
    output = one_line(result.output.decode("utf-8", "replace"), 100)
    return compared(
        probe, str(result.exit_code), f"`{probe.target}` ended with {result.exit_code}" + (output and f": {output}")
    )


def _run(context: Context, command: str, seconds: float) -> CommandResult:
    """Run a command in a sandbox that lets it change no file and reach no network. ToolError where there is none."""
    result = process.run(
        context,
        process.for_shell(command),
        str(context.folder),
        process.environment(context),
        seconds=seconds,
        keep=_KEEP,
        reading=True,
    )
    if result.timed_out:
        raise ToolError(f"stopped after {seconds:.1f} s")
    if result.interrupted:
        raise ToolError(f"stopped: {result.exceeded or 'it wrote far more than is kept'}")
    if says_denied(result.output):  # whatever code it ended with: a shell goes on behind a refusal
        output = one_line(result.output.decode("utf-8", "replace"), 150)
        raise ToolError(f"stopped by the sandbox: a probe changes nothing and reaches nobody ({output})")
    return result


def look_git(context: Context, probe: Probe, seconds: float) -> Reading:
    """The revision that a name stands for in a repository."""
    folder, name = resolve_folder(context, probe.target), probe.at or "HEAD"
    try:
        text = git_status.revision(str(folder), name, environ=context.environ, seconds=seconds)
    except git_status.UnknownRevision as error:
        raise ToolError(f"git: {one_line(str(error), 150)}") from error
    holds = not probe.expect or (len(probe.expect) >= 7 and text.startswith(probe.expect.lower()))
    return reading(holds, f"{name} of {probe.target} is {text[:12]}", text)


def look_http(context: Context, probe: Probe, seconds: float) -> Reading:
    """The status that an allowed host answers with, after redirects. A refused connection is an answer too."""
    try:
        status = web_fetch.status_of(context, web_fetch.FetchArguments(url=probe.target, seconds=max(0.1, seconds)))
    except web_fetch.NotConnected as error:
        if not error.refused:
            raise
        return reading(False, f"{probe.target}: the connection is refused")
    return compared(probe, str(status), f"{probe.target} answers {status}")


def look_port(context: Context, probe: Probe) -> Reading:
    """Whether something on this machine listens on a TCP port."""
    number = probe.target.rpartition(":")[2]
    if not number.isascii() or not number.isdigit() or not 0 < int(number) < 65_536:
        raise ToolError(f"{one_line(probe.target)} is not a port: write a number up to 65535")
    state = "open" if int(number) in set(_listening()) else "closed"
    return compared(probe, state, f"port {number} is {state}")


def _listening() -> Iterator[int]:
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{name}", encoding="ascii") as table:
                rows = [row.split() for row in table]
        except OSError:
            continue
        yield from (int(row[1].rpartition(":")[2], 16) for row in rows[1:] if len(row) > 3 and row[3] == _LISTENS)


def failed(reason: str) -> Reading:
    """A look that told nothing: the fact is neither confirmed nor drifted by it."""
    return Reading(Outcome.FAILED, one_line(reason, 300))
