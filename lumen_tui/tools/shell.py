"""shell: plain read-only commands without a shell, or any command for roles that may write."""

from __future__ import annotations

import functools
import os
import subprocess
from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.tools import gitread, process, programs, words
from lumen_tui.tools.base import Context, Tool, ToolError, ToolResult, plural
from lumen_tui.tools.paths import folder, is_below

_KEEP = 200_000  # bytes of output
_NO_NETWORK = ["unshare", "--user", "--map-current-user", "--net", "--"]


class ShellArguments(Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, Meta(min_length=1, description="the command line")]
    cwd: Annotated[str, Meta(description="the folder to run it in; empty: the task's own folder")] = ""
    seconds: Annotated[float, Meta(gt=0, le=600, description="longest time it may take")] = 120.0


def shell(context: Context, arguments: ShellArguments) -> ToolResult:
    cwd = str(folder(context, arguments.cwd or str(context.folder)))
    if paths_of_kernel(cwd):
        raise ToolError("commands are not run inside /proc: name a file there instead")
    env = process.environment(context)
    if context.rules.shell == "any":
        return _run(context, arguments, [_unchecked(context, arguments.command, env)], cwd, env)
    if context.rules.shell == "read":
        commands, cwd = _checked(context, arguments.command, cwd)
        return _run(context, arguments, commands, cwd, {**env, **gitread.environment()})
    raise ToolError("this role has no shell")


def paths_of_kernel(cwd: str) -> bool:
    """Whether a recursive command would read the environment of processes there."""
    return is_below(os.path.realpath(cwd), "/proc")


def _checked(context: Context, command: str, cwd: str) -> tuple[list[list[str]], str]:
    """The pipeline after every part of it was found to be read-only."""
    pipeline = words.split(command, cwd)
    prepared = []
    for number, argv in enumerate(pipeline):
        if argv[0] == "git" and number == 0:
            argv, cwd = gitread.prepare(context, argv, cwd)
        else:
            programs.check(context, argv, cwd)
        prepared.append(argv)
    return prepared, cwd


def _unchecked(context: Context, command: str, env: dict[str, str]) -> list[str]:
    if "\0" in command:
        raise ToolError("the command holds a NUL character")
    argv = ["/bin/sh", "-c", command]
    if context.rules.network:
        return argv
    if not _can_cut_network(env["PATH"]):
        raise ToolError(
            "this task may not use the network, and this system cannot take it away from a command (no unprivileged "
            "`unshare --net`): give the role network = true, or shell = read"
        )
    return [*_NO_NETWORK, *argv]


@functools.cache
def _can_cut_network(path: str) -> bool:
    try:
        tried = subprocess.run(
            [*_NO_NETWORK, "true"], env={"PATH": path}, stdin=subprocess.DEVNULL, capture_output=True, timeout=10,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


def _run(
    context: Context, arguments: ShellArguments, commands: list[list[str]], cwd: str, env: dict[str, str]
) -> ToolResult:
    ran = process.run(context, commands, cwd, {**env, "PWD": cwd}, seconds=arguments.seconds, keep=_KEEP)
    text = ran.output.decode("utf-8", "replace")
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    notes = _notes(ran, arguments.seconds)
    good = ran.exit_code == 0 and not ran.timed_out and not ran.too_much
    return ToolResult(
        text + "".join(f"\n[{note}]" for note in notes) or "(no output)", ok=good,
        data={"exit_code": ran.exit_code, "output": text}, truncated=ran.left_out,
        summary=plural(lines, "line") if good else (notes or ["failed"])[0],
    )  # fmt: skip


def _notes(ran: process.Ran, seconds: float) -> list[str]:
    found = []
    if ran.left_out:
        found.append(f"output cut: {ran.left_out:,} bytes left out")
    if ran.too_much:
        found.append("ended: it wrote far more than is kept")
    elif ran.timed_out:
        found.append(f"ended after {seconds:g} seconds")
    elif ran.exit_code:
        found.append(f"exit code {ran.exit_code}")
    return found


def describe(arguments: ShellArguments) -> str:
    where = f" (in {os.path.basename(arguments.cwd.rstrip('/')) or '/'})" if arguments.cwd else ""
    return arguments.command + where


SHELL = Tool(
    "shell",
    "Run a command and get its output and exit code. Roles that only read get plain commands with pipes (ls, cat, "
    "head, tail, wc, du, df, stat, sort, uniq, cut, grep, find, ps, git log/show/diff/status/blame and others): no "
    "redirection, no lists, no substitution, nothing that writes.",
    ShellArguments, shell, describe,
)  # fmt: skip
