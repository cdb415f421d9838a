"""An import that meets a full disk, wherever that is: what it brought is one entry, and undo takes all of it back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import lumen_small_disk
import pytest

from lumen_tui.actions.registry import named, perform
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal

NOW = 1_790_000_000.0
PAGE = 4096
PAGES = 160  # of the disk
TAKEN = ("memory", "work", "sessions", "stamps")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with lumen_small_disk.small_disk(tmp_path / "small", PAGES * PAGE) as folder:
        yield folder


def project(at: Path) -> Path:
    """A LumenFlow project that brings lines to four journals, work units, a session and stamps."""
    memory = at / "project" / ".lumenflow" / "memory"
    memory.mkdir(parents=True)
    made = '"created_at":"2026-11-21T03:57:11.571Z"'
    lines = {
        "memory": [f'{{"id":"mem-{n:04x}","type":"note","content":"{"word " * 20}{n}",{made}}}' for n in range(60)],
        "signals": [f'{{"id":"sig-{n:08x}","message":"{"step " * 20}{n}",{made}}}' for n in range(60)],
        "relationships": [f'{{"from_id":"mem-{n:04x}","to_id":"mem-0000","type":"blocks",{made}}}' for n in range(60)],
        "signal-receipts": ['{"signal_id":"sig-00000001","read_at":"2026-11-21T03:57:02.931Z"}'],
    }  # fmt: skip
    for name, written in lines.items():
        (memory / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in written))
    texts = {f"stamps/WU-{n:03}.done": f"WU WU-{n:03} — A title\nCompleted: 2026-02-01\n" for n in range(1, 7)}
    note = '{"type":"checkpoint","wuId":"WU-001","timestamp":"2026-02-01T00:00:00.000Z","note":"half"}\n'
    for name, text in {**texts, "sessions/current.json": '{"wuId":"WU-001"}', "state/wu-events.jsonl": note}.items():
        path = memory.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return at / "project"


def content(root: Path) -> dict[str, bytes]:
    """What an import may bring, without what is derived or empty."""
    paths = [path for name in TAKEN for path in sorted((root / name).rglob("*")) if path.is_file()]
    return {str(path.relative_to(root)): data for path in paths if (data := path.read_bytes())}


def bring(root: Path, source: Path) -> None:
    perform(Store(root), named("import.lumenflow", {"path": str(source)}), by="ana", now=NOW)


def in_child(act: Callable[[], None]) -> str:
    """Carry `act` out in a process that then is gone; return the name of the error that it raised."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            act()
        except StoreError as error:
            os.write(writing, type(error).__name__.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading, "rb") as pipe:
        return pipe.read().decode()


@pytest.mark.fault("R5", "an import onto a full disk")
def test_undo_takes_back_what_came_before_the_disk_was_full(small_disk: Path, tmp_path: Path, sampled) -> None:
    source = project(tmp_path)
    Layout(tmp_path / "whole").create()
    bring(tmp_path / "whole", source)
    stopped = set()
    for free in sampled(list(range(1, 40)), 8):
        root, ballast = small_disk / "state", small_disk / "ballast"
        shutil.rmtree(root, ignore_errors=True)
        Layout(root).create()
        before = content(root)
        disk = os.statvfs(small_disk)
        ballast.write_bytes(b"x" * (disk.f_bavail * disk.f_frsize - free * PAGE))
        error = in_child(lambda root=root: bring(root, source))
        ballast.unlink()
        brought = content(root)
        stopped.add(len(brought))
        entries = list(journal.in_effect(Layout(root), lambda action: action.by == "ana"))
        assert len(entries) == bool(brought), (free, entries)
        assert error in ("", "NotWritten"), (free, error)
        if not error:
            assert brought.keys() == content(tmp_path / "whole").keys()
        for _ in entries:
            perform(Store(root), named("undo", {}), by="ana", now=NOW + 60)
        assert content(root) == before, free
        bring(root, source)
        assert content(root).keys() == content(tmp_path / "whole").keys(), free
    assert len(stopped) > 2, "the disk was full at different places"


@pytest.mark.fault("R5", "an import onto a full disk")
def test_a_disk_that_is_full_from_the_first_takes_nothing(small_disk: Path, tmp_path: Path) -> None:
    root = small_disk / "state"
    Layout(root).create()
    disk = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(b"x" * disk.f_bavail * disk.f_frsize)
    with pytest.raises(StoreError):
        bring(root, project(tmp_path))
    assert content(root) == {}
    assert list(journal.in_effect(Layout(root), lambda _: True)) == []
