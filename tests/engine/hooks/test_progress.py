"""Missing progress signals: counted, told, and gone when the signal comes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from lumen_folder import StateFolder
from lumen_rows import each_row

from lumen_tui.model import times
from lumen_tui.model.config import ProgressSignalsConfig
from lumen_tui.model.progress import Stretch, UnitState, missing
from lumen_tui.model.snapshot import Need
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import files
from lumen_tui.store.sessions import hook_journal

ON = ProgressSignalsConfig(enabled=True, frequency=10)
NOW = 1_800_000_000.0
WORKED = Stretch("s1", "WU-042", calls=10, since=100.0, tests_passed=120.0, milestone=130.0)


def texts(rule: ProgressSignalsConfig, stretches: list[Stretch], units: list[UnitState] | None = None) -> list[str]:
    return [item.text for item in missing(rule, stretches, units or [])]


def test_nothing_is_due_unless_it_is_asked_for():
    assert texts(ProgressSignalsConfig(), [WORKED], [UnitState("WU-042", "blocked", blocked=5.0)]) == []


@each_row(("calls", "due"), [(0, 0), (9, 0), (10, 1), (25, 1)])
def test_one_signal_is_due_every_so_many_calls(calls, due):
    assert len(texts(ON, [Stretch("s1", "WU-042", calls=calls, since=1.0)])) == due


def test_no_frequency_is_never():
    assert texts(ProgressSignalsConfig(enabled=True), [Stretch("s1", "WU-042", calls=999, since=1.0)]) == []


def test_what_is_due_once_more_is_another_item():
    first, again, second = (
        missing(ON, [Stretch("s1", "WU-042", calls=calls, since=1.0)], [])[0].target for calls in (10, 19, 20)
    )
    assert first == again != second


@each_row(("setting", "word"), [("on_tests_pass", "tests passed"), ("on_milestone", "a step was completed")])
def test_each_occasion_has_its_switch(setting, word):
    rule = ProgressSignalsConfig(enabled=True)
    assert [text for text in texts(rule, [WORKED]) if word in text]
    assert not [text for text in texts(msgspec.structs.replace(rule, **{setting: False}), [WORKED]) if word in text]


def test_a_blocked_work_unit_needs_a_word():
    silent = UnitState("WU-042", "blocked", blocked=100.0, signalled=99.0)
    assert texts(ON, [], [silent]) == ["WU-042: is blocked and nobody was told"]
    assert texts(ON, [], [msgspec.structs.replace(silent, signalled=101.0)]) == []
    assert texts(msgspec.structs.replace(ON, on_blocked=False), [], [silent]) == []


def test_a_finished_work_unit_needs_one_word_on_the_way_and_nothing_else():
    done = UnitState("WU-042", "done", claimed=50.0, done=200.0)
    assert texts(ON, [WORKED], [done]) == ["WU-042: was finished without a progress signal"]
    assert texts(ON, [WORKED], [msgspec.structs.replace(done, signalled=60.0)]) == []
    assert texts(msgspec.structs.replace(ON, before_gates=False), [WORKED], [done]) == []
    assert texts(ON, [], [done]) == []  # no hook saw the work


class Room(StateFolder):
    """A state folder in which a hook told of calls, and what its reader says needs a person."""

    STEP = 1.0

    def __init__(self, root: Any) -> None:
        super().__init__(root, NOW)
        self.layout.create()
        self.reader = SnapshotReader(root, "ana")

    def calls(self, count: int, wu_id: str = "WU-042", **fields: Any) -> None:
        lines = []
        for _ in range(count):
            self.now += 1
            record = {
                "at": times.iso(self.now),
                "event": hook_journal.TOOL_USED,
                "session": "s1",
                "wu": wu_id,
                **fields,
            }
            lines.append(json.dumps(record).encode() + b"\n")
        files.append(self.layout.root / hook_journal.NAME, b"".join(lines))

    def due(self) -> list[tuple[str, str]]:
        items = self.reader.snapshot(self.now).attention
        return [(item.target, item.text) for item in items if item.need is Need.PROGRESS]


@pytest.fixture
def room(tmp_path):
    made = Room(tmp_path / "state")
    made.layout.config.write_text("[memory.progress_signals]\nenabled = true\nfrequency = 5\n")
    made.do("wu.new", title="unit", id="WU-042")
    return made


def test_the_item_goes_when_the_signal_comes(room):
    room.calls(4)
    assert room.due() == []
    room.calls(1)
    assert [text for _, text in room.due()] == ["WU-042: 5 tool calls without a progress signal (one is due every 5)"]
    room.do("signal.send", message="on another unit", wu_id="WU-043")
    assert len(room.due()) == 1
    room.do("signal.send", message="half way", wu_id="WU-042")
    assert room.due() == []
    room.calls(4)
    assert room.due() == []
    room.calls(1)
    assert len(room.due()) == 1


def test_a_reader_that_starts_later_counts_the_same(room):
    room.calls(3)
    room.do("signal.send", message="half way", wu_id="WU-042")
    room.calls(5, tests=True)
    assert len(room.due()) == 2
    room.reader = SnapshotReader(room.layout.root, "bo")
    assert len(room.due()) == 2


def test_a_dismissed_item_comes_back_when_it_is_due_once_more(room):
    room.calls(5)
    room.do("attention.dismiss", targets=room.due()[0][0])
    assert room.due() == []
    room.calls(4)
    assert room.due() == []
    room.calls(1)
    assert len(room.due()) == 1


def test_blocked_and_done(room):
    room.do("wu.claim", wu_id="WU-042")
    room.do("wu.block", wu_id="WU-042", reason="no key")
    assert [text for _, text in room.due()] == ["WU-042: is blocked and nobody was told"]
    room.do("signal.send", message="no key", wu_id="WU-042")
    assert room.due() == []
    room.do("wu.unblock", wu_id="WU-042")
    room.do("wu.claim", wu_id="WU-042")
    room.calls(9)
    room.do("wu.done", wu_id="WU-042", no_checkpoint_check=True)
    assert [text for _, text in room.due()] == ["WU-042: was finished without a progress signal"]


def test_lines_are_followed_and_not_read_again(room, monkeypatch):
    room.calls(3)
    room.due()
    begun = []
    real = files.os.pread
    monkeypatch.setattr(files.os, "pread", lambda fd, size, at: begun.append(at) or real(fd, size, at))
    room.calls(2)
    begun.clear()
    hooks = room.reader._progress.hooks
    assert hooks.refresh()
    assert min(begun) > 0
    assert not hooks.refresh()
    assert hooks.view.events == 5
