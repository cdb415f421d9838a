"""Constraints in prose that become rules on tools. What no pattern here understands stays advice in the prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lumen_tui.model.roles import ALL_TOOLS
from lumen_tui.model.toolrules import ToolRule

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TOOL = "|".join(sorted({name for tool in ALL_TOOLS for name in (tool, tool.replace("_", " "))}, key=len, reverse=True))
_ONE = rf"[`'\"]?({_TOOL})[`'\"]?"
_LIST = rf"((?:(?:the )?[`'\"]?(?:{_TOOL})[`'\"]?(?:, and |, or |, | and | or )?)+)(?: tools?)?\s*[.!]?\s*$"
_ASK = re.compile(
    r"\b(?:ask|check with|wait for|get|request|need\w*|require\w*|only with|with|without)\b[^.;]{0,40}?"
    r"\b(?:before|approval|permission|confirmation|consent|ok|word)\b"
    r"|\bask (?:me|us|somebody|someone|first)\b|\b(?:without|unless)\b[^.;]{0,30}?\bask\w*\b",
    re.IGNORECASE,
)
_UNLESS = re.compile(
    r"[^.;]*\b(?:without|unless)\b[^.;]{0,40}?"
    r"\b(?:ask\w*|approv\w*|permission|permit\w*|allow\w*|confirm\w*)\b[^.;]*",
    re.IGNORECASE,
)
_ASKED = (
    (re.compile(r"\b(?:writ|edit|chang|modif|creat|delet|remov|overwrit|touch|patch)", re.IGNORECASE),
     ("write", "shell:any")),
    (re.compile(r"\b(?:shell|bash|terminal|commands?|run|running|execut\w*)\b", re.IGNORECASE), ("shell",)),
    (re.compile(r"\b(?:fetch\w*|download\w*|web|internet|network|urls?|online)\b", re.IGNORECASE), ("web_fetch",)),
    (re.compile(r"\b(?:anything|everything|every step|each step|acting|any action)\b", re.IGNORECASE),
     ("write", "shell", "web_fetch", "custom", "remember")),
)  # fmt: skip
_COUNTED = re.compile(
    rf"\b(?:at most|max(?:imum)?(?: of)?|no more than|not more than|up to|only) (\d{{1,4}}|{'|'.join(_NUMBERS)}) "
    rf"(?:(?:shell |bash )?(commands?)|(?:web )?(fetches|requests?|pages?)|(signals?)|(discover(?:y|ies))"
    rf"|[`'\"]?({_TOOL})[`'\"]?(?: (?:tool )?calls?| times?)?)\b",
    re.IGNORECASE,
)
_TIMES = re.compile(
    rf"\b(?:use|run|call) (?:the )?{_ONE}(?: tool)? (?:at most|no more than|only|up to) "
    r"(?:(\d{1,4}) times|(once|twice))",
    re.IGNORECASE,
)
_FIRST = re.compile(
    rf"\b(?:(?:start|begin) (?:with|by (?:using|running|calling)) (?:the )?{_ONE}"
    rf"|(?:use|run|call) (?:the )?{_ONE}(?: tool)? (?:first|before (?:anything|everything|any other|all other))"
    rf"|first,? (?:use|run|call) (?:the )?{_ONE})(?!\w)",
    re.IGNORECASE,
)
_NEXT = re.compile(
    rf"\bafter (?:the |using |calling |a |each )*{_ONE},? (?:use |call |comes? )?only {_LIST}", re.IGNORECASE
)
_LAST = re.compile(
    rf"\b(?:stop|end|finish)(?: at once| immediately)? after (?:the |using |calling |one |a |the first )*{_ONE}(?!\w)",
    re.IGNORECASE,
)
_NEEDED = re.compile(
    rf"\b(?:always |must |you must )?(?:use|call|run|send a|record a|make a|write a|{_ONE}) ?(?:the )?(?:{_ONE})?"
    rf"[^.;]{{0,40}}?\bbefore (?:you |it |the task |the )?(?:end|ends|ending|finish\w*|result|are done)\b",
    re.IGNORECASE,
)
_ONLY = re.compile(
    rf"\b(?:use only|only use|use nothing but|no tools? (?:but|except|other than)) {_LIST}", re.IGNORECASE
)


def _name(text: str) -> str:
    return text.strip("`'\" ").lower().replace(" ", "_")


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS.index(text.lower())


def _listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_name(found) for found in re.findall(_TOOL, text, re.IGNORECASE)))


def groups_that_ask(text: str) -> tuple[str, ...]:
    """Groups of calls that need a person's word, for `ask before writing` and its like."""
    if not _ASK.search(text):
        return ()
    return tuple(dict.fromkeys(group for pattern, groups in _ASKED if pattern.search(text) for group in groups))


def unconditional(text: str) -> str:
    """The text without what it forbids only as long as nobody was asked: `change nothing without approval`."""
    return _UNLESS.sub("", text)


def only_tools(text: str) -> tuple[str, ...]:
    """The tools to which `use only find and grep` keeps a task; empty where the text says no such thing."""
    found = _ONLY.search(text)
    return _listed(found.group(1)) if found else ()


def tool_rules(text: str) -> tuple[ToolRule, ...]:
    """The rules in one constraint."""
    return tuple(dict.fromkeys([*_counts(text), *_order(text)]))


def _counts(text: str) -> Iterator[ToolRule]:
    for amount, command, page, signal, discovery, tool in _COUNTED.findall(text):
        named = {"shell": command, "web_fetch": page, "signal": signal, "discover": discovery}
        yield from _at_most(next((name for name, word in named.items() if word), "") or _name(tool), _number(amount))
    for tool, times, word in _TIMES.findall(text):
        yield from _at_most(_name(tool), int(times) if times else ("once", "twice").index(word.lower()) + 1)


def _at_most(tool: str, count: int) -> Iterator[ToolRule]:
    yield ToolRule("max_count", tool, count=count) if count else ToolRule("deny", tool)
    if tool == "shell":  # what runs in the background would be counted by itself
        yield ToolRule("deny", "shell_start", why="the commands of this task are counted")


def _order(text: str) -> Iterator[ToolRule]:
    for words in _FIRST.findall(text):
        yield ToolRule("run_first", _name("".join(words)))
    for tool, listed in _NEXT.findall(text):
        yield ToolRule("constrain_child", _name(tool), then=_listed(listed))
    for tool in _LAST.findall(text):
        yield ToolRule("exit_loop", _name(tool))
    for words in _NEEDED.findall(text):
        if "".join(words):
            yield ToolRule("required_before_exit", _name(next(word for word in words if word)))
