"""Tasks of several attempts, of no model, of another program, and what a replay leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lumen_tui.engine.doctor import disk
from lumen_tui.model.approvals import Decision
from lumen_tui.model.replay import DecisionKind, ReplayOutcome, ReplayPart, ShadowBase, lines
from lumen_tui.model.times import iso
from lumen_tui.store import approvals
from lumen_tui.tools.base import Stopped
from lumen_tui.tools.isolation import shadows

ROOT = Path(__file__).resolve().parents[3]
REPLAY = (sys.executable, "-m", "lumen_tui", "--state")
DONE = ("write_result", {"text": "ok"})
WRITE = ("write_file", {"path": "new.txt", "content": "fresh\n"})
READ = ("read_file", {"path": "new.txt"})


def test_a_task_that_was_killed_and_taken_up_again(played, server):
    task = played.prepare(WRITE, READ, 30.0)
    worker = task.start(warm=True, **played.environ)
    task.until(lambda: len(server.asked) == 3)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    task.write("run.json", {"attempt": 3, "started_at": "2026-01-01T00:00:00Z"})
    server.script = [READ, DONE, "done"]
    assert task.run(warm=True, **played.environ)["status"] == "done", task.instead()
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL, lines(report, steps=True)
    assert sorted({step.attempt for step in report.steps}) == [2, 3]
    assert report == played.replay(task)


def test_a_call_that_was_cut_off_is_named_and_not_made(played, sandbox):
    task = played.prepare(WRITE, ("shell", {"command": "touch begun; sleep 60"}))
    worker = task.start(warm=True, **played.environ)
    task.until(lambda: (task.folder / "files" / "begun").exists())
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL, lines(report)
    assert report.steps[1].recorded.kind is DecisionKind.OPEN
    assert report.notes == ("step 2 was cut off: it may have happened, or not",)


def test_a_task_that_asked_and_waited_without_a_process(played):
    question = {"question": "Which?", "default": "this one"}
    task = played.prepare(WRITE, ("ask_operator", question), READ)
    assert task.start(warm=True, **played.environ).wait(30) == 3
    (asked,) = approvals.undecided(task.layout)
    answer = Decision(True, asked.hash, iso(time.time()), "ana", answer="that one")
    approvals.decide(task.layout, asked, answer, time.time())
    played.say(READ, DONE)
    played.go_on(task, 3)
    assert task.exit["status"] == "done", task.instead()
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL, lines(report, steps=True)
    assert [(step.tool, step.attempt) for step in report.steps[:2]] == [("write_file", 2), ("ask_operator", 3)]
    role = task.layout.role("maker")
    role.write_text(role.read_text().replace('purpose = "p"', 'purpose = "p"\nlimits = { max_steps = 2 }'))
    assert played.replay(task).divergence.rule == "max_steps = 2"


def test_checks_are_run_again_on_what_the_calls_left(played, repository, sandbox):
    checks = ["file: new.txt", "command: grep -q fresh new.txt"]
    apart = {"isolate": "worktree", "folder": str(repository.root), "accept": checks}
    task = played.play(WRITE, DONE, **apart)
    task.start(warm=True, **played.environ).wait(30)  # the process that checks
    assert task.exit["acceptance"]["verdict"] == "proved", task.instead()
    assert played.replay(task).outcome is ReplayOutcome.IDENTICAL
    ended = task.exit
    ended["acceptance"]["results"][1]["finding"] = "fails"
    task.write("exit.json", ended)
    divergence = played.replay(task).divergence
    assert (divergence.part, divergence.step) == (ReplayPart.ACCEPTANCE, 0)
    assert "grep -q fresh new.txt: holds" in divergence.now


def test_a_commit_that_is_gone_leaves_the_folder_as_it_is(played, repository):
    task = played.play(WRITE, DONE, isolate="worktree", folder=str(repository.root))
    record = json.loads((task.folder / "isolation.json").read_bytes())
    task.write("isolation.json", {**record, "commit": "0" * 40})
    report = played.replay(task)
    assert (report.outcome, report.base) == (ReplayOutcome.IDENTICAL, ShadowBase.NOW), lines(report)
    assert any("is not to be had" in note for note in report.notes)


def test_a_task_that_used_up_its_steps(played):
    more = "[limits]\nmax_steps = 2"
    task = played.play(*[READ] * 12, more=more)
    assert task.exit["status"] == "failed"
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL, lines(report, steps=True)
    assert report.steps[-1].now.kind is DecisionKind.LIMITED
    role = task.layout.role("maker")
    role.write_text(role.read_text().replace("max_steps = 2", "max_steps = 40"))
    divergence = played.replay(task).divergence
    assert divergence.recorded.startswith(("denied: all 2 steps", "limited: all 2 steps"))


def test_a_task_without_a_model(make_task, played, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_bytes(b"x" * 100)
    task = make_task(f"What are the 5 largest files in {tmp_path / 'data'}?")
    assert task.run(warm=True)["status"] == "done"
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL, lines(report, steps=True)
    assert len(report.steps) == 2


def test_what_claude_code_did_by_itself_is_said_to_be_missing(played):
    task = played.play(WRITE, DONE)
    ended = json.loads((task.folder / "exit.json").read_bytes())
    task.write("exit.json", {**ended, "brain": "claude claude-sonnet-5-5"})
    report = played.replay(task)
    assert (report.outcome, report.exit_code, len(report.steps)) == (ReplayOutcome.INCOMPLETE, 1, 2)
    assert "Claude Code" in report.missing[0]


def test_a_replay_that_is_stopped_or_out_of_time_leaves_nothing(played, sandbox):
    task = played.play(WRITE, ("shell", {"command": "sleep 0.2; echo one"}), READ, DONE)
    with pytest.raises(Stopped):
        played.replay(task, stopped=lambda: True)
    report = played.replay(task, seconds=0.0)
    assert report.outcome is ReplayOutcome.IDENTICAL
    assert any("its time was up" in note for note in report.notes)
    assert not (task.layout.root / "replays").exists()


def test_what_a_killed_replay_leaves_is_removed(played):
    task = played.play(DONE)
    with shadows.place(task.layout) as mine:
        killed = task.layout.replays / "replay-killed"
        (killed / "state").mkdir(parents=True)
        (killed / "state" / "closed").mkdir(mode=0)
        (finding,) = disk.leftovers(task.layout, 0.0, False)
        assert "killed" in finding.what
        assert shadows.sweep(task.layout) == 1
        assert mine.is_dir()
        assert not killed.exists()
    assert not task.layout.replays.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_replay_that_is_ended_in_a_command_leaves_nothing(played, sandbox, tmp_path, number):
    folder = tmp_path / "data"
    folder.mkdir()
    sign = folder / "block"
    command = f"if test -e {sign}; then touch {sign}.seen; sleep 300.618; fi"
    settings = f'[sandbox]\nwritable = ["{folder}"]\n'
    task = played.play(("shell", {"command": command}), DONE, folder=str(folder), settings=settings)
    assert task.exit["status"] == "done", task.instead()
    sign.touch()
    with subprocess.Popen([*REPLAY, str(task.layout.root), "replay", "one"], env=environ(played)) as program:
        task.until(lambda: any(task.layout.replays.glob("*/folders/0/block.seen")))
        program.send_signal(number)
        assert program.wait(30) != 0
    assert task.layout.replays.exists() is (number == signal.SIGKILL)
    shadows.sweep(task.layout)
    assert not task.layout.replays.exists()
    assert sorted(path.name for path in folder.iterdir()) == ["block"]
    task.until(lambda: not any(b"sleep\x00300.618" in words for words in command_lines()))


def command_lines() -> list[bytes]:
    """What runs now; ended processes that nobody waited for have none."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes())
        except OSError:
            continue
    return found


def environ(played) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "PYTHONPATH": str(ROOT), **played.environ}


def test_the_command_says_it_and_its_code_tells(played):
    task = played.play(WRITE, DONE)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [*REPLAY, str(task.layout.root), "replay", *words]
        return subprocess.run(argv, env=environ(played), capture_output=True, text=True, check=False)

    first, second = run("one", "--json"), run("one", "--json")
    assert (first.returncode, first.stdout) == (0, second.stdout), first.stderr
    assert json.loads(first.stdout)["outcome"] == "identical"
    task.layout.config.write_text('[approvals]\nask = ["write"]\n')
    told = run("one")
    assert told.returncode == 1
    assert "by        [approvals] ask: write" in told.stdout
    assert run("one", "--seconds", "much").returncode == 2
