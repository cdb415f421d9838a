"""The verdict on what a model asks for: allow, ask a person, or deny, with the reason.

`understand` turns a request into a call that can be judged, and `judge` is a pure function of rules, call and history.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from lumen_tui.model import renamed
from lumen_tui.model.approvals import COMMANDS, AllowRule, allows, call_hash, moving
from lumen_tui.model.roles import WRITE_TOOLS, ToolRule, rule_sentence
from lumen_tui.model.text import is_safe, one_line
from lumen_tui.tools.base import AnyTool, Context, TaskRules, ToolError, size_text
from lumen_tui.tools.custom import misfit, schema_of

GRACE_STEPS = 3  # refused calls after the last step, in which a result can still be written
SAME = 4  # the same call with the same answer is refused from this time on
TOOLS_RULE = "the tools of the role"
_CYCLE = 3  # longest repeated pattern of calls that is recognised


class PolicyCall(Struct, frozen=True):
    """The facts of a call that a verdict depends on."""

    tool: str
    target: str = ""  # the command, path or address
    folder: str = ""  # a command's own folder
    groups: tuple[str, ...] = ()  # as [approvals] ask names them: `shell:any`, `write`, `custom:high`
    hash: str = ""


class CallHistory(Struct, frozen=True):
    """What was called before in this task."""

    called: tuple[str, ...] = ()  # tools of all calls that were carried out, in order, also in earlier attempts
    succeeded: tuple[str, ...] = ()  # of those, the ones that went well
    recent: tuple[tuple[str, str], ...] = ()  # the latest: hash of the call, hash of the answer
    steps: int = 0  # calls so far, this one included


class PolicyVerdict(Struct, frozen=True):
    """What becomes of a call, and why."""

    decision: Literal["allow", "ask", "deny"]
    reason: str = ""
    rule: str = ""  # the rule or the setting that decided, in words
    limited: bool = False  # the call itself would be allowed: there were enough of it


def judge(rules: TaskRules, call: PolicyCall, history: CallHistory | None = None) -> PolicyVerdict:
    """Return the verdict on a call. The default is to deny."""
    history = history or CallHistory()
    if call.tool not in rules.tools:
        allowed = ", ".join(sorted(rules.tools)) or "none"
        return PolicyVerdict("deny", f"the tool {call.tool!r} is not among those of this task: {allowed}", TOOLS_RULE)
    if refusal := next(_refusals(rules, call, history), None):
        return refusal
    reason, asks = _why_ask(rules, call)
    if not reason:
        return PolicyVerdict("allow")
    if rule := allowing(rules, call):
        reach = "for this task" if rule.task else "for good"
        return PolicyVerdict("allow", f"{rule.by or 'somebody'} allowed {rule.pattern} {reach}", allow_words(rule))
    return PolicyVerdict("ask", reason, asks)


def allow_words(rule: AllowRule) -> str:
    """Return the name of a rule that a person saved."""
    return f"[[allow]] {rule.tool} {rule.pattern}"


def allowing(rules: TaskRules, call: PolicyCall, *, unsandboxed: bool = False) -> AllowRule | None:
    """Return the operator's rule that allows the call, if any; `unsandboxed` calls need one that says so."""
    return next((rule for rule in rules.allows if _covered(rule, call, rules, unsandboxed=unsandboxed)), None)


def _covered(rule: AllowRule, call: PolicyCall, rules: TaskRules, *, unsandboxed: bool) -> bool:
    return allows(
        rule,
        tool=call.tool,
        role=rules.role,
        target=call.target,
        folder=call.folder,
        unwalled=unsandboxed,
        task=rules.task,
    )


def _refusals(rules: TaskRules, call: PolicyCall, history: CallHistory) -> Iterator[PolicyVerdict]:
    """Yield the verdicts that deny, the most important first."""
    if last := ended_by(rules, history):
        reason = f"{last} was the last call of this task: end your answer now"
        yield PolicyVerdict("deny", reason, f"the task ends with {last}", limited=True)
    if history.steps > rules.max_steps and not _is_last(rules, call.tool, history):
        last = "deposit" if "deposit" in rules.tools else "write the result"
        reason = f"all {rules.max_steps} steps are used: {last} now"
        yield PolicyVerdict("deny", reason, f"max_steps = {rules.max_steps}", limited=True)
    for rule in rules.tool_rules:
        if refusal := _REFUSALS.get(rule.kind, _unknown)(rule, rules, call, history):
            yield PolicyVerdict("deny", refusal, rule_sentence(rule), limited=rule.kind == "max_count")
    if repeats(history.recent, call.hash):
        reason = (
            f"the same calls of {call.tool} gave the same answers {SAME - 1} times: they will not change; do something "
            "else, or write the result with what you have"
        )
        yield PolicyVerdict("deny", reason, f"the same call with the same answer, {SAME - 1} times", limited=True)


