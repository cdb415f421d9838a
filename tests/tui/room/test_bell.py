"""An open room rings for what is new on the queue: once, also where two rooms of one operator are open."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from lumen_folder import StateFolder
from lumen_terminal import Terminal
from lumen_until import until

from lumen_tui.engine.queue_journal import QueueJournal
from lumen_tui.model import times
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.notify_config import NotifyConfig
from lumen_tui.model.notifying import Message, ToldReceipt
from lumen_tui.queries.transitions import newest
from lumen_tui.storage import files
from lumen_tui.storage.clock import SystemClock
from lumen_tui.storage.journal import Journal
from lumen_tui.tui.bell import sequences

HOSTILE = Message("lumen: x\x1b]0;owned\x07", "a;b\x07\x1b[2J\nc")


class Watched(StateFolder):
    """A state folder whose queue is recorded as an engine does it, when the test says so."""

    def __init__(self, root: Path, settings: str = "") -> None:
        super().__init__(root, SystemClock())
        self.layout.create()
        self.layout.config.write_text(settings)
        self._journal = QueueJournal(self.layout, SystemClock())

    def needs(self, text: str) -> None:
        self.do("signal.send", message=text, priority="P0", by="agent-a")
        self._journal.poll(NotifyConfig(), self.now)

    def receipts(self, transition: str = "") -> list[ToldReceipt]:
        records = Journal(self.layout.told).records(ToldReceipt)
        return [receipt for receipt in records if transition in ("", receipt.transition)]

    def close(self) -> None:
        self._journal.close()


@pytest.fixture
def room_of(tmp_path: Path):
    opened = []

    def open_rooms(settings: str, count: int) -> tuple[Watched, list[Terminal]]:
        folder = Watched(tmp_path / "state", settings)
        folder.needs("there before")
        rooms = [Terminal(folder.root) for _ in range(count)]
        opened.extend([folder, *rooms])
        for room in rooms:
            room.wait_for("there before")
        room.until(lambda: folder.receipts())
        return folder, rooms

    yield open_rooms
    for each in opened:
        if isinstance(each, Terminal):
            each.press("q")
            each.press("q")
            each.end()
        else:
            each.close()


def rings(rooms: list[Terminal], since: list[int], mark: bytes) -> int:
    for room in rooms:
        room.read(0.1)
    return sum(room.sent[begin:].count(mark) for room, begin in zip(rooms, since, strict=True))


def test_of_two_rooms_of_one_operator_one_rings_and_only_for_what_is_new(room_of) -> None:
    folder, rooms = room_of('[notify]\nterminal = ["osc9"]\n', 2)
    assert rings(rooms, [0, 0], b"\x1b]9;") == 0
    assert all(receipt.shown for receipt in folder.receipts())
    since = [len(room.sent) for room in rooms]
    folder.needs("the port is taken")
    newest_id = newest(folder.layout, 1)[0].id
    until(lambda: rings(rooms, since, b"\x1b]9;") and folder.receipts(newest_id), lambda: str(folder.receipts()), 30)
    for room in rooms:
        room.wait_for("port is taken")
    assert rings(rooms, since, b"\x1b]9;") == 1
    assert len(folder.receipts(newest_id)) == 1


def test_a_room_writes_that_the_engine_is_gone_as_no_engine_can(room_of) -> None:
    folder, rooms = room_of('[notify]\nterminal = ["osc777"]\n', 1)
    before = len(rooms[0].sent)
    beat = Heartbeat(beat=3, phase="asleep", at=times.iso(folder.now), next_at=times.iso(folder.now + 300), pid=1)
    files.replace(folder.layout.heartbeat, msgspec.json.encode(beat))
    rooms[0].until(lambda: b"\x1b]777;notify;lumen: engine needs you;" in rooms[0].sent[before:])
    assert [(line.kind, line.need) for line in newest(folder.layout, 1)] == [("appeared", "engine")]


def test_a_terminal_gets_the_sequence_that_was_chosen_and_no_other() -> None:
    text = (Message("lumen: approval needs you", "make deploy"),)
    assert sequences(text, NotifyConfig(), {}) == "\a"
    assert sequences(text, NotifyConfig(terminal=()), {}) == ""
    osc9 = sequences(text, NotifyConfig(terminal=("osc9",)), {})
    assert osc9 == "\x1b]9;lumen: approval needs you: make deploy\x07"
    osc777 = sequences(text, NotifyConfig(terminal=("bell", "osc777")), {})
    assert osc777 == "\a\x1b]777;notify;lumen: approval needs you;make deploy\x07"


def test_inside_tmux_only_the_bell_is_sent_unless_it_is_asked_for() -> None:
    config, inside = NotifyConfig(terminal=("bell", "osc9")), {"TMUX": "/tmp/tmux-0/default,1,0"}
    text = (Message("t", "b"),)
    assert sequences(text, config, inside) == "\a"
    through = sequences(text, NotifyConfig(terminal=("osc9",), passthrough=True), inside)
    assert through == "\x1bPtmux;\x1b\x1b]9;t: b\x07\x1b\\"


@pytest.mark.parametrize("kind", ["osc9", "osc777"])
def test_hostile_text_can_neither_end_nor_divide_a_sequence(kind) -> None:
    sent = sequences((HOSTILE,), NotifyConfig(terminal=(kind,)), {})
    assert (sent.count("\x1b"), sent.count("\x07"), sent.count("\n")) == (1, 1, 0)
    assert sent.count(";") == (1 if kind == "osc9" else 3)
