"""Repositories, files and disks in bad shape: a sentence that says what to do, and nothing lost."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess

import pytest
from lumen_repository import Repository

from lumen_tui.actions import change_views
from lumen_tui.model.changelist import FileChange, FileSide
from lumen_tui.storage import files
from lumen_tui.tools.isolation import placing
from lumen_tui.tools.isolation.base import Unfit


def kinds(changes):
    return {change.path: change.kind for change in changes.files}


def test_a_detached_head_is_what_the_worktree_begins_from(bench):
    first = bench.repository.commit(a__txt="one\n")
    bench.repository.commit(a__txt="two\n")
    bench.repository("checkout", "-q", "--detach", first)
    taken = bench.take()
    assert (taken.commit, taken.branch) == (first, "")
    assert (bench.tree() / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("what", ["merge", "rebase", "cherry-pick"])
def test_a_repository_in_the_middle_of_something_stays_there(bench, what):
    repository = bench.repository
    repository.commit(a__txt="one\n")
    repository("checkout", "-q", "-b", "other")
    repository.commit(a__txt="theirs\n")
    repository("checkout", "-q", "main")
    head = repository.commit(a__txt="mine\n")
    with pytest.raises(subprocess.CalledProcessError):
        repository(what, "other")
    states = {path.name: path.read_bytes() for path in (repository.root / ".git").iterdir() if path.is_file()}
    conflict = (repository.root / "a.txt").read_bytes()
    taken = bench.take()
    assert taken.commit == (repository("rev-parse", "HEAD") if what == "rebase" else head)
    assert b"<<<<<<<" in conflict
    assert "<<<<" not in (bench.tree() / "a.txt").read_text()
    (bench.tree() / "b.txt").write_text("b\n")
    assert kinds(bench.settle()) == {"b.txt": "added"}
    after = {path.name: path.read_bytes() for path in (repository.root / ".git").iterdir() if path.is_file()}
    assert after == states
    assert (repository.root / "a.txt").read_bytes() == conflict


def test_a_repository_that_is_deleted_under_way_loses_no_change(bench):
    """What it was before went with its objects; what the task made of it is kept for as long as it cannot be told."""
    bench.repository.commit(a__txt="one\n")
    bench.take()
    (bench.tree() / "a.txt").write_text("two\n")
    aside = bench.repository.root.with_name("aside")
    os.rename(bench.repository.root, aside)
    with pytest.raises(OSError, match=r"(?i)object|repository|HEAD|tree"):
        bench.settle()
    assert (bench.tree() / "a.txt").read_text() == "two\n"
    os.rename(aside, bench.repository.root)
    assert kinds(bench.settle()) == {"a.txt": "changed"}


def test_a_repository_that_is_gone_or_damaged_at_the_order_is_named(bench):
    bench.repository.commit(a__txt="one\n")
    for path in sorted((bench.repository.root / ".git" / "objects").rglob("*")):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"rubbish")
    with pytest.raises(Unfit, match=r"`git fsck`.*; isolate = \"copy\"") as error:
        bench.take()
    assert str(bench.repository.root) in str(error.value)
    shutil.rmtree(bench.repository.root)
    with pytest.raises(Unfit, match="is not a folder"):
        bench.take("two")


def test_submodules_are_empty_folders_and_no_change(bench, tmp_path):
    inner = Repository(tmp_path / "inner")
    inner.commit(b__txt="b\n")
    bench.repository.commit(a__txt="one\n")
    bench.repository("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "sub")
    bench.repository("commit", "-q", "-m", "with a submodule")
    bench.take()
    assert list((bench.tree() / "sub").iterdir()) == []
    (bench.tree() / "a.txt").write_text("two\n")
    assert kinds(bench.settle()) == {"a.txt": "changed"}
    bench.take("two")
    assert bench.git("two", "status", "--porcelain", "--ignored") == ""


def test_a_file_of_two_gigabytes_that_is_not_committed_costs_a_worktree_nothing(bench):
    bench.repository.commit(a__txt="one\n")
    with open(bench.repository.root / "mine", "wb") as stream:
        stream.truncate(2 * 1024**3)
    bench.take()
    assert not (bench.tree() / "mine").exists()
    assert kinds(bench.settle()) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_named(bench):
    bench.repository.commit(a__txt="one\n")
    bench.take()
    closed = bench.tree() / "closed"
    closed.write_text("x")
    closed.chmod(0)
    with pytest.raises(OSError, match="Permission denied"):
        bench.settle()
    closed.chmod(0o600)
    assert kinds(bench.settle()) == {"closed": "added"}


def test_a_disk_that_is_full_in_the_middle_loses_nothing(bench):
    """The limit of a file's size stands in for the disk: the second of two files no longer fits."""
    bench.repository.commit(a__txt="one\n")
    bench.take()
    (bench.tree() / "small").write_bytes(b"s" * 100)
    (bench.tree() / "large").write_bytes(os.urandom(4 * 1024 * 1024))
    pid = os.fork()
    if not pid:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * 1024, 1024 * 1024))
            bench.settle()
        except (OSError, files.StoreError):
            os._exit(3)
        finally:
            os._exit(4)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    assert (bench.tree() / "large").stat().st_size == 4 * 1024 * 1024
    assert kinds(bench.settle()) == {"small": "added", "large": "added"}


def test_names_that_differ_by_case_alone_are_said(bench):
    side = FileSide("0" * 64, 1)
    pair = [FileChange("README", None, side), FileChange("readme", None, side), FileChange("other", None, side)]
    assert change_views.remark(pair[0], pair) == "beside readme: a file system that ignores case has room for one"
    assert change_views.remark(pair[2], pair) == ""


def test_a_link_that_leads_out_is_a_link_and_what_it_leads_to_stays(bench, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("mine\n")
    bench.repository.commit(a__txt="one\n")
    os.symlink(outside, bench.repository.root / "out")
    bench.repository("add", "out")
    bench.repository("commit", "-q", "-m", "a link")
    bench.take()
    (bench.tree() / "out").unlink()
    (bench.tree() / "out").write_text("not mine\n")
    (change,) = bench.settle().files
    assert (change.before.link, change.after.link) == (True, False)
    assert outside.read_text() == "mine\n"
    assert placing.target_of(str(bench.repository.root), change) == str(bench.repository.root / "out")
