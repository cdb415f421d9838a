"""What a task changed as a commit and on a server: by plumbing, and by nothing that the repository names."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from lumen_repository import PLANTS, Repository

from lumen_tui.actions import acting
from lumen_tui.actions.outcome import ActionError
from lumen_tui.tools.isolation import records


def better(tree: Path) -> None:
    (tree / "a.txt").write_text("better\n")
    (tree / "run.sh").write_text("#!/bin/sh\n")
    (tree / "run.sh").chmod(0o755)
    os.symlink("a.txt", tree / "link")
    (tree / "b.txt").unlink()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A bare repository behind `ssh box`."""
    made = Repository(tmp_path / "server")
    made("config", "core.bare", "true")
    folder = tmp_path / "ssh"
    folder.mkdir()
    (folder / "ssh").write_text('#!/bin/sh\nfor last; do :; done\nexec env -i PATH="$PATH" sh -c "$last"\n')
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return made


def test_a_commit_is_made_beside_the_working_tree_and_taken_back(desk):
    head = desk.repository.commit(a__txt="one\n", b__txt="two\n")
    task = desk.work(better)
    before = desk.tree()
    desk.do("changes.drop", task_id=task, paths=["b.txt"])
    branch = desk.do("changes.commit", task_id=task, message="It is better").target
    assert branch == f"lumen/{task}"
    assert desk.repository("log", "-1", "--format=%s %an %P", branch) == f"It is better ana {head}"
    assert desk.repository("ls-tree", "-r", branch).splitlines() == [
        line
        for line in desk.repository("ls-tree", "-r", branch).splitlines()
        if line.split("\t")[1] in ("a.txt", "b.txt", "link", "run.sh")
    ]
    modes = [line.split()[0] for line in desk.repository("ls-tree", "-r", branch).splitlines()]
    assert modes == ["100644", "100644", "120000", "100755"]
    assert desk.repository("show", f"{branch}:a.txt") == "better"
    assert desk.tree() == before
    assert (desk.repository("status", "--porcelain"), desk.repository("rev-parse", "HEAD")) == ("", head)
    desk.do("undo")
    assert desk.repository("branch", "--list", branch) == ""


def test_line_ends_are_stored_as_the_repository_stores_them(desk):
    desk.repository.write(".gitattributes", "*.txt text eol=crlf\n")
    desk.repository.commit(a__txt="one\r\n")
    task = desk.work(lambda tree: (tree / "a.txt").write_bytes(b"one\r\ntwo\r\n"))
    branch = desk.do("changes.commit", task_id=task).target
    assert desk.repository("cat-file", "-s", f"{branch}:a.txt") == str(len("one\ntwo\n"))


def test_a_large_file_is_shown_committed_accepted_and_undone_piece_by_piece(desk, monkeypatch):
    """Nothing reads it whole: a file of 2 GiB takes no more memory than this one."""
    desk.repository.commit(a__txt="one\n")

    def large(tree: Path) -> None:
        with (tree / "large").open("wb") as stream:
            stream.truncate(32 * 1024**2)

    task = desk.work(large)
    whole = records.content
    monkeypatch.setattr(
        records, "content", lambda folder, side: whole(folder, side) if not side or side.size < 1024**2 else 1 / 0
    )
    monkeypatch.setattr(records, "current", lambda path, side: 1 / 0)
    assert desk.diff(task, "large") == ["no text that could be shown: nothing -> 32.0 MiB"]
    branch = desk.do("changes.commit", task_id=task).target
    assert desk.repository("cat-file", "-s", f"{branch}:large") == str(32 * 1024**2)
    desk.do("changes.accept", task_id=task)
    assert (desk.top / "large").stat().st_size == 32 * 1024**2
    desk.do("undo")
    assert not (desk.top / "large").exists()


@pytest.mark.parametrize("dropped", [(), ("a.txt:1",)])
def test_of_damaged_content_no_commit_is_made(desk, dropped):
    lines = [f"{number}\n" for number in range(30)]
    desk.repository.commit(a__txt="".join(lines))
    task = desk.work(lambda tree: (tree / "a.txt").write_text("".join(["x\n", *lines[1:-1], "y\n"])))
    if dropped:
        desk.do("changes.drop", task_id=task, paths=dropped)
    change = desk.listed(task).changes.find("a.txt")
    records.content_path(desk.layout.task(task), change.after).write_text("evil\n")
    with pytest.raises(ActionError, match=r"no commit was made: .*damaged"):
        desk.do("changes.commit", task_id=task)
    assert desk.repository("branch", "--list", "lumen/*") == ""


@pytest.mark.parametrize("plant", PLANTS)
def test_neither_a_commit_nor_a_push_runs_anything_of_the_repository(desk, canary, server, tmp_path, plant):
    desk.repository.commit(a__txt="one\n", b__txt="two\n")
    task = desk.work(better)
    desk.repository("remote", "add", "box", f"ssh://box{server.root}")
    PLANTS[plant](desk.repository, canary)
    try:
        branch = desk.do("changes.commit", task_id=task).target
        desk.do("changes.push", task_id=task, remote="box")
        assert server("show", f"{branch}:a.txt") == "better"
    except ActionError as error:
        assert plant in ("partial clone", "signing"), error
    desk.do("changes.accept", task_id=task)
    assert canary.sang == ""


