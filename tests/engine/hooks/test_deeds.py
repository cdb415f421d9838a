"""A checkpoint of hooks says what was done since the one before, in the words of the calls themselves."""

from __future__ import annotations

import pytest

from lumen_tui.engine.hooks import deeds

KEY = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


@pytest.fixture
def asks(agent):
    """Every fourth call asks for a checkpoint; the answer is the text of the newest."""
    agent.settings("[memory.enforcement.auto_checkpoint]\nenabled = true\ninterval_tool_calls = 4\n")

    def newest() -> str:
        agent.quiet()
        return agent.checkpoints()[-1]["content"]

    return newest


def edits(agent, name: str, session: str = "one") -> None:
    agent("PostToolUse", session, tool_input={"file_path": f"{agent.project}/{name}"})


def test_it_names_files_commands_and_how_they_ended(agent, asks):
    edits(agent, "src/a.py")
    agent("PostToolUse", "one", tool_name="Read", tool_input={"file_path": "/etc/hosts"})
    agent("PostToolUseFailure", "one", tool_input={"command": "pytest -q\n tests"})
    edits(agent, "src/a.py")
    assert asks() == "Checkpoint: 4 tool calls: changed src/a.py; ran `pytest -q tests` (failed); read 1 file"


def test_the_next_one_begins_behind_it_and_other_sessions_are_left_out(agent, asks):
    for name in ("a", "b", "c", "d"):
        edits(agent, name)
        edits(agent, f"other-{name}", "two") if name < "d" else None
    assert asks() == "Checkpoint: 4 tool calls: changed a, b, c, d"
    edits(agent, "e")
    agent("Stop", "one", last_assistant_message="The tests pass now.\nMore to come.")
    agent("PreCompact", "one")
    expected = "before the context is compacted: changed e; its last words: The tests pass now. More to come."
    assert asks() == f"Checkpoint: {expected}"


def test_a_sub_agent_is_named_with_its_last_words(agent, asks):
    agent("SubagentStop", "one", agent_type="Explore", last_assistant_message="It is in b.py.")
    assert asks() == "Checkpoint: a sub-agent stopped: sub-agents: Explore; its last words: It is in b.py."


def test_nothing_secret_and_nothing_hostile_gets_into_it(agent, asks):
    agent("PostToolUse", "one", tool_name="Bash", tool_input={"command": "echo " + "x" * 140 + f" {KEY}"})
    agent("PostToolUse", "one", tool_name="Bash", tool_input={"command": f"curl -H '{KEY}' \x1b[31mred"})
    agent("PostToolUse", "one", tool_name="Bash", tool_input={"command": 7})
    agent("PostToolUse", "one", tool_name="Bash", tool_input=["rm"])
    text = asks()
    assert KEY[:9] not in text + (agent.root / "sessions" / "hook-events.jsonl").read_text()
    assert "\x1b" not in text
    assert "[masked: github-pat]" in text


def test_of_many_the_last_are_named_and_the_others_counted():
    events = [{"event": "PostToolUse", "tool": "Write", "did": f"f{number}"} for number in range(20)]
    assert deeds.told(events) == "changed f14, f15, f16, f17, f18, f19 and 14 more"
    assert deeds.told([]) == deeds.told([{"event": "Stop"}]) == ""
    assert deeds.told([{"event": "PostToolUse", "tool": "mcp__db__query"}]) == "used mcp__db__query"
