"""Hooks: noted at once, their work done behind them, and nothing that goes wrong is silent."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from lumen_program import Child

from lumen_tui.engine.hooks import job
from lumen_tui.model.snapshot import Need
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import files, locks
from lumen_tui.storage.store import Store
from lumen_tui.store.sessions import hook_journal
from lumen_tui.store.sessions.hook_events import HookEvents

REPO = Path(__file__).resolve().parents[3]
HEAVY = (
    "argparse",
    "json",
    "asyncio",
    "typing",
    "msgspec",
    "pathlib",
    "subprocess",
    "datetime",
    "re",
    "enum",
    "tomllib",
)
LIBRARIES = ("msgspec", "typing", "argparse", "json", "asyncio", "subprocess", "tomllib", "inspect", "dataclasses")
MOST_MODULES = 40  # of ours and of the library, beyond those of a bare interpreter
PROBE = """
import sys
bare = set(sys.modules)
sys.path.insert(0, sys.argv.pop(1))
from lumen_tui.__main__ import run_plain
code = run_plain(sys.argv[1:])
heavy = [name for name in {heavy!r} if name in sys.modules]
print(len(set(sys.modules) - bare), *heavy, file=sys.stderr)
sys.exit(9 if code is None else code)
"""


def test_every_event_is_noted_and_only_a_start_says_something(agent):
    for event in hook_journal.EVENTS:
        said = agent(event)
        assert bool(said) == (event == "SessionStart")
    agent.quiet()
    noted = [line for line in agent.lines() if line["event"] != "outcome"]
    assert [line["event"] for line in noted] == list(hook_journal.EVENTS)
    assert {(line["session"], line["wu"], line["by"], line["cwd"]) for line in noted} == {
        ("5f0c-1", "WU-042", "ana", str(agent.project))
    }
    assert (noted[0]["tool"], noted[1]["agent"], noted[2]["why"]) == ("Edit", "Explore", "auto")
    assert [line.get("ask") for line in noted] == [None, "subagent_stop", "pre_compact", None, None, None]


def test_of_thirty_tool_calls_the_last_makes_a_checkpoint_and_each_session_is_counted_by_itself(agent):
    for number in range(30):
        agent("PostToolUse", "one")
        if number % 2:
            agent("PostToolUse", "two")
    agent.until(lambda: agent.lines("outcome"))
    agent.quiet()
    asked = [line for line in agent.lines() if "ask" in line]
    assert [(line["session"], line["ask"], line["calls"]) for line in asked] == [("one", "tool_calls", 30)]
    (outcome,) = agent.lines("outcome")
    (node,) = agent.checkpoints()
    assert (outcome["ok"], outcome["answers"], outcome["node"]) == (True, [asked[0]["id"]], node["id"])
    assert node["metadata"]["trigger"] == "tool_calls"
    assert (node["wu_id"], node["content"], node["created_by"]) == (
        "WU-042",
        "Checkpoint: 30 tool calls: changed /p/a.py",
        "ana",
    )
    actions = [json.loads(line) for line in agent.layout.actions.read_bytes().splitlines()]
    assert [one["target"] for one in actions if one["verb"] == "checkpoint.save" and one["target"]] == [node["id"]]
    assert agent.lumen("ready", "--wu", "WU-042").stdout.count("30 tool calls") == 1


def twenty(agent) -> list[Child]:
    """Twenty hooks at once, each with its event there from the start."""
    running = []
    for _ in range(20):
        with tempfile.TemporaryFile() as data:
            data.write(agent.sample("SubagentStop"))
            data.seek(0)
            running.append(agent.start("SubagentStop", data))
    return running


def test_many_hooks_at_once_start_one_process_and_each_request_is_answered(agent):
    lock = locks.try_lock(agent.root / hook_journal.LOCK)
    for one in twenty(agent):
        assert one.wait(60) == 0
    assert len(agent.lines("SubagentStop")) == 20
    assert agent.lines("outcome") == []  # somebody held the lock: none of them started a process
    files.os.close(lock)
    agent("SubagentStop")
    agent.until(lambda: not hook_journal.pending(str(agent.root), time.time()))
    agent.quiet()
    answered = [request for line in agent.lines("outcome") for request in line["answers"]]
    assert sorted(answered) == sorted(line["id"] for line in agent.lines("SubagentStop"))
    assert len(agent.checkpoints()) == 1


def test_twenty_hooks_that_race_lose_no_request(agent):
    for one in twenty(agent):
        one.wait(60)
    agent.until(lambda: not hook_journal.pending(str(agent.root), time.time()))
    answered = [request for line in agent.lines("outcome") for request in line["answers"]]
    assert len(answered) == len(set(answered)) == 20


@pytest.mark.parametrize("event", ["PostToolUse", "SubagentStop", "PreCompact", "Stop"])
def test_a_hook_loads_nothing_heavy(agent, event):
    agent(event)  # the settings are remembered
    agent.quiet()
    command = [sys.executable, "-I", "-S", "-c", PROBE.format(heavy=HEAVY), str(REPO), "hook", event]
    ran = subprocess.run(
        [*command, "--state", str(agent.root)], input=agent.sample(event).decode(), capture_output=True, text=True,
        timeout=60, env={"LUMEN_OPERATOR": "ana", "HOME": "/nonexistent"}, cwd=agent.project, check=False,
    )  # fmt: skip
    count, *heavy = ran.stderr.split()
    assert (ran.returncode, ran.stdout, heavy) == (0, "", [])
    assert int(count) <= MOST_MODULES
    agent.quiet()


def test_a_start_loads_no_library_for_what_it_says(agent):
    agent("SessionStart")
    command = [sys.executable, "-I", "-S", "-c", PROBE.format(heavy=LIBRARIES), str(REPO), "hook", "SessionStart"]
    ran = subprocess.run(
        [*command, "--state", str(agent.root)], input=agent.sample("SessionStart").decode(), capture_output=True,
        text=True, timeout=60, env={"LUMEN_OPERATOR": "ana", "HOME": "/nonexistent"}, cwd=agent.project, check=False,
    )  # fmt: skip
    _, *heavy = ran.stderr.split()
    assert (ran.returncode, heavy) == (0, [])
    assert "WU-042" in ran.stdout


def test_the_cost_of_a_hook_does_not_grow_with_the_journal(agent):
    agent("PostToolUse")
    line = (agent.root / hook_journal.NAME).read_bytes().replace(b"5f0c-1", b"other0")
    (agent.root / hook_journal.NAME).write_bytes(line * 40_000)
    fd = files.open_plain(agent.root / hook_journal.NAME)
    reads = []
    real, files.os.pread = files.os.pread, lambda *args: reads.append(args[1]) or real(*args)
    try:
        assert hook_journal.calls_since(fd, "5f0c-1") == 0
    finally:
        files.os.pread = real
        files.os.close(fd)
    assert sum(reads) < 1_000_000


GARBAGE = (
    b"", b"\n", b"garbage\n", b"{", b"null", b"[1]", b"7", b'"PostToolUse"', b"\xff\xfe", b"{}", b'{"a":' * 5000,
    b'{"session_id": 7, "cwd": ["x"], "tool_name": {}}', b'{"session_id": "", "tool_name": "Edit"}',
    b'[{"session_id": "s", "tool_name": "Edit"}]', b'{"tool_name": "Edit"}', b"x" * 2_000_000,
)  # fmt: skip


@pytest.mark.parametrize("event", hook_journal.EVENTS)
def test_what_is_no_event_is_counted_as_a_failure_and_never_as_an_event(agent, event):
    for number, data in enumerate(GARBAGE, start=1):
        ran = agent.raw(event, data)
        assert (ran.returncode, ran.stdout) == (1, b""), data[:40]
        assert event.encode() in ran.stderr and b"Traceback" not in ran.stderr
        hooks = HookEvents(agent.layout)
        hooks.refresh()
        assert (hooks.view.failures, hooks.view.events, hooks.counts) == (number, 0, {})
    assert any(event in problem.what for problem in hooks.problems(time.time()))


@pytest.mark.parametrize("event", hook_journal.EVENTS)
def test_another_event_than_was_called_for_is_a_failure_too(agent, event):
    other = next(name for name in hook_journal.EVENTS if name != event)
    assert agent.raw(event, agent.sample(other)).returncode == 1
    if event in hook_journal.CALLS:
        assert agent.raw(event, agent.sample(event, tool_name="")).returncode == 1
    assert {line["event"] for line in agent.lines()} == {"outcome"}
    status = agent.lumen("hooks", "status")
    assert status.returncode == 1 and f"{event} came with" in status.stdout


def test_a_huge_answer_of_a_tool_still_counts_for_its_session(agent):
    agent("PostToolUse", "big", tool_response={"stdout": "x" * 3_000_000})
    (line,) = agent.lines("PostToolUse")
    assert (line["session"], line["tool"]) == ("big", "Edit")


def test_hostile_names_stay_plain_words(agent):
    agent("PostToolUse", 'a"b\n\x1b[31m../..', tool_name="x\x1b[2J\n")
    (line,) = agent.lines("PostToolUse")
    assert line["session"] == "a-b---31m..-.."
    assert line["tool"] == "x?[2J?"


def test_without_a_state_folder_it_exits_0_and_says_why(agent, tmp_path):
    agent.root = tmp_path / "nowhere"
    ran = agent.raw("PostToolUse", agent.sample("PostToolUse"))
    assert (ran.returncode, ran.stdout) == (0, b"")
    assert b"no usable state folder" in ran.stderr
    assert not agent.root.exists()


def test_outside_a_work_session_nothing_is_asked_and_the_status_says_so(agent):
    assert agent.lumen("session", "end").returncode == 0
    agent("SubagentStop")
    assert "ask" not in agent.lines()[0]
    assert "1 came from outside any work session" in agent.lumen("hooks", "status").stdout


def test_the_session_of_the_nearest_folder_is_the_one(agent):
    inner = agent.project / "inner"
    inner.mkdir()
    agent.lumen("wu", "new", "Inner", "--id", "WU-043")
    outer, agent.project = agent.project, inner
    agent.lumen("start", "--wu", "WU-043")
    agent("PostToolUse")
    agent.project = outer
    agent("PostToolUse")
    assert [line["wu"] for line in agent.lines()] == ["WU-043", "WU-042"]


def test_an_odd_file_among_the_sessions_hides_none(agent):
    sessions = agent.layout.root / "sessions"
    (sessions / "ses-odd.json").symlink_to("/etc/passwd")
    (sessions / "ses-folder.json").mkdir()
    agent("PostToolUse")
    assert [line["wu"] for line in agent.lines()] == ["WU-042"]


def test_of_two_agents_in_one_folder_each_has_its_own_session(agent):
    agent.lumen("wu", "new", "Other", "--id", "WU-043")
    agent.lumen("start", "--wu", "WU-043", "--from", "bo")
    agent("PostToolUse")
    assert agent.raw("PostToolUse", agent.sample("PostToolUse"), LUMEN_OPERATOR="bo").returncode == 0
    assert agent.raw("PostToolUse", agent.sample("PostToolUse"), LUMEN_OPERATOR="cy").returncode == 0
    assert [line["wu"] for line in agent.lines()] == ["WU-042", "WU-043", "WU-043"]


def test_the_settings_are_followed(agent):
    agent.settings("[memory.enforcement.auto_checkpoint]\ninterval_tool_calls = 2\n")
    for _ in range(4):
        agent("PostToolUse")
    assert [line.get("calls") for line in agent.lines("PostToolUse")] == [None, 2, None, 2]
    agent.quiet()
    agent.settings("[memory.enforcement.auto_checkpoint]\nenabled = false\ninterval_tool_calls = 2\n")
    agent("PostToolUse")
    agent("PostToolUse")
    agent("SubagentStop")
    assert [line for line in agent.lines()[-3:] if "ask" in line] == []


def test_passed_tests_make_a_checkpoint_where_progress_signals_ask_for_one(agent):
    quiet = "on_tests_pass = false\non_milestone = false\n"  # no signal is asked for, a checkpoint is
    agent.settings(f"[memory.progress_signals]\nenabled = true\nauto_checkpoint = true\n{quiet}")
    ran = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}}
    agent("PostToolUse", **ran, tool_response={"stdout": "2 failed", "exit_code": 1})
    agent("PostToolUse", **ran, tool_response={"stdout": "2 passed"})
    steps = {"oldTodos": [{"status": "pending"}], "newTodos": [{"status": "completed"}]}
    agent("PostToolUse", tool_name="TodoWrite", tool_response=steps)
    assert [line.get("ask") for line in agent.lines("PostToolUse")] == [None, "tests_pass", "milestone"]
    agent.until(lambda: not hook_journal.pending(str(agent.root), time.time()))


def test_a_start_gives_the_recovery_block_within_its_bound(agent):
    for number in range(60):
        agent.lumen("signal", f"word {number} " + "long " * 80, "--wu", "WU-042") if number % 20 == 0 else None
    agent.lumen("checkpoint", "half way", "--wu", "WU-042", "--next-steps", "the other half")
    given = json.loads(agent("SessionStart", source="compact"))["hookSpecificOutput"]
    assert given["hookEventName"] == "SessionStart"
    assert "half way" in given["additionalContext"]
    assert "the other half" in given["additionalContext"]
    assert "`lumen-tui recall WU-042`" in given["additionalContext"]
    assert len(given["additionalContext"]) <= 4096


def test_a_background_job_that_fails_needs_a_person_until_one_succeeds(agent):
    memory = agent.layout.memory
    aside = memory.with_name("aside.jsonl")
    memory.rename(aside)
    memory.mkdir()
    agent("SubagentStop")
    agent.until(lambda: agent.lines("outcome"))
    agent.quiet()
    assert agent.lines("outcome")[0]["ok"] is False
    hooks = HookEvents(agent.layout)
    hooks.refresh()
    assert hooks.view.failures == 1
    assert "failed" in hooks.problems(time.time())[0].what
    status = agent.lumen("hooks", "status")
    assert status.returncode == 1
    assert "failures: 1" in status.stdout
    memory.rmdir()
    aside.rename(memory)
    snapshot = SnapshotReader(agent.root, "ana").snapshot(time.time())
    assert [item.target for item in snapshot.attention if item.need is Need.PROBLEM] == [hook_journal.NAME]
    agent("SubagentStop")
    agent.until(lambda: len(agent.lines("outcome")) == 2)
    snapshot = SnapshotReader(agent.root, "ana").snapshot(time.time())
    assert snapshot.attention == ()
    assert (snapshot.hooks.checkpoints, snapshot.hooks.failures) == (1, 1)
    assert agent.lumen("hooks", "status").returncode == 0


def test_a_request_that_nobody_answers_needs_a_person_after_a_while(agent):
    locks.try_lock(agent.root / hook_journal.LOCK)
    agent("SubagentStop")
    hooks = HookEvents(agent.layout)
    hooks.refresh()
    assert hooks.problems(time.time()) == []
    assert "none was made" in hooks.problems(time.time() + 121)[0].what


def test_a_killed_job_is_made_up_for_by_the_next(agent):
    lock = locks.try_lock(agent.root / hook_journal.LOCK)
    agent("SubagentStop")  # its process died before it did anything
    files.os.close(lock)
    agent("SubagentStop")
    agent.until(lambda: agent.lines("outcome"))
    agent.quiet()
    assert len([request for line in agent.lines("outcome") for request in line["answers"]]) == 2


def test_a_large_journal_is_shortened_and_its_counts_stay(agent, monkeypatch):
    for _ in range(3):
        agent("PostToolUse")
    path = agent.root / hook_journal.NAME
    line = path.read_bytes().splitlines()[0]
    path.write_bytes((line + b"\n") * 1000)
    monkeypatch.setattr(job, "_ROTATE_AT", 1000)
    monkeypatch.setattr(job, "_KEEP", 10 * (len(line) + 1))
    for _ in range(2):
        job.shorten(Store(agent.root))
        assert len(path.read_bytes().splitlines()) <= 11
    hooks = HookEvents(agent.layout)
    hooks.refresh()
    assert hooks.view.events == 1000
    assert hooks.since == json.loads(line)["at"]


def test_damaged_lines_and_a_link_in_its_place_are_told_and_stop_nothing(agent, tmp_path):
    agent("PostToolUse")
    path = agent.root / hook_journal.NAME
    with path.open("ab") as file:
        file.write(b"not json\n")
    agent("PostToolUse")
    hooks = HookEvents(agent.layout)
    hooks.refresh()
    assert hooks.view.events == 2
    assert "1 damaged line" in hooks.problems(time.time())[0].what
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    found = SnapshotReader(agent.root, "ana").snapshot(time.time())
    assert any("symbolic link" in problem.what for problem in found.problems)
    ran = agent.raw("PostToolUse", agent.sample("PostToolUse"))
    assert ran.returncode == 0
    assert b"symbolic link" in ran.stderr
