"""The verdict on a call: allow, ask a person, or deny, with the reason. Pure functions of rules and history."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from lumen_tui.model.approvals import AllowRule, allows
from lumen_tui.model.roles import ToolRule
from lumen_tui.tools.policy.rules import TaskRules

GRACE_STEPS = 3  # refused calls after the last step, in which a result can still be written
SAME = 4  # the same call with the same answer is refused from this time on
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
    """`decision` is allow, ask or deny."""

    decision: str
    reason: str = ""


def verdict(rules: TaskRules, call: PolicyCall, history: CallHistory | None = None) -> PolicyVerdict:
    """Return the verdict on a call. The default is to deny."""
    history = history or CallHistory()
    if call.tool not in rules.tools:
        allowed = ", ".join(sorted(rules.tools)) or "none"
        return PolicyVerdict("deny", f"the tool {call.tool!r} is not among those of this task: {allowed}")
    if reason := next(_refusals(rules, call, history), ""):
        return PolicyVerdict("deny", reason)
    reason = _why_ask(rules, call)
    if not reason:
        return PolicyVerdict("allow")
    if rule := allowing(rules, call):
        return PolicyVerdict("allow", f"{rule.by or 'somebody'} allowed {rule.pattern} for good")
    return PolicyVerdict("ask", reason)


def allowing(rules: TaskRules, call: PolicyCall, *, unsandboxed: bool = False) -> AllowRule | None:
    """Return the operator's rule that allows the call, if any; `unsandboxed` calls need one that says so."""
    return next((rule for rule in rules.allows if covered(rule, call, rules.role, unsandboxed=unsandboxed)), None)


def covered(rule: AllowRule, call: PolicyCall, role: str, *, unsandboxed: bool = False) -> bool:
    """Return whether this `[[allow]]` covers the call."""
    return allows(rule, tool=call.tool, role=role, target=call.target, folder=call.folder, unwalled=unsandboxed)


def _refusals(rules: TaskRules, call: PolicyCall, history: CallHistory) -> Iterator[str]:
    """Yield the reasons to deny, the most important first."""
    yield from _after_the_end(rules, history)
    if history.steps > rules.max_steps and not _is_last(rules, call.tool, history):
        last = "deposit" if "deposit" in rules.tools else "write the result"
        yield f"all {rules.max_steps} steps are used: {last} now"
    for rule in rules.tool_rules:
        if refusal := _REFUSALS.get(rule.kind, _unknown)(rule, rules, call, history):
            yield refusal
    if repeats(history.recent, call.hash):
        yield (
            f"the same calls of {call.tool} gave the same answers {SAME - 1} times: they will not change; do something "
            "else, or write the result with what you have"
        )


def _after_the_end(rules: TaskRules, history: CallHistory) -> Iterator[str]:
    if last := ended_by(rules, history):
        yield f"{last} was the last call of this task: end your answer now"


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
    return f"a rule of the unknown kind {rule.kind!r} is in force, so nothing is called: mend the role"


_REFUSALS = {
    "deny": _deny, "max_count": _max_count, "run_first": _run_first, "constrain_child": _constrain_child,
    "required_before_exit": _required, "exit_loop": _nothing, "requires_approval": _nothing,
}  # fmt: skip


def _why_ask(rules: TaskRules, call: PolicyCall) -> str:
    """Return the rule or setting for which a person is asked, or an empty string."""
    for rule in rules.tool_rules:
        if rule.kind == "requires_approval" and rule.covers(call.tool, call.target):
            return f"a rule of the {rules.role} asks for {rule.pattern or rule.tool}{_because(rule)}"
    group = next((candidate for candidate in (call.tool, *call.groups) if candidate in rules.asks), "")
    return f"calls of the kind {group} need a person's word" if group else ""


def repeats(seen: tuple[tuple[str, str], ...], coming: str) -> bool:
    """Return whether the next call repeats a call, or a short cycle of calls, with unchanged results."""
    return any(_cycles(seen, coming, length) for length in range(1, _CYCLE + 1))


def _cycles(seen: tuple[tuple[str, str], ...], coming: str, length: int) -> bool:
    """Return whether the last calls repeat one pattern of that length and the next call continues it."""
    tail = seen[-length * (SAME - 1) :]
    if len(tail) < length * (SAME - 1) or not coming:
        return False
    return tail[0][0] == coming and all(tail[at] == tail[at % length] for at in range(len(tail)))
