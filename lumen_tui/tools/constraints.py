"""Constraints such as `Read only` or `Report top 10`, carried out on the rules of a task.

A constraint only ever takes something away. One that no rule can be made of stays in the prompt, as advice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

import msgspec

from lumen_tui.model.roles import ALL_TOOLS, REPORT_TOOLS
from lumen_tui.tools import prose
from lumen_tui.tools.rules import Rules

_READ_ONLY = re.compile(
    r"\bread[- ]?only\b|\b(?:do not|don't|never|must not|no) (?:\w+ )?(?:writ|modif|chang|delet|edit|alter|touch)"
    r"|\bchange nothing\b|\bno (?:writes|changes|edits|modifications)\b",
    re.IGNORECASE,
)
_NO_SHELL = re.compile(
    r"\b(?:no|without|never use|do not use|don't use|avoid)(?: a| the| any)? (?:shell|bash|terminal|commands?)\b",
    re.IGNORECASE,
)
_NO_NETWORK = re.compile(
    r"\b(?:no|without|never use|do not use|don't use)(?: the| any)? (?:network|internet|web)\b|\boffline\b",
    re.IGNORECASE,
)
_TOP = re.compile(
    r"\b(?:top|at most|no more than|max(?:imum)?|only|limit(?:ed)? to)(?: the)?(?: top| first)? (\d{1,4})"
    r"(?! ?(?:steps?|calls?|tool|seconds?|minutes?|%|words?|lines?|times?|(?:shell |bash )?commands?|signals?"
    r"|(?:web )?(?:fetches|requests?|pages?)|discover(?:y|ies)|(?:" + "|".join(ALL_TOOLS) + r")\b))\b",
    re.IGNORECASE,
)
_STEPS = re.compile(r"\b(?:at most|max(?:imum)?|no more than) (\d{1,4}) (?:steps?|(?:tool )?calls?)\b", re.IGNORECASE)
_NOT = r"\b(?:no|without|never use|do not use|don't use)"
_ROOT = re.compile(
    r"\b(?:only|stay|remain|confine\w*|restrict\w*|limit(?:ed)?)\b[^/~]{0,40}?"
    r"\b(?:in|into|inside|within|under|below|to|at|read|look at|use)\s+[`'\"]?([~/][^\s`'\",;]*)",
    re.IGNORECASE,
)


def narrow(rules: Rules, constraints: Iterable[str]) -> Rules:
    """The rules under all of these constraints; each is noted as enforced or as advice."""
    for constraint in constraints:
        rules = _apply(rules, constraint)
    return rules


def _apply(rules: Rules, constraint: str) -> Rules:
    changed = rules
    for change in _CHANGES:
        changed = change(changed, constraint)
    if changed is rules:
        return msgspec.structs.replace(rules, advice=(*rules.advice, constraint))
    return msgspec.structs.replace(changed, enforced=(*changed.enforced, constraint))


def _read_only(rules: Rules, text: str) -> Rules:
    if not _READ_ONLY.search(prose.unconditional(text)):
        return rules
    return msgspec.structs.replace(rules, write=False, shell="none" if rules.shell == "none" else "read")


def _no_shell(rules: Rules, text: str) -> Rules:
    if not _NO_SHELL.search(prose.unconditional(text)):
        return rules
    return msgspec.structs.replace(rules, shell="none")  # noqa: S604 - a permission, not a subprocess


def _no_network(rules: Rules, text: str) -> Rules:
    if not _NO_NETWORK.search(prose.unconditional(text)):
        return rules
    return msgspec.structs.replace(rules, network=False, hosts=())


def _top(rules: Rules, text: str) -> Rules:
    found = _TOP.search(text)
    if not found or int(found.group(1)) == 0:
        return rules
    rows = int(found.group(1))
    return msgspec.structs.replace(rules, max_rows=min(rows, rules.max_rows or rows))


def _steps(rules: Rules, text: str) -> Rules:
    found = _STEPS.search(text)
    if not found:
        return rules
    return msgspec.structs.replace(rules, max_steps=max(1, min(rules.max_steps, int(found.group(1)))))


def _root(rules: Rules, text: str) -> Rules:
    found = [os.path.realpath(os.path.expanduser(path.rstrip(".:)"))) for path in _ROOT.findall(text)]
    return msgspec.structs.replace(rules, roots=(*rules.roots, *found)) if found else rules


def _denied(rules: Rules, text: str) -> Rules:
    banned = {
        tool for tool in rules.tools - {"write_result"}
        if re.search(rf"{_NOT} (?:the )?{re.escape(tool)}\b", prose.unconditional(text), re.IGNORECASE)
    }  # fmt: skip
    return msgspec.structs.replace(rules, tools=rules.tools - banned) if banned else rules


def _only(rules: Rules, text: str) -> Rules:
    kept = prose.only_tools(text)
    return msgspec.structs.replace(rules, tools=rules.tools & {*kept, *REPORT_TOOLS}) if kept else rules


def _asks(rules: Rules, text: str) -> Rules:
    found = prose.groups_that_ask(text)
    return msgspec.structs.replace(rules, asks=tuple(dict.fromkeys([*rules.asks, *found]))) if found else rules


def _tool_rules(rules: Rules, text: str) -> Rules:
    found = prose.tool_rules(text)
    return msgspec.structs.replace(rules, tool_rules=(*rules.tool_rules, *found)) if found else rules


_CHANGES: tuple[Callable[[Rules, str], Rules], ...] = (
    _read_only, _no_shell, _no_network, _top, _steps, _root, _denied, _only, _asks, _tool_rules,
)  # fmt: skip
