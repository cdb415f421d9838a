"""The ACP server on its own pipes. An editor starts it for each window, so its first answer loads next to nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lumen_tui.model.access import Principal
from lumen_tui.servers.jsonrpc import (
    INVALID_REQUEST,
    IncomingCall,
    JsonRpcServer,
    Result,
    answer_of,
    error_of,
    invalid,
    own_pipes,
)
from lumen_tui.tools.mcp.messages import JsonRpcError, Message, client_info

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lumen_tui.servers.acp.sessions import Sessions

_VERSION = 1
_CANCELLED = -32800
_PROMPT = "session/prompt"
_CLOSE = "session/close"
_LONG = frozenset({_PROMPT, "session/load"})


class AcpServer(JsonRpcServer):
    """One client. `principal` makes one of its name."""

    name = "acp"

    def __init__(self, root: Path, principal: Callable[[str], Principal], source: int, sink: int) -> None:
        super().__init__(source, sink)
        self._root = root
        self._principal = principal
        self._who: Principal | None = None  # once `initialize` has come
        self._takes_forms = False
        self._prompts: dict[object, IncomingCall] = {}  # under way, by session
        self._sessions: Sessions | None = None

    def request(self, method: str, request_id: str | int, params: Message) -> None:
        if method == "initialize":
            self.send(answer_of(request_id, self._greet(params)))
            return
        if self._who is None:
            raise JsonRpcError(INVALID_REQUEST, "send `initialize` first")
        call = IncomingCall(request_id, params, self._who)
        if method == _PROMPT:
            self._begin_prompt(call)
        elif method == _CLOSE:
            self._cancel_prompt(params)
        try:
            self.hand_out(method, call, is_long=method in _LONG)
        except JsonRpcError:
            self._end_prompt(call)
            raise

    def _greet(self, params: Message) -> Result:
        """Return the answer to `initialize`: the one version that is spoken, whatever is asked for."""
        version, info = params.get("protocolVersion"), params.get("clientInfo")
        if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= 65_535:
            raise invalid("protocolVersion must be a whole number")
        if self._who is not None:
            raise JsonRpcError(INVALID_REQUEST, "`initialize` was sent already")
        name = info.get("name") if isinstance(info, dict) else ""
        self._who = self._principal(name if isinstance(name, str) else "")
        self._takes_forms = _takes_forms(params.get("clientCapabilities"))
        prompt: Result = {"image": False, "audio": False, "embeddedContext": True}
        capabilities: Result = {
            "loadSession": True,
            "promptCapabilities": prompt,
            "mcpCapabilities": {"http": False, "sse": False},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
        }
        info = {**client_info(), "title": "Lumen"}
        return {
            "protocolVersion": _VERSION,
            "agentCapabilities": capabilities,
            "agentInfo": info,
            "authMethods": [],
        }

    def notification(self, method: str, params: Message) -> None:
        if method == "session/cancel":
            self._cancel_prompt(params)
        elif method == "$/cancel_request" and (call := self.open_call(params.get("requestId"))) is not None:
            call.cancelled.set()

    def _cancel_prompt(self, params: Message) -> None:
        """Cancel the prompt of a session that is under way, where there is one."""
        session_id = params.get("sessionId")
        call = self._prompts.get(session_id) if isinstance(session_id, str) else None
        if call is not None:
            call.cancelled.set()

    def response(self, message: Message) -> None:
        if self._sessions is not None:
            self._sessions.peer.answered(message)

    def answer(self, method: str, call: IncomingCall) -> Message | None:
        if call.cancelled.is_set() and method != _PROMPT:
            return error_of(call.id, JsonRpcError(_CANCELLED, "the request was cancelled"))
        return {"jsonrpc": "2.0", "id": call.id, "result": self._loaded().answer(method, call)}

    def finish(self, call: IncomingCall, answer: Message) -> None:
        """Send the answer, which this protocol wants of a cancelled request as well."""
        self._end_prompt(call)
        self.send(answer)

    def farewell(self) -> None:
        """Say nothing: a task whose editor has gone goes on."""

    def _begin_prompt(self, call: IncomingCall) -> None:
        session_id = call.text("sessionId")
        with self._turn:
            if session_id in self._prompts:
                raise JsonRpcError(INVALID_REQUEST, "a prompt of this session is under way: cancel it first")
            self._prompts[session_id] = call

    def _end_prompt(self, call: IncomingCall) -> None:
        session_id = call.params.get("sessionId")
        with self._turn:
            if isinstance(session_id, str) and self._prompts.get(session_id) is call:
                del self._prompts[session_id]

    def _loaded(self) -> Sessions:
        with self._turn:
            if self._sessions is None:
                from lumen_tui.servers.acp.peer import Peer
                from lumen_tui.servers.acp.sessions import Sessions
                from lumen_tui.servers.catalogue import Counter
                from lumen_tui.servers.desk import Desk

                assert self._who is not None  # noqa: S101 - nothing is handed out before
                peer = Peer(self.send, takes_forms=self._takes_forms)
                self._sessions = Sessions(Counter(Desk(self._root)), peer, self._who)
            return self._sessions


def _takes_forms(capabilities: object) -> bool:
    """Return whether a client says that it can put a form before its user."""
    modes = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(modes, dict) and modes.get("form") is not None


def serve(root: Path, principal: Callable[[str], Principal]) -> int:
    """Serve on stdin and stdout until the client closes them."""
    AcpServer(root, principal, *own_pipes()).serve()
    return 0
