"""Change lists: accepted whole, in part, dropped, edited, given away; undo is byte-exact; what does not fit is said."""

from __future__ import annotations

import os
import re

import pytest

from lumen_tui.actions import change_views
from lumen_tui.actions.outcome import ActionError
from lumen_tui.store.tasks import task_files

TEXT = "".join(f"line {number}\n" for number in range(40))


def replaced(text, **numbers):
    lines = text.splitlines(keepends=True)
    for name, new in numbers.items():
        lines[int(name[1:])] = new
    return "".join(lines)


def many_changes(tree):
    (tree / "a.txt").write_text(replaced(TEXT, l3="three\n", l30="thirty\n"))
    (tree / "bin").write_bytes(b"\0new\xff")
    (tree / "run.sh").chmod(0o755)
    (tree / "link").unlink()
    os.symlink("elsewhere", tree / "link")
    (tree / "gone.txt").unlink()
    (tree / "crlf.txt").write_bytes(b"one\r\nTWO\r\n")
    (tree / "deep/new").mkdir(parents=True)
    (tree / "deep/new/file").write_text("no newline")


def furnish(desk):
    desk.repository.write("run.sh", "#!/bin/sh\n").chmod(0o640)
    os.symlink("a.txt", desk.top / "link")
    desk.repository.commit(
        a__txt=TEXT, bin=b"\0old\xfe", gone__txt="bye\n", crlf__txt=b"one\r\ntwo\r\n", other__txt="mine\n"
    )


def test_all_of_it_is_accepted_and_undone_byte_for_byte(desk):
    furnish(desk)
    task = desk.work(many_changes)
    before = desk.tree()
    desk.do("changes.accept", task_id=task)
    after = desk.tree()
    assert after["a.txt"][0].decode() == replaced(TEXT, l3="three\n", l30="thirty\n")
    assert after["bin"][0] == b"\0new\xff"
    assert after["run.sh"] == (b"#!/bin/sh\n", 0o750)
    assert (after["link"], after["crlf.txt"][0]) == ("elsewhere", b"one\r\nTWO\r\n")
    assert "gone.txt" not in after
    assert after["deep/new/file"] == (b"no newline", 0o644)
    assert set(desk.states(task).values()) == {"accepted"}
    desk.do("undo")
    undone = desk.tree()
    assert {name: value for name, value in undone.items() if value != "folder"} == {
        name: value for name, value in before.items() if value != "folder"
    }
    assert set(desk.states(task).values()) == {"open"}
    desk.do("redo")
    assert desk.tree() == after


def test_hunks_are_accepted_and_dropped_one_by_one(desk):
    furnish(desk)
    task = desk.work(many_changes)
    assert [line for line in desk.diff(task, "a.txt") if line.startswith("@@")][1].endswith("hunk 2")
    done = desk.do("changes.accept", task_id=task, paths=["a.txt:2"])
    assert done.summary.startswith("1 hunk of a.txt of task ")
    assert (desk.top / "a.txt").read_text() == replaced(TEXT, l30="thirty\n")
    assert desk.states(task)["a.txt"] == "part"
    desk.do("changes.drop", task_id=task, paths=["a.txt:1"])
    assert (desk.states(task)["a.txt"], (desk.top / "a.txt").read_text()) == (
        "accepted",
        replaced(TEXT, l30="thirty\n"),
    )
    desk.do("undo")
    desk.do("changes.accept", task_id=task, paths=["a.txt"])
    assert (desk.top / "a.txt").read_text() == replaced(TEXT, l3="three\n", l30="thirty\n")
    desk.do("undo")
    desk.do("undo")
    assert (desk.top / "a.txt").read_text() == TEXT


def test_a_file_that_moved_on_takes_what_still_fits(desk):
    furnish(desk)
    task = desk.work(many_changes)
    mine = "mine\n" + replaced(TEXT, l15="fifteen\n")
    (desk.top / "a.txt").write_text(mine)
    desk.do("changes.accept", task_id=task, paths=["a.txt"])
    assert (desk.top / "a.txt").read_text() == "mine\n" + replaced(TEXT, l3="three\n", l15="fifteen\n", l30="thirty\n")
    desk.do("undo")
    assert (desk.top / "a.txt").read_text() == mine


