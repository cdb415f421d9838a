"""Worker processes: they do the task, obey every way to stop, and always leave an exit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time

import pytest
from lumen_tree import endless, long_walk

from lumen_tui.storage import files, locks

SLOW_ROLE = """+++
purpose = "p"
shell = "read"
tools = ["shell", "grep", "disk_usage", "write_result"]
+++

Work.
"""


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    for number in range(1, 9):
        (folder / "sub" / f"file{number}").write_bytes(b"x" * 1000 * number)
    return folder


def test_the_first_task(make_task, data):
    task = make_task(f"What are the 5 largest files in {data}?")
    ended = task.run()
    assert ended["status"] == "done"
    assert ended["brain"] == "offline: largest-files"
    assert ended["attempt"] == 2
    assert task.result.startswith("# The 5 largest files in ")
    sizes = [line.split("|")[3].strip() for line in task.result.splitlines() if line.startswith("| ") and "`" in line]
    assert sizes == ["8,000", "7,000", "6,000", "5,000", "4,000"]
    assert "35.2 KiB (36,000 bytes) by apparent size, in 2 folders" in task.result
    kinds = [event["kind"] for event in task.events]
    assert kinds == ["started", "note", "call", "result", "call", "result", "finished"]
    assert all(event["attempt"] == 2 for event in task.events)
    assert (task.folder / "exit.json").stat().st_mode & 0o077 == 0
    assert task.log == ""


@pytest.mark.parametrize(
    ("objective", "brain", "wanted"),
    [
        ("How big is {data}?", "disk-usage", "35.2 KiB (36,000 bytes) by apparent size"),
        ("How many files are in {data}?", "count", "**8 files**"),
        ('Search for "needle" in {data}', "search-text", "0 lines in 0 of 8 text files"),
        ("How many lines are in {data}/log?", "count", "**3 lines**"),
        ("Show the errors in {data}/log", "log-errors", "2 lines of 3"),
        ("Summarise the git log of {repo}", "git-log", "commit"),
    ],
)
def test_every_playbook_answers(make_task, data, tmp_path, request, objective, brain, wanted):
    if brain == "git-log":
        request.getfixturevalue("sandbox")  # its command asks where no sandbox holds
    if "log?" in objective or "errors" in objective:
        (data / "log").write_text(
            "2026-01-01 10:00:01 ERROR disk 5 is full\nfine\n2026-01-02 11:00:00 ERROR disk 7 is full\n"
        )
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "a").write_text("a")
    for command in ("git init -q", "git add a", "git -c user.name=A -c user.email=a@b commit -qm one"):
        subprocess.run(command.split(), cwd=repo, check=True)
    task = make_task(objective.format(data=data, repo=repo))
    assert task.run()["status"] == "done"
    assert task.exit["brain"] == f"offline: {brain}"
    assert wanted in task.result
    if brain == "log-errors":
        assert "| 2 | `log:1` | `log:3` |" in task.result


def test_what_cannot_be_answered_fails_and_says_what_would_help(make_task):
    task = make_task("Write a poem about the sea")
    ended = task.run()
    assert ended["status"] == "failed"
    for wanted in ("ANTHROPIC_API_KEY", "provider", "largest files", "errors in a log"):
        assert wanted in ended["reason"]
    assert not (task.folder / "result.md").exists()


def test_a_place_that_does_not_exist(make_task):
    task = make_task("What are the 5 largest files in /no/such/place?")
    ended = task.run()
    assert (ended["status"], ended["reason"]) == ("failed", "/no/such/place does not exist")
    assert not (task.folder / "result.md").exists()


def test_constraints_are_enforced_or_named(make_task, data):
    task = make_task(
        f"What are the 5 largest files in {data}?", constraints=["Read only", "Report top 2", "Answer in rhyme"]
    )
    assert task.run()["status"] == "done"
    assert task.result.startswith("# The 2 largest files")
    assert "Constraint not applied by this playbook: Answer in rhyme" in task.result
    assert [event["text"] for event in task.events if event["text"].startswith("enforced")] == [
        "enforced: Read only", "enforced: Report top 2",
    ]  # fmt: skip


def test_hostile_file_names_are_shown_and_do_nothing(make_task, tmp_path):
    folder = tmp_path / "evil"
    folder.mkdir()
    names = ["a\x1b]52;c;aGk=\x07", "b\u202egnp.exe", "c|d`e", "d\nf", "[@click=app.bell]x", os.fsdecode(b"g\xff\xfe")]
    for size, name in enumerate(names, start=1):
        (folder / name).write_bytes(b"x" * size * 100)
    task = make_task(f"What are the 10 largest files in {folder}?")
    assert task.run()["status"] == "done"
    rows = [line for line in task.result.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) == 6
    for text in (task.result, (task.folder / "events.jsonl").read_text()):
        assert not any(char in text for char in "\x1b\x07\u202e")
    assert "10 were asked for; there are only 6" in task.result


@pytest.mark.threat("S7", "keys of workers: environment, zygote, log, events, transcript, orders to hosts")
def test_secrets_are_masked_in_events_result_and_log(make_task, tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir()
    (folder / "env").write_text(
        "token=ghp_abcdefghijklmnopqrstuvwxyz0123456789 needle\nAPI=my-own-secret-value needle\n"
    )
    task = make_task(f'Search for "needle" in {folder}')
    assert task.run(SERVICE_API_KEY="my-own-secret-value")["status"] == "done"
    whole = b"".join(path.read_bytes() for path in task.folder.iterdir())
    assert b"ghp_" not in whole
    assert b"my-own-secret" not in whole
    assert task.result.count("[masked: ") == 2


def test_a_stop_file_ends_it_with_its_status_and_reason(make_task):
    task = slow(make_task)
    files.replace(task.folder / "stop.json", b'{"status": "cancelled", "reason": "not needed"}')
    began = time.monotonic()
    task.children[0].wait(5)
    assert time.monotonic() - began < 2.5
    assert (task.exit["status"], task.exit["reason"]) == ("cancelled", "not needed")
    assert task.events[-1]["kind"] == "finished"


def test_sigterm_has_the_same_effect(make_task):
    task = slow(make_task)
    task.children[0].send_signal(signal.SIGTERM)
    task.children[0].wait(5)
    assert (task.exit["status"], task.exit["reason"]) == ("cancelled", "ended by SIGTERM")


def test_a_sigterm_at_any_moment_leaves_an_exit(make_task):
    for number, delay in enumerate((0.03, 0.06, 0.09, 0.12, 0.15, 0.2, 0.3)):
        task = make_task(f"How big is {long_walk()}?", task_id=f"tsk-{number}")
        child = task.start()
        threading.Timer(delay, child.send_signal, (signal.SIGTERM,)).start()
        child.wait(10)
        if child.returncode == -signal.SIGTERM:
            assert not task.events  # the interpreter had not come to our first line
            continue
        assert task.exit["status"] in ("cancelled", "done")


def test_the_time_limit(make_task):
    task = slow(make_task, timeout_seconds=1)
    task.children[0].wait(8)
    assert (task.exit["status"], task.exit["reason"]) == ("failed", "timed out after 1.0 s")


def test_a_hang_up_does_no_harm(make_task):
    task = slow(make_task)
    task.children[0].send_signal(signal.SIGHUP)
    files.replace(task.folder / "stop.json", b'{"status": "failed", "reason": "enough"}')
    task.children[0].wait(5)
    assert task.exit["status"] == "failed"


def test_the_lock_is_held_while_it_lives_and_free_after_a_kill(make_task):
    task = slow(make_task)
    assert locks.is_locked(task.folder / "run.lock")
    again = task.start(lock=False)
    assert again.wait(10) == 2
    assert "is held" in task.log
    os.killpg(task.children[0].pid, signal.SIGKILL)
    task.children[0].wait(5)
    task.until(lambda: not locks.is_locked(task.folder / "run.lock"), 3)
    assert not (task.folder / "exit.json").exists()


def test_a_lock_that_is_not_one_is_refused(make_task):
    task = make_task("What are the 5 largest files in /etc?")
    assert task.start(lock=False, LUMEN_LOCK_FD="77").wait(10) == 2
    assert task.start(lock=False, LUMEN_LOCK_FD="1").wait(10) == 2
    assert not (task.folder / "exit.json").exists()
    assert task.start(lock=False).wait(10) == 0
    assert task.exit["status"] == "done"


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("spec.json", b"{not json", "spec.json cannot be read"),
        ("spec.json", b'{"id": "tsk-two", "objective": "x"}', "another"),
        ("spec.json", b'{"id": "tsk-one"}', "objective"), ("spec.json", b"\xff\xfe", "cannot be read"),
        ("spec.json", b'{"id": "tsk-one", "objective": "x", "role": "nobody"}', "no role 'nobody'"),
        ("spec.json", b'{"id": "tsk-one", "objective": "x", "role": "../../etc"}', "cannot be used"),
    ],
)  # fmt: skip
def test_a_broken_task_fails_with_the_reason(make_task, name, content, wanted):
    task = make_task("x")
    (task.folder / name).write_bytes(content)
    ended = task.run()
    assert ended["status"] == "failed"
    assert wanted in ended["reason"]
    assert ended["task_id"] == "tsk-one"


def test_an_error_of_ours_is_an_exit_and_a_traceback_in_the_log_only(make_task):
    task = make_task("What are the 5 largest files in /etc?")
    (task.folder / "events.jsonl").mkdir()
    ended = task.run()
    assert ended["status"] == "failed"
    assert "Refused" in ended["reason"] or "NotWritten" in ended["reason"]
    assert "Traceback" in task.log
    assert "Traceback" not in ended["reason"]


def test_nothing_from_the_task_folder_is_imported(make_task):
    task = make_task("What are the 5 largest files in /etc?")
    for name in ("ctypes.py", "msgspec.py", "fnmatch.py"):
        (task.folder / name).write_text("raise SystemExit(77)\n")
    assert task.run()["status"] == "done"


def slow(make_task, **spec):
    """A task whose tool call lasts."""
    task = make_task("placeholder", role="slow", **spec)
    big = endless(task.layout.root.parent / "many")
    record = {"id": "tsk-one", "objective": f"Count the lines in {big}", "role": "slow", **spec}
    files.replace(task.folder / "spec.json", json.dumps(record).encode())
    task.layout.role("slow").write_text(SLOW_ROLE)
    task.start()
    task.until_called()
    return task
