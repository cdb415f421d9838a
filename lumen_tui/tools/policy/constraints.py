"""Turns constraints such as `Read only` or `Report top 10` into rules of a task.

A constraint only takes something away. It is read sentence by sentence, and a sentence becomes a rule only where all of
it matches a phrase listed in docs/tools.md: a rule from half a sentence would promise what it does not enforce.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from lumen_tui.model import renamed
from lumen_tui.model.roles import ALL_TOOLS, REPORT_TOOLS, ToolRule
from lumen_tui.tools.base import BadRules, TaskRules
from lumen_tui.tools.files.opening import is_below

HEAD = r"(?:please |you (?:must|should|may|can) |always |strictly )*"
NOT = r"(?:no|without|never use|do not use|don't use|must not use)"
AT_MOST = r"(?:at most|max(?:imum)?(?: of)?|no more than|not more than|up to|only)"
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(\d{{1,4}}|{'|'.join(_NUMBERS)})"
_NAMES = (*ALL_TOOLS, *renamed.TOOLS)
_TOOL = "|".join(sorted({name for tool in _NAMES for name in (tool, tool.replace("_", " "))}, key=len, reverse=True))
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
    return renamed.tool(text.strip("`'\" ").lower().replace(" ", "_"))


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


_VERBS = r"(?:write|modify|change|edit|alter|touch|create|delete|remove)"
_READ_ONLY = whole(
    r"(?:(?:this|the task|it|everything|work)(?: must be| is| stays)? |stay |be |must be )?read[- ]?only(?: access)?",
    r"change nothing",
    rf"(?:do not|don't|never|must not) (?=[^.]*\b(?:write|modify|change|edit|alter|touch)\b){_VERBS}"
    rf"(?:(?:, | or |, or ){_VERBS})*(?: (?:to )?(?:anything|any(?: of the)? files?|files?|the files))?",
    r"no (?:writes|writing|changes|edits|modifications)",
)
_NO_SHELL = whole(
    rf"(?:work )?{NOT}(?: a| the| any)? (?:(?:shell|bash)(?: access| commands?)?|terminal|commands?)",
    r"(?:do not|don't|never|must not) (?:run|execute) (?:any )?(?:shell |bash )?commands?",
)
_NO_NETWORK = whole(
    rf"(?:work )?{NOT}(?: the| any)? (?:network|internet|web)(?: access| requests?)?",
    r"(?:stay |work |be )?offline",
    r"(?:do not|don't|never|must not) (?:go online|(?:access|reach) the (?:network|internet|web))",
)
_REPORT = r"(?:report|list|show|name|give|return)(?: me| us)?"
_NO_ROWS = (
    r"(?! ?(?:steps?|calls?|tool|seconds?|minutes?|hours?|%|words?|lines?|sentences?|paragraphs?|characters?|pages?"
    r"|times?)\b)(?: [\w-]+)?"
)
_TOP = whole(
    rf"(?:{_REPORT} (?:only )?)?(?:the )?top (\d{{1,4}}){_NO_ROWS}",
    rf"{_REPORT} (?:the )?(?:{AT_MOST} |first )(?:the )?(?:top |first )?(\d{{1,4}}){_NO_ROWS}",
    rf"(?:{AT_MOST}|limit(?:ed)? to) (\d{{1,4}}) (?:rows?|results?|entries|items)",
)
_STEPS = whole(rf"(?:use |make )?{AT_MOST} (\d{{1,4}}) (?:steps?|(?:tool )?calls?)")
_PATH = r"(?:`[~/][^`]*`|'[~/][^']*'|\"[~/][^\"]*\"|[~/][^\s`'\",;]*)"
_PATHS = rf"(?:the (?:folder|directory|file) )?({_PATH}(?:(?:, | and | or |, and |, or ){_PATH})*)"
_IN = r"(?:in|inside|within|under|below|at|from)"
_READ_BELOW = whole(
    rf"(?:only (?:read|look)|read only|read-only|look only)(?: (?:the )?files?| anything)?(?: {_IN})? {_PATHS}",
    rf"(?:read|look at) nothing (?:but|except|outside(?: of)?) {_PATHS}",
)
_BELOW = whole(
    rf"(?:stay|remain|keep|work)(?: only)? {_IN} {_PATHS}",
    rf"only (?:work )?{_IN} {_PATHS}",
    rf"(?:(?:confine|restrict|limit) (?:yourself|the task|everything)|confined|restricted|limited|keep) to {_PATHS}",
    rf"(?:touch|use) nothing outside(?: of)? {_PATHS}",
)


def narrow(rules: TaskRules, constraints: Iterable[str]) -> TaskRules:
    """Return the rules under all these constraints, each recorded as enforced or as advice.

    BadRules where they leave no folder to work in.
    """
    for constraint in constraints:
        rules = _apply(rules, constraint)
    return rules


def _apply(rules: TaskRules, constraint: str) -> TaskRules:
    """Apply one constraint. Where only some of its sentences can be enforced, each is recorded by itself."""
    enforced: list[str] = []
    advice: list[str] = []
    for sentence in re.split(r"(?<=[.;!])\s+|\n+", constraint.strip()):
        changed = _sentence(rules, re.sub(r"\s+", " ", sentence.rstrip(".;! ")))
        (advice if changed is None else enforced).append(sentence)
        rules = changed or rules
    if not (enforced and advice):
        enforced, advice = [constraint] if enforced else [], [constraint] if advice else []
    return msgspec.structs.replace(rules, enforced=(*rules.enforced, *enforced), advice=(*rules.advice, *advice))


def _sentence(rules: TaskRules, sentence: str) -> TaskRules | None:
    """Apply one sentence, or all the phrases that it joins; None where one of them is unknown."""
    if changed := _phrase(rules, sentence):
        return changed
    phrases = re.split(r"(?i),? and |, |; ", sentence)
    if len(phrases) < 2:
        return None
    for phrase in phrases:
        changed = _phrase(rules, phrase)
        if changed is None:
            return None
        rules = changed
    return rules


def _phrase(rules: TaskRules, phrase: str) -> TaskRules | None:
    changes = [change for pattern in _CHANGES if (change := pattern(rules, phrase))]
    for change in changes:
        rules = msgspec.structs.replace(rules, **change)
    return rules if changes else None


Change = dict[str, object]


def _read_only(rules: TaskRules, text: str) -> Change:
    return _reading(rules) if _READ_ONLY.fullmatch(text) else {}


def _reading(rules: TaskRules) -> Change:
    return {"write": False, "shell": "none" if rules.shell == "none" else "read"}


def _no_shell(rules: TaskRules, text: str) -> Change:
    return {"shell": "none"} if _NO_SHELL.fullmatch(text) else {}


def _no_network(rules: TaskRules, text: str) -> Change:
    return {"network": False, "offline": True, "hosts": (), "command_hosts": ()} if _NO_NETWORK.fullmatch(text) else {}


def _top(rules: TaskRules, text: str) -> Change:
    match = _TOP.fullmatch(text)
    rows = int(next(filter(None, match.groups()))) if match else 0
    return {"max_rows": min(rows, rules.max_rows or rows)} if rows else {}


def _steps(rules: TaskRules, text: str) -> Change:
    match = _STEPS.fullmatch(text)
    return {"max_steps": max(1, min(rules.max_steps, int(match[1])))} if match else {}


def _below(rules: TaskRules, text: str) -> Change:
    match = _BELOW.fullmatch(text)
    return _within(rules, match) if match else {}


def _read_below(rules: TaskRules, text: str) -> Change:
    match = _READ_BELOW.fullmatch(text)
    return {**_within(rules, match), **_reading(rules)} if match else {}


def _within(rules: TaskRules, match: re.Match[str]) -> Change:
    """Restrict the file tools to the named paths, within what earlier constraints leave."""
    named = re.findall(_PATH, next(filter(None, match.groups())))
    paths = [os.path.realpath(os.path.expanduser(path.strip("`'\"").rstrip(":)"))) for path in named]
    remaining = [path for path in paths if not rules.roots or any(is_below(path, root) for root in rules.roots)]
    remaining += [root for root in rules.roots if root not in remaining and any(is_below(root, path) for path in paths)]
    if not remaining:
        raise BadRules(f"no folder is in {' or '.join(rules.roots)} and in {' or '.join(paths)}: fix the constraints")
    return {"roots": tuple(dict.fromkeys(remaining))}


def _denied(rules: TaskRules, text: str) -> Change:
    banned = {*denied_tools(text, {*ALL_TOOLS, *rules.tools})} - {"write_result"}
    return {"tools": rules.tools - banned} if banned else {}


def _only(rules: TaskRules, text: str) -> Change:
    allowed = only_tools(text, {*ALL_TOOLS, *rules.tools})
    return {"tools": rules.tools & {*allowed, *REPORT_TOOLS}} if allowed else {}


def _asks(rules: TaskRules, text: str) -> Change:
    groups = groups_that_ask(text)
    if groups == ("web_fetch",) and (rules.network or rules.proxied):
        groups = (*groups, "shell:any")  # a command could fetch as well
    if groups and rules.custom and groups != ("shell",):
        groups = (*groups, "custom")  # nobody knows what such a program does
    return {"asks": tuple(dict.fromkeys([*rules.asks, *groups]))} if groups else {}


def _tool_rules(rules: TaskRules, text: str) -> Change:
    added = tool_rules(text)
    return {"tool_rules": (*rules.tool_rules, *added)} if added else {}


_CHANGES: tuple[Callable[[TaskRules, str], Change], ...] = (
    _read_only,
    _no_shell,
    _no_network,
    _top,
    _steps,
    _below,
    _read_below,
    _denied,
    _only,
    _asks,
    _tool_rules,
)
