"""A child makes the first reading of a large folder; without what it leaves behind the engine reads all itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from lumen_folder import StateFolder
from lumen_until import until

from lumen_tui.engine import child_process, first_reading
from lumen_tui.engine.queue_journal import QueueJournal
from lumen_tui.model.notify_config import NotifyConfig
from lumen_tui.storage import process
from lumen_tui.store.attention.transitions import newest_first
from lumen_tui.store.signals.signal_index import kept_path

OPERATOR = "ana"
URGENT = "the port is taken"


class Folder(StateFolder):
    """A folder with more signals than are rather read again than kept, one of them urgent, and no index."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, 1_800_000_000.0)
        self.layout.create()
        line = b'{"id":"sig-%013d","message":"%s","created_at":"2026-11-01T00:00:00.000Z","sender":"ben","schema":1}\n'
        self.layout.signals.write_bytes(b"".join([line % (number, b"x" * 100) for number in range(2000)]))
        self.do("signal.send", message=URGENT, priority="P0", by="ben")
        self.index = kept_path(self.layout, OPERATOR)
        self.journal = QueueJournal(self.layout, self.clock)

    def poll(self) -> object:
        return self.journal.poll(NotifyConfig(), self.now)

    def told(self) -> list[str]:
        return [transition.text for transition in newest_first(self.layout)]

    def children(self) -> list[int]:
        return process.started_with("lumen_tui.engine.first_reading", str(self.root))

    def child(self) -> int:
        """Return the one child; the kernel shows its command line a moment after it was started."""
        until(self.children)
        (child,) = self.children()
        return child

    def recorded(self) -> bool:
        """Let the engine go on until it has recorded what is urgent; return whether that is all there is."""
        until(lambda: self.poll() or self.told())
        return [URGENT in text for text in self.told()] == [True]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.setattr(first_reading, "LEAST", 1)
    monkeypatch.setenv("LUMEN_OPERATOR", OPERATOR)
    made = Folder(tmp_path / "state")
    with closing(made.journal):
        yield made


def test_the_child_reads_and_the_engine_goes_on_with_what_it_left(folder: Folder) -> None:
    assert folder.poll() == []
    folder.child()
    until(lambda: not folder.children() and folder.index.exists())
    assert folder.told() == [], "nothing is recorded before all is read"
    written = folder.index.stat().st_mtime_ns
    assert folder.recorded()
    assert folder.index.stat().st_mtime_ns == written, "the engine did not count all of it again"


def test_a_killed_child_leaves_the_reading_to_the_engine(folder: Folder) -> None:
    folder.poll()
    child = folder.child()
    os.kill(child, signal.SIGKILL)
    assert folder.recorded()


def test_a_child_that_is_late_is_ended(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "_LONGEST", 0.0)
    monkeypatch.setattr(child_process, "_PATIENCE", 0.05)
    folder.poll()  # the look that starts it finds it late as well
    assert folder.children() == []
    assert folder.recorded()


def test_an_index_that_takes_nothing_leaves_the_reading_to_the_engine(folder: Folder) -> None:
    folder.layout.index.rmdir()
    folder.layout.index.write_text("no folder")
    folder.poll()
    assert folder.recorded()
    assert folder.layout.index.read_text() == "no folder"


def test_without_a_process_to_be_had_the_engine_reads(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen", refused)
    assert folder.recorded()


def test_an_engine_that_ends_takes_the_child_along(folder: Folder) -> None:
    folder.poll()
    child = folder.child()
    os.kill(child, signal.SIGSTOP)
    folder.journal.close()
    assert folder.children() == []


def test_a_folder_that_was_read_before_or_is_small_pays_for_no_process(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as small:
        small.setattr(first_reading, "LEAST", 1 << 20)
        with closing(QueueJournal(folder.layout, folder.clock)) as journal:
            journal.poll(NotifyConfig(), folder.now)
            assert folder.children() == []
    assert folder.told(), "and keeps its index"
    with closing(QueueJournal(folder.layout, folder.clock)) as journal:
        journal.poll(NotifyConfig(), folder.now)
        assert folder.children() == []