def test_what_does_not_fit_is_said_and_nothing_is_written(desk):
    furnish(desk)
    task = desk.work(many_changes)
    (desk.top / "a.txt").write_text(replaced(TEXT, l3="mine\n"))
    (desk.top / "bin").write_bytes(b"\0mine")
    (desk.top / "gone.txt").write_text("still needed\n")
    before = desk.tree()
    with pytest.raises(
        ActionError, match=r"a\.txt: hunk 1 does not fit.*bin: the file is not as the task found it.*gone\.txt"
    ):
        desk.do("changes.accept", task_id=task)
    assert desk.tree() == before
    desk.do("changes.accept", task_id=task, fitting=True)
    assert desk.states(task)["bin"] == "open"
    assert desk.states(task)["crlf.txt"] == "accepted"
    desk.do("changes.accept", task_id=task, paths=["a.txt:2"])
    assert (desk.top / "a.txt").read_text() == replaced(TEXT, l3="mine\n", l30="thirty\n")


def test_what_was_not_committed_when_the_task_began_stays_and_what_clashes_with_it_is_said(desk):
    """A worktree begins from the commit: the operator's changes are not in it, and nothing of them is lost."""
    furnish(desk)
    mine = replaced(TEXT, l3="mine\n", l15="fifteen\n")
    for name, content in (("a.txt", mine.encode()), ("bin", b"\0mine"), ("crlf.txt", b"one\r\ntwo\r\nthree\r\n")):
        (desk.top / name).write_bytes(content)
    (desk.top / "deep").mkdir()
    (desk.top / "deep" / "new").mkdir()
    (desk.top / "deep" / "new" / "file").write_text("mine, too")
    before = desk.tree()
    task = desk.work(many_changes)
    with pytest.raises(
        ActionError, match=r"a\.txt: hunk 1 does not fit.*bin: the file is not as the task found it.*now"
    ):
        desk.do("changes.accept", task_id=task)
    assert desk.tree() == before
    desk.do("changes.accept", task_id=task, paths=["a.txt:2"])
    assert (desk.top / "a.txt").read_text() == replaced(mine, l30="thirty\n")
    desk.do("undo")
    assert desk.tree() == before


def test_the_second_of_two_results_is_in_conflict_and_goes_to_a_worker_or_a_person(desk):
    furnish(desk)
    one = desk.work(lambda tree: (tree / "a.txt").write_text(replaced(TEXT, l3="one\n")))
    two = desk.work(lambda tree: (tree / "a.txt").write_text(replaced(TEXT, l3="two\n", l30="more\n")))
    desk.do("changes.accept", task_id=one)
    with pytest.raises(ActionError, match="hunk 1 does not fit"):
        desk.do("changes.accept", task_id=two)
    given = desk.do("changes.give", task_id=two).target
    spec = task_files.read_spec(desk.layout, given)
    assert (spec.isolate, spec.folder) == ("copy", str(desk.top))
    assert "+two" in spec.context
    assert "-line 3" in spec.context
    found = desk.listed(two)
    text = change_views.proposal(found, found.changes.find("a.txt"))
    began = b"||||||| when the task began, line 4\nline 3\n"
    clash = b"<<<<<<< what is there now\none\n" + began + b"=======\ntwo\n>>>>>>> the task\n"
    assert b"line 2\n" + clash + b"line 4\n" in text
    assert b"more\n" in text
    done = desk.do("changes.write", task_id=two, path="a.txt", sha256=change_views.keep_edited(found, text))
    assert "brought in as edited, with 1 clash still between marks" in done.summary
    desk.do("undo")
    edited = re.sub(rb"<<<<<<<.*>>>>>>> the task\n", b"both\n", text, flags=re.DOTALL)
    desk.do("changes.write", task_id=two, path="a.txt", sha256=change_views.keep_edited(found, edited))
    assert (desk.top / "a.txt").read_bytes() == edited
    assert desk.states(two)["a.txt"] == "edited"
    desk.do("undo")
    assert (desk.top / "a.txt").read_text() == replaced(TEXT, l3="one\n")


def test_undo_refuses_where_the_file_was_changed_since(desk):
    furnish(desk)
    task = desk.work(many_changes)
    desk.do("changes.accept", task_id=task, paths=["a.txt"])
    (desk.top / "a.txt").write_text("mine")
    with pytest.raises(ActionError, match="not undone"):
        desk.do("undo")
    assert (desk.top / "a.txt").read_text() == "mine"


def test_dropped_files_stay_as_they_are(desk):
    furnish(desk)
    task = desk.work(many_changes)
    before = desk.tree()
    desk.do("changes.drop", task_id=task)
    assert desk.tree() == before
    assert change_views.lists(desk.store) == []
    assert [one.state for one in change_views.lists(desk.store, all=True)] == ["dropped"]
    with pytest.raises(ActionError, match="decided on already"):
        desk.do("changes.accept", task_id=task)


