"""A folder apart from its order to its end: what is in it, what is handed in, and what is left behind."""

from __future__ import annotations

import os
import subprocess

import pytest
from lumen_repository import Repository

from lumen_tui.storage import files
from lumen_tui.tools.isolation import copies, living, pool
from lumen_tui.tools.isolation.base import Unfit

_LARGE = 64 * 1024**2 + 5


def states(changes):
    return {change.path: change.kind for change in changes.files}


def test_a_worktree_holds_the_commit_on_a_branch_of_its_own(bench):
    head = bench.repository.commit(a__txt="one\n", b__txt="two\n")
    before = sorted(str(path) for path in (bench.repository.root / ".git").rglob("*"))
    taken = bench.take()
    assert (taken.kind, taken.commit, taken.branch, taken.state) == ("worktree", head, "main", "ready")
    assert (bench.tree() / "a.txt").read_text() == "one\n"
    assert bench.git("one", "status", "--porcelain", "--ignored") == ""
    assert bench.git("one", "rev-parse", "--abbrev-ref", "HEAD") == "lumen/one\n"
    assert bench.git("one", "log", "--format=%H").strip() == head
    assert sorted(str(path) for path in (bench.repository.root / ".git").rglob("*")) == before


def test_what_was_changed_is_kept_byte_for_byte_and_the_tree_is_clean_again(bench):
    repository = bench.repository
    repository.write(".gitignore", "build/\n")
    repository.write("run.sh", "#!/bin/sh\n").chmod(0o644)
    os.symlink("a.txt", repository.root / "link")
    repository.commit(a__txt="one\ntwo\n", b__bin=b"\0\1\2", gone__txt="x\n", crlf__txt=b"a\r\nb\r\n")
    bench.take()
    tree = bench.tree()
    (tree / "a.txt").write_text("one\n2\n")
    (tree / "b.bin").write_bytes(b"\0\1\3")
    (tree / "gone.txt").unlink()
    (tree / "run.sh").chmod(0o755)
    (tree / "link").unlink()
    os.symlink("/etc/passwd", tree / "link")
    (tree / "crlf.txt").write_bytes(b"a\r\nB\r\n")
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "deep" / "er" / "new.txt").write_text("new, no newline")
    (tree / "build").mkdir()
    (tree / "build" / "out.o").write_text("ignored")
    (tree / "empty").mkdir()
    changes = bench.settle()
    assert states(changes) == {
        "a.txt": "changed", "b.bin": "changed", "gone.txt": "removed", "run.sh": "mode", "link": "changed",
        "crlf.txt": "changed", "deep/er/new.txt": "added",
    }  # fmt: skip
    assert bench.content(changes.find("crlf.txt")) == b"a\r\nB\r\n"
    assert bench.content(changes.find("crlf.txt"), "before") == b"a\r\nb\r\n"
    assert bench.content(changes.find("link")) == b"/etc/passwd"
    assert bench.content(changes.find("b.bin"), "before") == b"\0\1\2"
    assert (changes.find("a.txt").hunks, changes.find("a.txt").added, changes.find("b.bin").text) == (1, 1, False)
    assert not tree.exists()
    bench.take("two")
    assert bench.git("two", "status", "--porcelain", "--ignored") == ""
    assert sorted(path.name for path in bench.tree("two").iterdir()) == sorted(
        [".git", ".gitignore", "run.sh", "link", "a.txt", "b.bin", "gone.txt", "crlf.txt"]
    )
    assert not (bench.tree("two") / "run.sh").stat().st_mode & 0o100


def test_the_same_worktree_serves_the_next_task_also_on_another_commit(bench):
    bench.repository.commit(a__txt="one\n")
    bench.take()
    inode = bench.tree().stat().st_ino
    bench.settle()
    head = bench.repository.commit(a__txt="two\n", b__txt="b\n")
    taken = bench.take("two")
    assert (bench.tree("two").stat().st_ino, taken.commit) == (inode, head)
    assert (bench.tree("two") / "a.txt").read_text() == "two\n"
    bench.settle("two")
    assert bench.leavings() == []


