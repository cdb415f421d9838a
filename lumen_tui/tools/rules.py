"""What one task may do: the role's permissions, narrowed by the constraints that can be enforced.

A constraint only ever takes something away. One that no rule can be made of stays in the prompt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import msgspec
from msgspec import Struct

from lumen_tui.model.roles import READ_TOOLS, Role
from lumen_tui.model.tasks import Spec

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
    r"(?! ?(?:steps?|calls?|tool|seconds?|minutes?|%|words?|lines?))\b",
    re.IGNORECASE,
)
_STEPS = re.compile(r"\b(?:at most|max(?:imum)?|no more than) (\d{1,4}) (?:steps?|(?:tool )?calls?)\b", re.IGNORECASE)
_ROOT = re.compile(
    r"\b(?:only|stay|remain|confine\w*|restrict\w*|limit(?:ed)?)\b[^/~]{0,40}?"
    r"\b(?:in|into|inside|within|under|below|to|at|read|look at|use)\s+[`'\"]?([~/][^\s`'\",;]*)",
    re.IGNORECASE,
)


class Rules(Struct, frozen=True):
    """The permissions in force. The default is the least there is."""

    tools: frozenset[str] = frozenset()
    shell: str = "none"  # none | read | any
    write: bool = False
    network: bool = False
    max_steps: int = 40
    max_rows: int = 0  # of any table or numbered list in the result; 0: no limit
    roots: tuple[str, ...] = ()  # file tools stay below these; empty: anywhere
    enforced: tuple[str, ...] = ()  # constraints that became a rule
    advice: tuple[str, ...] = ()  # constraints that only the prompt carries


def derive(role: Role, spec: Spec) -> Rules:
    """The rules of one task."""
    rules = Rules(
        tools=frozenset(role.tools), shell=role.shell, write=role.write, network=role.network,
        max_steps=max(1, role.limits.max_steps),
    )  # fmt: skip
    for constraint in spec.constraints:
        rules = _apply(rules, constraint)
    return _settle(rules)


def _apply(rules: Rules, constraint: str) -> Rules:
    changed = rules
    for change in _CHANGES:
        changed = change(changed, constraint)
    if changed is rules:
        return msgspec.structs.replace(rules, advice=(*rules.advice, constraint))
    return msgspec.structs.replace(changed, enforced=(*changed.enforced, constraint))


def _settle(rules: Rules) -> Rules:
    """Without the right to write there is no unchecked shell; below a root there is none at all."""
    shell = rules.shell if rules.shell in ("read", "any") else "none"
    if shell == "any" and not rules.write:
        shell = "read"
    if rules.roots:
        shell = "none"
    tools = rules.tools if shell != "none" else rules.tools - {"shell"}
    return msgspec.structs.replace(rules, shell=shell, tools=tools)


def _read_only(rules: Rules, text: str) -> Rules:
    if not _READ_ONLY.search(text):
        return rules
    return msgspec.structs.replace(rules, write=False, shell="none" if rules.shell == "none" else "read")


def _no_shell(rules: Rules, text: str) -> Rules:
    if not _NO_SHELL.search(text):
        return rules
    return msgspec.structs.replace(rules, shell="none")  # noqa: S604 - a permission, not a subprocess


def _no_network(rules: Rules, text: str) -> Rules:
    return msgspec.structs.replace(rules, network=False) if _NO_NETWORK.search(text) else rules


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
        tool for tool in READ_TOOLS
        if re.search(rf"\b(?:no|without|never use|do not use|don't use) (?:the )?{tool}\b", text, re.IGNORECASE)
    }  # fmt: skip
    return msgspec.structs.replace(rules, tools=rules.tools - banned) if banned else rules


_CHANGES: tuple[Callable[[Rules, str], Rules], ...] = (
    _read_only, _no_shell, _no_network, _top, _steps, _root, _denied,
)  # fmt: skip


def too_many_rows(text: str, limit: int) -> int:
    """The rows of the longest table or numbered list in Markdown `text` where it exceeds `limit`, else 0."""
    longest = table = numbered = 0
    for line in text.split("\n"):
        stripped = line.strip()
        table = table + 1 if stripped.startswith("|") else 0
        if re.match(r"\d+[.)] ", line):
            numbered += 1
        elif stripped and not line[0].isspace():
            numbered = 0
        longest = max(longest, numbered, table - 2)  # a table has a head and a rule
    return longest if 0 < limit < longest else 0
