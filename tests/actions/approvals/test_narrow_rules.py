"""What "allow always" saves is never wider than the call that was asked about, whatever names a model chooses."""

import pytest
from lumen_rows import each_row

from lumen_tui.model.approvals import AllowRule, allows
from lumen_tui.model.text import one_line
from lumen_tui.tools.policy.verdict import PolicyCall, narrow_rule
from lumen_tui.tools.shell.tool import SHELL, ShellArguments

OTHERS = {
    ("write_file", "/work/files/*"): ["/work/files/other", "/work/files/deep/er"],
    ("write_file", "/work/[a-z]"): ["/work/a"],
    ("write_file", "/work/a?"): ["/work/ab"],
    ("ticket", '{"number":"*"}'): ['{"number":"1"}', '{"number":"1","delete":"yes"}'],
    ("web_fetch", "https://*/x"): ["https://example.org/x", "https://evil.example/"],
    ("web_fetch", "https://[::1]/x"): ["https://:/x"],
}


@pytest.mark.threat("S11", "rules that cover more than they show; ends that nobody saw")
@each_row(("tool", "target"), OTHERS)
def test_names_that_look_like_patterns_allow_only_themselves(tool, target):
    rule = AllowRule(tool, "builder", narrow_rule(PolicyCall(tool=tool, target=target)))
    assert allows(rule, tool=tool, role="builder", target=target)
    for other in OTHERS[tool, target]:
        assert not allows(rule, tool=tool, role="builder", target=other), rule.pattern


@pytest.mark.threat("S11", "rules that cover more than they show; ends that nobody saw")
@each_row("command", ["./build\u00a0", "\u2003./build", "./build\x1c", "./build\x0b", "./build\r"])
def test_only_what_a_shell_passes_over_is_passed_over(command):
    """A shell would run another program: the blank is part of its name."""
    rule = AllowRule("shell", "builder", "./build")
    assert allows(rule, tool="shell", role="builder", target=SHELL.target(None, ShellArguments(" ./build\n")))
    assert not allows(rule, tool="shell", role="builder", target=SHELL.target(None, ShellArguments(command)))


@pytest.mark.threat("S11", "rules that cover more than they show; ends that nobody saw")
@each_row("hidden", ["\u3164", "\u200b", "\u202e", "\U000e0101", "\u115f", "\ufe01", "\x1b"])
def test_no_rule_is_made_of_what_a_person_cannot_see(hidden):
    for tool, target in (("shell", f"git push {hidden}"), ("write_file", f"/work/{hidden}a")):
        assert narrow_rule(PolicyCall(tool=tool, target=target)) == ""


def test_a_summary_shows_that_there_is_more():
    far = SHELL.describe(ShellArguments("git status" + 3000 * " " + "; rm x"))
    assert one_line(far, 300) == "git status…"
    assert one_line(SHELL.describe(ShellArguments(3000 * " " + "rm x\n")), 300) == "rm x"
    assert one_line(SHELL.describe(ShellArguments("git status\nrm x")), 300) == "git status ⏎ rm x"
    assert one_line("all of it" + 3000 * " ", 300) == "all of it"
    assert one_line("a ⚠\ufe0f b") == "a ⚠\ufe0f b", "what emoji are made of stays"
