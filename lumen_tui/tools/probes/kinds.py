"""The kinds of probes: a file, its hash, text or JSON; a command; git, an address, a port of this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lumen_tui.model.digests import openssl_sha256
from lumen_tui.model.facts import Outcome, Probe, Reading
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, ToolError, size_text
from lumen_tui.tools.files import opening
from lumen_tui.tools.files.paths import folder as resolve_folder
from lumen_tui.tools.files.paths import forbidden, special
from lumen_tui.tools.sandbox.limits import denials

if TYPE_CHECKING:
    from lumen_tui.tools.shell.process import CommandResult

TEXT_LIMIT = 4 * 1024 * 1024  # bytes of a file that is searched
HASH_LIMIT = 256 * 1024 * 1024
_PART = 1024 * 1024
_SHOWN = 200  # characters of a value
_STEP = lazy_re(r"([^.\[\]]+)|\[(\d+)\]")


def look_file(context: Context, probe: Probe) -> Reading:
    """Look whether something is there. A link that leads nowhere is not there."""
    path = _real(context, probe.target)
    state = "exists" if os.path.exists(path) else "absent"
    return compared(probe, state, f"{probe.target} {'is there' if state == 'exists' else 'is not there'}")


def look_hash(context: Context, probe: Probe) -> Reading:
    """Compare the SHA-256 of the content."""
    digest = openssl_sha256()
    for part in _parts(context, probe.target, HASH_LIMIT):
        digest.update(part)
    actual = digest.hexdigest()
    expect = probe.expect.lower().removeprefix("sha256:")
    holds = not expect or (len(expect) >= 12 and actual.startswith(expect))
    return reading(holds, f"sha256 of {probe.target} is {actual[:16]}…", actual)


def look_text(context: Context, probe: Probe) -> Reading:
    """Search a file for words or a pattern; with a group, compare what the group holds."""
    text = content(context, probe.target)
    return searched(probe, text, probe.target)


def searched(probe: Probe, text: str, place: str) -> Reading:
    """Return what a pattern finds in a text, compared with what is expected; without one the words themselves."""
    if not probe.pattern:
        holds = probe.expect in text
        return reading(holds, f"“{one_line(probe.expect, 80)}” is {'' if holds else 'not '}in {place}")
    match = re.search(probe.pattern, text, re.MULTILINE)
    if match is None:
        return reading(False, f"nothing in {place} matches {one_line(probe.pattern, 80)}")
    groups = match.groups()
    value = (groups[0] or "") if groups else match.group()
    return compared(probe, value.strip(), f"{place} says “{one_line(value, 80)}”")


def look_json(context: Context, probe: Probe) -> Reading:
    """Compare the value at a path such as `servers[0].port`; the whole document without one."""
    import json  # 1 ms, of a child that makes few probes

    try:
        value: object = json.loads(content(context, probe.target))
    except (ValueError, RecursionError) as error:
        raise ToolError(f"{one_line(probe.target)} is not JSON: {error}") from error
    for name, index in _STEP.findall(probe.at.lstrip("$.")):
        if index and isinstance(value, list | str) and int(index) < len(value):
            value = value[int(index)]
        elif name and isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return reading(False, f"there is no {probe.at} in {probe.target}")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    known = (text, json.dumps(value, ensure_ascii=False, sort_keys=True), one_line(text, _SHOWN))
    holds = probe.expect in ("", *known)
    return reading(holds, f"{probe.at or 'the value'} in {probe.target} is {one_line(text, 80)}", text)


def content(context: Context, target: str) -> str:
    """Return the text of a file of a size that can be searched."""
    return b"".join(_parts(context, target, TEXT_LIMIT)).decode("utf-8", "replace")


def _parts(context: Context, target: str, limit: int) -> list[bytes]:
    """Return the content. ToolError where it is too much, or changes while it is read."""
    path = _real(context, target)
    try:
        fd = opening.file(path)
    except FileNotFoundError:
        raise Gone(f"{target} is not there") from None
    except OSError as error:
        raise ToolError(f"{one_line(target)} cannot be read: {error.strerror}") from error
    try:
        return _read(fd, target, limit)
    except OSError as error:
        raise ToolError(f"{one_line(target)} cannot be read: {error.strerror}") from error
    finally:
        os.close(fd)


def _read(fd: int, target: str, limit: int) -> list[bytes]:
    before = os.fstat(fd)
    if kind := special(before):
        raise ToolError(f"{one_line(target)} is {kind}; only files are read")
    parts: list[bytes] = []
    size = 0
    while part := os.read(fd, _PART):
        size += len(part)
        if size > limit:
            raise ToolError(f"{one_line(target)} is larger than {size_text(limit)}: not read")
        parts.append(part)
    after = os.fstat(fd)
    if before.st_size and (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise ToolError(f"{one_line(target)} was written while it was read")
    return parts


class Gone(Exception):
    """What a probe looks into is not there: that is a finding."""


def _real(context: Context, target: str) -> str:
    """Return the real path; ToolError where it is out of bounds."""
    path = os.path.expanduser(target)
    if "\0" in path or not os.path.isabs(path):
        raise ToolError(f"{one_line(target)} is not an absolute path")
    real = os.path.realpath(path)
    if refusal := forbidden(context, real):
        raise ToolError(refusal)
    return real


def compared(probe: Probe, actual: str, evidence: str) -> Reading:
    """Compare the actual value with the expected one, of long values the beginning; any fits where none is expected."""
    expected = one_line(probe.expected, _SHOWN)
    return reading(expected in ("", one_line(actual, _SHOWN)), evidence, actual)


def reading(holds: bool, evidence: str, value: str = "") -> Reading:
    """Return the reading of a look that found something out."""
    outcome = Outcome.HOLDS if holds else Outcome.DRIFTED
    return Reading(outcome, one_line(evidence, 300), one_line(value, _SHOWN))


_KEEP = 64 * 1024  # bytes of output
_LISTENS = "0A"  # a state in /proc/net/tcp


def look_output(context: Context, probe: Probe, seconds: float) -> Reading:
    """Compare what a command writes: all of it, or what a pattern finds there."""
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
    """Compare the exit code of a command."""
    result = _run(context, probe.target, seconds)
    output = one_line(result.output.decode("utf-8", "replace"), 100)
    return compared(
        probe, str(result.exit_code), f"`{probe.target}` ended with {result.exit_code}" + (output and f": {output}")
    )


def _run(context: Context, command: str, seconds: float) -> CommandResult:
    """Run a command in a sandbox that lets it change no file and reach no network. ToolError where there is none."""
    from lumen_tui.tools.shell import process  # the sandbox and its network: most probes run no command

    result = process.run(
        context,
        process.for_shell(command),
        context.spec.folder or str(context.folder),
        process.environment(context),
        seconds=seconds,
        keep=_KEEP,
        reading=True,
    )
    if result.timed_out:
        raise ToolError(f"stopped after {seconds:.1f} s")
    if result.interrupted:
        raise ToolError(f"stopped: {result.exceeded or 'it wrote far more than is kept'}")
    if denials(result.output):  # whatever code it ended with: a shell goes on behind a refusal
        output = one_line(result.output.decode("utf-8", "replace"), 150)
        raise ToolError(f"stopped by the sandbox: a probe changes nothing and reaches nobody ({output})")
    return result


def look_git(context: Context, probe: Probe, seconds: float) -> Reading:
    """Compare the revision that a name stands for in a repository."""
    from lumen_tui.tools.shell import git_status

    folder, name = resolve_folder(context, probe.target), probe.at or "HEAD"
    try:
        text = git_status.revision(str(folder), name, environ=context.environ, seconds=seconds)
    except git_status.UnknownRevision as error:
        raise ToolError(f"git: {one_line(str(error), 150)}") from error
    holds = not probe.expect or (len(probe.expect) >= 7 and text.startswith(probe.expect.lower()))
    return reading(holds, f"{name} of {probe.target} is {text[:12]}", text)


def look_http(context: Context, probe: Probe, seconds: float) -> Reading:
    """Compare the status that an allowed host answers with, after redirects. A refused connection is an answer, too."""
    from lumen_tui.tools import web_fetch  # sockets and pages: only where an address is looked at

    try:
        status = web_fetch.status_of(context, web_fetch.FetchArguments(url=probe.target, timeout=max(0.1, seconds)))
    except web_fetch.NotConnected as error:
        if not error.refused:
            raise
        return reading(False, f"{probe.target}: the connection is refused")
    return compared(probe, str(status), f"{probe.target} answers {status}")


def look_port(context: Context, probe: Probe) -> Reading:
    """Look whether something on this machine listens on a TCP port."""
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
