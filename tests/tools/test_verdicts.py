"""The one verdict on a call, as a table: rules, what came before, what becomes of the call."""

from __future__ import annotations

from lumen_rows import each_row

from lumen_tui.model.approvals import AllowRule
from lumen_tui.model.roles import RULE_KINDS, ToolRule, rule_fault, rule_sentence
from lumen_tui.tools.base import TaskRules
from lumen_tui.tools.policy.verdict import CallHistory, PolicyCall, ended_by, judge, unmet

TOOLS = frozenset({"glob", "grep", "shell", "write_file", "discover", "write_result", "web_fetch"})
GLOB_FIRST = ToolRule("run_first", "glob")
TWICE = ToolRule("max_count", "shell", count=2)
THEN = ToolRule("constrain_child", "web_fetch", then=("discover",))
NEEDED = ToolRule("required_before_exit", "discover")
LAST = ToolRule("exit_loop", "discover")
NO_RM = ToolRule("deny", "shell", pattern="rm *", why="nothing is lost here")
PUSH = ToolRule("requires_approval", "shell", pattern="git push*")
ALWAYS = AllowRule("shell", "builder", "git push origin main", by="ann")


def said(
    call: str, *rules: ToolRule, target: str = "", called: str = "", succeeded: str | None = None, **more: object
) -> str:
    """The verdict as `decision: reason`."""
    given = {name: more.pop(name) for name in ("asks", "allows", "max_steps") if name in more}
    known = TaskRules(tools=TOOLS, role="builder", tool_rules=rules, **given)  # type: ignore[arg-type]
    past = CallHistory(
        called=tuple(called.split()),
        succeeded=tuple((called if succeeded is None else succeeded).split()),
        steps=int(more.pop("steps", 1)),
    )
    found = judge(known, PolicyCall(call, target=target, **more), past)  # type: ignore[arg-type]
    return f"{found.decision}: {found.reason}"


@each_row(
    ("result", "expected"),
    [
        (said("rm"), "deny: the tool 'rm' is not among those of this task"),
        (said("glob"), "allow: "),
        (said("grep", GLOB_FIRST), "deny: glob comes first in this task"),
        (said("glob", GLOB_FIRST), "allow: "),
        (said("grep", GLOB_FIRST, called="glob"), "allow: "),
        (said("grep", GLOB_FIRST, called="glob", succeeded=""), "deny: glob comes first"),  # it was tried and failed
        (said("shell", TWICE, called="shell"), "allow: "),
        (
            said("shell", TWICE, called="shell shell", succeeded="shell"),
            "deny: shell may be called 2 times in this task, and",
        ),
        (said("grep", THEN, called="web_fetch"), "deny: after web_fetch comes only discover"),
        (said("discover", THEN, called="web_fetch"), "allow: "),
        (said("grep", THEN, called="web_fetch discover"), "allow: "),
        (said("write_result", NEEDED), "deny: discover is needed before write_result"),
        (said("grep", NEEDED), "allow: "),
        (said("write_result", NEEDED, called="discover"), "allow: "),
        (said("grep", LAST, called="discover"), "deny: discover was the last call of this task"),
        (said("grep", LAST, called="discover", succeeded=""), "allow: "),
        (said("shell", NO_RM, target="rm -rf build"), "deny: shell on rm * is refused by a rule of this task (nothing"),
        (said("shell", NO_RM, target="ls"), "allow: "),
        (said("shell", ToolRule("deny", "*")), "deny: shell is refused"),
        (said("shell", PUSH, target="git push origin main"), "ask: a rule of the builder asks for git push*"),
        (said("shell", PUSH, target="git status"), "allow: "),
        (
            said("shell", PUSH, target="git push origin main", allows=(ALWAYS,)),
            "allow: ann allowed git push origin main",
        ),
        (said("shell", PUSH, target="git push origin dev", allows=(ALWAYS,)), "ask: "),
        (said("shell", asks=("shell:any",), groups=("shell", "shell:any")), "ask: policy: shell:any requires approval"),
        (said("shell", asks=("shell:any",), groups=("shell",)), "allow: "),
        (said("write_file", asks=("write",), groups=("write",)), "ask: "),
        (said("write_file", asks=("write_file",), groups=("write",)), "ask: "),
        # a refusal weighs more than a question, and a saved rule lifts no refusal
        (said("shell", PUSH, ToolRule("deny", "shell"), target="git push x", allows=(ALWAYS,)), "deny: "),
        (said("grep", max_steps=3, steps=4), "deny: all 3 steps are used: write the result now"),
        (said("write_result", max_steps=3, steps=4), "allow: "),
        (said("discover", NEEDED, max_steps=3, steps=4), "allow: "),
        (said("discover", max_steps=3, steps=4), "deny: all 3 steps"),
        # a kind that nobody knows closes everything, should it ever get here
        (said("glob", ToolRule("denny", "grep")), "deny: a rule of the unknown kind 'denny'"),
    ],
)
def test_the_table(result: str, expected: str) -> None:
    assert result.startswith(expected)


