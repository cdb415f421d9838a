"""The lines of a session file, in the shape of those that Claude Code writes, so that one reader takes both.

One line for each block of a message: `type` user, assistant or system, each with its own `uuid` and the one before it
as `parentUuid`. The lines of one answer share `message.id`, and each repeats the usage of the whole answer.
"""

from __future__ import annotations

import os

from lumen_tui.model.digests import sha256
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.tasks import Spec, Usage

OPERATOR = "operator"  # as `promptSource`: words of the operator in a turn of the chat, seen to be theirs
LONGEST_TEXT = 100_000  # characters of one text in a line
_MOST_LINE = 900_000  # bytes; readers pass over lines beyond 1 MiB
_MOST_ENTRIES = 100  # of each list or table in such a line
_CUT_TEXT = 400  # characters of each text in a line that would still be too long
_TASK_FOLDER = lazy_re(r"/tasks/((?:tsk|loop|chat)-[0-9a-z]+)(?:/|$)")


def _as_uuid(data: bytes) -> str:
    """Format 16 bytes as a version 4 UUID."""
    marked = bytearray(data[:16])
    marked[6], marked[8] = marked[6] & 0x0F | 0x40, marked[8] & 0x3F | 0x80
    text = marked.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_uuid() -> str:
    """Return a random UUID; the `uuid` module would cost each worker 3 ms."""
    return _as_uuid(os.urandom(16))


def session_id(spec: Spec, attempt: int) -> str:
    """Return the session of one attempt at a task: found from the task alone, so that a kill cannot lose it."""
    return _as_uuid(bytes.fromhex(sha256(f"{spec.id}\n{spec.created_at}\n{attempt}".encode())))


def task_in(cwd: str) -> str:
    """Return the task, loop or chat in whose folder a session ran; empty for none."""
    match = _TASK_FOLDER.search(cwd)
    return match.group(1) if match else ""


def text_block(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def use_block(call_id: str, name: str, arguments: dict[str, object]) -> dict[str, object]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result_block(call_id: str, text: str, *, ok: bool) -> dict[str, object]:
    block: dict[str, object] = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return block if ok else {**block, "is_error": True}


def usage_fields(usage: Usage) -> dict[str, int]:
    """Return the usage of an answer in the words of the Messages API."""
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}


def assistant(message_id: str, model: str, block: dict[str, object], usage: Usage, stop: str) -> dict[str, object]:
    """Return the message of an assistant's line."""
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": stop or None,
        "stop_sequence": None,
        "usage": usage_fields(usage),
    }


def shortened(value: object, most: int = LONGEST_TEXT) -> object:
    """Return `value` with every text in it cut to `most` characters and the cut marked."""
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]}… ({len(value) - most:,} more characters)"
    if isinstance(value, dict):
        return {key: shortened(inner, most) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [shortened(inner, most) for inner in value]
    return value


def fits(line: bytes) -> bool:
    """Return whether readers take a line of that length."""
    return len(line) <= _MOST_LINE


def cut_hard(record: dict[str, object]) -> dict[str, object]:
    """Return a record that does not fit, with little of each text and at most 100 entries of each list or table."""
    return {key: shortened(_thinned(inner), _CUT_TEXT) for key, inner in list(record.items())[:_MOST_ENTRIES]}


def _thinned(value: object) -> object:
    if isinstance(value, dict):
        return {key: _thinned(inner) for key, inner in list(value.items())[:_MOST_ENTRIES]}
    if isinstance(value, list):
        return [_thinned(inner) for inner in value[:_MOST_ENTRIES]]
    return value
