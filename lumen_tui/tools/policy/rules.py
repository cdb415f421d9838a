"""The permissions of one task: those of its role, narrowed by the constraints that can be enforced."""

from __future__ import annotations

import re

import msgspec

from lumen_tui.model import agent
from lumen_tui.model.approvals import ASK
from lumen_tui.model.config import Config
from lumen_tui.model.roles import BACKGROUND_TOOLS, REQUEST_HOST, WRITE_TOOLS, Role
from lumen_tui.model.skills import TOOL as SKILL
from lumen_tui.model.tasks import Spec
from lumen_tui.tools.base import BadRules, TaskRules


def check(rules: TaskRules) -> TaskRules:
    """Return the rules if they are consistent: a required call must be among the tools. Else BadRules."""
    for rule in rules.tool_rules:
        if rule.kind in ("run_first", "required_before_exit") and rule.tool not in rules.tools:
            raise BadRules(f"{rule.tool} must be called ({rule.kind}), but this task may not use it: fix the rules")
    if any(rule.kind == "deny" and rule.tool == "write_result" for rule in rules.tool_rules):
        raise BadRules("write_result is refused by a rule, but a result gets out by nothing else: fix the rules")
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
    gone |= {REQUEST_HOST} if rules.offline else set()
    gone |= set() if rules.hosts or REQUEST_HOST in rules.tools - gone else {"web_fetch"}
    gone |= rules.custom if rules.roots else set()  # a program reads where it likes
    reached = rules.command_hosts if shell == "any" and not rules.network else ()
    return msgspec.structs.replace(rules, shell=shell, tools=rules.tools - gone, command_hosts=reached)


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


def derive(role: Role, spec: Spec, config: Config | None = None, mcp_tools: tuple[str, ...] = ()) -> TaskRules:
    """Return the rules of one task; `mcp_tools` are those of MCP servers. BadRules where they contradict each other."""
    settings = config or Config()
    closed = {REQUEST_HOST} if settings.web.closed else set[str]()
    rules = TaskRules(
        tools=frozenset((*role.tools, *role.custom_tools, *mcp_tools, *_always(role))) - closed,
        shell=role.shell,
        write=role.write,
        own_files_only=role.own_files_only,
        network=role.network,
        max_steps=max(1, spec.steps or role.limits.max_steps),
        role=role.name,
        task=spec.id,
        custom=frozenset((*role.custom_tools, *mcp_tools)),
        hosts=settings.web.with_those_of(role.hosts),
        command_hosts=() if settings.web.closed else role.command_hosts,
        private=settings.web.private,
        tool_rules=role.rules,
        asks=settings.approvals.ask,
        allows=settings.allow,
    )
    if spec.constraints:
        from lumen_tui.tools.policy import constraints  # its patterns take 10 ms, which few tasks need

        rules = constraints.narrow(rules, spec.constraints)
    return check(settle(rules))


def _always(role: Role) -> tuple[str, ...]:
    """Return the tools that every task of the role has, whatever its `tools` list."""
    skills = (SKILL,) if role.skills else ()
    if role.name == agent.ROLE:
        return (ASK, *skills)  # its sessions wait for no task, and end otherwise
    return (ASK, *skills, "write_result", *((agent.WAIT,) if "create_task" in role.tools else ()))
