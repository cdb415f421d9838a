"""Hooks name paths of this machine: nothing that a project shares holds them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from lumen_tui.cli.main import main

THEIRS = '{\n  "model": "opus"\n}\n'


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with settings that are committed."""
    monkeypatch.setenv("LUMEN_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / "settings.json").write_text(THEIRS)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "settings")
    monkeypatch.chdir(folder)
    assert main(["init"]) == 0
    return folder


def test_nothing_that_is_committed_changes_and_nothing_new_can_be(project, capsys):
    before = (project / ".git" / "info" / "exclude").read_text()
    assert main(["hooks", "install"]) == 0
    assert "git leaves settings.local.json alone" in capsys.readouterr().err
    assert git(project, "status", "--porcelain") == ""
    assert (project / ".claude" / "settings.json").read_text() == THEIRS
    assert main(["hooks", "install"]) == 0
    assert "git leaves" not in capsys.readouterr().err
    assert main(["hooks", "uninstall"]) == 0
    assert (project / ".git" / "info" / "exclude").read_text() == before
    assert [path.name for path in (project / ".claude").iterdir()] == ["settings.json"]


def test_a_file_below_the_top_of_a_repository_is_left_alone_too(project, capsys):
    below = project / "web"
    below.mkdir()
    assert main(["hooks", "install", "--project", str(below)]) == 0
    assert git(project, "status", "--porcelain") == ""
    assert "/web/.claude/settings.local.json" in (project / ".git" / "info" / "exclude").read_text()


def test_what_an_earlier_version_put_into_the_shared_file_is_moved(project, capsys):
    assert main(["hooks", "install"]) == 0
    local, shared = project / ".claude" / "settings.local.json", project / ".claude" / "settings.json"
    shared.write_text(json.dumps({"model": "opus", **json.loads(local.read_text())}, indent=2) + "\n")
    local.unlink()
    capsys.readouterr()
    assert main(["hooks", "status"]) == 0
    assert "this file is shared" in capsys.readouterr().out
    assert main(["hooks", "install"]) == 0
    assert f"{shared}: our hooks are out" in capsys.readouterr().out
    assert shared.read_text() == THEIRS
    assert "hooks" in json.loads(local.read_text())


def test_a_file_that_git_follows_already_is_named(project, capsys):
    local = project / ".claude" / "settings.local.json"
    local.write_text("{}")
    git(project, "add", "-f", ".claude/settings.local.json")
    assert main(["hooks", "install"]) == 0
    assert "`git rm --cached settings.local.json`" in capsys.readouterr().err


def test_the_shared_file_is_refused_by_name_and_the_own_one_of_the_user_is_not(project, capsys):
    assert main(["hooks", "install", "--settings", ".claude/settings.json"]) == 2
    assert "is shared with everybody" in capsys.readouterr().err
    assert (project / ".claude" / "settings.json").read_text() == THEIRS
    own = project.parent / "home" / ".claude" / "settings.json"
    assert main(["hooks", "install", "--settings", str(own)]) == 0
    assert "hooks" in json.loads(own.read_text())


def test_an_exclude_file_that_leads_out_of_the_repository_is_not_written(project, tmp_path, capsys):
    exclude, other = project / ".git" / "info" / "exclude", tmp_path / "other"
    other.write_text("mine\n")
    exclude.unlink()
    exclude.symlink_to(other)
    assert main(["hooks", "install"]) == 0
    assert "put it into .gitignore" in capsys.readouterr().err
    assert other.read_text() == "mine\n"
