"""Preview what hiring, adjusting or firing a role would mean."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from lumen_tui.model import agent, times
from lumen_tui.model.analytics import Stats, Tally, shares
from lumen_tui.model.budget import dollars
from lumen_tui.model.config import Config
from lumen_tui.model.roles import BACKGROUND_TOOLS, WRITE_TOOLS, Role
from lumen_tui.model.tasks import Spec, Status, TaskView
from lumen_tui.model.text import one_line
from lumen_tui.model.toolservers import grants
from lumen_tui.store.settings.toolservers import role_problems
from lumen_tui.tools.base import BadRules, TaskRules
from lumen_tui.tools.policy.rules import derive

if TYPE_CHECKING:
    from lumen_tui.model.snapshot import Snapshot

Line = tuple[str, str]  # what it is about, and what will be
_WITHOUT_MAIN = (
    "It is the agent itself: without it no model thinks in a loop, whatever comes in. No signal is answered and no new",
    "task is given out by the agent; the engine notes what happens. Beats, workers, tasks of persons and facts go on.",
)
_SHOWN = 5  # tasks that are named
_NONE = Spec(id="", objective="")


class PreviewContext(Struct, frozen=True):
    """What the consequences depend on besides the role itself."""

    config: Config
    sandbox: str = ""  # the tier in force, as the heartbeat tells it
    brain: str = ""  # what answers where no other provider is named, as the heartbeat tells it
    stats: Stats | None = None  # of this role, or of the one that it is a copy of
    tasks: tuple[TaskView, ...] = ()  # that have not ended
    now: float = 0.0


def preview_context(picture: Snapshot, stats: Stats | None, now: float) -> PreviewContext:
    """Return the context of a role, taken from a snapshot of the state folder."""
    beat = picture.engine.heartbeat
    tier, brain = (beat.sandbox, beat.brain) if beat else ("", "")
    return PreviewContext(picture.config, tier, brain, stats, unended(picture.tasks), now)


def consequences(role: Role, context: PreviewContext) -> tuple[Line, ...]:
    """Return what will be true of the role's tasks once it is in force."""
    try:
        rules = derive(role, _NONE, context.config)
    except BadRules as error:
        return (("wrong", f"no task of it could begin: {error}"),)
    if problem := next(role_problems(role, context.config), None):
        return (("wrong", f"no task of it could begin: {problem.what}"),)
    return tuple(
        (name, text)
        for name, text in (
            ("model", model_words(role, context.config, context.brain)),
            ("tools", _tools(role, rules)),
            ("commands", _commands(rules, context)),
            ("mcp", _servers(role, context.config)),
            ("may change", _writable(role, rules, context.config)),
            ("asks for", _asks(rules, context)),
            ("orders", _orders(role, rules)),
            ("a task costs", cost_words(context.stats)),
            ("in force", until_words(role, context.now)),
            ("meets", _meets(role.name, context.tasks)),
        )
        if text
    )


def changed(before: Role, after: Role, context: PreviewContext) -> tuple[Line, ...]:
    """Return the consequences that differ from now, each with its present value."""
    old = dict(consequences(before, context))
    new = consequences(after, context)
    other_model = old.get("model") != dict(new).get("model") and context.stats is not None
    lines = []
    for name, text in new:
        if name in ("a task costs", "meets"):
            lines.append((name, f"so far, on the model of now: {text}" if other_model and name != "meets" else text))
        elif old.get(name) != text:
            lines.append((name, f"{text}  (now: {old.get(name, 'nothing')})"))
    return tuple(lines)


def model_words(role: Role, config: Config, brain: str = "") -> str:
    """Say which model its tasks get, and by which setting; `brain` is what the engine's heartbeat reports."""
    from lumen_tui.providers.base import ProviderError
    from lumen_tui.providers.choose import targets  # firing a role asks for no model

    by = "[models.roles]" if role.name in config.models.roles else f"its tier {role.tier}"
    try:
        first, *others = targets(config.models, role, _NONE, _keys(brain))
    except ProviderError as error:
        return f"none: {error}"
    named = f"{first.endpoint.name}: {first.model}".rstrip(": ")
    fallbacks = f", then {', '.join(target.model for target in others)}" if others else ""
    return one_line(f"{named}{fallbacks} (by {by})")


