"""Lines of JSON to and from a program through pipes that never block both sides, and the MCP server over them."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections import deque
from collections.abc import Iterable
from typing import Any

from lumen_tui import __version__
from lumen_tui.model.jsontext import table_of
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import JsonObject, ProviderError, Reply
from lumen_tui.providers.claude_code.program import SERVER

_PART = 1 << 16
_LONGEST = 64 * 1024 * 1024  # bytes of one line; the longest honest one is a large file that is written
_ERRORS = 4_000  # last bytes of what it says on standard error


class PipeClosed(Exception):
    """The program has closed its output: it has ended, or is about to."""


class Silence(ProviderError):
    """The program wrote nothing for so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Claude Code was silent for {seconds:g} seconds and was ended: try again")
        self.seconds = seconds


class JsonLinesPipe:
    """Speaks with one program. Not for several threads."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        if not (child.stdin and child.stdout and child.stderr):
            raise ValueError("its three streams must be pipes")
        self._in, self._out, self._err = child.stdin.fileno(), child.stdout.fileno(), child.stderr.fileno()
        for fd in (self._in, self._out, self._err):
            os.set_blocking(fd, False)
        self._reads = [self._out, self._err]
        self._rest = bytearray()
        self._lines: deque[bytes] = deque()
        self._said = b""

    @property
    def errors(self) -> str:
        """The end of what it said on standard error, on one line."""
        return one_line(self._said.decode("utf-8", "replace"), 300)

    def send(self, message: JsonObject) -> None:
        """Write one message; what comes meanwhile is kept. A program that does not read any more is no error here."""
        unsent = memoryview(json.dumps(message).encode() + b"\n")
        while unsent:
            readable, writable, _ = select.select(self._reads, [self._in], [])
            self._read(readable)
            if not writable:
                continue
            try:
                unsent = unsent[os.write(self._in, unsent) :]
            except BlockingIOError:
                continue
            except OSError:
                return  # the next `receive` says how it ended

    def offer(self, message: JsonObject) -> None:
        """Write one message as far as that goes without waiting."""
        try:
            os.write(self._in, json.dumps(message).encode() + b"\n")
        except (OSError, ValueError):
            pass  # it does not read, or has ended

    def receive(self, seconds: float) -> JsonObject:
        """Return the next message. PipeClosed at the end; Silence after so many seconds without a byte."""
        while True:
            while self._lines:
                if message := _message(self._lines.popleft()):
                    return message
            if self._out not in self._reads:
                raise PipeClosed
            readable = select.select(self._reads, [], [], seconds)[0]
            if not readable:
                raise Silence(seconds)
            self._read(readable)

    def _read(self, readable: list[int]) -> None:
        for fd in readable:
            try:
                part = os.read(fd, _PART)
            except BlockingIOError:
                continue
            if not part:
                self._reads.remove(fd)
            elif fd == self._err:
                self._said = (self._said + part)[-_ERRORS:]
            else:
                self._take(part)

    def _take(self, part: bytes) -> None:
        self._rest += part
        if b"\n" in part:
            *lines, tail = bytes(self._rest).split(b"\n")
            self._lines.extend(lines)
            self._rest = bytearray(tail)
        if len(self._rest) > _LONGEST:
            raise ProviderError(f"Claude Code wrote a line of more than {_LONGEST:,} bytes and was ended")


def _message(line: bytes) -> JsonObject | None:
    """Return the message in a line; None for anything else: programs print other things as well."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def answered(question: JsonObject, answer: JsonObject) -> JsonObject:
    """Return the message that answers one of its questions."""
    return _response(question, subtype="success", response=answer)


def refused(question: JsonObject, reason: str) -> JsonObject:
    """Return the message that says why a question has no answer."""
    return _response(question, subtype="error", error=reason)


def _response(question: JsonObject, **body: object) -> JsonObject:
    return {"type": "control_response", "response": {"request_id": question.get("request_id"), **body}}


CALL = "tools/call"


def tool_name(claude_name: str) -> str:
    """Return our name of one of our tools as Claude Code names it; empty for a tool that is not ours."""
    start = f"mcp__{SERVER}__"
    return claude_name.removeprefix(start) if claude_name.startswith(start) else ""


def answer(message: JsonObject, tools: Iterable[Any]) -> JsonObject:
    """Return the answer to everything but a call."""
    method, params = message.get("method"), message.get("params")
    if method == "initialize":
        protocol = params.get("protocolVersion") if isinstance(params, dict) else None
        server_info = {"name": SERVER, "version": __version__}
        result: JsonObject = {"protocolVersion": protocol, "capabilities": {"tools": {}}, "serverInfo": server_info}
        return _wrapped(message, result=result)
    if method == "tools/list":
        return _wrapped(message, result={"tools": [_declared(tool) for tool in tools]})
    if method == "ping" or str(method).startswith("notifications/"):
        return _wrapped(message, result={})
    return _wrapped(message, error={"code": -32601, "message": f"there is no method {method}"})


def named(message: JsonObject) -> str:
    """Return the id that a call has in the model's answer; empty where the program does not tell it."""
    return str(table_of(table_of(message, "params"), "_meta").get("claudecode/toolUseId") or "")


def called(message: JsonObject) -> tuple[str, JsonObject]:
    """Return the tool that a call names, and its arguments."""
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    arguments = params.get("arguments")
    return str(params.get("name")), arguments if isinstance(arguments, dict) else {}


def result(message: JsonObject, reply: Reply) -> JsonObject:
    """Return the answer to a call."""
    return _wrapped(message, result={"content": [{"type": "text", "text": reply.text}], "isError": not reply.ok})


def version(message: JsonObject) -> str:
    """Return the version of the program, which it tells when it says hello; empty in every other message."""
    params = message.get("params") if message.get("method") == "initialize" else None
    client = params.get("clientInfo") if isinstance(params, dict) else None
    return str(client.get("version") or "") if isinstance(client, dict) else ""


def _declared(tool: Any) -> JsonObject:
    # Without the mark it may show tools by name only and let the model look for them first.
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.schema,
        "_meta": {"anthropic/alwaysLoad": True},
    }


def _wrapped(message: JsonObject, **body: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": message.get("id"), **body}