def test_two_tasks_at_once_have_one_each_and_no_more_are_kept_than_that(bench):
    bench.repository.commit(a__txt="one\n")
    names = [f"t{number}" for number in range(pool.MOST_KEPT + 2)]
    for name in names:
        bench.take(name)
        (bench.tree(name) / f"{name}.txt").write_text(name)
    assert len({bench.tree(name).stat().st_ino for name in names}) == len(names)
    for name in names:
        assert states(bench.settle(name)) == {f"{name}.txt": "added"}
    (folder,) = bench.layout.trees.iterdir()
    assert len(list((folder / "kept").iterdir())) == pool.MOST_KEPT
    assert bench.leavings() == []


def test_a_folder_that_the_task_closed_is_thrown_away_and_not_kept(bench):
    bench.repository.commit(a__txt="one\n")
    bench.take()
    closed = bench.tree() / "closed"
    closed.mkdir()
    (closed / "x").write_text("x")
    closed.chmod(0)
    try:
        bench.settle()
    except PermissionError:
        closed.chmod(0o700)
        bench.settle()
    bench.take("two")
    assert bench.git("two", "status", "--porcelain", "--ignored") == ""


def test_uncommitted_changes_of_the_operator_are_not_in_it(bench):
    bench.repository.commit(a__txt="one\n")
    bench.repository.write("a.txt", "mine\n")
    bench.take()
    assert (bench.tree() / "a.txt").read_text() == "one\n"
    assert (bench.repository.root / "a.txt").read_text() == "mine\n"


def test_line_ends_are_those_that_the_operator_has(bench):
    bench.repository.write(".gitattributes", "*.txt text eol=crlf\n")
    bench.repository.commit(a__txt="one\r\ntwo\r\n", b__c="x\n")
    bench.repository("config", "core.autocrlf", "true")
    bench.take()
    assert (bench.tree() / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert (bench.tree() / "b.c").read_bytes() == b"x\r\n"
    (bench.tree() / "a.txt").write_bytes(b"one\r\n2\r\n")
    (bench.tree() / ".gitattributes").write_text("*.txt -text\n")
    changes = bench.settle()
    assert bench.content(changes.find("a.txt"), "before") == b"one\r\ntwo\r\n"
    assert bench.content(changes.find("a.txt")) == b"one\r\n2\r\n"


def test_large_files_of_lfs_are_pointers_and_that_is_said(bench):
    bench.repository.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    bench.repository.commit(a__bin=pointer)
    taken = bench.take()
    assert (bench.tree() / "a.bin").read_bytes() == pointer
    assert any("1 files are pointers of Git LFS" in note for note in taken.notes)


def test_odd_names_come_through(bench):
    bench.repository.commit(a__txt="x\n")
    bench.take()
    odd = [b"new\nline", b"\xff\xfe.txt", b'quo"te', b"-dash", "ü".encode(), b"per%cent", b"esc\x1b[2J"]
    for name in odd:
        with open(os.path.join(os.fsencode(bench.tree()), name), "wb") as stream:
            stream.write(name)
    changes = bench.settle()
    assert sorted(bench.content(change) for change in changes.files) == sorted(odd)
    assert all("\x1b" not in change.path and "\n" not in change.path for change in changes.files)


def test_a_repository_inside_hands_in_its_files(bench):
    bench.repository.commit(a__txt="x\n")
    bench.take()
    inner = Repository(bench.tree() / "inner")
    inner.commit(b__txt="b\n")
    changes = bench.settle()
    assert states(changes) == {"inner/b.txt": "added"}
    assert "repository of its own" in changes.notes[-1]


def test_a_subfolder_and_a_shallow_clone(bench, tmp_path):
    bench.repository.commit(a__txt="1\n")
    bench.repository.write("sub/b.txt", "b\n")
    bench.repository.commit(a__txt="2\n")
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", f"file://{bench.repository.root}", str(tmp_path / "shallow")],
        check=True, capture_output=True,
    )  # fmt: skip
    taken = bench.take(folder=str(tmp_path / "shallow" / "sub"))
    assert (taken.top, taken.below) == (str(tmp_path / "shallow"), "sub")
    assert bench.git("one", "log", "--format=%s") == "a change\n"
    (bench.tree() / "sub" / "b.txt").write_text("B\n")
    assert states(bench.settle()) == {"sub/b.txt": "changed"}


