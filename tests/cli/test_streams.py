"""Streams as a shell, a cron job or an old terminal may hand them over; and what `--json` prints."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lumen_tui.model.tasks import TaskEvent
from lumen_tui.storage import files


@pytest.mark.parametrize(
    ("words", "streams", "code", "said"),
    [
        ('signal "closed stdout"', ">&-", 0, ""),
        ("archive insert -", "<&-", 2, "lumen-tui: "),
        ('signal "all closed"', "<&- >&- 2>&-", 0, ""),
    ],
)
def test_a_stream_that_was_closed_is_an_empty_one(shell: Any, words: str, streams: str, code: int, said: str) -> None:
    shell("init")
    command = ["sh", "-c", f"{sys.executable} -m lumen_tui {words} {streams}"]
    done = subprocess.run(command, env=shell.environ, capture_output=True, text=True, check=False, cwd=shell.root)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said) and "Traceback" not in done.stderr
    sent = shell.layout.signals
    assert not sent.exists() or all(json.loads(line)["id"] for line in sent.read_bytes().splitlines())


def test_a_terminal_without_the_character_gets_a_mark_in_its_place(shell: Any) -> None:
    shell("init")
    shell("create", "Zażółć: the café → closed")
    command = [sys.executable, "-m", "lumen_tui", "triage"]
    environ = {**shell.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, env=environ, capture_output=True, check=False, cwd=shell.root)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Za?ó??: the café ? closed".encode("latin-1") in done.stdout


def test_a_note_that_is_not_utf_8_is_refused(shell: Any) -> None:
    shell("init")
    command = [sys.executable, "-m", "lumen_tui", "archive", "insert", "-"]
    environ = {**shell.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(command, env=environ, input=b"caf\xe9", capture_output=True, check=False, cwd=shell.root)
    assert (done.returncode, done.stderr) == (2, b"lumen-tui: - is not UTF-8 (byte 3)\n")


def test_a_judgement_of_triage_is_told_as_json(shell: Any) -> None:
    shell("init")
    node = shell("create", "a race").stdout.strip()
    done = json.loads(shell("triage", "--archive", node, "--reason", "old", "--json").stdout)
    assert done["action_id"].startswith("act-") and "a race" in done["summary"]
    assert json.loads(shell("triage", "--undo", "--json").stdout)["action_id"]


def test_the_end_of_a_session_is_told_as_json(shell: Any) -> None:
    shell("init")
    shell("wu", "new", "a unit", "--id", "WU-1")
    started = shell("start", "--wu", "WU-1", "-q").stdout.strip()
    assert json.loads(shell("session", "end", "--json").stdout)["target"] == started


def test_what_was_deleted_and_kept_names_the_action_that_takes_it_back(shell: Any) -> None:
    shell("init")
    first, second = (shell("create", text, "--type", "note").stdout.strip() for text in ("one", "two"))
    kept = json.loads(shell("promote", first, "--tag", "pattern", "--json").stdout)
    gone = json.loads(shell("delete", second, "--json").stdout)
    assert "action_id" not in json.loads(shell("delete", second, "--dry-run", "--json").stdout)
    for done in (gone, kept):
        assert shell("undo", done["action_id"]).returncode == 0


def test_a_log_of_a_task_is_followed_as_json_lines(shell: Any, watch: Callable[..., Any]) -> None:
    shell("init")
    task = shell("task", "new", "look").stdout.strip()
    journal = shell.layout.task(task) / "events.jsonl"
    with watch("task", "log", task, "--follow", "--json") as line:
        for text in ("one", "two → three"):
            files.append(journal, msgspec.json.encode(TaskEvent("2026-01-01T00:00:00.000Z", "note", text=text)) + b"\n")
            assert json.loads(line())["text"] == text
