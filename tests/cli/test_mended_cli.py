"""What a stranger stumbled over on the command line: full disks, closed folders, pipes, Ctrl-C, and odd words."""

from __future__ import annotations

import json
import os
import pty
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from lumen_rows import each_row
from lumen_tree import endless
from lumen_until import until

from lumen_tui.actions.registry import named, perform
from lumen_tui.cli.main import main
from lumen_tui.headless import demo, runs
from lumen_tui.model.text import is_safe, plain
from lumen_tui.storage import files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store

NOW = 1_790_000_000.0
DEADLINE = 40.0  # seconds


def start(shell, *words: str, **more) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "lumen_tui", *words]
    return subprocess.Popen(
        command, env=shell.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=shell.root.parent,
        **more,
    )  # fmt: skip


def _no_room() -> None:
    """In the child: no file may grow, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_run_on_a_full_disk_says_so_and_ends_with_one(shell):
    program = start(shell, "run", "disk usage of /tmp", preexec_fn=_no_room)
    said = program.communicate(timeout=DEADLINE)[1]
    assert program.returncode == 1
    assert "Traceback" not in said
    assert said.startswith("lumen-tui: ")
    assert "nothing was" in said


def test_a_full_disk_beside_a_running_engine_is_one_too(here, monkeypatch, capsys):
    def full(*_: object, **__: object) -> None:
        raise files.NotWritten("spec.json: the disk is full; nothing was written")

    monkeypatch.setattr(runs.RemotePort, "submit", full)
    assert runs.run_task(here.root, "ana", {"objective": "x"}) == 1
    assert capsys.readouterr().err == "lumen-tui: spec.json: the disk is full; nothing was written\n"


@pytest.mark.sweep(most=8)
@pytest.mark.parametrize("closed", [".", "..", "memory", "tasks"])
@pytest.mark.parametrize("words", [["status"], ["init"], ["signal", "x"], ["run", "x"], ["--engine-only", "--once"]])
def test_a_closed_folder_is_refused_in_words(shell, tmp_path, closed, words):
    if not _may_be_kept_out():
        pytest.skip("nothing here takes away root's right to read everything")
    shell.root.rename(tmp_path / "above")
    (tmp_path / "outer").mkdir()
    (tmp_path / "above").rename(tmp_path / "outer" / "state")
    folder = (tmp_path / "outer" / "state" / closed).resolve()
    folder.chmod(0)
    try:
        command = [*_kept_out(), sys.executable, "-m", "lumen_tui", *words]
        environ = {**shell.environ, "LUMEN_STATE": str(tmp_path / "outer" / "state")}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    finally:
        folder.chmod(0o700)
    assert "Traceback" not in done.stderr
    if (closed, words[0]) not in {("memory", "init"), ("tasks", "signal")}:  # these do not look in there
        assert done.returncode == 1
        assert "Permission denied" in done.stderr


@pytest.mark.parametrize("closed", [".", "memory", "tasks", "memory/signals.jsonl", "actions.jsonl"])
def test_what_cannot_be_written_to_is_not_called_healthy(shell, closed):
    if not _may_be_kept_out():
        pytest.skip("nothing here takes away root's right to write everything")
    assert shell("signal", "there").returncode == 0
    place = shell.root / closed
    mode = place.stat().st_mode & 0o777
    place.chmod(mode & 0o500)
    try:
        command = [*_kept_out(), sys.executable, "-m", "lumen_tui", "doctor"]
        done = subprocess.run(command, env=shell.environ, capture_output=True, text=True, timeout=60, check=False)
    finally:
        place.chmod(mode)
    assert done.returncode == 1
    assert f"{closed} " in done.stdout
    assert "cannot be written to" in done.stdout


def _kept_out() -> list[str]:
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def _may_be_kept_out() -> bool:
    if not _kept_out():
        return True
    try:
        return subprocess.run([*_kept_out(), "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def test_layout_of_a_closed_folder_is_refused_not_raised(tmp_path, monkeypatch):
    def denied(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_dir", denied)
    with pytest.raises(files.Refused, match="cannot be looked into: Permission denied"):
        Layout(tmp_path).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_run_cancels_the_task_and_ends_its_worker(shell, number, tmp_path):
    program = start(shell, "run", f"Count the lines in {endless(tmp_path / 'many')}", start_new_session=True)
    assert program.stderr is not None
    said = _until(program.stderr, "call")
    program.send_signal(number)
    said += program.communicate(timeout=DEADLINE)[1]
    assert program.returncode == 128 + number, said
    assert "the task is cancelled and its worker ended" in said
    [ended] = shell.layout.tasks.rglob("exit.json")
    assert json.loads(ended.read_text())["status"] == "cancelled"
    until(lambda: not locks.is_locked(ended.parent / "run.lock"), seconds=5)


def _until(stream: IO[str], word: str) -> str:
    said = ""
    while word not in said:
        line = stream.readline()
        assert line, said
        said += line
    return said


@pytest.mark.parametrize("words", [["inbox"], ["run", "disk usage of /tmp/none-there"], ["status"], ["task", "list"]])
def test_a_reader_that_goes_away_is_no_trouble(shell, words):
    assert shell("signal", "x").returncode == 0
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "lumen_tui", *words]
    done = subprocess.run(
        command, env=shell.environ, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    os.close(writing)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert shell("inbox", "--count").stdout == "1\n", "what nobody saw is not read"


@pytest.mark.parametrize("words", [["inbox"], ["status"]])
def test_output_that_has_no_room_is_said_in_a_sentence(shell, words):
    assert shell("signal", "x").returncode == 0
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "lumen_tui", *words]
        done = subprocess.run(
            command, env=shell.environ, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "no space left" in done.stderr
    assert shell("inbox", "--count").stdout == "1\n", "what nobody saw is not read"


def test_inbox_that_cannot_mark_lists_and_warns(here, monkeypatch, capsys):
    assert main(["signal", "hello"]) == 0

    def full(path: str, data: bytes) -> None:
        raise files.NotWritten(f"{path}: not writable (Read-only file system); nothing was written")

    monkeypatch.setattr("lumen_tui.cli.fast.inbox.files.append", full)
    assert main(["inbox"]) == 0
    out, err = capsys.readouterr()
    assert "hello" in out
    assert "nothing was marked as read" in err


@pytest.mark.parametrize(
    "words",
    [
        ["task", "show", "tsk-none"], ["task", "cancel", "tsk-none"], ["task", "retry", "tsk-none"],
        ["role", "show", "nobody"], ["role", "fire", "nobody", "--reason", "x"],
        ["role", "adjust", "nobody", "--tier", "opus"],
    ],
)  # fmt: skip
def test_not_found_is_three_for_every_verb_on_one_thing(here, words):
    assert main(words) == 3


def test_a_wrong_duration_is_named_in_words(here, capsys):
    assert main(["task", "new", "x", "--timeout", "banana"]) == 2
    said = capsys.readouterr().err
    assert "'banana' is not a duration: write a number and" in said
    assert "seconds_of" not in said


def test_inbox_with_words_says_how_reading_works(here, capsys):
    assert main(["inbox", "read", "nope"]) == 2
    assert "what it shows is read then" in capsys.readouterr().err


def test_a_beat_of_this_moment_was_just_now(shell):
    assert shell("--engine-only", "--once").returncode == 0
    said = shell("status").stdout
    assert "beat now ago" not in said
    assert "beat just now" in said or "s ago" in said


def test_an_import_says_that_its_issues_wait_in_triage(here, tmp_path, capsys):
    issues = tmp_path / "issues.jsonl"
    issues.write_text('{"id":"bd-1","title":"a","status":"open"}\n{"id":"bd-2","title":"b","status":"open"}\n')
    assert main(["import", "beads", str(issues)]) == 0
    assert "2 discoveries wait in triage" in capsys.readouterr().err


def test_summaries_name_discoveries_and_titles(tmp_path):
    store = Store(tmp_path)
    store.layout.create()
    made = [
        perform(store, named("node.create", {"content": title, "type": "bug"}), by="ana", now=NOW).target
        for title in ("alpha {} port", "beta", "gamma", "delta")
    ]
    merged = perform(store, named("triage.merge", {"node_ids": made[1:2], "into": made[0]}), by="ana", now=NOW)
    assert merged.summary == "1 merged into “alpha {} port”"
    away = perform(store, named("triage.archive", {"node_ids": made[2:], "reason": "x"}), by="ana", now=NOW)
    assert away.summary == "2 discoveries archived"


@each_row(
    ("typed", "kept"),
    [
        ("files in /tmp \x1b]", "files in /tmp "), ("\x1b[31mred\x1b[0m", "red"), ("\x1b]0;title\x07done", "done"),
        ("a\x00b\x9b\u202ec", "abc"), ("two\nlines\ttab", "two\nlines\ttab"), ("umlaut ü", "umlaut ü"),
        ("\x1b]8;;http://x\x1b\\link", "link"), ("cut \x1b", "cut "),
    ],
)  # fmt: skip
def test_what_nobody_meant_to_type_is_taken_out(typed, kept):
    assert plain(typed) == kept
    assert is_safe(plain(typed))


def test_an_objective_loses_its_stray_control_characters(here):
    assert main(["task", "new", "--id", "task-1", "disk usage of /tmp\x1b]\x1b[1m"]) == 0
    assert json.loads((here.layout.task("task-1") / "spec.json").read_text())["objective"] == "disk usage of /tmp"


def test_ctrl_c_while_a_demo_is_filled_stops_it_and_leaves_nothing(tmp_path, shell):
    environ = {**shell.environ, "TMPDIR": str(tmp_path / "t"), "TERM": "xterm-256color"}
    (tmp_path / "t").mkdir()
    main_end, other = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-m", "lumen_tui", "--demo"], env=environ, stdin=other, stdout=other, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    os.close(other)
    until(lambda: list((tmp_path / "t").glob("lumen-demo-*/state")))
    program.send_signal(signal.SIGINT)
    said = program.communicate(timeout=DEADLINE)[1]
    os.close(main_end)
    assert program.returncode == 130, said
    assert "what was made is being removed" in said
    until(lambda: not list((tmp_path / "t").glob("lumen-demo-*")))


def test_a_demo_that_was_left_is_removed_unless_an_engine_drives_it(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "_LOOKS", 2)
    root = tmp_path / "lumen-demo-x" / "state"
    Layout(root).create()
    held = locks.try_lock(Layout(root).engine_lock)
    assert held is not None
    assert "an engine still drives it" in demo.drop_demo(root)
    assert root.is_dir()
    os.close(held)
    assert demo.drop_demo(root) == ""
    assert not root.parent.exists()
    other = tmp_path / "state"
    Layout(other).create()
    demo.drop_demo(other)
    assert other.is_dir(), "no demo, not ours to remove"
