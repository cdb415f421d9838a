"""Rules on tools: what must come first, what may follow, how often, what a person must allow, what never happens.

A role carries them as `[[rules]]` in its front matter, a custom tool in its own file, and constraints in prose
become them. An unknown kind makes what carries it unusable: a rule that nobody understands holds nothing back.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

from msgspec import Struct

KINDS = (
    "run_first", "exit_loop", "constrain_child", "max_count", "required_before_exit", "requires_approval", "deny",
)  # fmt: skip
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


def wrong(rule: ToolRule, tools: Iterable[str]) -> tuple[str, str]:
    """Return the field that will not do and why, or two empty strings. `tools` are the names there are."""
    known = set(tools)
    if rule.kind not in KINDS:
        return "kind", f"kind {rule.kind!r} is unknown: one of {', '.join(KINDS)}"
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


def in_words(rule: ToolRule) -> str:
    """Return the rule as a sentence for the model and the record."""
    call = f"{rule.tool} on {rule.pattern}" if rule.pattern else rule.tool.replace("*", "every tool")
    sentence = {
        "run_first": f"{call} comes before every other tool",
        "exit_loop": f"after {call} nothing more is called",
        "constrain_child": f"after {call} comes only {' or '.join(rule.then)}",
        "max_count": f"{call} at most {rule.count} time{'' if rule.count == 1 else 's'}",
        "required_before_exit": f"{call} is needed before the end",
        "requires_approval": f"{call} needs a person's word each time",
        "deny": f"{call} is refused",
    }.get(rule.kind, rule.kind)
    return f"{sentence} ({rule.why})" if rule.why else sentence
