"""SIGKILL before every system call of an append, a replace and a rewrite."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lumen_tui.storage import files

pytestmark = [
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing: it kills at a given system call"),
    pytest.mark.xdist_group("strace"),
]
MARK = "getppid"
MOST = 10  # points of one sweep


@pytest.fixture(scope="module", autouse=True)
def traceable() -> None:
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode:
        pytest.skip("strace may not trace here (ptrace is forbidden)")


def points(crowd, verb: str, path: Path, log: Path) -> list[tuple[str, int]]:
    """(system call, its how-manieth in the process) of everything between the two marks."""
    assert crowd.run("step", verb, str(path), before=("strace", "-f", "-o", str(log))) == 0, crowd.errors
    counts: dict[str, int] = {}
    found, inside = [], False
    for name in re.findall(r"^\d+ +([a-z0-9_]+)\(", log.read_text(), re.M):
        counts[name] = counts.get(name, 0) + 1
        if name == MARK:
            inside = not inside
        elif inside:
            found.append((name, counts[name]))
    assert len(found) >= 8, found
    return found


def kill_at(crowd, verb: str, path: Path, call: str, number: int) -> None:
    """Run one operation and kill it where it is about to make that call."""
    inject = (
        "strace",
        "-f",
        "-o",
        "/dev/null",
        "-e",
        f"trace={call}",
        "-e",
        f"inject={call}:signal=KILL:when={number}",
    )
    assert crowd.run("step", verb, str(path), before=inject) != 0, f"{call} {number} was not reached"


def prepare(path: Path, content: bytes, crowd) -> None:
    path.unlink(missing_ok=True)
    files.append(path, content, durable=False)
    crowd.forget()


@pytest.mark.fault("R1", "SIGKILL at each system call of an append, a replace and a rewrite")
@pytest.mark.parametrize("torn", [b"", b'{"id":"torn","te'])
def test_killed_in_an_append(crowd, look, sampled, tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    before = b'{"id":"old-1"}\n{"id":"old-2"}\n' + torn
    prepare(path, before, crowd)
    for call, number in sampled(points(crowd, "append", path, tmp_path / "log"), MOST):
        prepare(path, before, crowd)
        kill_at(crowd, "append", path, call, number)
        files.append(path, b'{"id":"after"}\n')
        found = look(path)
        told = crowd.acknowledged()
        assert found.ids[:2] == ["old-1", "old-2"], (call, number)
        assert found.ids[-1] == "after", (call, number)
        assert set(told) <= set(found.ids), (call, number)
        assert found.twice == [], (call, number)
        assert found.damaged == ([torn] if torn else []), (call, number)


@pytest.mark.fault("R1", "SIGKILL at each system call of an append, a replace and a rewrite")
def test_killed_in_a_replace(crowd, sampled, tmp_path: Path) -> None:
    path = tmp_path / "loop-state.json"
    old, new = b"old " * 5000, b"new " * 5000
    prepare(path, old, crowd)
    for call, number in sampled(points(crowd, "replace", path, tmp_path / "log"), MOST):
        prepare(path, old, crowd)
        kill_at(crowd, "replace", path, call, number)
        stands = path.read_bytes()
        assert stands in (old, new), (call, number, len(stands))
        assert stands == new or not crowd.acknowledged(), (call, number)


@pytest.mark.fault("R1", "SIGKILL at each system call of an append, a replace and a rewrite")
def test_killed_in_a_rewrite(crowd, look, sampled, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    ids = [f"{'gone' if n % 3 else 'kept'}-{n}" for n in range(90)]
    before = b"".join(b'{"id":"%s"}\n' % name.encode() for name in ids)
    kept = [name for name in ids if name.startswith("kept")]
    prepare(path, before, crowd)
    for call, number in sampled(points(crowd, "rewrite", path, tmp_path / "log"), MOST):
        prepare(path, before, crowd)
        kill_at(crowd, "rewrite", path, call, number)
        found = look(path)
        assert found.ids in (ids, kept), (call, number)
        assert found.ids == kept or not crowd.acknowledged(), (call, number)
        files.append(path, b'{"id":"after"}\n')
        assert look(path).ids[-1] == "after"


@pytest.mark.fault("R3", "each call of the store fails (append, replace, rewrite)")
@pytest.mark.parametrize(
    "call, error", [("write", "ENOSPC"), ("write", "EIO"), ("fdatasync", "EIO"), ("flock", "ENOLCK")]
)
def test_a_failing_append_is_never_acknowledged(crowd, look, tmp_path: Path, call: str, error: str) -> None:
    path = tmp_path / "journal.jsonl"
    prepare(path, b'{"id":"old"}\n', crowd)
    inject = ("strace", "-f", "-o", "/dev/null", "-P", str(path), "-e", f"inject={call}:error={error}")
    assert crowd.run("step", "append", str(path), before=inject) == 1
    assert "NotWritten" in crowd.errors
    assert crowd.acknowledged() == []
    assert look(path).ids[0] == "old"
    assert look(path).damaged == []
    assert crowd.run("step", "append", str(path)) == 0
    assert {"old", "new-1", "new-2"} <= set(look(path).ids)


@pytest.mark.fault("R3", "each call of the store fails (append, replace, rewrite)")
@pytest.mark.parametrize("call, error", [("write", "ENOSPC"), ("fsync", "EIO"), ("rename", "EIO")])
@pytest.mark.parametrize("verb", ["replace", "rewrite"])
def test_a_failing_replace_or_rewrite_leaves_all_as_it_was(
    crowd, tmp_path: Path, verb: str, call: str, error: str
) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    path = folder / "journal.jsonl"
    before = b'{"id":"gone"}\n{"id":"kept"}\n'
    prepare(path, before, crowd)
    points(crowd, verb, path, tmp_path / "log")
    number = _first_inside(tmp_path / "log", call)
    prepare(path, before, crowd)
    inject = (
        "strace",
        "-f",
        "-o",
        "/dev/null",
        "-e",
        f"trace={call}",
        "-e",
        f"inject={call}:error={error}:when={number}",
    )
    assert crowd.run("step", verb, str(path), before=inject) == 1
    assert "NotWritten" in crowd.errors
    assert crowd.acknowledged() == []
    assert path.read_bytes() == before
    assert [entry.name for entry in folder.iterdir()] == ["journal.jsonl"], "a temporary file was left behind"


def _first_inside(log: Path, call: str) -> int:
    """The how-manieth `call` of the process is the first one after the mark."""
    count = 0
    inside = False
    for name in re.findall(r"^\d+ +([a-z0-9_]+)\(", log.read_text(), re.M):
        inside = inside or name == MARK
        count += name == call
        if inside and name == call:
            return count
    raise AssertionError(f"{call} is not called")
