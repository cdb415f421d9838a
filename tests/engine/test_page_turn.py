"""A child of the engine turns a full page of the chain of hashes: nothing is lost, whatever becomes of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from lumen_folder import StateFolder
from lumen_until import until

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.monitors import JournalMonitor
from lumen_tui.model.seals import SealKind
from lumen_tui.storage import chain_check, files, process, sealer, seals


class Folder(StateFolder):
    """A folder whose engine seals its journals, with pages that are full after a few beats."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, 1_800_000_000.0)
        self.layout.create()
        self.monitor = JournalMonitor(self.layout, EventLog(self.store), ())
        self._sent = 0

    def beat(self) -> None:
        self._sent += 1
        self.do("signal.send", message=f"signal {self._sent}")
        self.now += 60.0
        files.replace(self.layout.heartbeat, msgspec.json.encode(self.monitor.seal(self.now)))

    def children(self) -> list[int]:
        return process.started_with(sealer.__name__, str(self.root))

    def beat_until_turning(self) -> int:
        """Let beats go by until a child turns the page; return its pid."""
        for _ in range(40):
            self.beat()
            if self.monitor._turning is not None:
                return self.monitor._turning._child.pid
        raise AssertionError("the page never was full")

    def wait_for_child(self) -> None:
        turning = self.monitor._turning
        assert turning is not None
        until(lambda: not turning.running())

    def turned(self) -> bool:
        first = next(iter(seals.lines(self.root)), b"")
        return bool(first) and seals.decode(first).kind is SealKind.CARRIED

    def faults(self) -> tuple[object, ...]:
        return chain_check.look_through(self.root).faults


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.setattr(sealer, "_LARGEST", 6_000)
    monkeypatch.setattr(sealer, "_LATER", 4_000)
    made = Folder(tmp_path / "state")
    yield made
    made.monitor.close(made.now)
    assert made.children() == []


def test_a_full_page_is_turned_beside_the_beats_which_go_on_from_it(folder: Folder) -> None:
    folder.beat_until_turning()
    folder.wait_for_child()
    assert folder.turned()
    before = chain_check.look_through(folder.root).seals
    folder.beat()
    report = chain_check.look_through(folder.root)
    assert (report.faults, report.seals) == ((), before + 1)


def test_what_comes_while_a_page_is_turned_is_sealed_when_it_has_been(folder: Folder) -> None:
    child = folder.beat_until_turning()
    os.kill(child, signal.SIGSTOP)
    size = folder.layout.seals.stat().st_size
    if not folder.turned():  # it was stopped before it was done
        folder.beat()
        assert folder.layout.seals.stat().st_size == size, "the engine does not wait for its child"
    os.kill(child, signal.SIGCONT)
    folder.wait_for_child()
    folder.beat()
    assert folder.turned() and folder.faults() == ()


def test_a_killed_child_leaves_the_page_which_is_tried_again_when_it_has_grown(folder: Folder) -> None:
    child = folder.beat_until_turning()
    os.kill(child, signal.SIGKILL)
    folder.wait_for_child()
    if not folder.turned():
        folder.beat()
        assert folder.monitor._turning is None, "not at the next beat already"
        folder.beat_until_turning()
        folder.wait_for_child()
    assert folder.turned() and folder.faults() == ()


def test_an_engine_that_ends_takes_the_child_along_and_seals_what_it_leaves(folder: Folder) -> None:
    child = folder.beat_until_turning()
    os.kill(child, signal.SIGSTOP)
    folder.do("signal.send", message="the last one")
    folder.monitor.close(folder.now)
    assert folder.children() == []
    assert folder.faults() == ()
    sealed = seals.read_chain(folder.root).journals["memory/signals.jsonl"]
    assert max(content.end for content in sealed.contents.values()) == folder.layout.signals.stat().st_size


def test_a_page_over_what_was_changed_is_not_turned_and_not_tried_at_each_beat(folder: Folder) -> None:
    folder.beat()
    data = folder.layout.signals.read_bytes()
    folder.layout.signals.write_bytes(data.replace(b"signal 1", b"signal 7"))
    started = 0
    for _ in range(40):
        folder.beat()
        if folder.monitor._turning is not None:
            started += 1
            folder.wait_for_child()
            folder.monitor._turning.running()
    assert not folder.turned()
    assert 1 <= started < 10
