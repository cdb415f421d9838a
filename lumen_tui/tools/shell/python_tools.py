"""Runs a Python tool of the operator's own: in a process of its own, in the sandbox, from the accepted text."""

from __future__ import annotations

import os
import sys

from lumen_tui.model.roles import PythonTool
from lumen_tui.tools.base import Context, ToolResult, plural
from lumen_tui.tools.shell import process, python_tool_main
from lumen_tui.tools.shell.error_log import ErrorLog
from lumen_tui.tools.shell.tool import command_output

_KEEP = 200_000  # bytes of a result


def run(context: Context, tool: PythonTool, arguments: str, cwd: str) -> ToolResult:
    """Call it with its arguments as JSON. What it prints, and tracebacks, go to a log in the task's folder."""
    source = os.memfd_create("lumen-tool", os.MFD_CLOEXEC)
    log = ErrorLog(context.folder, tool.name, context.redact)
    try:
        os.write(source, tool.source.encode("utf-8", "surrogateescape"))
        os.lseek(source, 0, os.SEEK_SET)
        result = process.run(
            context,
            [sys.executable, "-I", os.path.abspath(python_tool_main.__file__), tool.file, tool.name, arguments],
            cwd,
            process.environment(context),
            seconds=tool.timeout_seconds,
            keep=_KEEP,
            trusted=not tool.writes,
            streams=process.Streams(source, log.fd),
        )
    finally:
        os.close(source)
        log.close()
    if result.exit_code == python_tool_main.FAILED and not result.interrupted:
        error = result.output.decode("utf-8", "replace")
        return ToolResult(f"{error}\n[the whole is in {log.path}]", ok=False, summary="it raised an error")
    if result.exit_code == 0 and not result.interrupted:
        text = result.output.decode("utf-8", "replace")
        lines = plural(text.count("\n") + bool(text), "line")
        return ToolResult(text or "(nothing)", truncated=result.left_out, summary=lines)
    return command_output(result, tool.timeout_seconds)
