"""What a demo opens with: a recording that ends now, a model that is a script, and workers at work on both."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lumen_folder import StateFolder
from lumen_until import until

from lumen_tui.engine.doctor import examine
from lumen_tui.engine.doctor.disk import PROBLEM
from lumen_tui.engine.launch import start_engine
from lumen_tui.engine.port import RemotePort
from lumen_tui.headless import demo, recording, scripted_model
from lumen_tui.model.requests.attention import AnswerQuestion
from lumen_tui.model.snapshot import Need, Snapshot
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.model.times import DAY, HOUR, epoch
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store

LARGEST = 300_000  # bytes of the archive, which every wheel carries
_HELD = (
    b'{"id":"a","kind":"hold","at":"2026-11-21T23:00:00.000Z","day":"2026-11-21"}\n'
    b'{"id":"a","kind":"settle","at":"2026-11-22T00:10:00.000Z","day":"2026-11-21","usd":0.25}\n'
)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording, unpacked where paths are longer than those of a demo."""
    base = tmp_path_factory.mktemp("a-folder-with-a-long-name-" * 3)
    recording.unpack(recording.ARCHIVE, base, time.time())
    return base


def seen(root: Path) -> Snapshot:
    return RemotePort(root, "ana").snapshot()


def test_a_time_is_moved_and_stays_as_long_as_it_was() -> None:
    line = b'{"at":"2026-11-21T23:59:59.900Z","text":"10:00 on 2026-11-21, 2026-11-20T10:02:00Z ERROR"}\n'
    assert recording.move_times(line, 0.2) == line.replace(b"21T23:59:59.900Z", b"22T00:00:00.100Z")
    clock = b'{"type":"clock","at":1795451357.27}\n'
    assert recording.move_times(clock, 100.0) == b'{"type":"clock","at":1795451457.27}\n'


def test_a_time_within_the_text_that_undo_puts_back_is_moved_too() -> None:
    line = b'{"before":"created_at = \\"2026-11-21T08:00:00.000Z\\"\\n"}'
    assert b'\\"2026-11-21T09:00:00.000Z\\"' in recording.move_times(line, HOUR)


def test_a_call_of_the_ledger_stays_on_the_day_of_its_hold() -> None:
    moved = [json.loads(line) for line in recording.move_ledger(_HELD, 2 * HOUR).splitlines()]
    assert [entry["day"] for entry in moved] == ["2026-11-22", "2026-11-22"]
    moved = [json.loads(line) for line in recording.move_ledger(_HELD, -DAY).splitlines()]
    assert [entry["day"] for entry in moved] == ["2026-11-20", "2026-11-20"]


def test_what_is_no_file_of_the_store_is_left_as_it_is() -> None:
    assert recording.move_file("state/transcripts/x.bin", _HELD, DAY) == _HELD


def test_the_archive_is_small() -> None:
    assert recording.ARCHIVE.stat().st_size <= LARGEST


def test_the_recording_is_healthy_wherever_and_whenever_it_is_unpacked(unpacked: Path) -> None:
    report = examine.examine(Store(unpacked / "state"), now=time.time())
    assert not [finding for finding in report.findings if finding.level == PROBLEM]


def test_the_recording_ends_now_and_began_two_weeks_ago(unpacked: Path) -> None:
    lines = [json.loads(line) for line in Layout(unpacked / "state").packets.read_bytes().splitlines()]
    ages = [time.time() - epoch(packet["completed_at"]) for packet in lines]
    assert min(ages) < 2 * HOUR
    assert 12 * DAY < max(ages) < 15 * DAY
    assert len({int(age // DAY) for age in ages}) >= 13, "a loop on each day"


def test_the_recording_has_something_in_every_pane(unpacked: Path) -> None:
    port = RemotePort(unpacked / "state", "ana")
    snapshot = port.snapshot()
    assert len(snapshot.discoveries) >= 90
    assert sum(port.like(row.node.id) is not None for row in snapshot.discoveries) >= 10, "some are doubles of others"
    assert snapshot.facts.drifted
    assert snapshot.snoozed
    assert snapshot.fading
    assert snapshot.unread
    assert len(snapshot.work) >= 8
    assert {need.need for need in snapshot.attention} >= {Need.P0_SIGNAL, Need.FAILED}


def test_undo_takes_back_what_was_done_in_the_recording(unpacked: Path, tmp_path: Path) -> None:
    shutil.copytree(unpacked / "state", tmp_path / "state")
    state = StateFolder(tmp_path / "state", time.time())
    actions = [json.loads(line) for line in state.layout.actions.read_bytes().splitlines()]
    archived = next(action for action in actions if action["verb"] == "triage.archive")
    before = len(seen(state.root).discoveries)
    state.do("undo", action_id=archived["id"])
    assert len(seen(state.root).discoveries) == before + 3


class Opened:
    """A demo as `--demo` has it, with an engine and without a room."""

    def __init__(self, place: Path) -> None:
        self.root = place / "lumen-demo-test" / "state"
        self.root.parent.mkdir()
        self.sitter = demo.Sitter(self.root)
        demo.fill(self.root, self.sitter.model())
        self.engine = start_engine(self.root)
        self.port = RemotePort(self.root, "ana")

    def task(self, objective: str) -> TaskView:
        return next(view for view in self.port.snapshot().tasks if view.spec.objective == objective)

    def left_over(self) -> str:
        """Let the room end; return what the sitter could not remove."""
        self.sitter.__exit__(None, None, None)
        self.engine.wait()
        return self.sitter.left_over()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    place = Opened(tmp_path)
    yield place
    assert place.left_over() == ""
    assert not place.root.parent.exists()


def test_workers_are_at_work_on_what_was_recorded(opened: Opened) -> None:
    """One goes on, one waits for a command to be allowed, one for an answer, and one stands still for good."""
    until(lambda: opened.task(scripted_model.SURVEY).tail, lambda: opened.port.snapshot().tasks)
    until(lambda: [each.role for each in opened.port.snapshot().approvals] == ["builder"])
    until(lambda: opened.port.snapshot().questions)
    until(lambda: opened.task(scripted_model.WATCH).status is Status.STALLED, lambda: opened.port.snapshot().tasks)
    assert "is stopped" in opened.task(scripted_model.WATCH).reason, "a word of it would make it run again"
    heard = opened.task(scripted_model.SURVEY).last_event
    until(lambda: opened.task(scripted_model.SURVEY).last_event > heard)
    at_most = scripted_model.SURVEYED * 33_000  # tokens: what a prompt may grow to, and its answer
    assert opened.port.snapshot().config.budget.day_tokens > at_most, "it stands still while somebody looks"
    question = opened.port.snapshot().questions[0]
    opened.port.submit(AnswerQuestion(question_id=question.id, answer="Postgres"))
    until(lambda: opened.task(scripted_model.ASK).status is Status.DONE, lambda: opened.port.snapshot().tasks)


def test_the_model_of_a_demo_says_that_it_is_a_script() -> None:
    request = {"messages": [{"role": "user", "content": "Write a poem"}], "tools": [{"name": "write_result"}]}
    assert "script" in scripted_model.answer(request, "/shop").say
