"""What stood in the way of an operator who was called at night, and of somebody on the first day."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from lumen_rows import each_row

from lumen_tui.actions.registry import named, perform
from lumen_tui.cli.main import main
from lumen_tui.model import attention, times
from lumen_tui.model.liveness import EngineLife, EngineView, derive_engine
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.snapshot import Need, Snapshot
from lumen_tui.model.spendbook import SpendView
from lumen_tui.model.tasks import Status
from lumen_tui.storage import integrity, process
from lumen_tui.tools.shell.git_status import UnknownRevision, revision
from lumen_tui.tui.kit.header import header
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.screens.journal import JournalScreen
from lumen_tui.tui.theme import NO_APPEARANCE


def refused_newest(desk) -> tuple[str, str]:
    """Two discoveries were archived; somebody else has since brought the second one back and changed it."""
    made = [desk.do("node.create", content=title, type="discovery").target for title in ("the first", "the second")]
    for node in made:
        desk.do("triage.archive", node_ids=node, reason="old")
    for verb, more in (("node.unarchive", {}), ("triage.archive", {"reason": "another"})):
        perform(desk.store, named(verb, {"node_ids": made[1], **more}), by="bo", now=desk.clock.wall)
    return made[0], made[1]


async def test_an_undo_that_is_refused_opens_the_journal_at_the_action_before(desk, open_room):
    first, _ = refused_newest(desk)
    async with open_room(desk, size=(80, 24)) as room:
        await room.press("u")  # of the two it made itself: what came last is not as it left it
        await room.until(lambda: isinstance(room.app.screen, JournalScreen))
        await room.sees("not undone", "earlier one")
        await room.press("u")
        await room.sees("undone: ")
    deeds = desk.port.audit_entries(10)
    assert [one.target for one in deeds if one.undone] == [first]


def test_a_verb_without_its_second_word_names_those_there_are(desk, capsys, monkeypatch):
    monkeypatch.setenv("LUMEN_STATE", str(desk.store.root))
    assert main(["import"]) == main(["af"]) == 2
    said = capsys.readouterr().err
    assert "import needs one of lumenflow," in said and "af needs one of export, import" in said


def capped(desk, tokens: int = 2000) -> str:
    """A task that failed at its own cap."""
    task = desk.do("task.new", objective="sum it up", role="builder", budget={"tokens": tokens}).target
    why = f"the task's budget has no room for a call of up to 900 tokens: 1,900 of {tokens:,} tokens spent"
    desk.ended(task, reason=why, cap="task")
    return task


async def again(room, desk) -> list[int]:
    """Answer the form, and give the caps of what was queued."""
    await room.sees("Retry with another budget", "4,000 tokens", "no room for a call")
    await room.press("f2")
    await room.until(lambda: [one for one in desk.port.snapshot().tasks if one.status is Status.QUEUED])
    return [one.spec.budget.tokens for one in desk.port.snapshot().tasks if one.status is Status.QUEUED]


@pytest.mark.parametrize("keys", [("3", "R"), ("3", "enter", "R"), ("exclamation_mark", "R")])
async def test_a_task_that_ended_at_its_own_cap_is_tried_again_with_another(desk, open_room, keys):
    capped(desk)
    async with open_room(desk, size=(80, 24)) as room:
        for key in keys:
            await room.sees("sum it up")
            await room.press(key)
            await room.pilot.pause(0.1)
        assert await again(room, desk) == [4000]


async def test_a_signal_names_its_sender_and_a_full_budget_stands_before_what_expired(desk, open_room):
    desk.do("signal.send", message="the index is gone", priority="P0")
    async with open_room(desk, size=(80, 24)) as room:
        await room.press("exclamation_mark")
        await room.sees("ann: the index is gone")
    order = list(Need)
    assert order.index(Need.BUDGET) < order.index(Need.EXPIRED)


async def test_a_prompt_is_wrapped_anew_where_the_window_becomes_narrower(desk, open_room):
    async with open_room(desk) as room:
        await room.press("h")
        await room.sees("researcher")
        await room.press("h", "enter")
        await room.until(lambda: room.app.screen.query(Prose))
        field = room.app.screen.query_one("#prompt", Prose)
        field.text = " ".join(f"word{number}" for number in range(40))
        field.focus()
        await room.sees("word10 ")
        await room.pilot.resize_terminal(80, 40)
        await room.sees("word9 ", "word10 ", "word16 ")
        await room.pilot.resize_terminal(60, 24)
        await room.sees("word5 ", "word6 ", "word11 ")


async def test_a_disk_that_is_full_is_said_while_nothing_else_can_tell(desk, open_room, monkeypatch):
    def full(_path: object) -> os.statvfs_result:
        return os.statvfs_result((4096, 4096, 1000, 2, 2, 1000, 500, 500, 0, 255))

    async with open_room(desk, size=(80, 24)) as room:
        assert room.needs == 0
        monkeypatch.setattr(os, "statvfs", full)
        picture = desk.port.snapshot()
        assert [one.text for one in picture.attention] == [
            "disk: the disk is full (8 kB left); nothing new can be kept, and the engine cannot work"
        ]
        desk.do("signal.send", message="wake up")  # any change brings a picture
        await room.sees("1 needs you")


def test_room_on_a_disk_is_measured_for_who_may_use_it():
    usual = (4096, 4096, 1000, 500, 500, 1000, 500, 500, 0, 255)
    assert integrity.disk_full(os.statvfs_result(usual)) == ""
    assert "inodes" in integrity.disk_full(os.statvfs_result((*usual[:6], 0, 0, 0, 255)))
    assert integrity.disk_full(os.statvfs_result((4096, 4096, 0, 0, 0, 0, 0, 0, 0, 255))) == "", (
        "one that counts nothing"
    )


async def test_a_signal_that_was_not_sent_is_not_typed_again(desk, open_room):
    async with open_room(desk, size=(80, 24)) as room:
        await room.press("i", *"half a thought")
        await room.press("escape")
        await room.press("i")
        await room.sees("half a thought")
        await room.press("f2")
        await room.until(lambda: desk.port.snapshot().signals)
        await room.press("i")
        await room.sees("What should they know?")


def test_an_engine_that_died_and_one_that_is_stopped_say_how_it_goes_on():
    beat = Heartbeat(beat=3, phase="asleep", at=times.iso(1.8e9), next_at=times.iso(1.8e9 + 60), pid=4711)
    stopped = derive_engine(lock_held=True, heartbeat=beat, process_state="T", now=1.8e9)
    assert stopped.why == "its process 4711 is stopped (SIGSTOP); `kill -CONT 4711` resumes it"
    died = derive_engine(lock_held=False, heartbeat=beat, process_state="", now=1.8e9 + 9)
    nothing = {"tasks": (), "p0_signals": (), "p0_discoveries": (), "spend": SpendView(), "problems": ()}
    (need,) = attention.collect(engine=died, **nothing)
    assert need.text.endswith("; `lumen-tui --engine-only` starts one")


def test_an_engine_whose_log_has_no_room_goes_on(desk):
    command = [sys.executable, "-m", "lumen_tui", "--engine-only", "--once", "--state", str(desk.store.root)]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False, env=buffered
        )
    assert (done.returncode, done.stderr) == (0, "lumen-tui: engine stopped (done)\n")
    beat = desk.port.snapshot().engine.heartbeat
    assert beat is not None
    assert (beat.beat, beat.phase) == (1, "stopped")


@each_row("here", [True, False])
@each_row("width", [44, 50, 56, 60, 66])
def test_in_a_narrow_header_the_state_stays_longer_than_what_is_said_of_it(width, here):
    beat = Heartbeat(
        beat=3, phase="asleep", at=times.iso(1.8e9), next_at=times.iso(1.8e9 + 270), pid=1, brain="offline",
        sandbox="bubblewrap",
    )  # fmt: skip
    engine = EngineView(life=EngineLife.ALIVE, heartbeat=beat)
    picture = Snapshot(root="/srv/state", taken=1.8e9, engine=engine, spend=SpendView(tokens_cap=2_000_000))
    said = "".join(part.text for part in header(picture, 1.8e9, width, NO_APPEARANCE, here=here))
    assert "IDLE" in said
    assert not said.lstrip().startswith(NO_APPEARANCE.shapes.sep)


def test_an_example_that_was_pasted_below_the_seed_says_where_its_lines_belong(desk, capsys, monkeypatch):
    monkeypatch.setenv("LUMEN_STATE", str(desk.store.root))
    desk.do("node.create", content="the seed has it already", type="discovery")
    desk.store.layout.config.write_text('[models]\nhaiku = "a"\n\n[models]\nhaiku = "b"\n', encoding="utf-8")
    assert main(["status"]) == 0
    said = capsys.readouterr().out
    assert "lumen.toml:4: [models] is here a second time: put its lines under the first one" in said
    assert " · 1 discovery · " in said


def test_a_machine_without_git_is_told_so_in_words(tmp_path):
    with pytest.raises(UnknownRevision, match="git is not installed here"):
        revision(str(tmp_path), "HEAD", environ={"PATH": str(tmp_path)})


@pytest.fixture
def child():
    """A process that ends once its standard input does."""
    started = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield started
    started.kill()
    started.wait()


async def test_an_engine_that_ended_is_no_zombie_of_the_room_that_started_it(child, desk, open_room, monkeypatch):
    monkeypatch.setattr("lumen_tui.tui.room._SLOW", 0.02)
    me = process.identify(child.pid)
    async with open_room(desk, engine=child) as room:
        assert process.is_same(me)
        child.stdin.close()
        await room.until(lambda: process.state_of(me) == "")
        assert child.returncode == 1, "the room has asked for it"