def _keys(brain: str) -> Mapping[str, str]:
    """Return the environment that selects a provider: the engine's, as its heartbeat reports it, else ours."""
    if not brain:
        return os.environ
    return {"ANTHROPIC_API_KEY": "the engine's"} if brain == "anthropic" else {}


def cost_words(stats: Stats | None) -> str:
    """Say what a task of a role has cost so far."""
    if stats is None or not stats.done + stats.failed:
        return "no history yet"
    tokens = stats.tokens // max(1, stats.tasks)
    took = f"{times.span(stats.median)}, p95 {times.span(stats.p95)}"
    done_share = shares(Tally(stats.done, stats.done + stats.failed))
    cost = f"median {dollars(stats.usd_median)}, p95 {dollars(stats.usd_p95)}"
    return f"{cost}; {tokens:,} tokens; {took}; {done_share} done"


def until_words(role: Role, now: float) -> str:
    """Say how long a temporary role stays; empty for a permanent one."""
    if not role.until:
        return ""
    seconds_left = times.epoch(role.until) - now
    remaining = f"{times.days(seconds_left)} more" if seconds_left > 0 else "over"
    return f"until {times.stamp_of(role.until)}, {remaining}"


def _tools(role: Role, rules: TaskRules) -> str:
    lost = ", ".join(f"{tool} ({reason})" for tool, reason in _useless(role, rules))
    remark = f"; of no use to it: {lost}" if lost else ""
    return f"{len(rules.tools)}: {', '.join(sorted(rules.tools))}{remark}"


def _useless(role: Role, rules: TaskRules) -> Iterator[Line]:
    for tool in sorted({*role.tools, *role.custom_tools} - rules.tools):
        if tool == "web_fetch":
            yield tool, "no host is allowed: name some in the role's hosts or in [web] hosts"
        elif tool in WRITE_TOOLS:
            yield tool, "the role has no write = true"
        else:
            yield tool, 'the role has no shell = "any"' if tool in BACKGROUND_TOOLS else 'the role has shell = "none"'


def _commands(rules: TaskRules, context: PreviewContext) -> str:
    if rules.shell == "none":
        return "none"
    kind = "any command" if rules.shell == "any" else "commands that only read"
    network = "with the network" if rules.network and rules.shell == "any" else "without network"
    if rules.proxied:
        hosts = f"reaching {one_line(', '.join(rules.command_hosts), 100) or 'no host until a person allows one'}"
        network = hosts if context.sandbox in ("", "bubblewrap") else f"without network: {hosts} needs bubblewrap"
    tier = {"ask": "no sandbox here", "refused": "refused: the sandbox that is required is not here"}
    return f"{kind}, {network}; {tier.get(context.sandbox, context.sandbox or 'sandbox not tested yet')}"


def _writable(role: Role, rules: TaskRules, config: Config) -> str:
    if not rules.write:
        return "nothing"
    roots = () if role.own_files_only else config.sandbox.granted(role.writable)
    return ", ".join([one_line(root, 80) for root in roots]) or "files in the task's own folder only"


def _orders(role: Role, rules: TaskRules) -> str:
    """Say what sub-tasks its tasks may order; empty for none."""
    if "create_task" not in rules.tools or role.name == agent.ROLE:
        return ""
    limits = role.limits
    others = f", and {', '.join(role.orders)}" if role.orders else ""
    deep = f"{limits.subtask_depth} deep" if limits.subtask_depth else "none: subtask_depth is 0"
    return one_line(f"{_count(limits.subtasks, 'sub-task')} each, {deep}, of roles that may do no more{others}")


def _servers(role: Role, config: Config) -> str:
    """Return the MCP servers it has and how they are reached; empty for none."""
    parts = []
    for name, tools in grants(role.mcp).items():
        only = f" ({one_line(', '.join(tools), 80)})" if tools else ""
        parts.append(f"{one_line(name, 40)}{only}: {_reached(name, config)}")
    return "; ".join(parts)


