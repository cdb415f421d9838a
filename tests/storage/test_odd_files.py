"""What somebody may have put where a state file belongs: refused at once, and never followed."""

import os
import shutil
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lumen_tui.engine.doctor.disk import modes
from lumen_tui.storage import backwards, directories, files, locks
from lumen_tui.storage.journal import Follower, Journal
from lumen_tui.storage.layout import FOLDERS, Layout, distrust

AT_ONCE = 0.1  # seconds


def _symlink(path: Path) -> None:
    (path.parent / "target").write_bytes(b"precious\n")
    path.symlink_to(path.parent / "target")


def _dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def _hard_link(path: Path) -> None:
    (path.parent / "target").write_bytes(b"precious\n")
    path.hardlink_to(path.parent / "target")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


def _foreign(path: Path) -> None:
    path.write_bytes(b"precious\n")
    try:
        os.chown(path, 12345, 12345)
    except PermissionError:
        pytest.skip("only root can give a file away")


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5))  # /dev/zero: reading it would never end
    except PermissionError:
        pytest.skip("only root can make a device")


ODD = {
    "symlink": _symlink, "dangling": _dangling, "hard link": _hard_link, "fifo": os.mkfifo, "device": _device,
    "directory": Path.mkdir, "socket": _socket, "foreign": _foreign,
}  # fmt: skip