def test_everything_is_refused_where_nothing_is_given() -> None:
    assert judge(TaskRules(), PolicyCall("glob")).decision == "deny"


@each_row(
    ("seen", "coming", "refused"),
    [
        ("aaa", "a", True), ("aa", "a", False), ("aaa", "b", False), ("ababab", "a", True), ("ababab", "b", False),
        ("abcabcabc", "a", True), ("xababab", "a", True), ("abab", "a", False), ("", "a", False),
    ],
)  # fmt: skip
def test_calls_that_go_round_in_circles_are_refused(seen: str, coming: str, refused: bool) -> None:
    rules = TaskRules(tools=TOOLS)
    past = CallHistory(recent=tuple((one, f"answer {one}") for one in seen))
    assert (judge(rules, PolicyCall("grep", hash=coming), past).decision == "deny") is refused


def test_the_same_call_with_new_answers_is_no_circle() -> None:
    past = CallHistory(recent=tuple(("a", f"answer {number}") for number in range(20)))
    assert judge(TaskRules(tools=TOOLS), PolicyCall("shell", hash="a"), past).decision == "allow"


def test_the_end_is_known() -> None:
    rules = TaskRules(tools=TOOLS, tool_rules=(NEEDED, LAST, ToolRule("required_before_exit", "glob")))
    assert unmet(rules, CallHistory()) == "discover is needed before the end and glob is needed before the end"
    assert unmet(rules, CallHistory(succeeded=("glob", "discover"))) == ""
    assert ended_by(rules, CallHistory(succeeded=("glob", "discover"))) == "discover"


@each_row(
    ("rule", "field"),
    [
        (ToolRule("denny", "glob"), "kind"), (ToolRule("deny", "nope"), "tool"),
        (ToolRule("max_count", "*", count=1), "tool"),
        (ToolRule("max_count", "glob"), "count"), (ToolRule("deny", "glob", count=3), "count"),
        (ToolRule("constrain_child", "glob"), "then"), (ToolRule("deny", "glob", then=("grep",)), "then"),
        (ToolRule("constrain_child", "glob", then=("nope",)), "then"),
        (ToolRule("max_count", "glob", count=1, pattern="x"), "pattern"),
    ],
)  # fmt: skip
def test_a_rule_that_will_not_do_names_its_field(rule: ToolRule, field: str) -> None:
    name, why = rule_fault(rule, TOOLS)
    assert name == field
    assert why


def test_every_kind_has_its_sentence() -> None:
    rules = (GLOB_FIRST, TWICE, THEN, NEEDED, LAST, NO_RM, PUSH)
    assert {rule.kind for rule in rules} == set(RULE_KINDS)
    assert len({rule_sentence(rule) for rule in rules}) == len(rules)
    assert rule_sentence(NO_RM) == "shell on rm * is refused (nothing is lost here)"
