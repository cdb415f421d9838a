"""Claims warn and lock nothing, and end by themselves; a note is for the next; presence goes with the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from lumen_folder import StateFolder
from lumen_until import until

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.operators import OpenRoom, OperatorsView
from lumen_tui.queries.operators import OperatorsIndex, enter_room, leave_room
from lumen_tui.storage import files, process
from lumen_tui.store.sessions import rooms

NOW = 1_800_000_000.0
TASK = "tsk-3g0c0tvq9snfb"


class Desk(StateFolder):
    """A state folder with several operators."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, NOW)
        self.layout.create()

    def view(self, me: str = "bo", now: float = 0.0) -> OperatorsView:
        index = OperatorsIndex(self.layout, me)
        index.refresh(now or self.now)
        view = index.view(now or self.now)
        index.close()
        return view


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "state")


def test_a_claim_names_its_holder_to_each_and_ends_by_its_time(desk: Desk) -> None:
    desk.do("operator.claim", targets=[TASK], seconds=600)
    assert (desk.view("bo").holder(TASK), desk.view("ana").holder(TASK)) == ("ana has it", "you have it")
    assert desk.view(now=NOW + 599).holder(TASK) == "ana has it"
    assert desk.view(now=NOW + 601).holder(TASK) == ""


def test_a_claim_lasts_as_long_as_the_settings_say(desk: Desk) -> None:
    desk.layout.config.write_text("[room]\nclaim_minutes = 5\n")
    desk.do("operator.claim", targets=[TASK])
    assert desk.view(now=NOW + 299).holder(TASK)
    assert not desk.view(now=NOW + 301).holder(TASK)


def test_the_last_claim_holds_a_release_ends_it_and_undo_takes_either_back(desk: Desk) -> None:
    desk.do("operator.claim", targets=[TASK])
    desk.do("operator.claim", "bo", targets=[TASK])
    assert desk.view("ana").holder(TASK) == "bo has it"
    released = desk.do("operator.release", "bo", targets=[TASK])
    assert desk.view("ana").holder(TASK) == ""
    desk.do("undo", "bo", action_id=released.action_id)
    assert desk.view("ana").holder(TASK) == "bo has it"


def test_a_claim_made_in_a_room_goes_with_the_last_room_of_its_operator(desk: Desk) -> None:
    enter_room(desk.layout, "ana", {}, NOW)
    from lumen_tui.actions.registry import named, perform

    request = named("operator.claim", {"targets": [TASK]})
    perform(desk.store, request, by="ana", now=NOW, client=f"room-{process.name(process.myself())}")
    assert desk.view().holder(TASK) == "ana has it"
    leave_room(desk.layout)
    assert desk.view().holder(TASK) == ""


@pytest.mark.parametrize("seconds", [-1, 0.5, 8 * 86400])
def test_a_claim_of_no_sensible_time_is_refused(desk: Desk, seconds: float) -> None:
    with pytest.raises(ActionError, match="a claim lasts"):
        desk.do("operator.claim", targets=[TASK], seconds=seconds)


def test_the_newest_note_is_the_one_and_undo_brings_back_the_one_before(desk: Desk) -> None:
    desk.do("operator.note", text="first")
    second = desk.do("operator.note", text="second\nwith a line")
    left = desk.view().note
    assert left is not None and (left.by, left.text) == ("ana", "second\nwith a line")
    desk.do("undo", action_id=second.action_id)
    left = desk.view().note
    assert left is not None and left.text == "first"


@pytest.mark.parametrize("text", ["", " \n", "x" * 9000])
def test_an_empty_and_an_endless_note_are_refused(desk: Desk, text: str) -> None:
    with pytest.raises(ActionError):
        desk.do("operator.note", text=text)
    assert not desk.layout.actions.exists()


def test_what_others_did_is_news_for_ten_minutes_and_never_what_one_did_oneself(desk: Desk) -> None:
    target = desk.do("task.new", objective="count").target
    assert [deed.target for deed in desk.view("bo").deeds] == [target]
    assert desk.view("ana").deeds == ()
    assert desk.view("bo", NOW + 601).deeds == ()


def test_a_room_killed_with_9_is_gone_and_the_other_of_the_same_login_stays(desk: Desk) -> None:
    enter_room(desk.layout, "ana", {"SSH_CONNECTION": "192.0.2.7 1 192.0.2.1 22"}, NOW)
    program = (
        "import sys, time, pathlib\n"
        "from lumen_tui.queries.operators import enter_room\n"
        "from lumen_tui.storage.layout import Layout\n"
        "enter_room(Layout(pathlib.Path(sys.argv[1])), 'ana', {'TMUX': 'x'}, 1.0)\n"
        "time.sleep(600)\n"
    )
    other = subprocess.Popen([sys.executable, "-c", program, str(desk.root)])
    try:
        until(lambda: len(desk.view().rooms) == 2, lambda: str(desk.view()), 30)
        assert desk.view().here() == "ana (2)"
        assert {room.origin for room in desk.view().rooms} == {"ssh 192.0.2.7", "tmux"}
    finally:
        other.send_signal(signal.SIGKILL)
        other.wait()
    view = desk.view()
    assert [room.origin for room in view.rooms] == ["ssh 192.0.2.7"]
    assert view.here() == ""
    enter_room(desk.layout, "ana", {}, NOW)  # sweeps what the killed one left
    assert len(os.listdir(desk.layout.rooms)) == 1


def test_rubbish_and_hostile_names_are_nobody_and_act_on_no_terminal(desk: Desk) -> None:
    desk.layout.rooms.mkdir(parents=True)
    me = process.name(process.myself())
    for name, data in (
        (f"room-{me}.json", b"\xff[[["),
        ("room-../../x.json".replace("/", "_"), b"{}"),
        ("room-1-2-3.json", b'{"client":"room-1-2-3","operator":"dead"}'),
        ("notes.txt", b"x"),
    ):
        (desk.layout.rooms / name).write_bytes(data)
    (desk.layout.rooms / "room-9-9-9.json").mkdir()
    assert desk.view().rooms == ()
    hostile = OpenRoom(f"room-{me}", "a\x1b[2Jna\n", origin="\x07" * 300, since="x")
    files.replace(rooms.path(desk.layout, f"room-{me}"), msgspec.json.encode(hostile))
    (room,) = desk.view().rooms
    assert room.operator.isprintable() and len(room.origin) <= 60
    lying = msgspec.structs.replace(hostile, client="room-1-1-1")
    files.replace(rooms.path(desk.layout, f"room-{me}"), msgspec.json.encode(lying))
    assert desk.view().rooms == ()
    with files.locked_log(desk.layout.actions) as fd:
        files.append_locked(fd, b'{"id":"act-1","verb":"operator.claim","target":7}\n{"verb":"operator.note"\n\xff\n')
    assert desk.view().claims == {} and desk.view().note is None


def test_who_is_there_costs_little(desk: Desk) -> None:
    enter_room(desk.layout, "ana", {}, NOW)
    followed = rooms.OpenRooms(desk.layout)
    begun = time.process_time()
    for _ in range(200):
        followed.refresh()
    assert time.process_time() - begun < 1.0
    assert followed.revision == 1
