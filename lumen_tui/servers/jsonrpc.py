"""JSON-RPC 2.0 on a pair of pipes: one message a line on each, everything else on stderr. Protocols are built on it.

Requests are answered by threads, so that one that waits keeps no other from being answered or cancelled. Where the
client does not read, writing waits, and with it reading: nothing piles up. Nothing of a request is logged.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import msgspec

from lumen_tui.model.access import Principal, Scope
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.text import one_line
from lumen_tui.tools.mcp.messages import METHOD_NOT_FOUND, JsonRpcError, Message

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32602, -32603
Result = dict[str, object]
_LONGEST = 4 * 1024 * 1024  # bytes of one message
_READ = 64 * 1024
_WORKERS = 4  # threads that answer
_WAITING = 64  # requests that wait for one of them
_LONG = 16  # requests that each wait for a task, in threads of their own
_FAREWELL = 2.0  # seconds for what is being answered when the client has gone


def invalid(text: str) -> JsonRpcError:
    return JsonRpcError(INVALID_PARAMS, text)


def no_method(method: str) -> JsonRpcError:
    return JsonRpcError(METHOD_NOT_FOUND, f"Method not found: {one_line(method, 80)}")


def answer_of(request_id: object, result: Mapping[str, object]) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_of(request_id: object, error: JsonRpcError) -> Message:
    """Return the message of an error; without an id where it could not be read."""
    body: Message = {"code": error.code, "message": str(error)}
    if error.data is not None:
        body["data"] = error.data
    return {"jsonrpc": "2.0", **({} if request_id is None else {"id": request_id}), "error": body}


class IncomingCall:
    """One request that is being answered: by whom it is asked, and whether it is still wanted."""

    def __init__(self, request_id: str | int, params: Message, who: Principal) -> None:
        self.id = request_id
        self.params = params
        self.who = who
        self.cancelled = threading.Event()
        self.after: Callable[[], None] | None = None  # done when the answer was sent, unless it is an error

    def must_may(self, scope: Scope) -> None:
        """Refuse a program without a scope."""
        if not self.who.may(scope):
            raise invalid(f"this needs the scope {scope}, which {self.who.by} lacks")

    def text(self, name: str) -> str:
        """Return a parameter that must be a text."""
        value = self.params.get(name)
        if not isinstance(value, str):
            raise invalid(f"{name} must be a text")
        return value

    def mapping(self, name: str) -> Message:
        """Return a parameter that is an object, and an empty one where it is left out."""
        value = self.params.get(name, {})
        if not isinstance(value, dict):
            raise invalid(f"{name} must be an object")
        return value


class LinePipe:
    """Bounded lines of a descriptor, and whole messages on another, whatever thread sends them."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._writing = threading.Lock()

    def lines(self) -> Iterator[bytes | None]:
        """Yield each line that is not blank until the client closes its end; None for one that is too long."""
        buffer, skipping = bytearray(), False
        while part := os.read(self._source, _READ):
            *lines, rest = part.split(b"\n")
            for line in lines:
                buffer += line
                if not skipping and buffer.strip():
                    yield bytes(buffer)
                buffer.clear()
                skipping = False
            if not skipping:
                buffer += rest
            if len(buffer) > _LONGEST:
                yield None
                buffer.clear()
                skipping = True

    def send(self, message: object) -> None:
        """Write one message; where nobody reads any more, the process ends."""
        data = memoryview(msgspec.json.encode(message) + b"\n")
        with self._writing:
            try:
                while data:
                    data = data[os.write(self._sink, data) :]
            except OSError:
                os._exit(0)


