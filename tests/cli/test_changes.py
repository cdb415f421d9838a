"""`changes` on a command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from lumen_repository import Repository

from lumen_tui.cli.main import main
from lumen_tui.storage.layout import Layout
from lumen_tui.tools.isolation import living


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("LUMEN_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LUMEN_OPERATOR", "ana")
    repository = Repository(tmp_path / "repository")
    repository.commit(a__txt="one\n")
    assert main(["task", "new", "better", "--folder", str(repository.root), "--isolate", "worktree", "--json"]) == 0
    task_id = str(json.loads(capsys.readouterr().out)["target"])
    layout = Layout(tmp_path / "state")
    order = living.IsolationRequest(
        layout, layout.task(task_id), "worktree", str(repository.root), (), os.environ["PATH"]
    )
    living.take(order, lambda: None)
    (order.task / living.TREE / "a.txt").write_text("one\n\x1b[2Jtwo\n")
    living.settle(layout, order.task, "2026-01-01T00:00:00Z")
    return task_id


def test_a_list_is_shown_accepted_and_undone(task, capsys, tmp_path):
    assert main(["changes"]) == 0
    assert "1 file +1 -0" in capsys.readouterr().out
    assert main(["changes", "show", task]) == 0
    shown = capsys.readouterr().out
    assert "open" in shown
    assert "a.txt" in shown
    assert main(["changes", "show", task, "a.txt"]) == 0
    shown = capsys.readouterr().out
    assert "@@ -1,1 +1,2 @@ hunk 1" in shown
    assert "\x1b" not in shown
    assert main(["changes", "accept", task, "a.txt:1"]) == 0
    assert (tmp_path / "repository" / "a.txt").read_text() == "one\n\x1b[2Jtwo\n"
    assert main(["changes", "list"]) == 3
    assert main(["undo"]) == 0
    assert (tmp_path / "repository" / "a.txt").read_text() == "one\n"
    capsys.readouterr()
    assert main(["changes", "show", task, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "open"


def test_a_file_is_edited_on_its_way_in(task, capsys, tmp_path, monkeypatch):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "three\\r\\n\\377" >> "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    assert main(["changes", "edit", task, "a.txt"]) == 0
    assert (tmp_path / "repository" / "a.txt").read_bytes() == b"one\n\x1b[2Jtwo\nthree\r\n\xff"


def test_bad_words_end_with_a_sentence(task, capsys):
    assert main(["changes", "show", "nothing"]) == 3
    assert main(["changes", "accept", task, "b.txt"]) == 2
    assert "not in the change list" in capsys.readouterr().err
    assert main(["task", "new", "x", "--isolate", "moon"]) == 2