@pytest.fixture(params=ODD)
def odd(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "signals.jsonl"
    ODD[request.param](path)
    return path


def at_once(call: Callable[[], object]) -> None:
    """The call is refused, and in less time than a person notices (the best of three: the machine may be busy)."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        with pytest.raises(files.Refused):
            call()
        times.append(time.perf_counter() - begin)
    assert min(times) < AT_ONCE


@pytest.mark.threat("S6", "links, pipes, devices, hard links and files of others in the place of state files")
def test_nothing_is_appended(odd: Path) -> None:
    at_once(lambda: files.append(odd, b"x\n"))
    at_once(lambda: files.locked_log(odd).__enter__())
    assert not (odd.parent / "nowhere").exists()
    if (odd.parent / "target").exists():
        assert (odd.parent / "target").read_bytes() == b"precious\n"


@pytest.mark.threat("S6", "links, pipes, devices, hard links and files of others in the place of state files")
def test_nothing_is_read(odd: Path) -> None:
    at_once(lambda: files.read(odd))
    at_once(lambda: backwards.read_tail(odd, 100))
    at_once(lambda: list(Journal(odd).lines()))


@pytest.mark.threat("S6", "links, pipes, devices, hard links and files of others in the place of state files")
def test_nothing_is_locked(odd: Path) -> None:
    at_once(lambda: locks.try_lock(odd))
    at_once(lambda: locks.waiting_lock(odd).__enter__())


@pytest.mark.threat("S6", "links, pipes, devices, hard links and files of others in the place of state files")
def test_nothing_is_rewritten(odd: Path) -> None:
    at_once(lambda: Journal(odd).rewrite(lambda lines: lines))


@pytest.mark.threat("S6", "links, pipes, devices, hard links and files of others in the place of state files")
def test_a_follower_refuses_or_finds_nothing_but_never_waits(odd: Path) -> None:
    follower = Follower(odd)
    begin = time.perf_counter()
    try:
        assert follower.poll() == (0, b"")
    except files.Refused:
        pass
    assert time.perf_counter() - begin < 10 * AT_ONCE


@pytest.mark.threat("S6", "links, pipes, devices, hard links and files of others in the place of state files")
def test_a_replace_puts_a_plain_file_in_the_place_of_a_link(tmp_path: Path) -> None:
    path = tmp_path / "loop-state.json"
    _symlink(path)
    files.replace(path, b"new")
    assert not path.is_symlink()
    assert (tmp_path / "target").read_bytes() == b"precious\n"


def test_a_replace_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop-state.json").mkdir()
    with pytest.raises(files.Refused):
        files.replace(tmp_path / "loop-state.json", b"new")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.threat("S8", "modes of all files under any umask; folders that others may write")
def test_modes_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        directories.make_folder(tmp_path / "state" / "tasks" / "archive" / "2026")
        root = tmp_path / "state"
        files.append(root / "a.jsonl", b"x\n")
        files.replace(root / "b.json", b"x")
        files.append(root / "rewritten.jsonl", b"x\n")
        Journal(root / "rewritten.jsonl").rewrite(lambda lines: lines)
        os.close(files.open_append(root / "worker.log"))
        os.close(locks.try_lock(root / "c.lock"))
        with locks.waiting_lock(root / "d.lock"):
            pass
    finally:
        os.umask(before)
    open_ones = [str(path) for path in [root, *root.rglob("*")] if path.stat().st_mode & 0o077]
    assert open_ones == []


def test_a_missing_folder_is_told_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(files.NotWritten):
        files.append(tmp_path / "gone" / "a.jsonl", b"x\n")
    with pytest.raises(files.NotWritten):
        files.replace(tmp_path / "gone" / "a.json", b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_made_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "tasks").write_bytes(b"x")
    with pytest.raises(files.Refused):
        directories.make_folder(tmp_path / "tasks")


def test_too_long_a_record_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(files.LineTooLong, match="65,536"):
        Journal(tmp_path / "a.jsonl").append({"text": "x" * files.MAX_LINE})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.threat("S8", "modes of all files under any umask; folders that others may write")
def test_a_seed_that_the_group_may_write_becomes_a_private_state_folder(tmp_path):
    seed = tmp_path / "state"
    seed.mkdir()
    seed.chmod(0o775)
    Layout(seed).create()
    assert distrust(seed) == ""
    seed.chmod(0o775)
    Layout(seed).create()
    assert "chmod" in distrust(seed)  # one that is in use is the operator's to mend


@pytest.mark.threat("S6", "links, pipes, devices, hard links and files of others in the place of state files")
@pytest.mark.parametrize("name", FOLDERS)
def test_no_folder_of_a_state_folder_leads_elsewhere(tmp_path, name):
    """Neither a verb that makes what is missing nor one that does not keeps anything behind a link."""
    layout, elsewhere = Layout(tmp_path / "state"), tmp_path / "elsewhere"
    layout.create()
    elsewhere.mkdir()
    shutil.rmtree(layout.root / name)
    (layout.root / name).symlink_to(elsewhere)
    assert f"{layout.root / name} is a link" in distrust(layout.root)
    with pytest.raises(files.Refused, match="is a link"):
        layout.create()
    assert list(elsewhere.iterdir()) == []
    (layout.root / name).unlink()
    (layout.root / name).write_text("")
    assert distrust(layout.root) == "", "a file leads nowhere: who needs the folder says so, and the rest goes on"


@pytest.mark.threat("S8", "modes of all files under any umask; folders that others may write")
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_others_can_get_to_and_write_is_refused(tmp_path, name):
    layout = Layout(tmp_path / "state")
    layout.create()
    (layout.root / name).chmod(0o777)
    assert distrust(layout.root) == "", "nobody else gets into a closed one"
    layout.root.chmod(0o755)
    assert f"chmod go-w {layout.root / name}" in distrust(layout.root)


@pytest.mark.threat("S8", "modes of all files under any umask; folders that others may write")
def test_a_checkouts_seed_is_closed_to_others_at_its_first_use_and_what_a_link_names_is_not(tmp_path):
    layout, own = Layout(tmp_path / "state"), tmp_path / "own.toml"
    layout.constitution.parent.mkdir(parents=True)
    for path in (own, layout.root / "README.md", layout.constitution):
        path.write_text("")
        path.chmod(0o664)
    for folder in (layout.root, layout.root / "evolved"):
        folder.chmod(0o775)
    layout.config.symlink_to(own)
    layout.create()
    assert [finding.where for finding in modes(layout, 0.0, False)] == ["lumen.toml"], "and that is a link"
    assert stat.S_IMODE(own.stat().st_mode) == 0o664
    layout.root.chmod(0o755)
    layout.create()
    assert next(finding.where for finding in modes(layout, 0.0, False)) == ".", "later it is the owner's to say"


@pytest.mark.threat("S8", "modes of all files under any umask; folders that others may write")
def test_a_state_folder_that_others_may_put_another_in_the_place_of_is_refused(tmp_path):
    above = tmp_path / "shared"
    layout = Layout(above / "mine" / "state")
    layout.root.parent.mkdir(parents=True)
    layout.create()
    for mode, why in ((0o755, ""), (0o1777, ""), (0o777, f"chmod o-w {above}")):
        above.chmod(mode)
        assert why in distrust(layout.root) and bool(why) == bool(distrust(layout.root))
