"""What the server can be told to answer."""

from __future__ import annotations

import dataclasses
import threading
from dataclasses import dataclass, field
from typing import Any

KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    408: "timeout_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 502: "api_error",
    503: "api_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
WORDS = {
    400: "the request is not valid", 401: "invalid x-api-key", 403: "your key may not do this", 404: "model: unknown",
    413: "Request exceeds the maximum size", 429: "rate limit reached", 500: "Internal server error", 529: "Overloaded",
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """One answer. Times are in seconds; `between` counts between two parts of a stream."""

    content: tuple[dict[str, Any], ...] = ()
    stop: str = ""  # in the words of the Messages API; empty: tool_use where a tool is called, else end_turn
    usage: dict[str, int] = field(default_factory=dict)  # laid over what is counted
    status: int = 200
    error: str = ""  # the words of a failure
    kind: str = ""  # its type; empty: the usual one of the status
    headers: dict[str, str] = field(default_factory=dict)
    raw: str | None = None  # sent as it is, instead of everything above
    content_type: str = ""
    first_byte: float = 0.0
    between: float = 0.0
    piece: int = 40  # characters of one part of a streamed text
    cut_after: int | None = None  # the connection is cut after so many parts of a stream, or bytes of a whole answer
    fail_after: int | None = None  # an `error` event (529) after so many parts of a stream
    gate: threading.Event | None = None  # nothing is sent before it is set
    gate_after: int = 0  # parts that are sent before the gate
    pings: int = 1  # `ping` events before the first block
    why: str = ""  # the words in `stop_details` of a refusal
    one_index: bool = False  # all calls come whole and with the index 0, as Ollama sends them

    @property
    def stop_reason(self) -> str:
        called = any(block["type"] == "tool_use" for block in self.content)
        return self.stop or ("tool_use" if called else "end_turn")


def use(name: str, arguments: Any = None, call_id: str = "", **more: Any) -> dict[str, Any]:
    """A tool_use block; the server gives it an id where it has none."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": more if arguments is None else arguments}


def text(words: str, stop: str = "", **how: Any) -> Answer:
    """A text answer."""
    return Answer(content=({"type": "text", "text": words},) if words else (), stop=stop, **how)


def tool(name: str, arguments: Any = None, say: str = "", how: dict[str, Any] | None = None, **more: Any) -> Answer:
    """One tool call, with words before it where `say` is given: `tool("list_dir", path="/tmp")`."""
    said = ({"type": "text", "text": say},) if say else ()
    return Answer(content=(*said, use(name, arguments, **more)), **(how or {}))


def tools(*calls: dict[str, Any], say: str = "", **how: Any) -> Answer:
    """Several tool calls in one answer: `tools(use("a"), use("b", path="/"))`."""
    said = ({"type": "text", "text": say},) if say else ()
    return Answer(content=(*said, *calls), **how)


def think(words: str, answer: Answer) -> Answer:
    """`answer` after a thinking block."""
    block = {"type": "thinking", "thinking": words, "signature": "c2lnbmVk"}
    return dataclasses.replace(answer, content=(block, *answer.content))


def fail(status: int, words: str = "", *, retry_after: float | None = None, kind: str = "", **how: Any) -> Answer:
    """An error of the API. `retry_after` is in seconds and may have a fraction."""
    headers = dict(how.pop("headers", {}))
    if retry_after is not None:
        headers["retry-after"] = f"{retry_after:g}"
    return Answer(status=status, error=words or WORDS.get(status, "no"), kind=kind, headers=headers, **how)


def rubbish(words: str = "<html>not what you asked for", content_type: str = "application/json", **how: Any) -> Answer:
    """Something that is no answer at all."""
    return Answer(raw=words, content_type=content_type, **how)


def huge(size: int = 10_000_000, **how: Any) -> Answer:
    """A text of so many characters, in large parts."""
    return text("all work and no play " * (size // 21 + 1), piece=100_000, **how)


def held(answer: Answer, after: int = 0) -> Answer:
    """`answer`, sent when the test says `api.release()`; `after` parts of a stream are sent before."""
    return dataclasses.replace(answer, gate=threading.Event(), gate_after=after)
