"""Files, search and disk usage: right numbers, hostile trees, bounded and stoppable."""

from __future__ import annotations

import os
import threading
import time

import pytest

from lumen_tui.tools.base import Stopped
from lumen_tui.tools.files import opening


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "a" / "deep").mkdir(parents=True)
    (root / "b").mkdir()
    (root / "big").write_bytes(b"x" * 5000)
    (root / "a" / "middle.log").write_bytes(b"line ERROR one\nline two\n" * 100)
    (root / "a" / "deep" / "small.py").write_text("import os\nprint('hi')\n")
    os.link(root / "big", root / "b" / "same-as-big")
    os.symlink("/usr", root / "b" / "link")
    os.symlink(root, root / "a" / "loop")
    os.mkfifo(root / "pipe")
    with open(root / "sparse", "wb") as file:
        file.truncate(1_000_000)
    return root


def test_disk_usage_counts_an_inode_once_and_follows_no_link(make_box, tree):
    data = make_box().call("disk_usage", {"path": str(tree), "top": 3}).data
    assert data["files"] == 4
    assert data["bytes"] == 1_000_000 + 5000 + 2400 + 22
    assert [item["bytes"] for item in data["largest"]] == [5000, 2400, 22], "by what they take on the disk"
    assert all(item["allocated"] % 512 == 0 for item in data["largest"])
    assert data["links"] == 2
    assert data["allocated"] < 100_000  # the sparse file takes no room


def test_disk_usage_by_folder_and_name(make_box, tree):
    data = make_box().call("disk_usage", {"path": str(tree), "glob": "*.LOG"}).data
    assert data["files"] == 1
    (folder,) = data["by_folder"]
    assert (folder["path"], folder["bytes"], folder["files"]) == (str(tree / "a"), 2400, 1)
    assert folder["allocated"] == data["allocated"]


def test_unreadable_folders_are_counted_and_named(make_box, tree, monkeypatch):
    closed = str(tree / "a")
    real = opening.folder

    def folder(path):
        if path == closed:
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(opening, "folder", folder)
    result = make_box().call("disk_usage", {"path": str(tree)})
    assert result.ok
    assert result.data["unreadable"] == 1
    assert closed in result.text


def test_a_folder_that_is_closed_itself_is_a_failure_not_an_empty_answer(make_box, tree, monkeypatch):
    def scandir(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", scandir)
    for tool, arguments in (("disk_usage", {}), ("glob", {"pattern": "*"}), ("grep", {"pattern": "x"})):
        result = make_box().call(tool, {"path": str(tree), **arguments})
        assert not result.ok
        assert "cannot be listed: Permission denied" in result.text


def test_a_walk_stops_when_asked(make_box):
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    began = time.monotonic()
    with pytest.raises(Stopped):
        for _ in range(1000):
            make_box(stopped=stop.is_set).call("disk_usage", {"path": "/usr/share"})
    assert time.monotonic() - began < 3


def test_a_walk_is_bounded(make_box, tree, monkeypatch):
    from lumen_tui.tools.files import read
    from lumen_tui.tools.files.paths import TreeWalk

    monkeypatch.setattr(read, "TreeWalk", lambda context, root: TreeWalk(context, root, max_entries=3))
    result = make_box().call("disk_usage", {"path": str(tree)})
    assert "incomplete: stopped after 3 entries" in result.text


def test_a_long_walk_tells_that_it_goes_on(make_box, tree):
    hours = iter(range(0, 10_000_000, 30))
    told: list[str] = []
    make_box(monotonic=lambda: float(next(hours)), progress=told.append).call("disk_usage", {"path": str(tree)})
    assert told == ["1 entries so far"]


def test_kernel_file_systems_are_left_out(make_box):
    result = make_box().call("glob", {"path": "/", "max_depth": 2, "pattern": "kcore"})
    assert result.data["total"] == 0
    assert "/proc" in result.data["left_out"]


def test_special_files_are_refused_at_once(make_box, tree):
    box = make_box()
    for name, arguments in (
        ("read_file", {"path": str(tree / "pipe")}), ("grep", {"path": str(tree / "pipe"), "pattern": "x"}),
        ("read_file", {"path": "/dev/zero"}), ("disk_usage", {"path": "/dev/null"}),
    ):  # fmt: skip
        result = box.call(name, arguments)
        assert not result.ok
        assert "is a" in result.text


def test_reading_by_lines(make_box, tree):
    box = make_box()
    result = box.call("read_file", {"path": str(tree / "a" / "middle.log"), "offset": 3, "limit": 2})
    assert result.text.startswith("line ERROR one\nline two\n")
    assert "offset=5" in result.text
    assert not box.call("read_file", {"path": str(tree / "sparse")}).ok  # binary
    assert "use list_dir" in box.call("read_file", {"path": str(tree)}).text


@pytest.fixture
def evil(tmp_path):
    """A folder whose names and content act on a terminal."""
    folder = tmp_path / "evil"
    folder.mkdir()
    (folder / "a\x1b]52;c;aGk=\x07b").write_text("\x1b[2J\u202ehidden\n")
    (folder / os.fsdecode(b"bad\xff\xfename")).write_text("x")
    (folder / "new\nline").write_text("x")
    return folder


def made_visible(result):
    assert result.ok
    assert "\x1b" not in result.text
    assert "\u202e" not in result.text
    result.text.encode()


@pytest.mark.threat("S1", "hostile text in what commands and servers print")
def test_hostile_names_and_content_are_made_visible(make_box, evil):
    box = make_box()
    for name, arguments in (("list_dir", {}), ("glob", {"pattern": "*"}), ("disk_usage", {})):
        made_visible(box.call(name, {"path": str(evil), **arguments}))
    made_visible(box.call("grep", {"path": str(evil), "pattern": "hidden"}))


@pytest.mark.threat("S1", "hostile text in what commands and servers print")
def test_hostile_names_in_the_output_of_a_command_are_made_visible(make_box, evil, sandbox):
    made_visible(make_box().call("shell", {"command": f"ls {evil}"}))


def test_control_files_of_the_state_are_not_read(make_box, state):
    state.layout.operator.write_text("secret = 1\n")
    state.layout.loop_state.write_text('{"loop": 3}')
    box = make_box()
    assert not box.call("read_file", {"path": str(state.layout.operator)}).ok
    assert not box.call("read_file", {"path": "../../operator.toml"}).ok
    assert box.call("read_file", {"path": str(state.layout.loop_state)}).ok
    assert box.call("grep", {"path": str(state.root), "pattern": "secret"}).data["matches"] == 0


def test_grep_counts_all_and_shows_some(make_box, tree):
    result = make_box().call("grep", {"path": str(tree), "pattern": "error", "ignore_case": True, "limit": 2})
    assert result.data["matches"] == 100
    assert len(result.data["hits"]) == 2
    assert result.data["binary"] == 1
    assert "98 more" in result.text