@pytest.mark.parametrize("case", ["bare", "git folder", "gone", "none", "state", "hidden"])
def test_folders_that_no_task_may_have(bench, tmp_path, case):
    bench.repository.commit(a__txt="1\n")
    bare = tmp_path / "bare.git"
    bench.repository("clone", "-q", "--bare", str(bench.repository.root), str(bare))
    folder, hidden = {
        "bare": (str(bare), ()), "git folder": (str(bench.repository.root / ".git" / "refs"), ()),
        "gone": (str(tmp_path / "gone"), ()), "none": ("/", ()), "state": (str(bench.layout.tasks), ()),
        "hidden": (str(bench.repository.root), (str(bench.repository.root),)),
    }[case]  # fmt: skip
    with pytest.raises(Unfit):
        bench.take(folder=folder, hidden=hidden)
    assert bench.leavings() == []


def test_without_a_repository_or_a_commit_or_git_it_is_a_copy(bench, tmp_path):
    plain = tmp_path / "plain"
    (plain / "sub").mkdir(parents=True)
    (plain / "sub" / "a.txt").write_text("a\n")
    (plain / "run").write_text("x")
    (plain / "run").chmod(0o755)
    (plain / ".env").write_text("KEY=1")
    os.symlink("/etc/passwd", plain / "out")
    os.mkfifo(plain / "pipe")
    taken = bench.take(folder=str(plain))
    tree = bench.tree()
    assert (taken.kind, taken.top) == ("copy", str(plain))
    assert os.readlink(tree / "out") == "/etc/passwd"
    assert sorted(path.name for path in tree.iterdir()) == ["out", "run", "sub"]
    assert (tree / "run").stat().st_mode & 0o777 == 0o755
    assert "keys or private data" in " ".join(taken.notes)
    (tree / "sub" / "a.txt").write_text("A\n")
    (tree / "run").unlink()
    (tree / "new").write_text("n")
    changes = bench.settle()
    assert states(changes) == {"sub/a.txt": "changed", "run": "removed", "new": "added"}
    assert bench.content(changes.find("sub/a.txt"), "before") == b"a\n"
    assert not tree.exists()
    assert bench.take("empty").kind == "copy"  # a repository without a commit
    bench.repository.commit(a__txt="x\n")
    order = bench.order("nogit")
    order.path = str(tmp_path)
    assert living.take(order, lambda: None).kind == "copy"


def test_a_copy_is_bounded_and_says_so_before_it_begins(bench, tmp_path, monkeypatch):
    plain = tmp_path / "plain"
    plain.mkdir()
    with open(plain / "huge", "wb") as stream:
        stream.truncate(2 * 1024**3)
    with pytest.raises(Unfit, match=r"too large for a copy: 50,000 files and 500\.0 MiB"):
        bench.take(folder=str(plain))
    (plain / "huge").unlink()
    monkeypatch.setattr(copies, "MOST_FILES", 3)
    for number in range(5):
        (plain / str(number)).write_text("x")
    with pytest.raises(Unfit, match="too large"):
        bench.take("two", folder=str(plain))


def test_a_large_file_is_handed_in(bench):
    bench.repository.commit(a__txt="x\n")
    bench.take()
    with open(bench.tree() / "huge", "wb") as stream:
        stream.truncate(_LARGE)
    (change,) = bench.settle().files
    assert (change.after.size, change.text) == (_LARGE, False)


def test_a_full_disk_in_the_middle_loses_nothing(bench, monkeypatch):
    bench.repository.commit(a__txt="x\n")
    bench.take()
    (bench.tree() / "a.txt").write_text("changed\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "replace", full)
        with pytest.raises(files.StoreError, match=r"No space|no room|full"):
            bench.settle()
    assert (bench.tree() / "a.txt").read_text() == "changed\n"
    assert states(bench.settle()) == {"a.txt": "changed"}


def test_an_attempt_after_a_kill_goes_on_in_the_same_folder(bench):
    bench.repository.commit(a__txt="x\n")
    bench.take()
    (bench.tree() / "a.txt").write_text("half\n")
    again = bench.take()
    assert again.state == "ready"
    assert (bench.tree() / "a.txt").read_text() == "half\n"


def test_a_slot_without_a_task_is_swept_away(bench):
    bench.repository.commit(a__txt="x\n")
    bench.take()
    bench.take("two")
    pool.remove_tree(bench.layout.tasks / "one")
    living.sweep(bench.layout)
    assert len([path for path in bench.leavings() if "worktrees" in path]) == 1  # that of `two`
    (bench.tree("two") / "a.txt").write_text("y\n")
    assert states(bench.settle("two")) == {"a.txt": "changed"}
    assert bench.leavings() == []
