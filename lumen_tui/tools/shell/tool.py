"""shell: plain read-only commands without a shell, or any command for roles that may write."""

from __future__ import annotations

import os
import re
from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.tools.base import Context, Tool, ToolError, ToolResult, plural
from lumen_tui.tools.files.below import is_below
from lumen_tui.tools.files.paths import folder
from lumen_tui.tools.sandbox.limits import hints
from lumen_tui.tools.sandbox.paths import ready_workspace
from lumen_tui.tools.shell import git_read, lexer, process, programs

BLANKS = " \t\n"  # all that a shell passes over at both ends of a command
_KEEP = 200_000  # bytes of output
_KILLED = ": killed, by itself or because the machine ran out of memory"
_WALL = re.compile(rb"Read-only file system|Permission denied|Operation not permitted|not permitted", re.IGNORECASE)


class ShellArguments(Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, Meta(min_length=1, description="the command line")]
    cwd: Annotated[str, Meta(description="the folder to run it in; empty: the task's own folder")] = ""
    seconds: Annotated[float, Meta(gt=0, le=600, description="longest time it may take")] = 120.0


def shell(context: Context, arguments: ShellArguments) -> ToolResult:
    cwd = str(folder(context, arguments.cwd or home(context)))
    if paths_of_kernel(cwd):
        raise ToolError("commands are not run inside /proc: name a file there instead")
    env = process.environment(context)
    if context.rules.shell == "any":
        return _run(context, arguments, [unchecked(arguments.command)], cwd, env)
    if context.rules.shell == "read":
        commands, cwd = checked(context, arguments.command, cwd)
        return _run(context, arguments, commands, cwd, {**env, **git_read.environment()}, checked=True)
    raise ToolError("this role has no shell")


def home(context: Context) -> str:
    """Return the default folder of a command: the task's files where it may write, else the task's folder."""
    return ready_workspace(context) if context.rules.write else str(context.folder)


def paths_of_kernel(cwd: str) -> bool:
    """Return whether a folder is in /proc, where a recursive command would read the environment of processes."""
    return is_below(os.path.realpath(cwd), "/proc")


def checked(context: Context, command: str, cwd: str) -> tuple[list[list[str]], str]:
    """Return the pipeline and its folder if every part is read-only. Else ToolError."""
    pipeline = lexer.split(command, cwd)
    prepared = []
    for number, argv in enumerate(pipeline):
        if argv[0] == "git" and number == 0:
            argv, cwd = git_read.prepare(context, argv, cwd)
        else:
            programs.check(context, argv, cwd)
            argv = programs.sparing(argv, cwd)
        prepared.append(argv)
    return prepared, cwd


def unchecked(command: str) -> list[str]:
    """Return the argument list for an arbitrary command line."""
    if "\0" in command:
        raise ToolError("the command holds a NUL character")
    return ["/bin/sh", "-c", command]


def _run(
    context: Context,
    arguments: ShellArguments,
    commands: list[list[str]],
    cwd: str,
    env: dict[str, str],
    *,
    checked: bool = False,
) -> ToolResult:
    result = process.run(
        context, commands, cwd, {**env, "PWD": cwd}, seconds=arguments.seconds, keep=_KEEP, checked=checked
    )
    text = result.output.decode("utf-8", "replace")
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    remarks = notes(result, arguments.seconds)
    succeeded = result.exit_code == 0 and not result.timed_out and not result.too_much_output and not result.exceeded
    return ToolResult(
        text + "".join(f"\n[{note}]" for note in remarks) or "(no output)",
        ok=succeeded,
        data={"exit_code": result.exit_code, "output": text},
        truncated=result.left_out,
        summary=plural(lines, "line") if succeeded else (remarks or ["failed"])[0],
    )


def notes(result: process.CommandResult, seconds: float) -> list[str]:
    """Return remarks on how a command ended."""
    remarks = []
    if result.exceeded:
        remarks.append(f"ended: {result.exceeded}")
    elif result.too_much_output:
        remarks.append("ended: it wrote far more than is kept")
    elif result.timed_out:
        remarks.append(f"ended after {seconds:g} seconds")
    elif result.exit_code:
        remarks.append(f"exit code {result.exit_code}{_KILLED if result.exit_code in (-9, 137) else ''}")
        remarks += [f"limit: {hint}" for hint in hints(result.output, result.caps)]
        if result.tier not in ("", "ask") and _WALL.search(result.output):
            remarks.append(f"sandbox {result.tier}: it can write only in {result.writable}")
    if result.left_out:
        remarks.append(f"output cut: {result.left_out:,} bytes left out")
    return remarks


def describe(arguments: ShellArguments) -> str:
    place = f" (in {os.path.basename(arguments.cwd.rstrip('/')) or '/'})" if arguments.cwd else ""
    return lines_shown(arguments.command) + place


def lines_shown(command: str) -> str:
    """Return a command on one line, with its line breaks visible."""
    return command.strip(BLANKS).replace("\n", " ⏎ ")


SHELL = Tool(
    "shell",
    "Run a command and get its output and exit code. Roles that only read get plain commands with pipes (ls, cat, "
    "head, tail, wc, du, df, stat, sort, uniq, cut, grep, find, ps, git log/show/diff/status/blame and others): no "
    "redirection, no lists, no substitution, nothing that writes.",
    ShellArguments,
    shell,
    describe,
    target=lambda context, arguments: arguments.command.strip(BLANKS),
    folder=lambda arguments: arguments.cwd,
    risk="It runs a command that may change files.",
)