def test_a_link_on_the_way_and_a_folder_in_its_place_take_nothing(desk, tmp_path):
    furnish(desk)
    task = desk.work(many_changes)
    (tmp_path / "outside").mkdir()
    os.symlink(tmp_path / "outside", desk.top / "deep")
    (desk.top / "bin").unlink()
    (desk.top / "bin").mkdir()
    for path, why in (("deep/new/file", "a link"), ("bin", "a folder")):
        with pytest.raises(ActionError, match=why):
            desk.do("changes.accept", task_id=task, paths=[path])
    assert list((tmp_path / "outside").iterdir()) == []


def test_nothing_becomes_a_part_of_git(desk):
    furnish(desk)

    def evil(tree):
        for name in (".GIT", "sub/.Git", "git~1"):
            (tree / name).mkdir(parents=True)
            (tree / name / "config").write_text("[core]\n\tfsmonitor = evil\n")

    task = desk.work(evil)
    with pytest.raises(ActionError, match=r"a part of \.git"):
        desk.do("changes.accept", task_id=task)


def test_a_write_that_fails_in_the_middle_puts_the_others_back(desk, monkeypatch):
    from lumen_tui.tools.isolation import placing

    furnish(desk)
    task = desk.work(many_changes)
    before = desk.tree()
    put, count = placing.put, []

    def failing(path, side, content):
        count.append(path)
        if len(count) == 4:
            raise OSError(28, "No space left on device")
        put(path, side, content)

    monkeypatch.setattr(placing, "put", failing)
    with pytest.raises(ActionError, match="No space left on device; nothing was changed"):
        desk.do("changes.accept", task_id=task)
    after = desk.tree()
    assert {name: value for name, value in after.items() if value != "folder"} == {
        name: value for name, value in before.items() if value != "folder"
    }


@pytest.mark.parametrize("bad", ["nothing", "a.txt:9", "a.txt:0", "../x"])
def test_names_that_are_not_in_the_list(desk, bad):
    furnish(desk)
    task = desk.work(many_changes)
    with pytest.raises(ActionError):
        desk.do("changes.accept", task_id=task, paths=[bad])


def test_a_damaged_list_is_an_error_and_not_a_change(desk):
    furnish(desk)
    task = desk.work(many_changes)
    folder = desk.layout.task(task) / "changes"
    blob = next(path for path in folder.iterdir() if path.name.isalnum() and b"TWO" in path.read_bytes())
    blob.write_bytes(b"evil")
    before = desk.tree()
    with pytest.raises(ActionError):
        desk.do("changes.accept", task_id=task)
    assert desk.tree()["crlf.txt"] == before["crlf.txt"]
    (folder / "list.json").write_bytes(b"{")
    with pytest.raises(ActionError, match="cannot be read"):
        desk.do("changes.accept", task_id=task)


def test_a_copy_hands_in_the_same(desk, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.txt").write_text(TEXT)
    task = desk.work(lambda tree: (tree / "a.txt").write_text(replaced(TEXT, l3="three\n")), "copy", str(plain))
    desk.do("changes.accept", task_id=task)
    assert (plain / "a.txt").read_text() == replaced(TEXT, l3="three\n")
    desk.do("undo")
    assert (plain / "a.txt").read_text() == TEXT


def test_what_no_longer_fits_is_given_away_with_the_files_as_they_are(desk):
    """A worktree holds what is committed: it would lack the other side, which was accepted and not committed."""
    furnish(desk)
    one = desk.work(lambda tree: (tree / "a.txt").write_text(replaced(TEXT, l3="one\n")))
    two = desk.work(lambda tree: (tree / "a.txt").write_text(replaced(TEXT, l3="two\n")))
    desk.do("changes.accept", task_id=one)
    given = desk.do("changes.give", task_id=two).target
    spec = task_files.read_spec(desk.layout, given)
    assert spec.isolate == "copy"
    third = desk.work(
        lambda tree: (tree / "a.txt").write_text((tree / "a.txt").read_text().replace("one", "one and two")),
        spec.isolate,
        spec.folder,
    )
    desk.do("changes.accept", task_id=third)
    assert (desk.top / "a.txt").read_text() == replaced(TEXT, l3="one and two\n")
    desk.repository.commit(a__txt=replaced(TEXT, l3="committed\n"))
    given = desk.do("changes.give", task_id=two).target
    assert task_files.read_spec(desk.layout, given).isolate == "worktree"
