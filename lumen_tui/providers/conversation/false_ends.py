"""Answers that claim to be the end and are none: a call that was written as text, a step that is only announced."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.patterns import lazy_re
from lumen_tui.providers.conversation.history import AssistantMessage

_LONGEST_CALL = 20_000  # characters; whatever is longer is no call alone
_CALL_MARKS = lazy_re(
    r"^[ \t]*(?:<tool_call>|<\|tool_calls?(?:_section)?_begin\|>|<\|tool_call>|<function=\w|\[TOOL_CALLS\]"
    r"|<(?:antml:)?function_calls>|<(?:antml:)?invoke name=|<tool_use>)",
    re.MULTILINE,
)
_CODE = lazy_re(r"^```.*?^```[ \t]*$|^~~~.*?^~~~[ \t]*$", re.DOTALL | re.MULTILINE)
_FENCE = lazy_re(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.DOTALL)
_THINKING = lazy_re(r"\A\s*<(think|thinking)>.*?(?:</\1>\s*|\Z)", re.DOTALL)
_LONGEST_ANNOUNCEMENT = 600  # characters; a longer answer says something of its own
_STEP = lazy_re(
    r"(?:^|(?<=[.!?:]\s)|(?<=\n))(?:(?:okay|ok|sure|first|now|next|then|so)[,:]?\s+)*"
    r"(?:i\s*(?:'|\u2019)ll|i will|i am going to|i(?:'|\u2019)m going to|let me|let(?:'|\u2019)s)\s+"
    r"(?:(?:now|first|start by|begin by|quickly|also)\s+)*"
    r"(?:look|list|read|check|open|run|search|find|see|inspect|examine|explore|call|use|start|begin|view|get|fetch|write)"
    r"[^\n]{0,200}\Z",
    re.IGNORECASE,
)


def without_thinking(turn: AssistantMessage) -> AssistantMessage:
    """Return the answer without thinking that a server left at the beginning of its text."""
    text = _THINKING.sub("", turn.text, count=1)
    return turn if text == turn.text else replace(turn, text=text)


def announces(text: str) -> bool:
    """Return whether a short answer ends with a step still to be taken: with a colon, or "Let me list the files."."""
    words = text.strip()
    if not words or len(words) > _LONGEST_ANNOUNCEMENT:
        return False
    return words.endswith((":", "\uff1a")) or bool(_STEP.search(words))


class _WrittenCall(msgspec.Struct):
    """What all of these forms have in common."""

    name: str
    arguments: object = None
    parameters: object = None


def holds_call(text: str, names: Collection[str]) -> bool:
    """Return whether an answer is a call of one of the tools as text, or ends with one.

    Words that speak of calls are none, and neither are examples in a block of code.
    """
    words = text.strip()
    if not words:
        return False
    mark = _CALL_MARKS.search(_CODE.sub("", words))
    if mark:
        call = _CODE.sub("", words)[mark.start() :].strip()
        ends = mark.start() == 0 or call[-1] in ">]}"
        return ends and len(call) <= _LONGEST_CALL and any(name in call for name in names)
    fenced = _FENCE.match(words)
    return len(words) <= _LONGEST_CALL and _is_object(fenced.group(1) if fenced else words, names)


def _is_object(words: str, names: Collection[str]) -> bool:
    if not words.startswith("{"):
        return False
    try:
        call = msgspec.json.decode(words, type=_WrittenCall)
    except UNDECODABLE:
        return False
    return call.name in names and (call.arguments is not None or call.parameters is not None)
