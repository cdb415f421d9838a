"""Tool calls that a model wrote as plain text, as one does whose server does not take its calls apart."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from lumen_tui.model.decoding import UNDECODABLE

_LONGEST = 20_000  # characters; whatever is longer is no call alone
_MARKS = re.compile(r"<tool_call>|<\|tool_calls?(?:_section)?_begin\|>|<\|tool_call>|<function=\w|\[TOOL_CALLS\]")
_FENCE = re.compile(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.DOTALL)


class _Call(msgspec.Struct):
    """What all of these forms have in common."""

    name: str
    arguments: object = None
    parameters: object = None


def is_call(text: str, names: Collection[str]) -> bool:
    """Whether an answer is nothing but a call of one of the tools. Words that speak of calls are none."""
    words = text.strip()
    if not words or len(words) > _LONGEST:
        return False
    if _MARKS.match(words):
        return any(name in words for name in names)
    fenced = _FENCE.match(words)
    return _is_object(fenced.group(1) if fenced else words, names)


def _is_object(words: str, names: Collection[str]) -> bool:
    if not words.startswith("{"):
        return False
    try:
        call = msgspec.json.decode(words, type=_Call)
    except UNDECODABLE:
        return False
    return call.name in names and (call.arguments is not None or call.parameters is not None)
