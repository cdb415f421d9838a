"""The rules of one task: what its role may do, narrowed by the constraints of its spec."""

from __future__ import annotations

from lumen_tui.model import agent
from lumen_tui.model.config import Config
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.tools.policy.rules import TaskRules, check, settle


def derive(role: Role, spec: Spec, config: Config | None = None) -> TaskRules:
    """Return the rules of one task. BadRules where they contradict each other."""
    settings = config or Config()
    hosts = () if settings.web.closed else (*role.hosts, *settings.web.hosts)
    rules = TaskRules(
        tools=frozenset((*role.tools, *role.custom_tools, *_ends(role))),
        shell=role.shell,
        write=role.write,
        network=role.network,
        max_steps=max(1, role.limits.max_steps),
        role=role.name,
        custom=frozenset(role.custom_tools),
        hosts=hosts,
        private=settings.web.private,
        tool_rules=role.rules,
        asks=settings.approvals.ask,
        allows=settings.allow,
    )
    if spec.constraints:
        from lumen_tui.tools.policy import constraints  # its patterns take 10 ms, which few tasks need

        rules = constraints.narrow(rules, spec.constraints)
    return check(settle(rules))


def _ends(role: Role) -> tuple[str, ...]:
    """Return the tool with which every task of the role ends, whatever its `tools` list."""
    return () if role.name == agent.ROLE else ("write_result",)