def ended_by(rules: TaskRules, history: CallHistory) -> str:
    """Return the tool that ended the task by an exit_loop rule, or an empty string."""
    ends = {rule.tool for rule in rules.tool_rules if rule.kind == "exit_loop"}
    return next((tool for tool in history.succeeded if tool in ends), "")


def _is_exit(rules: TaskRules, tool: str) -> bool:
    """Return whether the task ends with this tool: one of an exit_loop rule, else a result or a deposit."""
    ends = {rule.tool for rule in rules.tool_rules if rule.kind == "exit_loop"} or {"write_result", "deposit"}
    return tool in ends


def _is_last(rules: TaskRules, tool: str, history: CallHistory) -> bool:
    """Return whether the call may be made with no steps left: it ends the task, or the end requires it."""
    return tool == "write_result" or _is_exit(rules, tool) or tool in _wanted(rules, history)


def _wanted(rules: TaskRules, history: CallHistory) -> set[str]:
    return {rule.tool for rule in rules.tool_rules if rule.kind == "required_before_exit"} - set(history.succeeded)


def unmet(rules: TaskRules, history: CallHistory) -> str:
    """Return why the task must not end yet, or an empty string."""
    return " and ".join(f"{tool} is needed before the end" for tool in sorted(_wanted(rules, history)))


def _because(rule: ToolRule) -> str:
    return f" ({rule.why})" if rule.why else ""


def _run_first(rule: ToolRule, rules: TaskRules, call: PolicyCall, history: CallHistory) -> str:
    if rule.tool in history.succeeded or call.tool == rule.tool:
        return ""
    return f"{rule.tool} comes first in this task{_because(rule)}"


def _constrain_child(rule: ToolRule, rules: TaskRules, call: PolicyCall, history: CallHistory) -> str:
    if not history.succeeded or history.succeeded[-1] != rule.tool or call.tool in rule.then:
        return ""
    return f"after {rule.tool} comes only {' or '.join(rule.then)}{_because(rule)}"


def _max_count(rule: ToolRule, rules: TaskRules, call: PolicyCall, history: CallHistory) -> str:
    if call.tool != rule.tool or history.called.count(rule.tool) < rule.count:
        return ""
    times = "once" if rule.count == 1 else f"{rule.count} times"
    return f"{rule.tool} may be called {times} in this task, and was{_because(rule)}"


def _required(rule: ToolRule, rules: TaskRules, call: PolicyCall, history: CallHistory) -> str:
    if rule.tool in history.succeeded or call.tool == rule.tool or not _is_exit(rules, call.tool):
        return ""
    return f"{rule.tool} is needed before {call.tool}{_because(rule)}"


def _deny(rule: ToolRule, rules: TaskRules, call: PolicyCall, history: CallHistory) -> str:
    if not rule.covers(call.tool, call.target):
        return ""
    subject = f"{call.tool} on {rule.pattern}" if rule.pattern else call.tool
    return f"{subject} is refused by a rule of this task{_because(rule)}"


def _nothing(rule: ToolRule, rules: TaskRules, call: PolicyCall, history: CallHistory) -> str:
    return ""


def _unknown(rule: ToolRule, rules: TaskRules, call: PolicyCall, history: CallHistory) -> str:
    return f"a rule of the unknown kind {rule.kind!r} is in force, so nothing is called: fix the role"


_REFUSALS = {
    "deny": _deny,
    "max_count": _max_count,
    "run_first": _run_first,
    "constrain_child": _constrain_child,
    "required_before_exit": _required,
    "exit_loop": _nothing,
    "requires_approval": _nothing,
}


def _why_ask(rules: TaskRules, call: PolicyCall) -> tuple[str, str]:
    """Return why a person is asked, and the name of the rule or setting; empty where nobody is."""
    for rule in rules.tool_rules:
        if rule.kind == "requires_approval" and rule.covers(call.tool, call.target):
            reason = f"a rule of the {rules.role} asks for {rule.pattern or rule.tool}{_because(rule)}"
            return reason, rule_sentence(rule)
    group = next((candidate for candidate in (call.tool, *call.groups) if candidate in rules.asks), "")
    return (f"policy: {group} requires approval", f"[approvals] ask: {group}") if group else ("", "")


def repeats(seen: tuple[tuple[str, str], ...], coming: str) -> bool:
    """Return whether the next call repeats a call, or a short cycle of calls, with unchanged results."""
    return any(_cycles(seen, coming, length) for length in range(1, _CYCLE + 1))


