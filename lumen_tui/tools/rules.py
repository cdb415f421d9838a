"""What one task may do: the role's permissions and rules, narrowed by the constraints that can be enforced.

A constraint only ever takes something away. One that no rule can be made of stays in the prompt, as advice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import msgspec
from msgspec import Struct

from lumen_tui.model.approvals import AllowRule
from lumen_tui.model.config import Config
from lumen_tui.model.roles import ALL_TOOLS, BACKGROUND_TOOLS, REPORT_TOOLS, WRITE_TOOLS, Role
from lumen_tui.model.tasks import Spec
from lumen_tui.model.toolrules import ToolRule
from lumen_tui.tools import prose

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


class BadRules(Exception):
    """Rules that cannot be kept together with the rest; the task cannot begin."""


class Rules(Struct, frozen=True):
    """The permissions in force. The default is the least there is."""

    tools: frozenset[str] = frozenset()
    shell: str = "none"  # none | read | any
    write: bool = False
    network: bool = False
    max_steps: int = 40
    max_rows: int = 0  # of any table or numbered list in the result; 0: no limit
    roots: tuple[str, ...] = ()  # file tools stay below these; empty: anywhere
    hosts: tuple[str, ...] = ()  # where web_fetch may go; empty: nowhere
    private: tuple[str, ...] = ()  # hosts that may stand at an address of this machine or network
    hidden: tuple[str, ...] = ()  # real paths that no tool reads
    role: str = ""
    tool_rules: tuple[ToolRule, ...] = ()
    asks: tuple[str, ...] = ()  # groups of calls that need a person's word
    allows: tuple[AllowRule, ...] = ()  # of those, the calls that do not any more
    enforced: tuple[str, ...] = ()  # constraints that became a rule
    advice: tuple[str, ...] = ()  # constraints that only the prompt carries


def derive(role: Role, spec: Spec, config: Config | None = None) -> Rules:
    """The rules of one task. BadRules where they contradict each other."""
    settings = config or Config()
    rules = Rules(
        tools=frozenset(role.tools) | frozenset(role.custom_tools), shell=role.shell, write=role.write,
        network=role.network, max_steps=max(1, role.limits.max_steps), role=role.name,
        hosts=(*role.hosts, *settings.web.hosts), private=settings.web.private, tool_rules=role.rules,
        asks=settings.approvals.ask, allows=settings.allow,
    )  # fmt: skip
    for constraint in spec.constraints:
        rules = _apply(rules, constraint)
    return check(_settle(rules))


def check(rules: Rules) -> Rules:
    """The rules, where they can be kept: what must be called has to be among the tools."""
    for rule in rules.tool_rules:
        if rule.kind in ("run_first", "required_before_exit") and rule.tool not in rules.tools:
            raise BadRules(f"{rule.tool} must be called ({rule.kind}), but this task may not use it: mend the rules")
    if len({rule.tool for rule in rules.tool_rules if rule.kind == "run_first"}) > 1:
        raise BadRules("two tools cannot both come first: keep one run_first rule")
    return rules


def _apply(rules: Rules, constraint: str) -> Rules:
    changed = rules
    for change in _CHANGES:
        changed = change(changed, constraint)
    if changed is rules:
        return msgspec.structs.replace(rules, advice=(*rules.advice, constraint))
    return msgspec.structs.replace(changed, enforced=(*changed.enforced, constraint))


def _settle(rules: Rules) -> Rules:
    """Without the right to write there is no unchecked shell; below a root there is none at all.

    A tool that could do nothing is taken away, so that nobody is offered it.
    """
    shell = rules.shell if rules.shell in ("read", "any") else "none"
    if shell == "any" and not rules.write:
        shell = "read"
    if rules.roots:
        shell = "none"
    gone = {"shell"} if shell == "none" else set[str]()
    gone |= set() if shell == "any" else set(BACKGROUND_TOOLS)
    gone |= set() if rules.write else set(WRITE_TOOLS)
    gone |= set() if rules.hosts else {"web_fetch"}
    return msgspec.structs.replace(rules, shell=shell, tools=rules.tools - gone)


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
