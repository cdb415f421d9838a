"""Lists that are open are known without a look at every task, and ask for a person until they are decided on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lumen_tui.actions import change_views
from lumen_tui.model import ids
from lumen_tui.model.snapshot import Attention, Need
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store.tasks import change_records, task_files


def better(tree: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tree / name).write_text("better\nin two lines\n")


@pytest.fixture
def needs(desk):
    """`needs()`: the change lists among what needs a person, as a room that stays open sees them."""
    desk.repository.commit(a__txt="one\n", b__txt="two\n")
    reader = SnapshotReader(desk.root)

    def read() -> list[Attention]:
        return [need for need in reader.snapshot(desk.now).attention if need.need is Need.CHANGES]

    yield read
    reader.close()


def test_a_list_needs_a_person_until_it_is_decided_on_and_again_once_that_is_undone(desk, needs):
    assert needs() == []
    task = desk.work(better)
    (need,) = needs()
    assert need.text == f"builder ({ids.short(task)}) changed 2 files +4 -2: make it better"
    assert need.target == f"changes-{task}"
    desk.do("changes.accept", task_id=task, paths=["a.txt"])
    (need,) = needs()
    assert "1 file +2 -1: make it better" in need.text
    desk.do("changes.drop", task_id=task)
    assert needs() == []
    assert change_records.entered(desk.layout) == []
    desk.do("undo")
    assert "1 file " in needs()[0].text
    assert [one.task_id for one in change_views.lists(desk.store)] == [task]


def test_it_is_the_same_of_a_task_that_was_archived(desk, needs):
    task = desk.work(better)
    (before,) = needs()
    target = desk.layout.archive / "2026" / "01" / task
    target.parent.mkdir(parents=True)
    os.rename(desk.layout.task(task), target)
    assert needs() == [before]
    desk.do("changes.drop", task_id=task)
    assert needs() == []


def test_what_was_put_aside_says_nothing_of_its_task(desk, needs):
    task = desk.work(better)
    desk.do("attention.dismiss", targets=[needs()[0].target])
    assert needs() == []
    assert [one.task_id for one in change_views.lists(desk.store)] == [task]
    desk.do("undo")
    assert len(needs()) == 1


@pytest.mark.parametrize("damage", ["list", "task", "entry"])
def test_an_entry_without_an_open_list_asks_nobody(desk, needs, damage):
    task = desk.work(better)
    folder = task_files.folder_of(desk.layout, task)
    assert folder is not None
    if damage == "list":
        (folder / "changes" / "list.json").write_bytes(b"\xff{")
    elif damage == "task":
        os.rename(folder, desk.layout.root / "elsewhere")
    else:
        (desk.layout.open_changes / task).unlink()
        (desk.layout.open_changes / "tsk-none").touch()
    assert needs() == []
    assert change_views.lists(desk.store) == []


def test_an_empty_list_is_not_open(desk, needs):
    desk.work(lambda tree: None)
    assert needs() == []
    assert change_records.entered(desk.layout) == []