def _cycles(seen: tuple[tuple[str, str], ...], coming: str, length: int) -> bool:
    """Return whether the last calls repeat one pattern of that length and the next call continues it."""
    tail = seen[-length * (SAME - 1) :]
    if len(tail) < length * (SAME - 1) or not coming:
        return False
    return tail[0][0] == coming and all(tail[at] == tail[at % length] for at in range(len(tail)))


MAX_ARGUMENTS = 2 * 1024 * 1024  # bytes of one call
_LONGEST_RULE = 500


class RequestedCall(Struct, frozen=True):
    """One call that a model requests, with its arguments checked."""

    tool: AnyTool
    arguments: object  # as the tool takes them
    canonical: dict[str, object]  # as they are shown and hashed
    call: PolicyCall
    allowed_once: bool = False  # by a person, or by a rule that one saved


def understand(context: Context, tool: AnyTool, arguments: Mapping[str, object]) -> RequestedCall:
    """Return the requested call. ToolError where the arguments do not fit."""
    checked = convert(tool, arguments)
    canonical: dict[str, object] = msgspec.to_builtins(checked)
    target = tool.target(context, checked)
    call = PolicyCall(
        tool=tool.name,
        target=target,
        folder=tool.folder(checked),
        groups=_groups(context, tool),
        hash=call_hash(tool.name, canonical),
    )
    return RequestedCall(tool, checked, canonical, call)


def too_large(arguments: Mapping[str, object]) -> str:
    """Return why the arguments are not even examined, or an empty string."""
    try:
        size = len(msgspec.json.encode(arguments))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return f"the arguments are no JSON object: {one_line(str(error), 100)}"
    if size > MAX_ARGUMENTS:
        return f"arguments of {size_text(size)} are too many: {size_text(MAX_ARGUMENTS)} at most"
    return ""


def convert(tool: AnyTool, arguments: Mapping[str, object]) -> object:
    """Return the arguments as the tool takes them; ToolError names what does not fit."""
    if problem := too_large(arguments):
        raise ToolError(f"{tool.name}: {problem}")
    if tool.arguments is None:
        if problem := misfit(tool.schema, dict(arguments)):
            raise ToolError(f"{tool.name}: {problem}; its arguments are {arguments_of(tool)}")
        return dict(arguments)
    if changed := renamed.changed_arguments(tool.name, arguments):
        raise ToolError(f"{tool.name}: {changed}; its arguments are {arguments_of(tool)}")
    try:
        return msgspec.convert(arguments, tool.arguments)
    except msgspec.ValidationError as error:
        raise ToolError(f"{tool.name}: {error}{_meant(tool.arguments, str(error))}") from error


def arguments_of(tool: AnyTool) -> str:
    """Return the names of its arguments, with commas between them."""
    return ", ".join(tool.arguments.__struct_fields__ if tool.arguments else tool.schema.get("properties", {}))


def _meant(arguments: type[Struct], problem: str) -> str:
    """Return what the argument that a problem is about stands for; without one, all that there are."""
    place = problem.rpartition("`$.")[2].partition("`")[0].partition("[")[0]
    described = schema_of(arguments)["properties"].get(place, {}).get("description", "")
    return f" ({described})" if described else f"; its arguments are {', '.join(arguments.__struct_fields__)}"


def _groups(context: Context, tool: AnyTool) -> tuple[str, ...]:
    """Return the groups of `[approvals] ask` that the call belongs to."""
    if tool.name in WRITE_TOOLS:
        return ("write",)
    if tool.name in COMMANDS:
        return ("shell", "shell:any") if context.rules.shell == "any" else ("shell",)
    if tool.schema:
        return ("custom", "custom:high") if tool.risk else ("custom",)
    return ()


def narrow_rule(call: PolicyCall, *, unsandboxed: bool = False) -> str:
    """Return the pattern that "allow always" would save for the call; empty where none would be narrow.

    Without a sandbox, allowing `make test` for good would allow everything: the worker may write what it runs.
    """
    if unsandboxed and moving(call.tool, call.target):
        return ""
    if not call.target or len(call.target) > _LONGEST_RULE or not call.target.isprintable():
        return ""
    if not is_safe(call.target):
        return ""  # a person would not see the whole rule
    if call.tool == "web_fetch":
        parts = urlsplit(call.target)
        return f"{parts.scheme}://{glob.escape(parts.netloc)}/*"
    if call.tool in COMMANDS:
        return "" if call.target.endswith(" *") else call.target
    return glob.escape(call.target)  # a model may choose names and arguments that would be patterns
