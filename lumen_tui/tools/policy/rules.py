"""The permissions of one task: those of its role, narrowed by the constraints that can be enforced."""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from lumen_tui.model.approvals import AllowRule
from lumen_tui.model.roles import BACKGROUND_TOOLS, WRITE_TOOLS, ToolRule


class BadRules(Exception):
    """Rules that contradict each other; the task cannot begin."""


class TaskRules(Struct, frozen=True):
    """The permissions in force. The default allows nothing."""

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
    custom: frozenset[str] = frozenset()  # of the tools, those that are programs of the operator's own
    tool_rules: tuple[ToolRule, ...] = ()
    asks: tuple[str, ...] = ()  # groups of calls that need a person's word
    allows: tuple[AllowRule, ...] = ()  # of those, the calls that do not any more
    enforced: tuple[str, ...] = ()  # constraints that became a rule
    advice: tuple[str, ...] = ()  # constraints that only the prompt carries


def check(rules: TaskRules) -> TaskRules:
    """Return the rules if they are consistent: a required call must be among the tools. Else BadRules."""
    for rule in rules.tool_rules:
        if rule.kind in ("run_first", "required_before_exit") and rule.tool not in rules.tools:
            raise BadRules(f"{rule.tool} must be called ({rule.kind}), but this task may not use it: mend the rules")
    if any(rule.kind == "deny" and rule.tool == "write_result" for rule in rules.tool_rules):
        raise BadRules("write_result is refused by a rule, but a result gets out by nothing else: mend the rules")
    if len({rule.tool for rule in rules.tool_rules if rule.kind == "run_first"}) > 1:
        raise BadRules("two tools cannot both come first: keep one run_first rule")
    return rules


def settle(rules: TaskRules) -> TaskRules:
    """Remove what the rules make impossible: an unchecked shell without the right to write, any shell below a root.

    A tool that could do nothing is removed, so that no model is offered it.
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
    gone |= rules.custom if rules.roots else set()  # a program reads where it likes
    return msgspec.structs.replace(rules, shell=shell, tools=rules.tools - gone)


def too_many_rows(text: str, limit: int) -> int:
    """Return the rows of the longest table or numbered list in Markdown `text` if they exceed `limit`, else 0."""
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