class AnsweringThreads:
    """A few threads for what is soon answered, and for what may wait for long one of its own, each up to a bound."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._waiting: queue.Queue[Callable[[], None]] = queue.Queue(_WAITING)
        self._threads = 0
        self._long = 0

    def take(self, work: Callable[[], None], *, is_long: bool) -> bool:
        """Have `work` done by a thread; return whether there is room for it. Called by one thread alone."""
        with self._turn:
            if self._long >= _LONG if is_long else self._waiting.full():
                return False
            self._long += is_long
        if is_long:
            threading.Thread(target=self._do_long, args=(work,), daemon=True).start()
            return True
        self._waiting.put(work)
        if self._threads < _WORKERS:
            self._threads += 1
            threading.Thread(target=self._do_short, daemon=True).start()
        return True

    def _do_short(self) -> None:
        while True:
            work = self._waiting.get()
            try:
                work()
            finally:
                self._waiting.task_done()

    def _do_long(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._turn:
                self._long -= 1

    def finish(self) -> None:
        """Wait until what is soon answered is."""
        self._waiting.join()


class JsonRpcServer(ABC):
    """One client's messages, from its first to the end of its pipe. `source` and `sink` are descriptors."""

    name = ""  # of the protocol, in the log

    def __init__(self, source: int, sink: int) -> None:
        self._pipe = LinePipe(source, sink)
        self._threads = AnsweringThreads()
        self._turn = threading.Lock()
        self._open: dict[str | int, IncomingCall] = {}

    @abstractmethod
    def request(self, method: str, request_id: str | int, params: Message) -> None:
        """Take a request: send the answer, or have it answered with `hand_out`. JsonRpcError refuses it."""

    @abstractmethod
    def notification(self, method: str, params: Message) -> None:
        """Take a notification; one that is not known is passed over."""

    @abstractmethod
    def response(self, message: Message) -> None:
        """Take an answer of the client; one to what nobody asked is passed over."""

    @abstractmethod
    def answer(self, method: str, call: IncomingCall) -> Message | None:
        """Return the answer to a request that was handed out; None where it stays open. Called in a thread."""

    @abstractmethod
    def farewell(self) -> None:
        """Say what is to be said when the client has closed its end and nothing is being answered any more."""

    def serve(self) -> None:
        """Answer until the client closes its end."""
        for line in self._pipe.lines():
            if line is None:
                self.refuse(None, JsonRpcError(INVALID_REQUEST, f"a message has at most {_LONGEST:,} bytes"))
            else:
                self._take(line)
        self._end()

    def _take(self, line: bytes) -> None:
        try:
            message = msgspec.json.decode(line)
        except UNDECODABLE:
            self.refuse(None, JsonRpcError(PARSE_ERROR, "this line is no JSON in UTF-8"))
            return
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self.refuse(None, JsonRpcError(INVALID_REQUEST, "a message is one JSON-RPC 2.0 object"))
            return
        method, request_id, params = message.get("method"), message.get("id"), message.get("params", {})
        if not isinstance(method, str):
            self.response(message)
        elif "id" not in message:
            if isinstance(params, dict):
                self.notification(method, params)
        elif not isinstance(request_id, (str, int)) or isinstance(request_id, bool):
            self.refuse(None, JsonRpcError(INVALID_REQUEST, "id must be a text or a whole number"))
        else:
            self._ask(method, request_id, params)

    def _ask(self, method: str, request_id: str | int, params: object) -> None:
        try:
            if not isinstance(params, dict):
                raise invalid("params must be an object")
            self.request(method, request_id, params)
        except JsonRpcError as error:
            self.refuse(request_id, error)

    def hand_out(self, method: str, call: IncomingCall, *, is_long: bool = False) -> None:
        """Have a request answered by a thread. JsonRpcError where all are busy."""
        with self._turn:
            if call.id in self._open:
                raise JsonRpcError(INVALID_REQUEST, "a request with this id is under way")
            self._open[call.id] = call
        if not self._threads.take(partial(self._answer, method, call), is_long=is_long):
            self.close_call(call)
            raise JsonRpcError(INTERNAL_ERROR, "too many requests are under way: wait for some of them")

    def _answer(self, method: str, call: IncomingCall) -> None:
        try:
            answer = self.answer(method, call)
            if answer is None:
                return
        except JsonRpcError as error:
            answer = error_of(call.id, error)
        except Exception as error:  # noqa: BLE001 - one request must not end the server; what was asked stays out of the log
            text = f"{type(error).__name__} in the server"
            print(f"lumen-tui {self.name}: {method}: {text}", file=sys.stderr, flush=True)  # noqa: T201 - its log
            answer = error_of(call.id, JsonRpcError(INTERNAL_ERROR, text))
        self.close_call(call)
        self.finish(call, answer)
        if call.after is not None and "error" not in answer:
            call.after()

    def finish(self, call: IncomingCall, answer: Message) -> None:
        """Send the answer to a request, unless the client wants it no more."""
        if not call.cancelled.is_set():
            self.send(answer)

    def open_call(self, request_id: object) -> IncomingCall | None:
        """Return the request of that id that is being answered; None where there is none."""
        with self._turn:
            return self._open.get(request_id) if isinstance(request_id, (str, int)) else None

    def close_call(self, call: IncomingCall) -> None:
        """Forget a request: its id may be used again."""
        with self._turn:
            if self._open.get(call.id) is call:
                del self._open[call.id]

    def _end(self) -> None:
        """Let what is being answered end. Tasks go on: they are the engine's."""
        deadline = threading.Timer(_FAREWELL, os._exit, (0,))
        deadline.daemon = True
        deadline.start()
        self._threads.finish()
        self.farewell()
        deadline.cancel()

    def refuse(self, request_id: str | int | None, error: JsonRpcError) -> None:
        self.send(error_of(request_id, error))

    def notify(self, method: str, params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: object) -> None:
        """Write one message whole, whatever thread sends it."""
        self._pipe.send(message)


def own_pipes() -> tuple[int, int]:
    """Return stdin and stdout as a server reads and writes them. Whatever else is printed goes to stderr."""
    sink = os.dup(1)
    os.dup2(2, 1)
    return 0, sink
