"""The messages of an agent file, in the older and the newer shape: each is taken over, or counted as left out.

Source of the fields: `MessageSchema` in Letta's letta/schemas/agent_file.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.jsontext import text_of
from lumen_tui.model.text import one_line

Raw = dict[str, object]
_SPEAKING = ("assistant", "approval")  # `approval` is an assistant whose call waits for a person, or the answer to it


class AfCall(Struct, frozen=True):
    id: str
    name: str
    arguments: dict[str, object] = {}


class AfMessage(Struct, frozen=True):
    """One message. `answers` is the id of the call that a tool's message gives the result of."""

    role: str
    text: str
    at: str = ""
    model: str = ""
    thinking: str = ""
    calls: tuple[AfCall, ...] = ()
    answers: str = ""
    ok: bool = True


def read_messages(records: Iterable[Raw]) -> tuple[tuple[AfMessage, ...], int]:
    """Return the messages of an agent, and how many of the file have nothing in them that could be taken over."""
    taken: list[AfMessage] = []
    empty = 0
    for record in records:
        parts = [
            message
            for message in _message(record)
            if message.text or message.thinking or message.calls or message.answers
        ]
        taken += parts
        empty += not parts
    return tuple(taken), empty


def _message(record: Raw) -> Iterator[AfMessage]:
    role, at, model = text_of(record, "role"), text_of(record, "created_at"), text_of(record, "model")
    content = record.get("content")
    parts = _objects(content)
    text = content if isinstance(content, str) else "\n".join(filter(None, map(_text_part, parts)))
    results = _results(record, parts, text)
    if role == "tool" or (results and role not in _SPEAKING):
        for answers, result, ok in results or [(text_of(record, "tool_call_id"), text, True)]:
            yield AfMessage("tool", result, at, model, answers=answers, ok=ok)
        return
    thinking = "\n".join(filter(None, map(_thought, parts)))
    calls = {call.id or str(number): call for number, call in enumerate((*_calls(record), *_called(parts)))}
    yield AfMessage("assistant" if role in _SPEAKING else role, text, at, model, thinking, tuple(calls.values()))
    for result in _verdicts(record):
        yield AfMessage("system", result, at)
    for answers, result, ok in results if role in _SPEAKING else ():
        yield AfMessage("tool", result, at, model, answers=answers, ok=ok)


def _text_part(part: Raw) -> str:
    """Return what a part of the content says; of a kind that has no place here, that it was left out."""
    kind = part.get("type")
    if kind == "text":
        return text_of(part, "text")
    known = ("reasoning", "summarized_reasoning", "redacted_reasoning", "omitted_reasoning", "tool_call", "tool_return")
    return "" if kind in known or kind is None else f"[{one_line(str(kind), 40)} left out]"


def _thought(part: Raw) -> str:
    if part.get("type") == "reasoning":
        return text_of(part, "reasoning")
    summary = part.get("summary") if part.get("type") == "summarized_reasoning" else None
    return (
        "\n".join(text_of(entry, "text") for entry in summary if isinstance(entry, dict))
        if isinstance(summary, list)
        else ""
    )


def _results(record: Raw, parts: list[Raw], text: str) -> list[tuple[str, str, bool]]:
    """Return (id of the call, its output, whether it succeeded) of each result in a message."""
    returns = _objects(record.get("tool_returns"))
    call = text_of(record, "tool_call_id")
    if len(returns) == 1:
        return [(call or text_of(returns[0], "tool_call_id"), text or _returned(returns[0]), _went_well(returns[0]))]
    results = [(text_of(result, "tool_call_id") or call, _returned(result), _went_well(result)) for result in returns]
    return results or [
        (text_of(part, "tool_call_id") or call, text_of(part, "content"), part.get("is_error") is not True)
        for part in parts
        if part.get("type") == "tool_return"
    ]


def _went_well(result: Raw) -> bool:
    return result.get("status") != "error"


def _returned(result: Raw) -> str:
    streams = [line for key in ("stdout", "stderr") for line in _texts(result.get(key))]
    return "\n".join(filter(None, (text_of(result, "func_response"), *streams)))


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _verdicts(record: Raw) -> Iterator[str]:
    """Yield the answers of a person to calls that waited for one, in words: they are no calls and no results."""
    approvals = _objects(record.get("approvals"))
    if not approvals and isinstance(record.get("approve"), bool):
        approvals = [{"approve": record["approve"], "reason": text_of(record, "denial_reason")}]
    for approval in approvals:
        if isinstance(approval.get("approve"), bool):
            reason = f": {text_of(approval, 'reason')}" if text_of(approval, "reason") else ""
            call = f" {text_of(approval, 'tool_call_id')}" if text_of(approval, "tool_call_id") else ""
            yield f"The call{call} was {'approved' if approval['approve'] else 'denied'}{reason}"


def _calls(record: Raw) -> Iterator[AfCall]:
    for call in _objects(record.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, dict):
            yield AfCall(text_of(call, "id"), text_of(function, "name"), _arguments(function.get("arguments")))


def _called(parts: list[Raw]) -> Iterator[AfCall]:
    """Yield the calls that are part of the content itself."""
    for part in parts:
        if part.get("type") == "tool_call":
            yield AfCall(text_of(part, "id"), text_of(part, "name"), _arguments(part.get("input")))


def _arguments(arguments: object) -> Raw:
    """Return what a call was given: JSON in a text, as the API has it; a text that is none stays a text."""
    if isinstance(arguments, dict):
        return arguments
    try:
        value = msgspec.json.decode(arguments) if isinstance(arguments, str) else {}
    except UNDECODABLE:
        value = arguments
    return value if isinstance(value, dict) else {"arguments": value}


def _objects(value: object) -> list[Raw]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
