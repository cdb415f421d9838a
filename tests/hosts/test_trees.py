"""Files of a task on a host: its folder goes there, what it changed comes back, and nobody's folder is written."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import msgspec
import pytest
from lumen_kills import killed_before, state_calls
from lumen_until import until

from lumen_tui.hosts.packing import TooLarge
from lumen_tui.hosts.remote_task import OrderRefused
from lumen_tui.hosts.tree_changes import BadTree, TreeReturn, TreeWatch
from lumen_tui.hosts.tree_packing import MOST_FILE, TreePack
from lumen_tui.model import frames
from lumen_tui.model.frames import TreeFile
from lumen_tui.model.tasks import Exit, Run
from lumen_tui.storage.journal import Journal
from lumen_tui.store.tasks import change_records
from lumen_tui.store.tasks.task_records import read_json
from lumen_tui.tools.isolation import living

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository of the operator's."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("print(1)\n")
    (folder / "old.txt").write_text("old\n")
    (folder / ".env").write_text("KEY=abc\n")
    os.symlink("src/main.py", folder / "link")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    names = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


async def begun(home, host, task_id: str, attempt: int = 1):
    task = await host.begin(home.order(task_id, attempt))
    task.launch(KEYS)
    return task


async def test_what_a_builder_changed_on_a_host_waits_here_as_the_same_change_list(
    home, host, server, project, sandbox
):
    before = contents(project)
    task_id = home.task("anything", role="builder", folder=str(project))
    server.script = [
        ("write_file", {"path": "src/new.py", "content": "print(2)\n"}),
        ("shell", {"command": "rm old.txt && chmod +x src/main.py && ln -s new.py src/other"}),
        ("read_file", {"path": "src/main.py"}),
        "Done.",
    ]
    task = await begun(home, host, task_id)
    until(lambda: not home.tend(task))
    folder = home.layout.task(task_id)
    assert read_json(folder / "exit.json", Exit).status == "done"
    assert contents(project) == before
    assert living.settle(home.layout, folder, "2026-01-01T00:00:00Z")
    changes = change_records.read_list(folder)
    kinds = {change.path: change.kind for change in changes.files}
    assert kinds == {"old.txt": "removed", "src/main.py": "mode", "src/new.py": "added", "src/other": "added"}
    assert contents(project) == before


async def test_a_key_in_the_folder_stays_here(home, host, project):
    task = await host.begin(home.order(home.task("anything", role="builder", folder=str(project))))
    there = contents(task.folder / living.TREE)
    assert there.keys() == {"src/main.py", "old.txt", "link"}
    assert os.readlink(task.folder / living.TREE / "link") == "src/main.py"
    assert not (task.folder / frames.TREE).exists()


async def test_the_next_attempt_goes_on_with_what_the_one_before_changed(home, host, server, project, tmp_path):
    task_id = home.task("anything", role="builder", folder=str(project))
    server.script = [
        ("write_file", {"path": "half.txt", "content": "half\n"}),
        ("ask_operator", {"question": "Go on?", "options": ["yes"], "default": "yes"}),
    ]
    task = await begun(home, host, task_id)
    until(lambda: not home.tend(task))
    folder = home.layout.task(task_id)
    assert (folder / "parked.json").exists() and (folder / living.TREE / "half.txt").read_text() == "half\n"
    run = Run(1, "2026-01-01T00:00:00Z", notes_begun=True)
    (folder / "run.1.json").write_bytes(msgspec.json.encode(run))
    second = await host.begin(home.order(task_id, 2))
    assert (second.folder / living.TREE / "half.txt").read_text() == "half\n"


async def test_files_that_a_task_makes_in_its_own_folder_come_home(home, host, server):
    server.script = [("write_file", {"path": "notes.txt", "content": "kept\n"}), "Done."]
    task = await begun(home, host, task_id := home.task("anything", role="builder"))
    until(lambda: not home.tend(task))
    assert contents(home.layout.task(task_id) / living.TREE) == {"notes.txt": b"kept\n"}


def test_a_folder_that_is_no_folder_or_too_large_does_not_go(home, project, monkeypatch):
    with pytest.raises(TooLarge, match="is not a folder"):
        home.order(home.task("anything", role="builder", folder=str(project / "old.txt")))
    monkeypatch.setattr("lumen_tui.hosts.tree_packing.MOST_FILES", 1)
    with pytest.raises(TooLarge, match="is too large for a host: 1 files"):
        home.order(home.task("anything", role="builder", folder=str(project)))


def whole(name: bytes, data: bytes, **more: object) -> TreeFile:
    return TreeFile(name, sha256=hashlib.sha256(data).hexdigest(), size=len(data), data=data, **more)


HOSTILE = [
    ([whole(b"../x", b"x")], "its name leads out of the folder"),
    ([whole(b"/tmp/x", b"x")], "its name leads out of the folder"),
    ([whole(b"a/../../x", b"x")], "its name leads out of the folder"),
    ([whole(b"a\0b", b"x")], "its name leads out of the folder"),
    ([whole(b"", b"x")], "its name leads out of the folder"),
    ([whole(b".git/config", b"x")], "it would be a part of .git"),
    ([whole(b"src/.GIT/hooks/x", b"x")], "it would be a part of .git"),
    ([whole(b"out", b"/tmp", link=True), whole(b"out/x", b"x")], "out on the way to it is a link"),
    ([TreeFile(b"x", sha256="0" * 64, size=1, data=b"x")], "it is not what its hash says"),
    ([TreeFile(b"x", sha256="0" * 64, size=9, data=b"x", offset=8)], "a piece from byte 8 came behind 0 bytes"),
    ([TreeFile(b"x", sha256="0" * 64, size=MOST_FILE + 1)], "it is larger than 64 MiB"),
]


@pytest.mark.parametrize(("entries", "words"), HOSTILE)
def test_what_leads_out_of_the_folder_is_refused_by_name(home, tmp_path, entries, words):
    folder = home.layout.task(home.task("anything", role="builder"))
    Journal(folder / frames.tree_journal(1)).append_all(entries)
    outside = {path for path in (Path("/tmp/x"), folder / "x", folder.parent / "x") if path.exists()}
    with pytest.raises(BadTree, match=f"host attic sent .*: {words}"):
        TreeReturn(folder, 1, "attic").take()
    assert {path for path in (Path("/tmp/x"), folder / "x", folder.parent / "x") if path.exists()} == outside


async def test_an_order_whose_folder_leads_out_of_it_begins_nothing(home, host):
    order = home.order(home.task())
    for pack in (msgspec.msgpack.encode(TreePack("/p", "", (whole(b"../x", b"x"),))), b"\xc1"):
        bad = msgspec.structs.replace(order, files={**order.files, f"tasks/{order.task_id}/{frames.TREE}": pack})
        with pytest.raises(OrderRefused, match="the folder that the order brings is none"):
            await host.begin(bad)
    assert host.attempts(order.task_id) == []


def test_a_service_that_starts_again_tells_no_file_twice_and_a_large_one_in_pieces(tmp_path):
    tree = tmp_path / living.TREE
    tree.mkdir()
    (tree / "large").write_bytes(os.urandom(700_000))
    (tree / "small").write_text("x")
    TreeWatch(tmp_path, 1).look()
    told = (tmp_path / frames.tree_journal(1)).read_bytes()
    assert told.count(b"\n") == 4
    TreeWatch(tmp_path, 1).look()
    assert (tmp_path / frames.tree_journal(1)).read_bytes() == told
    (tree / "small").unlink()
    TreeWatch(tmp_path, 1).look()
    assert (tmp_path / frames.tree_journal(1)).read_bytes().count(b"\n") == 5


@pytest.mark.long
def test_killed_before_any_of_its_writes_the_folder_is_the_same_in_the_end(home, tmp_path, sampled):
    folder = home.layout.task(home.task("anything", role="builder"))
    large = os.urandom(300_000)
    half = hashlib.sha256(large).hexdigest()
    pieces = [TreeFile(b"d/large", sha256=half, size=300_000, data=large[:262_144])]
    pieces.append(TreeFile(b"d/large", sha256=half, size=300_000, data=large[262_144:], offset=262_144))
    entries = [whole(b"a", b"1"), *pieces, whole(b"l", b"a", link=True), TreeFile(b"a"), whole(b"a/b", b"2")]
    Journal(folder / frames.tree_journal(1), 1 << 20).append_all(entries)

    def put(root: Path) -> None:
        TreeReturn(root, 1, "attic").take()

    def copy(name: str) -> Path:
        shutil.copytree(folder, tmp_path / name)
        return tmp_path / name

    calls = state_calls(copy("whole"), partial(put, tmp_path / "whole"))
    expected = contents(tmp_path / "whole" / living.TREE)
    assert expected == {"d/large": large, "a/b": b"2"}
    for point in sampled(list(range(len(calls))), 12):
        root = copy(f"at-{point}")
        assert killed_before(point, root, partial(put, root))
        put(root)
        assert contents(root / living.TREE) == expected and os.readlink(root / living.TREE / "l") == "a"
