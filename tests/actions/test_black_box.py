"""The room of an earlier moment, rebuilt from the journals, is the room that was shown then."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from lumen_clock import HandClock

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import RemotePort
from lumen_tui.engine.queue_journal import QueueJournal
from lumen_tui.model import past, times
from lumen_tui.model.notify_config import NotifyConfig
from lumen_tui.model.past import Past
from lumen_tui.model.records import AuditEntry
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.tasks import Run, Status, TaskEvent, TaskView
from lumen_tui.model.transitions import Transition, TransitionKind
from lumen_tui.queries.black_box import BlackBox
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import files
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from tests.actions.conftest import ActionsFolder
from tests.actions.random_acts import MAKES, Stage, next_act

# What no journal dates; `past.NOT_RECORDED` names it for people.
UNDATED = ("task.edit", "task.limit", "setting.change", "cleanup.signals", "import.", "af.", "changes.", "cleanup.")
REMOVED_BY_UNDO = ("task.new", "task.retry", "signal.", "question.", "approval.")


def shown(root: Path, now: float) -> Past:
    """What the room shows now."""
    with closing(SnapshotReader(root, "ana")) as reader:
        return past.past_of(reader.snapshot(now))


def differences(real: Past, rebuilt: Past, removed: frozenset[str]) -> list[str]:
    """What was rebuilt otherwise, but for what an undo has removed since."""
    return [
        f"{change.pane} {change.how} {change.key}: {change.before} -> {change.text}"
        for change in past.changes(real, rebuilt)
        if change.key not in removed and not (change.pane == "signals" and "receipts" in removed)
    ]


def removed_since(root: Path) -> frozenset[str]:
    entries = RemotePort(root, "ana").audit_entries(1000)
    undone = [entry for entry in entries if entry.undone and entry.verb.startswith(REMOVED_BY_UNDO)]
    return frozenset({*(entry.target for entry in undone), *(["unread"] if undone else []), *_receipts(undone)})


def _receipts(undone: list[AuditEntry]) -> list[str]:
    """Whether receipts are among what was removed: then any signal may have been read."""
    return ["receipts"] if any(entry.verb.startswith("signal.read") for entry in undone) else []


@pytest.mark.parametrize("seed", range(int(__import__("os").environ.get("SEEDS", "2"))))
def test_moments_between_random_verbs_are_rebuilt_as_they_were(desk: ActionsFolder, tmp_path: Path, seed: int) -> None:
    stage = Stage(desk, tmp_path / "beside", seed)
    seen: list[tuple[float, str, Past]] = []
    verb, arguments = "", {}
    journal = QueueJournal(Layout(desk.root), HandClock(desk.now))
    for _ in range(40):
        verb, arguments = ("undo", {}) if stage.chance.random() < 0.1 else next_act(stage, verb, arguments)
        if verb.startswith(UNDATED):
            continue
        try:
            done = desk.do(verb, **arguments)
        except (ActionError, StoreError):
            continue
        stage.note(MAKES.get(verb, ""), done.target)
        moment = desk.now + 0.5
        journal.poll(NotifyConfig(), moment)
        seen.append((moment, verb, shown(desk.root, moment)))
    assert len(seen) > 15
    removed = removed_since(desk.root)
    for path in (Layout(desk.root).signals, Layout(desk.root).actions, Layout(desk.root).memory):
        with path.open("ab") as journal_file:
            journal_file.write(b'\xff{"torn\n{"id":"sig-cut","created_at":"2999')  # a killed writer's last words
    with closing(BlackBox(desk.root, "ana")) as box:
        for moment, verb, real in [*seen, *reversed(seen), *stage.chance.sample(seen, len(seen) // 2)]:
            assert differences(real, past.past_of(box.at(moment, desk.now)), removed) == [], verb


def test_with_a_clock_that_was_set_back_every_event_is_reached_and_stepping_ends(tmp_path: Path) -> None:
    layout, hour = Layout(tmp_path / "state"), 3600.0
    layout.create()
    clock = HandClock(1_800_000_000.0)
    port = RemotePort(layout.root, "ana", clock=clock)
    for number, jump in enumerate((60.0, 60.0, -hour, 60.0, 60.0, 2 * hour, 60.0)):
        clock.wall += jump
        port.submit(SendSignal(message=f"note {number}"))
    with closing(BlackBox(layout.root, "ana")) as box:
        for look in (box.happenings.before, box.happenings.after):
            moment = clock.wall + 1 if look == box.happenings.before else 1.0
            dates = []
            while happening := look(moment):
                dates.append(happening.at)
                moment = happening.at
                assert box.at(moment, clock.wall).taken == moment
                assert len(dates) < 30
            assert dates == sorted(set(dates), reverse=look == box.happenings.before)
        assert len(box.at(clock.wall, clock.wall).signals) == 7


def test_settings_and_roles_are_read_again_where_they_changed_between_two_looks(tmp_path: Path) -> None:
    layout, now = Layout(tmp_path / "state"), 1_800_000_000.0
    layout.create()
    with closing(BlackBox(layout.root, "ana")) as box:
        before = box.at(now, now)
        layout.retired_role("builder").parent.mkdir(parents=True, exist_ok=True)
        layout.retired_role("builder").write_text("")
        layout.config.write_text("[workers]\nlimit = 7\n")
        after = box.at(now, now)
    assert {role.name for role in before.roles} - {role.name for role in after.roles} == {"builder"}
    assert before.config.workers.limit != after.config.workers.limit == 7


def test_a_worker_of_then_is_at_work_or_silent_as_it_was(desk: ActionsFolder) -> None:
    task, began = desk.do("task.new", objective="wait for the deployment", role="builder").target, desk.now
    folder = Layout(desk.root).task(task)
    files.replace(folder / "run.json", msgspec.json.encode(Run(attempt=1, started_at=times.iso(began))))
    said = [(1.0, "started"), (5.0, "call"), (6.0, "result"), (9.0, "text")]
    events = [TaskEvent(at=times.iso(began + after), kind=kind, text=f"{kind} {after:g}") for after, kind in said]
    files.replace(folder / "events.jsonl", b"".join(msgspec.json.encode(each) + b"\n" for each in events))
    noted = Transition("atn-one", times.iso(began + 20), TransitionKind.APPEARED, "atn-one", "stalled", task, "stopped")
    files.append(Layout(desk.root).transitions, msgspec.json.encode(noted) + b"\n")
    with closing(BlackBox(desk.root, "ana")) as box:

        def then(seconds: float) -> TaskView:
            room = box.at(began + seconds, began + 900)
            view = next(view for view in room.tasks if view.id == task)
            needs = [need.key for need in room.attention]
            assert needs == ([f"stalled:{task}"] if view.status is Status.STALLED else [])
            return view

        working, stopped, silent = then(10.0), then(30.0), then(800.0)
    assert (working.status, working.reason) == (Status.RUNNING, ""), "its last words are no reason to wait"
    assert [event.text for event in working.tail] == ["started 1", "call 5", "result 6", "text 9"]
    assert stopped.status is silent.status is Status.STALLED
