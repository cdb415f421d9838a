"""Why a task waits, in the list, on its page and on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lumen_folder import StateFolder
from lumen_rows import each_row

from lumen_tui.__main__ import main
from lumen_tui.model.loop import Heartbeat, Pause
from lumen_tui.model.queueing import QueueConditions, waits, why
from lumen_tui.model.tasks import Run, Spec, Status, TaskEvent, TaskView
from lumen_tui.model.times import iso
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import files, locks, process
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.pauses import Kill, write_kill
from lumen_tui.tui.panes.workers import outcome, shape_of
from lumen_tui.tui.screens.task_detail import task_facts
from lumen_tui.tui.theme import NO_APPEARANCE, SHAPES

NOW = 1_800_000_000.0


def queued(role: str = "builder", **more: Any) -> TaskView:
    return TaskView(Spec(id="tsk-7f2k0000", objective="x", role=role, lane="Core"), Status.QUEUED, **more)


@each_row(
    ("standing", "short", "words"),
    [
        (QueueConditions(killed="killed by ann: wild"), "killed", "`unkill` resumes it"),
        (QueueConditions(paused={"everything": "paused by ann"}), "all paused", "everything is paused by ann"),
        (QueueConditions(paused={"role builder": "paused by ann"}), "role paused", "role builder is paused by ann"),
        (QueueConditions(retired=("builder",)), "role fired", "hire it again"),
        (QueueConditions(full="today's budget is used up"), "budget full", "resumes once today's cap is raised"),
        (QueueConditions(full_roles={"builder": "its budget is used up"}), "budget full", "its budget is used up"),
        (QueueConditions(alive={"builder": 1}, at_once={"builder": 1}), "role busy", "its limit is 1"),
        (QueueConditions(alive={"builder": 2, "analyst": 1}, limit=3), "workers busy", "3 workers are at work"),
        (
            QueueConditions(in_lanes={"core": ("WU-001",)}),
            "lane busy",
            "lane Core has 1 at work (WU-001), and its limit is 1",
        ),
        (QueueConditions(engine="no engine is running"), "no engine", "no engine is running"),
    ],
)
def test_each_reason_in_a_word_and_in_a_sentence(standing: QueueConditions, short: str, words: str) -> None:
    found = waits(queued(), standing)
    assert [one.short for one in found] == [short]
    assert words in found[0].words
    assert words in why(queued(), standing)
    assert outcome(queued(), NOW, NO_APPEARANCE.ink, standing)[0] == short
    assert words in str(dict(task_facts(queued(), NOW, SHAPES, standing=standing))["because"])


@each_row(
    "standing",
    [
        QueueConditions(),
        QueueConditions(paused={"role analyst": "paused by ann", "the loop": "paused by ann"}),
        QueueConditions(retired=("analyst",), full_roles={"analyst": "full"}, limit=3, alive={"analyst": 2}),
    ],
)
def test_what_holds_others_back_is_no_reason(standing: QueueConditions) -> None:
    assert waits(queued(), standing) == []
    assert outcome(queued(), NOW, NO_APPEARANCE.ink, standing)[0] == "queued"


def test_the_main_agents_session_takes_no_workers_place() -> None:
    crowded = QueueConditions(limit=1, alive={"builder": 1}, paused={"the loop": "paused by ann"})
    assert [one.short for one in waits(queued("main"), crowded)] == ["loop paused"]


def test_all_reasons_are_named_the_list_shows_the_first() -> None:
    both = QueueConditions(killed="killed by ann", engine="no engine is running", limit=1, alive={"x": 1})
    view = queued(waits_for=("tsk-7f3m0000",))
    assert [one.short for one in waits(view, both)] == ["killed", "after 7f3m", "workers busy", "no engine"]
    assert waits(msgspec.structs.replace(view, status=Status.RUNNING), both) == []


def test_a_worker_that_waits_for_budget_asks_nobody() -> None:
    tail = (TaskEvent(iso(NOW - 41), "waiting", "today's budget has no room", data={"budget": True}),)
    view = TaskView(Spec("tsk-a", "x"), Status.WAITING, last_event=NOW - 41, tail=tail, reason=tail[0].text)
    assert outcome(view, NOW, NO_APPEARANCE.ink)[0] == "waits for budget  0:41"
    assert shape_of(view, SHAPES) == SHAPES.paused
    words = why(view, QueueConditions(next_day=NOW - NOW % 86400 + 86400))
    assert words.startswith("today's budget has no room; it resumes once today's cap is raised")
    assert words.endswith("or at 00:00 UTC, when its next day begins")
    facts = dict(task_facts(view, NOW, SHAPES))
    assert "waits for budget" in str(facts["status"])
    asks = (TaskEvent(iso(NOW), "waiting", "waits for a person: make", data={"approval": "apr-1"}),)
    asking = msgspec.structs.replace(view, tail=asks)
    assert not asking.awaits_budget
    assert outcome(asking, NOW, NO_APPEARANCE.ink)[0].startswith("approval  ")


class Folder(StateFolder):
    """A real state folder."""

    BY = "ann"

    def task(self, objective: str, **more: Any) -> str:
        return self.do("task.new", objective=objective, **{"role": "researcher", **more}).target

    def words(self, task_id: str) -> str:
        picture = SnapshotReader(self.root, "ann").snapshot(NOW)
        view = next(one for one in picture.tasks if one.id == task_id)
        return why(view, picture.standing)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    root = tmp_path / "state"
    root.mkdir(mode=0o700)
    monkeypatch.setenv("LUMEN_STATE", str(root))
    made = Folder(root, NOW)
    made.layout.create()
    return made


def test_the_picture_of_a_real_folder_gives_the_reasons(here: Folder) -> None:
    first = here.task("a")
    second = here.task("b", depends_on=[first])
    assert "no engine is running" in here.words(first)
    assert f"it begins after {first} is done" in here.words(second)
    pauses.change(here.store.layout, "role:researcher", Pause(at=iso(NOW), by="ann", reason="a drill"))
    write_kill(here.store.layout, Kill(by="bob", reason="wild"))
    words = here.words(first)
    assert words.index("killed by bob") < words.index("role researcher is paused by ann: a drill")


def test_a_budget_that_is_full_counts_where_a_model_costs(here: Folder) -> None:
    task = here.task("a")
    (here.store.root / "lumen.toml").write_text("[budget]\nday_tokens = 100\n")
    hold = {"id": "spd-1", "kind": "hold", "at": iso(NOW), "day": iso(NOW)[:10], "task": "tsk-x", "tokens": 200}
    files.append(here.store.layout.spend, json.dumps(hold).encode() + b"\n")
    settle = {"id": "spd-1", "kind": "settle", "at": iso(NOW), "day": iso(NOW)[:10], "tokens": 200}
    files.append(here.store.layout.spend, json.dumps(settle).encode() + b"\n")
    assert "today's budget is used up" in here.words(task)
    beat = Heartbeat(beat=1, phase="stopped", at=iso(NOW), brain="offline")
    files.replace(here.store.layout.heartbeat, msgspec.json.encode(beat))
    assert "budget" not in here.words(task)


def test_list_and_show_say_it(here: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    first = here.task("a")
    second = here.task("b", depends_on=[first])
    pauses.pause_all(here.store.layout, Pause(at=iso(NOW), by="ann", reason="a drill"))
    main(["task", "list"])
    lines = capsys.readouterr().out.splitlines()
    assert all("everything is paused by ann: a drill" in line for line in lines)
    assert main(["task", "show", second]) == 0
    out = capsys.readouterr().out
    for words in ("everything is paused by ann: a drill", f"it begins after {first} is done", "no engine is running"):
        assert words in out
    main(["task", "show", second, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["waits_for"] == [first]
    assert "it begins after" in found["reason"]


def test_a_live_worker_without_room_is_seen_as_such(here: Folder) -> None:
    task = here.task("a")
    folder, me = here.store.layout.task(task), process.myself()
    run = Run(1, iso(NOW), pid=me.pid, start_ticks=me.start_ticks, boot_id=me.boot_id)
    files.replace(folder / "run.json", msgspec.json.encode(run))
    said = TaskEvent(iso(NOW), "waiting", "today's budget has no room for a call", data={"budget": True})
    files.append(folder / "events.jsonl", msgspec.json.encode(said) + b"\n")
    held = locks.try_lock(folder / "run.lock")
    assert held is not None
    try:
        picture = SnapshotReader(here.store.root, "ann").snapshot(NOW)
    finally:
        os.close(held)
    view = picture.tasks[0]
    assert (view.status, view.awaits_budget) == (Status.WAITING, True)
    assert picture.attention == ()
    assert "has no room for a call; it resumes once today's cap is raised" in why(view, picture.standing)
