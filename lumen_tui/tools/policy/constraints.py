"""Turns constraints such as `Read only` or `Report top 10` into rules of a task.

A constraint only takes something away. It is read sentence by sentence, and a sentence becomes a rule only where all of
it matches a phrase listed in docs/tools.md: a rule from half a sentence would promise what it does not enforce.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

import msgspec

from lumen_tui.model.roles import ALL_TOOLS, REPORT_TOOLS
from lumen_tui.tools.files.below import is_below
from lumen_tui.tools.policy import sentences
from lumen_tui.tools.policy.rules import BadRules, TaskRules
from lumen_tui.tools.policy.sentences import AT_MOST, NOT, whole

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
    return {"network": False, "hosts": ()} if _NO_NETWORK.fullmatch(text) else {}


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
        raise BadRules(f"no folder is in {' or '.join(rules.roots)} and in {' or '.join(paths)}: mend the constraints")
    return {"roots": tuple(dict.fromkeys(remaining))}


def _denied(rules: TaskRules, text: str) -> Change:
    banned = {*sentences.denied_tools(text, {*ALL_TOOLS, *rules.tools})} - {"write_result"}
    return {"tools": rules.tools - banned} if banned else {}


def _only(rules: TaskRules, text: str) -> Change:
    allowed = sentences.only_tools(text, {*ALL_TOOLS, *rules.tools})
    return {"tools": rules.tools & {*allowed, *REPORT_TOOLS}} if allowed else {}


def _asks(rules: TaskRules, text: str) -> Change:
    groups = sentences.groups_that_ask(text)
    if groups == ("web_fetch",) and rules.network:
        groups = (*groups, "shell:any")  # a command could fetch as well
    if groups and rules.custom and groups != ("shell",):
        groups = (*groups, "custom")  # nobody knows what such a program does
    return {"asks": tuple(dict.fromkeys([*rules.asks, *groups]))} if groups else {}


def _tool_rules(rules: TaskRules, text: str) -> Change:
    added = sentences.tool_rules(text)
    return {"tool_rules": (*rules.tool_rules, *added)} if added else {}


_CHANGES: tuple[Callable[[TaskRules, str], Change], ...] = (
    _read_only, _no_shell, _no_network, _top, _steps, _below, _read_below, _denied, _only, _asks, _tool_rules,
)  # fmt: skip