def _reached(name: str, config: Config) -> str:
    server = config.mcp.servers[name]
    where = one_line(server.url or " ".join(server.command), 60)
    return f"{where}{', may change things' if server.writes else ''}{', network' if server.network else ''}"


def _asks(rules: TaskRules, context: PreviewContext) -> str:
    """Return the calls that wait for a person's approval."""
    asks = [_named(rule.tool, rule.pattern) for rule in rules.tool_rules if rule.kind == "requires_approval"]
    asks += [group for group in rules.asks if _can_come(group, rules)]
    if context.sandbox == "ask" and rules.shell != "none":
        asks.append("every command")
    allowed = [rule for rule in rules.allows if rule.role == rules.role and not rule.task]
    free = f"; {len(allowed)} allowed for good" if allowed and asks else ""
    return (", ".join(dict.fromkeys(asks)) or "nothing") + free


def _can_come(group: str, rules: TaskRules) -> bool:
    """Return whether a call of this group can occur at all."""
    if group == "custom":
        return True
    if group == "custom:high":
        return bool(rules.custom)
    if group == "write":
        return bool(rules.tools & set(WRITE_TOOLS))
    return rules.shell == "any" if group == "shell:any" else group in rules.tools


def _named(tool: str, pattern: str) -> str:
    return one_line(f"{tool} on {pattern}" if pattern else tool, 80)


def in_flight(name: str, tasks: Iterable[TaskView]) -> tuple[list[TaskView], list[TaskView]]:
    """Return the live and the queued tasks of a role."""
    own = [task for task in tasks if task.spec.role == name]
    live = [task for task in own if task.status.alive]
    queued = [task for task in own if task.status is Status.QUEUED]
    return live, queued


def unended(tasks: Sequence[TaskView]) -> tuple[TaskView, ...]:
    """Return the tasks that live or wait. They are sorted live, queued, ended: the first ended one stops the search."""
    open_tasks = []
    for task in tasks:
        if task.status in (Status.DONE, Status.CANCELLED):
            break
        if task.status.alive or task.status is Status.QUEUED:
            open_tasks.append(task)
    return tuple(open_tasks)


def _meets(name: str, tasks: Sequence[TaskView]) -> str:
    live, queued = in_flight(name, tasks)
    parts = [_count(len(live), "task") + " running, to the end as begun"] if live else []
    parts += [_count(len(queued), "task") + " queued, which get it"] if queued else []
    return "; ".join(parts)


def firing(name: str, tasks: Sequence[TaskView], config: Config, stats: Stats | None = None) -> tuple[str, ...]:
    """Return what firing a role means, in plain lines."""
    live, queued = in_flight(name, tasks)
    lines = [*_WITHOUT_MAIN] if name == agent.ROLE else []
    lines += [] if live or queued else ["No task of this role is running or queued."]
    lines += [f"{_count(len(live), 'task')} running: they go on to their end."] if live else []
    lines += [f"{_count(len(queued), 'task')} queued: they will not start until it is rehired."] if queued else []
    lines += [f"  {task.state}  {one_line(task.spec.objective, 70)}" for task in (*live, *queued)[:_SHOWN]]
    lines += _orphans(name, queued, tasks, config)
    if stats is not None and stats.tasks:
        lines.append(f"So far {_count(stats.tasks, 'task')}, ${stats.usd:.2f}; each {cost_words(stats)}.")
    return (*lines, "The role can be rehired as it was.")


def _orphans(name: str, queued: Sequence[TaskView], tasks: Sequence[TaskView], config: Config) -> Iterator[str]:
    """Yield what would wait for, or refer to, a role that is gone."""
    held = {task.id for task in queued}
    behind = [task for task in tasks if task.spec.role != name and held & set(task.spec.depends_on)]
    if behind:
        yield f"{_count(len(behind), 'task')} of other roles depend on those and wait as long."
    if model := config.models.roles.get(name):
        yield f"[models.roles] in the settings still gives it {one_line(model, 60)}."
    if rules := [rule for rule in config.allow if rule.role == name]:
        yield f"{_count(len(rules), 'rule')} of [[allow]] are kept for it."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
