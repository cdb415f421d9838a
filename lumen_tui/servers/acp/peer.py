"""The client as what answers it has it: updates to it, and questions to its user that are answered some time later."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

import msgspec
from msgspec import Struct

from lumen_tui.model import ids
from lumen_tui.servers.acp.shapes import AgentChunk, CancelRequest, SessionUpdate, TextContent, Update
from lumen_tui.tools.mcp.messages import Message


class ClientRequest:
    """A question to the client. `answer` is its whole message, None as long as there is none."""

    def __init__(self, request_id: int) -> None:
        self.id = request_id
        self.answer: Message | None = None

    def result(self, kind: type[Struct]) -> Struct | None:
        """Return the result where it is one of this kind; None where it is an error or something else."""
        try:
            return msgspec.convert((self.answer or {}).get("result"), kind)
        except msgspec.ValidationError:
            return None


class Peer:
    """One client. Safe for use by several threads."""

    def __init__(self, send: Callable[[object], None], *, takes_forms: bool) -> None:
        self._send = send
        self.takes_forms = takes_forms  # whether it can put a form before its user
        self._numbers = itertools.count(1)
        self._turn = threading.Lock()
        self._open: dict[int, ClientRequest] = {}

    def update(self, session_id: str, update: Update) -> None:
        """Tell of something in a session."""
        self._notify("session/update", SessionUpdate(session_id=session_id, update=update))

    def say(self, session_id: str, text: str) -> None:
        """Say what is no part of a task."""
        words = AgentChunk(content=TextContent(text=text), message_id=ids.new_id("msg"))
        self.update(session_id, words)

    def ask(self, method: str, params: Struct) -> ClientRequest:
        """Send a question; its answer comes when the client's user has given it, or never."""
        with self._turn:
            request = ClientRequest(next(self._numbers))
            self._open[request.id] = request
        self._send({"jsonrpc": "2.0", "id": request.id, "method": method, "params": params})
        return request

    def answered(self, message: Message) -> None:
        """Take an answer. One to what is not asked, not any more, or for the second time, counts for nothing."""
        request_id = message.get("id")
        with self._turn:
            request = self._open.pop(request_id, None) if type(request_id) is int else None
            if request is not None:
                request.answer = message

    def withdraw(self, request: ClientRequest) -> None:
        """Take a question back: whatever is answered from now on counts for nothing."""
        with self._turn:
            was_open = self._open.pop(request.id, None) is not None
        if was_open:
            self._notify("$/cancel_request", CancelRequest(request_id=request.id))

    def _notify(self, method: str, params: Struct) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})
