"""Nobody is asked about a call that masking would show in part only: what is shown is what is run."""

from __future__ import annotations

import pytest

from lumen_tui.model.roles import ToolRule
from lumen_tui.tools.base import ApprovalReply

RULES = (ToolRule("requires_approval", "shell"), ToolRule("requires_approval", "write_file"))
HIDING = (
    "echo '-----BEGIN PRIVATE KEY-----'; touch pwned", "git clone 'https://u:$(touch${IFS}pwned)@h/x'",
    "curl http://u:`id`x@h", "echo -----BEGIN RSA PRIVATE KEY-----\ntouch pwned\n-----END RSA PRIVATE KEY-----",
)  # fmt: skip
PLAIN = ("curl -H 'Authorization: Bearer 0123456789abcdef'", "git clone https://u:pw123@h/x", "echo sk-" + "a" * 20)


@pytest.fixture
def asking(make_box):
    """A toolbox of a builder that asks, and what it asked."""
    asked = []

    def ask(request):
        asked.append(request)
        return ApprovalReply(allowed=False, reason="no")

    return make_box("any", write=True, rules=RULES, ask=ask), asked


@pytest.mark.parametrize("command", HIDING)
def test_a_command_that_would_be_masked_where_it_does_something(asking, command):
    box, asked = asking
    result = box.call("shell", {"command": command})
    assert not result.ok
    assert "would not see all of this" in result.text
    assert asked == []


def test_a_change_that_would_be(asking):
    box, asked = asking
    text = "a\n-----BEGIN PRIVATE KEY-----\nimport os; os.system('touch pwned')\n"
    assert "would not see all of this" in box.call("write_file", {"path": "x.py", "content": text}).text
    assert asked == []


@pytest.mark.parametrize("command", PLAIN)
def test_what_is_only_a_key_is_masked_and_asked_about(asking, command):
    box, asked = asking
    assert box.call("shell", {"command": command}).text.endswith("no")
    assert len(asked) == 1