@pytest.mark.parametrize("url", ["ext::PROGRAM", "evil::x", "/tmp/x", "file:///tmp/x", "-oProxyCommand=PROGRAM", ""])
def test_only_servers_are_pushed_to(desk, canary, url):
    desk.repository.commit(a__txt="one\n", b__txt="two\n")
    task = desk.work(better)
    desk.repository("config", "remote.origin.url", url.replace("PROGRAM", str(canary.program)))
    desk.do("changes.commit", task_id=task)
    with pytest.raises(ActionError, match="https:// or an ssh address"):
        desk.do("changes.push", task_id=task)
    assert canary.sang == ""


def test_without_a_commit_or_gh_nothing_is_pushed(desk, monkeypatch, tmp_path):
    desk.repository.commit(a__txt="one\n", b__txt="two\n")
    task = desk.work(better)
    with pytest.raises(ActionError, match="no branch of it yet"):
        desk.do("changes.push", task_id=task)
    desk.do("changes.commit", task_id=task, branch="better")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ActionError, match=r"gh|git cannot be run"):
        desk.do("changes.push", task_id=task, pull_request=True)


@pytest.fixture
def gh(tmp_path: Path, server: Repository) -> Path:
    """A program `gh` beside that `ssh`, which writes down its words, folder and what it was given to read."""
    said = tmp_path / "gh-said"
    program = tmp_path / "ssh" / "gh"
    program.write_text(
        '#!/bin/sh\n{ pwd; ls -A; cat; for word; do printf "%s\\0" "$word"; done; } > ' + f"{said}\n"
        "[ ! -e refuse ] && [ ! -e " + f"{tmp_path}/refuse" + ' ] || { echo "no \033[2J account" >&2; exit 4; }\n'
    )
    program.chmod(0o755)
    return said


def test_a_pull_request_is_opened_by_gh_with_these_words_in_an_empty_folder(desk, server, gh):
    desk.repository.commit(a__txt="one\n", b__txt="two\n")
    task = desk.work(better)
    desk.repository("remote", "add", "box", f"ssh://box{server.root}")
    branch = desk.do("changes.commit", task_id=task, branch="better").target
    done = desk.do("changes.push", task_id=task, remote="box", pull_request=True)
    assert server("show", f"{branch}:a.txt") == "better"
    folder, words = gh.read_text().split("\n", 1)
    owner = "/".join(server.root.parts[-2:])
    assert words.split("\0") == [
        "pr", "create", "--repo", owner, "--head", "better", "--title", "make it better", "--body", "", "",
    ]  # fmt: skip
    assert not os.path.exists(folder)
    assert "pull request" in done.summary
    with pytest.raises(ActionError, match=f"git push box --delete {branch}"):
        desk.do("undo")


def test_what_gh_refuses_is_said_and_the_branch_is_there(desk, server, gh, tmp_path):
    desk.repository.commit(a__txt="one\n", b__txt="two\n")
    task = desk.work(better)
    desk.repository("remote", "add", "box", f"ssh://box{server.root}")
    branch = desk.do("changes.commit", task_id=task).target
    (tmp_path / "refuse").touch()
    with pytest.raises(
        ActionError, match=r"the branch is pushed, but no pull request was opened: no .* account"
    ) as error:
        desk.do("changes.push", task_id=task, remote="box", pull_request=True)
    assert "\x1b" not in str(error.value)
    assert "nothing was pushed" not in str(error.value)
    assert server("show", f"{branch}:a.txt") == "better"


def test_without_gh_nothing_is_pushed_and_what_to_do_is_said(desk, server, monkeypatch, tmp_path):
    desk.repository.commit(a__txt="one\n", b__txt="two\n")
    task = desk.work(better)
    desk.repository("remote", "add", "box", f"ssh://box{server.root}")
    desk.do("changes.commit", task_id=task)
    git = shutil.which("git")
    assert git is not None
    only = tmp_path / "only-git"
    only.mkdir()
    (only / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(only))
    with pytest.raises(ActionError, match="`gh` is not installed: push without --pr"):
        desk.do("changes.push", task_id=task, remote="box", pull_request=True)
    assert server("branch", "--list") == ""


@pytest.mark.parametrize("name", ["-x", "a..b", "a b", "x.lock", "/x", "a//b", "\x1b[2J", "refs\nx"])
def test_names_that_no_branch_can_have(desk, name):
    desk.repository.commit(a__txt="one\n", b__txt="two\n")
    task = desk.work(better)
    with pytest.raises(ActionError, match="no name for a branch"):
        desk.do("changes.commit", task_id=task, branch=name)


@pytest.mark.parametrize("verb", ["changes.accept", "changes.write", "changes.commit", "changes.push"])
def test_no_agent_brings_anything_in(verb):
    with pytest.raises(ActionError, match="only the operator"):
        acting.must_not_be_agent(verb, "LUMEN_TASK")
