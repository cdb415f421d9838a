"""Writes that stop in the middle: killed after any number of bytes, or short because the disk is full."""

import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import lumen_small_disk
import pytest

from lumen_tui.storage import files
from lumen_tui.storage.journal import Journal

RECORD = b'{"id":"%s","text":"' + b"x" * 900 + b'"}\n'
LINE = 66  # bytes of one of the hammer's records, roughly


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: torn writes are made by a small library")
    target = tmp_path_factory.mktemp("shim") / "torn.so"
    source = Path(__file__).with_name("torn.c")
    built = subprocess.run([compiler, "-shared", "-fPIC", "-o", target, source, "-ldl"], capture_output=True, text=True)
    if built.returncode:
        pytest.skip(f"the compiler does not work: {built.stderr[:200]}")
    return str(target)


@pytest.mark.fault("R2", "a write torn at each byte")
def test_torn_at_every_byte_nothing_acknowledged_is_lost(crowd, look, sampled, shim: str, tmp_path: Path) -> None:
    path = tmp_path / "signals.jsonl"
    runs = sampled([(number, size) for size in range(LINE) for number in (1, 2, 3)], 45)
    for run, (number, size) in enumerate(runs):
        env = {"LD_PRELOAD": shim, "TORN_PATH": str(path), "TORN_WRITE": str(number), "TORN_BYTES": str(size)}
        assert crowd.run("append", str(path), f"run{run}", "5", **env) == -signal.SIGKILL
    files.append(path, b'{"id":"after"}\n')
    found = look(path)
    told = crowd.acknowledged()
    assert len(told) >= len(runs) // 2
    assert set(told) <= set(found.ids)
    assert found.twice == []
    assert 0 < len(found.damaged) <= len(runs)
    assert found.ids[-1] == "after"


def test_a_torn_tail_is_closed_off_and_spoils_only_itself(look, tmp_path: Path) -> None:
    path = tmp_path / "signals.jsonl"
    path.write_bytes(b'{"id":"a"}\n{"id":"b","te')
    offset = files.append(path, b'{"id":"c"}\n')
    assert path.read_bytes() == b'{"id":"a"}\n{"id":"b","te\n{"id":"c"}\n'
    assert path.read_bytes()[offset:] == b'{"id":"c"}\n'
    assert look(path).ids == ["a", "c"]


def test_a_rewrite_keeps_the_torn_tail(tmp_path: Path) -> None:
    path = tmp_path / "signals.jsonl"
    path.write_bytes(b'{"id":"a"}\n{"id":"b","te')
    Journal(path).rewrite(lambda lines: lines)
    assert path.read_bytes() == b'{"id":"a"}\n{"id":"b","te\n'


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with lumen_small_disk.small_disk(tmp_path / "small", 64 * 1024) as folder:
        yield folder


def fill(path: Path) -> list[str]:
    """Append until the disk is full; the ids that were acknowledged."""
    told: list[str] = []
    with pytest.raises(files.NotWritten, match="disk is full"):
        for number in range(1000):
            files.append(path, RECORD % str(number).encode())
            told.append(str(number))
    return told


@pytest.mark.fault("R5", "a full disk (a tmpfs of a few pages, a bound on the size of files)")
def test_a_full_disk_refuses_cuts_back_and_goes_on_when_there_is_room(look, small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 16_384)
    path = small_disk / "signals.jsonl"
    told = fill(path)
    assert len(told) > 20
    found = look(path)
    assert (found.ids, found.damaged, found.tail) == (told, [], b"")
    ballast.unlink()
    files.append(path, RECORD % b"after")
    assert look(path).ids == [*told, "after"]


@pytest.mark.fault("R5", "a full disk (a tmpfs of a few pages, a bound on the size of files)")
def test_on_a_full_disk_a_replace_and_a_rewrite_change_nothing(small_disk: Path) -> None:
    state, journal = small_disk / "loop-state.json", small_disk / "signals.jsonl"
    files.replace(state, b"old")
    fill(journal)
    before = journal.read_bytes()
    with pytest.raises(files.NotWritten, match="disk is full"):
        files.replace(state, b"new" * 4000)
    with pytest.raises(files.NotWritten, match="disk is full"):
        Journal(journal).rewrite(lambda lines: lines)
    assert (state.read_bytes(), journal.read_bytes()) == (b"old", before)
    assert sorted(entry.name for entry in small_disk.iterdir()) == ["loop-state.json", "signals.jsonl"]


@pytest.fixture
def size_limit() -> Iterator[None]:
    """No file of this process may grow beyond 10,000 bytes; a write across that line is short, the next fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.fault("R5", "a full disk (a tmpfs of a few pages, a bound on the size of files)")
def test_a_short_write_is_cut_back(look, size_limit: None, tmp_path: Path) -> None:
    path = tmp_path / "signals.jsonl"
    told = []
    with pytest.raises(files.NotWritten, match="nothing was acknowledged"):
        for number in range(1000):
            files.append(path, RECORD % str(number).encode())
            told.append(str(number))
    found = look(path)
    assert (found.ids, found.damaged, found.tail) == (told, [], b"")
    files.append(path, b'{"id":"short"}\n')
    assert look(path).ids == [*told, "short"]


@pytest.mark.fault("R5", "a full disk (a tmpfs of a few pages, a bound on the size of files)")
def test_a_replace_that_does_not_fit_leaves_the_old_file(size_limit: None, tmp_path: Path) -> None:
    path = tmp_path / "loop-state.json"
    files.replace(path, b"old")
    with pytest.raises(files.NotWritten):
        files.replace(path, b"x" * 20_000)
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1
