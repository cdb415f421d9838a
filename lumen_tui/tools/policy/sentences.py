"""Sentences that become rules on single tools. A sentence must match as a whole; otherwise it is advice.

docs/tools.md lists the phrases. Everything else stays in the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lumen_tui.model.roles import ALL_TOOLS, ToolRule

HEAD = r"(?:please |you (?:must|should|may|can) |always |strictly )*"
NOT = r"(?:no|without|never use|do not use|don't use|must not use)"
AT_MOST = r"(?:at most|max(?:imum)?(?: of)?|no more than|not more than|up to|only)"
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(\d{{1,4}}|{'|'.join(_NUMBERS)})"
_TOOL = "|".join(sorted({name for tool in ALL_TOOLS for name in (tool, tool.replace("_", " "))}, key=len, reverse=True))
_ONE = rf"(?:the )?[`'\"]?({_TOOL})[`'\"]?(?: tool)?"
_LIST = r"([\w ,`'\"]+)"


def whole(*patterns: str) -> re.Pattern[str]:
    """Compile a pattern for a whole sentence that is one of these."""
    return re.compile(rf"{HEAD}(?:{'|'.join(patterns)})(?:,? please)?", re.IGNORECASE)


# What a person may be asked before: the words, and the groups of calls that they stand for.
_FILES = r"(?: (?:to )?(?:anything|any(?: of the)? files?|a file|files?|the files))?"
_CHANGE = (
    r"(?:writ(?:e|ing)|chang(?:e|ing)|edit(?:ing)?|modify(?:ing)?|creat(?:e|ing)|delet(?:e|ing)|remov(?:e|ing)"
    rf"|overwrit(?:e|ing)|touch(?:ing)?|patch(?:ing)?){_FILES}"
)
_RUN = (
    r"(?:run(?:ning)?|execut(?:e|ing)|us(?:e|ing)) (?:a |any |the )?(?:(?:shell |bash )?commands?|shell|bash|terminal)"
)
_FETCH = (
    r"(?:fetch(?:ing)?|download(?:ing)?|open(?:ing)?)(?: anything(?: from the (?:web|internet|network))?"
    r"| (?:a |any |the )?(?:web ?)?(?:pages?|urls?))?|us(?:e|ing) the (?:web|internet|network)|go(?:ing)? online"
)
_ANY = r"(?:anything|everything|do(?:ing)? anything|(?:each|every) step|act(?:ing)?|any action)"
_ALL = ("write", "shell", "web_fetch", "custom", "remember")
_KINDS = (
    (_CHANGE, r"changes?|writes?|edits?|writing", ("write", "shell:any")),
    (_RUN, r"(?:shell |bash )?commands?", ("shell",)),
    (_FETCH, r"downloads?|(?:web )?(?:requests?|fetches|pages?)", ("web_fetch",)),
    (_ANY, r"anything|everything|(?:each|every) step|actions?", _ALL),
)
_WORD = r"(?:my |our |an? |a person's |the operator's )?(?:approval|permission|confirmation|consent|ok|word|go-ahead)"
_WHO = r"(?: me| us| somebody| someone| a person| the operator)?"
_ASKING = (
    r"(?:ask|check with|wait for){who}(?: first)? before (?:you |it )?(?:{act})",
    r"(?:get|request|wait for|have|need|obtain|ask for) {word} before (?:you |it )?(?:{act})",
    r"(?:any |every |all |each )?(?:{thing}) (?:needs?|requires?|(?:must )?waits? for) {word}",
    r"(?:do not|don't|never) (?:{act}) (?:without|unless) (?:{word}|(?:you )?ask(?:ing)?{who}(?: first)?)",
)
_ASKS = (
    *(
        (whole(*(form.format(who=_WHO, word=_WORD, act=act, thing=thing) for form in _ASKING)), groups)
        for act, thing, groups in _KINDS
    ),
    (whole(rf"change nothing without (?:{_WORD}|asking{_WHO}(?: first)?)"), ("write", "shell:any")),
    (whole(r"ask(?: me| us)? first"), _ALL),
)
_COUNTED = whole(
    rf"(?:use |run |make |send |record )?{AT_MOST} {_NUMBER} (?:(?:shell |bash )?(commands?)"
    rf"|(?:web )?(fetches|requests?|pages?)|(signals?)|(discover(?:y|ies))|{_ONE}(?: (?:tool )?calls?| times?)?)"
)
_TIMES = whole(rf"(?:use|run|call) {_ONE} {AT_MOST} (?:{_NUMBER} times|(once|twice))")
_FIRST = whole(
    rf"(?:start|begin) (?:with|by (?:using|running|calling)) {_ONE}",
    rf"(?:use|run|call) {_ONE} (?:first|before (?:anything|everything|any other|all other)(?: else| tools?)?)",
    rf"first,? (?:use|run|call) {_ONE}",
)
_NEXT = whole(rf"after (?:using |calling |a |each )*{_ONE},? (?:use |call |comes? )?only {_LIST}")
_LAST = whole(rf"(?:stop|end|finish)(?: at once| immediately)? after (?:using |calling |one |a |the first )*{_ONE}")
_NEEDED = whole(
    rf"(?:must )?(?:(?:use|call|run|send|record|make|write) )(?:an? )?{_ONE} before "
    r"(?:you |it |the task )?(?:the end|ends?|ending|finish(?:es|ing)?|(?:the )?result|are done)"
)
_ONLY = whole(rf"(?:use only|only use|use nothing but|no tools? (?:but|except|other than)) {_LIST}")
_DENIED = whole(rf"{NOT} {_LIST}")


def _name(text: str) -> str:
    return text.strip("`'\" ").lower().replace(" ", "_")


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS.index(text.lower())


def _listed(text: str, tools: Iterable[str]) -> tuple[str, ...]:
    """Return the tools of a list in words; empty where one item is no tool."""
    bare = text.strip().lower().removesuffix(" tools").removesuffix(" tool")
    words = [part.strip().removeprefix("the ") for part in re.split(r",? and |,? or |, ", bare)]
    names = tuple(dict.fromkeys(_name(word) for word in words))
    return names if {*names} <= {*tools} else ()


def groups_that_ask(sentence: str) -> tuple[str, ...]:
    """Return the groups of calls that need approval, for sentences like `ask before writing`."""
    return next((groups for pattern, groups in _ASKS if pattern.fullmatch(sentence)), ())


def only_tools(sentence: str, tools: Iterable[str]) -> tuple[str, ...]:
    """Return the tools of a sentence like `use only find and grep`; empty for any other sentence."""
    match = _ONLY.fullmatch(sentence)
    return _listed(match[1], tools) if match else ()


def denied_tools(sentence: str, tools: Iterable[str]) -> tuple[str, ...]:
    """Return the tools of a sentence like `do not use grep`; empty for any other sentence."""
    match = _DENIED.fullmatch(sentence)
    return _listed(match[1], tools) if match else ()


def tool_rules(sentence: str) -> tuple[ToolRule, ...]:
    """Return the rules in one sentence."""
    return tuple(dict.fromkeys([*_counts(sentence), *_order(sentence)]))


def _counts(sentence: str) -> Iterator[ToolRule]:
    if match := _COUNTED.fullmatch(sentence):
        amount, command, page, signal, discovery, tool = match.groups()
        named = {"shell": command, "web_fetch": page, "signal": signal, "discover": discovery}
        yield from _at_most(next((name for name, word in named.items() if word), "") or _name(tool), _number(amount))
    if match := _TIMES.fullmatch(sentence):
        tool, times, word = match.groups()
        yield from _at_most(_name(tool), _number(times) if times else ("once", "twice").index(word.lower()) + 1)


def _at_most(tool: str, count: int) -> Iterator[ToolRule]:
    yield ToolRule("max_count", tool, count=count) if count else ToolRule("deny", tool)
    if tool == "shell":  # what runs in the background would be counted by itself
        yield ToolRule("deny", "shell_start", why="the commands of this task are counted")


def _order(sentence: str) -> Iterator[ToolRule]:
    if match := _FIRST.fullmatch(sentence):
        yield ToolRule("run_first", _name("".join(filter(None, match.groups()))))
    if (match := _NEXT.fullmatch(sentence)) and (then := _listed(match[2], ALL_TOOLS)):
        yield ToolRule("constrain_child", _name(match[1]), then=then)
    if match := _LAST.fullmatch(sentence):
        yield ToolRule("exit_loop", _name(match[1]))
    if match := _NEEDED.fullmatch(sentence):
        yield ToolRule("required_before_exit", _name(match[1]))
