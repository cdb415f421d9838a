"""JSON-RPC as MCP has it: what is sent, what comes back, and what can go wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

import lumen_tui
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.text import one_line
from lumen_tui.model.toolservers import MODERN

Message = dict[str, Any]
MAX_MESSAGE = 16 * 1024 * 1024  # bytes of one message
MAX_TOTAL = 256 * 1024 * 1024  # bytes that a server may send while it is connected
METHOD_NOT_FOUND = -32601
UNSUPPORTED_VERSION = -32022
META = "io.modelcontextprotocol/"  # before the names of the protocol in `_meta`


class ServerFailed(Exception):
    """The server cannot be used as it is now: it hung, ended, flooded or spoke something else. It is let go."""


class JsonRpcError(Exception):
    """The server answered with an error; it goes on."""

    def __init__(self, code: int, text: str, data: object = None) -> None:
        super().__init__(text)
        self.code = code
        self.data = data


class Transport(Protocol):
    """How messages reach a server and come back. Every method raises ServerFailed where that is not possible."""

    version: str  # of the protocol, once it is known
    noise: int  # lines that the server sent and that are no messages

    def send(self, message: Message, seconds: float, headers: Mapping[str, str] | None = None) -> None:
        """Send one message; `headers` go with it where the transport has any."""

    def receive(self, seconds: float) -> Message | None:
        """Return the next message; None where none comes in that time."""

    def close(self, *, failed: bool = False) -> None:
        """Let the server go, at once where it has failed. May be called twice."""


def client_info() -> dict[str, str]:
    """Return how this program calls itself, as a client and as a server."""
    return {"name": "lumen-tui", "version": lumen_tui.__version__}


def with_meta(params: Mapping[str, object]) -> dict[str, object]:
    """Return params with what every request of the stateless protocol says of its client: that it offers nothing."""
    meta = {f"{META}protocolVersion": MODERN, f"{META}clientInfo": client_info(), f"{META}clientCapabilities": {}}
    return {**params, "_meta": meta}


def decoded(line: bytes) -> Message | None:
    """Return a message; None for what is none. ServerFailed for one that is damaged: somebody may wait for it."""
    try:
        message = msgspec.json.decode(line)
    except (*UNDECODABLE, RecursionError) as error:
        if b'"jsonrpc"' in line:
            raise ServerFailed("it sent a message that is no JSON in UTF-8") from error
        return None
    return message if isinstance(message, dict) and message.get("jsonrpc") == "2.0" else None


def result_of(message: Message) -> Message:
    """Return the result in an answer. JsonRpcError where it is an error, ServerFailed where it is neither."""
    error = message.get("error")
    if isinstance(error, dict):
        code = error.get("code")
        text = error.get("message")
        raise JsonRpcError(
            code if isinstance(code, int) else 0,
            text if isinstance(text, str) else "it gave no reason",
            error.get("data"),
        )
    result = message.get("result")
    if not isinstance(result, dict):
        raise ServerFailed(f"it answered with {one_line(str(result), 60)}, which is no result")
    return result
