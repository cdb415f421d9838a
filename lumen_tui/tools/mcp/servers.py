"""The MCP servers of one task: started when first called, held to what was accepted, ended with the task."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from lumen_tui.model.roles import REQUEST_HOST
from lumen_tui.model.text import one_line
from lumen_tui.model.times import iso
from lumen_tui.model.toolservers import ServerTools, ToolDefinition, ToolServer, differences, full_name, in_words
from lumen_tui.store.settings import toolservers as records
from lumen_tui.tools.base import Context, Stopped, TaskRules, ToolError, ToolResult
from lumen_tui.tools.mcp.client import McpClient
from lumen_tui.tools.mcp.http import HttpTransport, parameter_headers
from lumen_tui.tools.mcp.messages import JsonRpcError, Message, ServerFailed, Transport
from lumen_tui.tools.mcp.results import tool_result
from lumen_tui.tools.mcp.stdio import StdioTransport
from lumen_tui.tools.policy.fence import MASK
from lumen_tui.tools.sandbox import protected_paths
from lumen_tui.tools.sandbox.admission import admit
from lumen_tui.tools.shell import process
from lumen_tui.tools.shell.error_log import ErrorLog
from lumen_tui.tools.shell.tool import home

_MOST_STARTS = 3  # of one server in a task
_MAX_ARGUMENTS = 1024 * 1024  # bytes of one call


class TaskServers:
    """The servers that a task may use, by name, and those that run."""

    def __init__(self, servers: Mapping[str, ToolServer], accepted: Mapping[str, ServerTools]) -> None:
        self._servers = servers
        self._accepted = accepted
        self._running: dict[str, RunningServer] = {}
        self._starts: dict[str, int] = {}
        self._reported: dict[str, str] = {}

    def call(self, context: Context, server: str, tool: ToolDefinition, arguments: Mapping[str, object]) -> ToolResult:
        """Call one tool. ToolError where it cannot be called, or the server fails meanwhile."""
        settings = self._servers[server]
        if settings.writes and not context.rules.write:
            raise ToolError("it may change something, and this task may not")
        if settings.url and context.rules.offline:
            raise ToolError("it is reached over the network, and this task may not use it")
        if (size := len(msgspec.json.encode(arguments))) > _MAX_ARGUMENTS:
            raise ToolError(f"arguments of {size:,} bytes are too many: {_MAX_ARGUMENTS:,} at most")
        connected = self._connected(context, server)
        if state := connected.changed.get(tool.name):
            raise ToolError(f"{full_name(server, tool.name)} {_STATES[state]}; nothing was called")
        if settings.writes:
            context.begins(full_name(server, tool.name))
        context.memo.web.add(f"mcp:{server}")
        try:
            return tool_result(context, connected.call(context, tool, arguments, settings.timeout_seconds))
        except JsonRpcError as error:
            raise ToolError(f"{server} refuses: {connected.masked(one_line(str(error), 1000))}") from error
        except ServerFailed as error:
            self._drop(context, server)
            raise ToolError(
                f"{server} failed during the call: {connected.masked(one_line(str(error), 500))}. "
                f"What it was to do may have been done or not. {self._next(server)}"
            ) from error
        except Stopped:
            self._drop(context, server)
            raise

    def _next(self, server: str) -> str:
        left = _MOST_STARTS - self._starts.get(server, 0)
        return "The next call starts it again" if left > 0 else "It is not started again in this task"

    def _connected(self, context: Context, name: str) -> RunningServer:
        """Return the running server, started where it is not, with its tools compared to what was accepted."""
        running = self._running.get(name)
        try:
            if running is None:
                running = self._start(context, name)
            elif running.client.tools_outdated:
                running.refresh_tools(context, self._servers[name].start_seconds)
            else:
                return running
        except ServerFailed as error:
            self._drop(context, name)
            said = running.masked(str(error)) if running else str(error)
            raise ToolError(f"{name} cannot be used: {one_line(said, 500)}. {self._next(name)}") from error
        except BaseException:
            self._drop(context, name)
            raise
        self._report(context, name, running)
        return running

    def _start(self, context: Context, name: str) -> RunningServer:
        if self._starts.get(name, 0) >= _MOST_STARTS:
            raise ToolError(f"{name} was started {_MOST_STARTS} times in this task and failed: go on without it")
        self._starts[name] = self._starts.get(name, 0) + 1
        running = RunningServer(context, name, self._servers[name], self._accepted[name])
        self._running[name] = running
        running.connect(context)
        return running

    def _report(self, context: Context, name: str, running: RunningServer) -> None:
        """Report, once, that a server declares something else than was accepted."""
        words = in_words(running.changed)
        if words and self._reported.get(name) != words:
            context.progress(f"the tools of {name} are not what was accepted ({words}): `lumen-tui tool show {name}`")
        self._reported[name] = words

    def _drop(self, context: Context, name: str) -> None:
        running = self._running.pop(name, None)
        if running is not None:
            running.close(context, failed=True)

    def close(self, context: Context) -> None:
        """End all that run."""
        while self._running:
            self._running.popitem()[1].close(context)


_STATES = {
    "changed": "is not declared by its server as it was accepted: a person has to accept it again",
    "gone": "is no longer declared by its server",
}


class RunningServer:
    """One server and the client that speaks to it. ServerFailed where it cannot be used."""

    def __init__(self, context: Context, name: str, settings: ToolServer, accepted: ServerTools | None) -> None:
        self.name = name
        self.settings = settings
        self.changed: dict[str, str] = {}  # by tool: how it differs from what was accepted
        self.seen = ServerTools(name)
        self._accepted = accepted
        self._secrets = [context.environ[variable] for variable in _passed_on(settings) if variable in context.environ]
        self._transport = _transport(context, name, settings)
        self.client = McpClient(self._transport, context.monotonic, context.check, _noting(context, name))

    def connect(self, context: Context) -> None:
        """Agree on a protocol and ask for its tools."""
        self.client.connect(self.settings.protocol, self.settings.start_seconds)
        self.refresh_tools(context, self.settings.start_seconds)

    def refresh_tools(self, context: Context, seconds: float) -> None:
        """Ask for its tools and keep what it declares."""
        tools = self.client.list_tools(seconds)
        self.seen = ServerTools(self.name, self.client.protocol, self.client.title, tools, iso(context.now()))
        self.changed = {
            name: state for name, state in differences(self._accepted, self.seen).items() if self._accepted is not None
        }
        with context.guard():
            records.keep_seen(context.store.layout, self.seen)

    def call(self, context: Context, tool: ToolDefinition, arguments: Mapping[str, object], seconds: float) -> Message:
        """Call a tool; the values of its secrets are masked in what comes back."""
        self.client.check = context.check
        headers = parameter_headers(tool.schema, arguments) if self.settings.url else None
        result = self.client.call_tool(tool.name, arguments, seconds, headers)
        if not self._secrets:
            return result
        masked: Message = _masked(result, self.masked)
        return masked

    def masked(self, text: str) -> str:
        """Return a text without the values that were passed on to the server."""
        for value in self._secrets:
            text = text.replace(value, MASK) if len(value) > 3 else text
        return text

    def close(self, context: Context, *, failed: bool = False) -> None:
        """End it, and look at what it left where other programs would run it."""
        with context.guard():
            self.client.close(failed=failed)
            if isinstance(self._transport, StdioTransport):
                protected_paths.report(context, self._transport.quarantined)
                protected_paths.check_afterwards(context)


def _masked(value: object, mask: Callable[[str], str]) -> Message:
    from lumen_tui.model.secrets.redaction import redact_value

    found: Message = redact_value(value, mask)
    return found


def _noting(context: Context, name: str) -> Callable[[str], None]:
    return lambda text: context.progress(f"the MCP server {name} {text}")


def _passed_on(settings: ToolServer) -> tuple[str, ...]:
    return (*settings.env, *((settings.token_env,) if settings.token_env else ()))


def _transport(context: Context, name: str, settings: ToolServer) -> Transport:
    missing = [variable for variable in _passed_on(settings) if not context.environ.get(variable)]
    if missing:
        raise ToolError(f"{name} needs {missing[0]} in the environment of the engine, and it is not set")
    if settings.url:
        token = context.environ[settings.token_env] if settings.token_env else ""
        return HttpTransport(settings.url, token)
    narrowed = msgspec.structs.replace(context, rules=_narrowed(context.rules, settings))
    return _started(narrowed, name, settings)


def _narrowed(rules: TaskRules, settings: ToolServer) -> TaskRules:
    """Return the rights of the task without those that the server has no use for; the proxy is for commands alone."""
    return msgspec.structs.replace(
        rules,
        tools=rules.tools - {REQUEST_HOST},
        write=rules.write and settings.writes,
        network=rules.network and settings.network,
        command_hosts=(),
    )


def _started(context: Context, name: str, settings: ToolServer) -> StdioTransport:
    argv = [os.path.expanduser(settings.command[0]), *settings.command[1:]]
    env = process.environment(context)
    if shutil.which(argv[0], path=env["PATH"]) is None:
        raise ServerFailed(f"{one_line(argv[0], 200)} was not found: install it, or name it with its whole path")
    cwd = home(context)
    admission = admit(context, process.command_line(argv), cwd, trusted=not settings.writes)
    env |= {"PWD": cwd} | {variable: context.environ[variable] for variable in settings.env}
    log = ErrorLog(Path(context.folder), name, context.redact)
    try:
        with context.guard():
            return StdioTransport(admission, argv, cwd, env, log, context.memo.network)
    except BaseException:
        log.close()
        raise
