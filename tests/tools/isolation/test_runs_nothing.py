"""Whatever a repository names as a program, looking into it from outside of the sandbox starts none of it."""

from __future__ import annotations

import os
import subprocess

import pytest
from lumen_repository import PLANTS, Repository

from lumen_tui.storage.git import Git, GitFailed
from lumen_tui.tools.isolation.base import Unfit
from lumen_tui.tools.shell import git_status


@pytest.mark.parametrize("plant", PLANTS)
def test_looking_at_a_repository_runs_nothing_of_it(repository, canary, plant):
    repository.commit(a__txt="one\n", b__txt="two\n")
    PLANTS[plant](repository, canary)
    repository.write("a.txt", "changed\n")
    found = git_status.changes(str(repository.root), environ=os.environ)
    try:
        git_status.revision(str(repository.root), "HEAD", environ=os.environ)
    except git_status.UnknownRevision as error:
        assert "runs a program" in str(error)
    assert canary.sang == ""
    assert "a.txt" in found.files or "runs a program" in found.why


@pytest.mark.parametrize("plant", ["filter clean", "fsmonitor", "hooks", "external diff of a driver"])
def test_the_plants_work_where_git_runs_by_itself(repository, canary, plant):
    repository.commit(a__txt="one\n")
    PLANTS[plant](repository, canary)
    repository.write("a.txt", "changed\n")
    words = ["commit", "-qam", "x"] if plant == "hooks" else ["diff"]
    subprocess.run(["git", *words], cwd=repository.root, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    assert canary.sang


@pytest.mark.parametrize("url", ["ext::PROGRAM", "evil::x", "ssh://nowhere.invalid/x", "git://nowhere.invalid/x"])
def test_no_transport_is_started(repository, canary, url):
    repository.commit(a__txt="one\n")
    for words in (("fetch", url), ("push", url, "main"), ("ls-remote", url)):
        with pytest.raises(GitFailed, match="not allowed"):
            Git(str(repository.root))(*[word.replace("PROGRAM", str(canary.program)) for word in words])
    assert canary.sang == ""


def test_neither_the_users_nor_the_systems_configuration_is_read(repository, canary, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[core]\n\tfsmonitor = {canary.program}\n[user]\n\tname = somebody\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(canary.program))
    repository.commit(a__txt="one\n")
    git = Git(str(repository.root))
    repository.write("a.txt", "two\n")
    assert b"a.txt" in git("diff", "--name-only")
    assert b"-one" in git("diff", "--no-ext-diff")
    assert b"somebody" not in git("config", "--list")
    assert canary.sang == ""


def test_errors_are_safe_to_show(repository):
    with pytest.raises(GitFailed) as caught:
        Git(str(repository.root))("rev-parse", "--verify", "\x1b[2Jnone")
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("plant", PLANTS)
def test_a_worktree_is_taken_changed_and_settled_and_nothing_ran(bench, canary, plant):
    bench.repository.commit(a__txt="one\n", b__txt="two\n")
    PLANTS[plant](bench.repository, canary)
    if plant not in ("submodule", "repository inside"):  # git itself would ask what they bring along
        commit_quietly(bench.repository)
    try:
        bench.take()
    except Unfit as error:
        assert plant == "partial clone"
        assert "copy" in str(error)
        return
    tree = bench.tree()
    (tree / "a.txt").write_text("changed\n")
    (tree / "new.txt").write_text("new\n")
    (tree / ".git").unlink()
    evil = Repository(tree / "evil-tmp")
    PLANTS[plant](evil, canary) if plant != "submodule" else None
    (tree / "evil-tmp" / ".git").rename(tree / ".git")
    changes = bench.settle()
    assert {"a.txt", "new.txt"} <= {change.path for change in changes.files}
    bench.take("two")
    assert bench.git("two", "status", "--porcelain", "--ignored") == ""
    assert (bench.tree("two") / ".git").is_file()
    assert canary.sang == ""


def commit_quietly(repository):
    """Commit what is there by plumbing, past hooks and filters."""
    git = Git(str(repository.root))
    with git.apart(str(repository.root), ()) as apart:
        apart("add", "-A")
        tree = apart("write-tree").decode().strip()
    commit = git("commit-tree", "-p", "HEAD", "-m", "planted", tree).decode().strip()
    git("update-ref", "HEAD", commit)
