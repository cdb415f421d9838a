"""shell: one command line in the sandbox, which changes no file and reaches no network in roles that only read."""

from __future__ import annotations

import os
from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult, plural
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tools.files.paths import folder
from lumen_tui.tools.sandbox.limits import denials, hints
from lumen_tui.tools.sandbox.policy import ready_workspace
from lumen_tui.tools.sandbox.sandboxed_command import ASK
from lumen_tui.tools.shell import process

BLANKS = " \t\n"  # all that a shell passes over at both ends of a command
_KEEP = 200_000  # bytes of output
_KILLED = ": killed, by itself or because the machine ran out of memory"


class ShellArguments(Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, Meta(min_length=1, description="the command line")]
    cwd: Annotated[str, Meta(description="the folder to run it in; empty: the task's own folder")] = ""
    timeout: Annotated[
        float,
        Meta(gt=0, le=600, description="seconds after which it is ended, 600 at most; shell_start has no such limit"),
    ] = 120.0


def shell(context: Context, arguments: ShellArguments) -> ToolResult:
    if context.rules.shell not in ("read", "any"):
        raise ToolError("this role has no shell")
    cwd = str(folder(context, arguments.cwd or home(context)))
    if paths_of_kernel(cwd):
        raise ToolError("commands are not run inside /proc: name a file there instead")
    result = process.run(
        context,
        process.for_shell(arguments.command),
        cwd,
        process.environment(context),
        seconds=arguments.timeout,
        keep=_KEEP,
        reading=context.rules.shell == "read",
    )
    return command_output(result, arguments.timeout)


def home(context: Context) -> str:
    """Return the default folder of a command: the task's files where it may write, else the task's folder."""
    return ready_workspace(context) if context.rules.write else str(context.folder)


def paths_of_kernel(cwd: str) -> bool:
    """Return whether a folder is in /proc, where a recursive command would read the environment of processes."""
    return is_below(os.path.realpath(cwd), "/proc")


def command_output(result: process.CommandResult, seconds: float) -> ToolResult:
    """Return what a command wrote, with remarks on how it ended; `seconds` is how long it was allowed to take."""
    text = result.output.decode("utf-8", "replace")
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    remarks = _remarks(result, seconds)
    succeeded = result.exit_code == 0 and not result.interrupted
    return ToolResult(
        text + "".join(f"\n[{remark}]" for remark in remarks) or "(no output)",
        ok=succeeded,
        data={"exit_code": result.exit_code, "output": text},
        truncated=result.left_out,
        summary=plural(lines, "line") if succeeded else (remarks or ["failed"])[0],
    )


def _remarks(result: process.CommandResult, seconds: float) -> list[str]:
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
        if result.tier not in ("", ASK) and denials(result.output):
            remarks.append(f"sandbox {result.tier}: {result.access}")
    remarks += [f"network: {refusal}" for refusal in result.refused]
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
    "Run one command line with /bin/sh and wait for its end. Use it for programs, tests, builds and git; to "
    "read, search and change files use the file tools, and for what runs on use shell_start. You get what it wrote "
    "to stdout and stderr, 200,000 bytes at most, and the exit code where it is not 0. Neither cd nor variables "
    'last until the next call: name cwd, or join commands with &&. What it may change and reach is under "Where you '
    'are".',
    ShellArguments,
    shell,
    describe,
    target=lambda context, arguments: arguments.command.strip(BLANKS),
    folder=lambda arguments: arguments.cwd,
    risk="It runs a command that may change files.",
    effect=Effect.OWN,
)
