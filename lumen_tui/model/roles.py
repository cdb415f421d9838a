"""Role profiles: who a worker is, what it may use and how far it may go; the rules on its tools; custom tools.

A role carries rules as `[[rules]]` in its front matter, a custom tool in its own file, and constraints in prose become
them. An unknown kind makes what carries it unusable: a rule that nobody understands holds nothing back.
"""

import fnmatch
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct, field

from lumen_tui.model.fences import escaped
from lumen_tui.model.problem import Problem
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.model.config import WebConfig

RULE_KINDS = (
    "run_first",
    "exit_loop",
    "constrain_child",
    "max_count",
    "required_before_exit",
    "requires_approval",
    "deny",
)
_PATTERNED = ("requires_approval", "deny")
_MOST = 10_000


class ToolRule(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One rule. `tool` is a name, or `*` for every tool where the kind is requires_approval or deny."""

    kind: str
    tool: str
    then: tuple[str, ...] = ()  # constrain_child: the only tools that may come next
    count: int = 0  # max_count: calls in one task
    pattern: str = ""  # requires_approval, deny: only commands, paths or addresses that match (* ? [a-z])
    why: str = ""  # told to the model, and to the person who is asked

    def covers(self, tool: str, target: str) -> bool:
        """Return whether the rule is about this call."""
        if self.tool not in (tool, "*"):
            return False
        return not self.pattern or fnmatch.fnmatchcase(target, self.pattern)


def rule_fault(rule: ToolRule, tools: Iterable[str]) -> tuple[str, str]:
    """Return the field that will not do and why, or two empty strings. `tools` are the names there are."""
    known = set(tools)
    if rule.kind not in RULE_KINDS:
        return "kind", f"kind {rule.kind!r} is unknown: one of {', '.join(RULE_KINDS)}"
    if rule.tool != "*" and rule.tool not in known:
        return "tool", f"tool {rule.tool!r} is unknown"
    if rule.tool == "*" and rule.kind not in _PATTERNED:
        return "tool", f"{rule.kind} needs the name of one tool"
    if strange := [name for name in rule.then if name not in known]:
        return "then", f"tool {strange[0]!r} is unknown"
    return _wrong_parts(rule)


def _wrong_parts(rule: ToolRule) -> tuple[str, str]:
    """Return a part that the kind needs and lacks, or has and cannot use."""
    if (rule.kind == "constrain_child") != bool(rule.then):
        return "then", "constrain_child, and nothing else, needs `then`: the tools that may come next"
    if rule.kind == "max_count" and not 1 <= rule.count <= _MOST:
        return "count", f"max_count needs a count from 1 to {_MOST:,}"
    if rule.kind != "max_count" and rule.count:
        return "count", f"{rule.kind} takes no count"
    if rule.pattern and rule.kind not in _PATTERNED:
        return "pattern", f"{rule.kind} takes no pattern: {' and '.join(_PATTERNED)} do"
    return "", ""


def rule_sentence(rule: ToolRule) -> str:
    """Return the rule as a sentence for the model and the record."""
    call = f"{rule.tool} on {rule.pattern}" if rule.pattern else rule.tool.replace("*", "every tool")
    sentence = {
        "run_first": f"{call} comes before every other tool",
        "exit_loop": f"after {call} nothing more is called",
        "constrain_child": f"after {call} comes only {' or '.join(rule.then)}",
        "max_count": f"{call} at most {rule.count} time{'' if rule.count == 1 else 's'}",
        "required_before_exit": f"{call} is needed before the end",
        "requires_approval": f"{call} requires approval each time",
        "deny": f"{call} is refused",
    }.get(rule.kind, rule.kind)
    return f"{sentence} ({rule.why})" if rule.why else sentence


READ_TOOLS = ("read_file", "list_dir", "glob", "grep", "disk_usage")
WRITE_TOOLS = ("write_file", "edit_file", "apply_patch")
BACKGROUND_TOOLS = ("shell_start", "shell_output", "shell_stop")
BLOCK_TOOLS = ("memory_insert", "memory_replace", "memory_rethink")  # the main agent has them; others where named
MEMORY_TOOLS = ("memory_search", "recall", "remember", "read_signals")
RELAY_TOOLS = ("relay_read", "relay_submit")  # no shipped role has them; others where named
PLANNING_TOOLS = (  # the main agent has them, and the role planner; others where named
    "create_task",
    "cancel_task",
    "retry_task",
    "list_tasks",
    "read_task",
    "create_unit",
    "split_unit",
    "update_unit",
    "list_units",
    "read_unit",
    "judge_discoveries",
    "list_discoveries",
)
REQUEST_HOST = "request_host"  # no shipped role but web has it; others where named
REPORT_TOOLS = ("write_result", "signal", "discover")
ALL_TOOLS = (
    *READ_TOOLS,
    "shell",
    *BACKGROUND_TOOLS,
    *WRITE_TOOLS,
    "web_fetch",
    *MEMORY_TOOLS,
    *BLOCK_TOOLS,
    *RELAY_TOOLS,
    *PLANNING_TOOLS,
    *REPORT_TOOLS,
    REQUEST_HOST,
)


class Limits(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How far one task of the role may go."""

    timeout_seconds: Annotated[float, Meta(gt=0, le=604_800)] = 600.0
    stall_seconds: Annotated[float, Meta(ge=0, le=604_800)] = 120.0  # of silence: shown only, it ends nothing
    max_steps: Annotated[int, Meta(ge=1, le=100_000)] = 40
    max_output_bytes: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 1_000_000
    at_once: Annotated[int, Meta(ge=0, le=64)] = 0  # tasks of this role at the same time; 0: the engine's limit
    subtasks: Annotated[int, Meta(ge=0, le=100)] = 4  # that one task orders, where it has create_task
    subtask_depth: Annotated[int, Meta(ge=0, le=5)] = 1  # how far below a task the last one may be that is ordered
    cpu_seconds: Annotated[int, Meta(ge=0, le=86_400)] = 0  # of one command; 0: as [sandbox] says
    memory_mb: Annotated[int, Meta(ge=0, le=1_048_576)] = 0
    processes: Annotated[int, Meta(ge=0, le=16_384)] = 0


class Example(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """[example]: a task that shows what the role is for, in any folder."""

    objective: Annotated[str, Meta(min_length=1, max_length=2000)]
    context: Annotated[str, Meta(max_length=10_000)] = ""
    constraints: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()


class Role(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """roles/<name>.md: TOML front matter between `+++` lines, then the prompt."""

    name: str
    purpose: str
    tier: str = "haiku"
    tools: tuple[str, ...] = (*READ_TOOLS, *REPORT_TOOLS)
    shell: str = "none"  # none | read | any: which commands the shell tool may run
    write: bool = False  # may files outside the task folder be changed
    own_files_only: bool = False  # with write: it changes files in its task's own folder, and nothing that was granted
    writable: tuple[str, ...] = ()  # folders it may change, besides those of [sandbox] writable
    isolate: Literal["", "worktree", "copy"] = ""  # its tasks change a folder of their own, and hand in change lists
    accept: tuple[str, ...] = ()  # what proves its tasks done, unless they say so themselves
    network: bool = False
    hosts: tuple[str, ...] = ()  # where its web_fetch may go, besides those of [web] hosts
    command_hosts: tuple[str, ...] = ()  # where its commands may go, through the task's proxy; network = true: anywhere
    orders: tuple[str, ...] = ()  # roles that its create_task may name, besides those that may do no more than it
    custom_tools: tuple[str, ...] = ()  # of custom-tools/
    mcp: tuple[str, ...] = ()  # servers of [mcp.servers] (`git`), and single tools of theirs (`git__git_log`)
    skills: tuple[str, ...] = ("*",)  # of those that there are where it works, it has these; *: all
    rules: tuple[ToolRule, ...] = ()  # [[rules]]
    limits: Limits = field(default_factory=Limits)
    example: Example | None = None  # [example]
    prompt: str = ""
    source: str = "shipped"  # shipped | hired
    until: str = ""  # when a temporary hire ends, as 2026-03-08T12:00:00Z; empty: it stays
    schema: int = 1

    @property
    def changes_files(self) -> bool:
        """Whether it changes more than the own folders of its tasks."""
        return self.write and not self.own_files_only


def unusable(role: Role) -> tuple[str, str]:
    """Return the field that gives a role tools or powers which it could not use, and why; two empty strings if none."""
    any_command = role.shell == "any" and role.write
    held = [tool for tool in role.tools if tool in WRITE_TOOLS and not role.write]
    if held:
        return "tools", _needs(held, "write = true")
    if "shell" in role.tools and role.shell == "none":
        return "tools", _needs(["shell"], 'shell = "read" or "any"')
    held = [tool for tool in role.tools if tool in BACKGROUND_TOOLS and not any_command]
    if held:
        return "tools", _needs(held, 'shell = "any" and write = true')
    if strange := [host for host in role.hosts if "/" in host or host.split() != [host]]:
        return "hosts", f"{strange[0]!r} is no host: give its name alone, such as docs.python.org"
    if role.command_hosts and not any_command:
        return "command_hosts", 'command_hosts needs shell = "any" and write = true: web_fetch goes by hosts'
    writes = {*role.tools} & {*WRITE_TOOLS, *(("shell", *BACKGROUND_TOOLS) if any_command else ())}
    if role.write and not (writes or role.custom_tools or role.mcp):
        return "write", f'write = true needs a tool that writes: one of {", ".join(WRITE_TOOLS)}, or shell = "any"'
    return "", ""


def _needs(tools: list[str], setting: str) -> str:
    need, them = ("need", "them") if len(tools) > 1 else ("needs", "it")
    return f"{', '.join(tools)} {need} {setting}: set it, or leave {them} out"


_NO_PROXY = {
    "landlock": "commands run under Landlock here, which can give them no network of their own",
    "ask": "no sandbox holds here, and nothing but the person who is asked keeps them to these hosts",
}


def unreached(roles: Iterable[Role], tier: str) -> tuple[Problem, ...]:
    """Return a problem for each role whose commands reach hosts through a proxy, where this sandbox tier has none."""
    reason = _NO_PROXY.get(tier)
    return tuple(
        Problem(
            f"role {role.name}",
            f"its command_hosts ({one_line(', '.join(role.command_hosts), 100)}) need bubblewrap: {reason}",
            "install bubblewrap, or take command_hosts out of the role",
        )
        for role in roles
        if reason and role.command_hosts and not role.network
    )


def fetches_nothing(role: Role, web: "WebConfig") -> bool:
    """Return whether a role has web_fetch, and neither a host for it nor a way to ask for one."""
    asks = REQUEST_HOST in role.tools and not web.closed
    return "web_fetch" in role.tools and not asks and not web.with_those_of(role.hosts)


class PersonnelEntry(Struct, frozen=True, omit_defaults=True):
    """One line of personnel.jsonl: who was hired, fired or adjusted, by whom and why."""

    at: str
    verb: str  # hire | fire | adjust
    role: str
    by: str
    reason: str = ""
    summary: str = ""
    key: str = ""  # idempotency key of a hire
    schema: int = 1


class CustomTool(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """custom-tools/<name>.toml. The program gets the arguments as one JSON object, its last argument."""

    name: str
    description: Annotated[str, Meta(min_length=1, max_length=2000)]
    command: Annotated[tuple[str, ...], Meta(min_length=1, max_length=50)]  # `./x` is beside the file
    schema: dict[str, object]  # JSON Schema of the arguments
    risk: Literal["low", "high"] = "high"  # high: [approvals] ask knows it as custom:high
    risk_text: str = ""  # told to the person who is asked
    writes: bool = False  # whether it changes something: then only roles with write = true may have it
    network: bool = False  # whether it needs the network: then only roles with network = true may have it
    timeout_seconds: Annotated[float, Meta(gt=0, le=7200)] = 120.0
    rules: tuple[ToolRule, ...] = field(default_factory=tuple)  # [[rules]] about this tool


class PythonTool(CustomTool, frozen=True, omit_defaults=True, kw_only=True):
    """A function under `@tool` in custom-tools/<file>, in place of a program."""

    file: str
    hash: str  # of the file
    source: str


def role_line(role: Role) -> str:
    """Return a role that can be given work, on one line of a prompt."""
    may = "may change files" if role.changes_files else "changes nothing"
    return f"- {role.name} ({role.tier}, {may}): {escaped(one_line(role.purpose, 160))}"
