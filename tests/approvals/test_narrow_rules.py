"""What "allow always" saves is never wider than the call that was asked about, whatever names a model chooses."""

import pytest

from lumen_tui.model.approvals import AllowRule, allows
from lumen_tui.tools.calls import narrow_rule
from lumen_tui.tools.shell import SHELL, ShellArguments
from lumen_tui.tools.verdict import Call

OTHERS = {
    ("write_file", "/work/files/*"): ["/work/files/other", "/work/files/deep/er"],
    ("write_file", "/work/[a-z]"): ["/work/a"],
    ("write_file", "/work/a?"): ["/work/ab"],
    ("ticket", '{"number":"*"}'): ['{"number":"1"}', '{"number":"1","delete":"yes"}'],
    ("web_fetch", "https://*/x"): ["https://example.org/x", "https://evil.example/"],
    ("web_fetch", "https://[::1]/x"): ["https://:/x"],
}


@pytest.mark.parametrize(("tool", "target"), OTHERS)
def test_names_that_look_like_patterns_allow_only_themselves(tool, target):
    rule = AllowRule(tool, "builder", narrow_rule(Call(tool=tool, target=target)))
    assert allows(rule, tool=tool, role="builder", target=target)
    for other in OTHERS[tool, target]:
        assert not allows(rule, tool=tool, role="builder", target=other), rule.pattern


@pytest.mark.parametrize("command", ["./build\u00a0", "\u2003./build", "./build\x1c", "./build\x0b", "./build\r"])
def test_only_what_a_shell_passes_over_is_passed_over(command):
    """A shell would run another program: the blank is part of its name."""
    rule = AllowRule("shell", "builder", "./build")
    assert allows(rule, tool="shell", role="builder", target=SHELL.target(None, ShellArguments(" ./build\n")))
    assert not allows(rule, tool="shell", role="builder", target=SHELL.target(None, ShellArguments(command)))
