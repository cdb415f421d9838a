"""A progress signal that is due is asked for at the verb or hook at which it is, and only there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lumen_tui.store.sessions import hook_journal

PASSED: dict[str, Any] = {
    "tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_response": {"stdout": "2 passed"},
}  # fmt: skip
STEP: dict[str, Any] = {
    "tool_name": "TodoWrite",
    "tool_response": {"oldTodos": [{"status": "pending"}], "newTodos": [{"status": "completed"}]},
}
TO_DO = 'lumen-tui signal "TEXT" --wu WU-042'


@pytest.fixture
def hook(agent):
    """One hook; what is said on standard error, which the agent's program is told as well."""

    def run(event: str = "PostToolUse", session: str = "5f0c-1", **fields: Any) -> str:
        ran = agent.raw(event, agent.sample(event, session, **fields))
        assert ran.returncode == 0
        said = ran.stderr.decode()
        told = json.loads(ran.stdout)["hookSpecificOutput"] if ran.stdout else {}
        assert told == (
            {"hookEventName": event, "additionalContext": said[len("lumen-tui hook: ") : -1]} if said else {}
        )
        return said

    return run


def wanted(agent, **rule: Any) -> None:
    lines = [f"{name} = {json.dumps(value)}" for name, value in {"enabled": True, **rule}.items()]
    agent.settings("[memory.progress_signals]\n" + "\n".join(lines) + "\n")


def test_every_so_many_calls_and_counted_anew_from_each_signal(agent, hook):
    wanted(agent, frequency=3)
    due = f"lumen-tui hook: WU-042: {{}} tool calls without a progress signal (one is due every 3): {TO_DO}\n"
    assert [hook() for _ in range(2)] == ["", ""]
    assert hook(session="another") == ""
    assert hook("PostToolUseFailure") == due.format(3)
    assert [hook() for _ in range(3)] == ["", "", due.format(6)]
    assert agent.lumen("signal", "half way", "--wu", "WU-042").returncode == 0
    assert [hook() for _ in range(3)] == ["", "", due.format(3)]
    assert agent.lumen("signal", "about something else", "--wu", "none").returncode == 0
    assert [hook() for _ in range(3)] == ["", "", due.format(6)]


def test_when_tests_first_pass_and_at_each_step(agent, hook):
    wanted(agent)
    assert hook(**PASSED) == f"lumen-tui hook: WU-042: tests passed and nobody was told: {TO_DO}\n"
    assert hook(**PASSED) == ""
    step = f"lumen-tui hook: WU-042: a step was completed and nobody was told: {TO_DO}\n"
    assert [hook(**STEP), hook(**STEP)] == [step, step]
    assert agent.lumen("signal", "tests pass", "--wu", "WU-042").returncode == 0
    assert "tests passed" in hook(**PASSED)


@pytest.mark.parametrize("rule", [{"enabled": False, "frequency": 1}, {"on_tests_pass": False, "on_milestone": False}])
def test_what_is_not_asked_for_is_not_missed(agent, hook, rule):
    wanted(agent, on_blocked=False, before_gates=False, **rule)
    assert [hook(), hook(**PASSED), hook(**STEP)] == [""] * 3
    for move in (("block", "-r", "no key"), ("unblock",), ("claim",), ("done", "--no-checkpoint-check")):
        done = agent.lumen("wu", move[0], "WU-042", *move[1:])
        assert (done.returncode, done.stderr) == (0, "")


def test_settings_kept_by_an_earlier_version_are_read_anew(agent, hook):
    wanted(agent, frequency=1)
    assert hook()
    kept = agent.root / hook_journal.RULE
    rule = json.loads(kept.read_text())
    kept.write_text(json.dumps({name: rule[name] for name in ("stamp", "enabled", "every", "max_checkpoints")}))
    assert hook()


def test_a_blocked_unit_and_one_that_is_finished_in_silence(agent):
    wanted(agent)
    assert agent.lumen("wu", "claim", "WU-042").returncode == 0
    blocked = agent.lumen("wu", "block", "WU-042", "-r", "no key")
    assert (blocked.returncode, blocked.stderr) == (
        0, f"lumen-tui: WU-042 is blocked and nobody was told: {TO_DO}\n",
    )  # fmt: skip
    assert agent.lumen("wu", "unblock", "WU-042").stderr == ""
    assert agent.lumen("wu", "claim", "WU-042").stderr == ""
    silent = agent.lumen("wu:done", "WU-042", "--no-checkpoint-check")
    assert (silent.returncode, silent.stderr) == (
        0, f"lumen-tui: WU-042 was finished without a progress signal: {TO_DO}\n",
    )  # fmt: skip
    assert agent.lumen("wu", "new", "The next", "--id", "WU-043").returncode == 0
    assert agent.lumen("wu", "claim", "WU-043").returncode == 0
    assert agent.lumen("signal", "all works", "--wu", "WU-043").returncode == 0
    assert agent.lumen("wu", "done", "WU-043", "--no-checkpoint-check").stderr == ""
