"""What stands on the screen is so: names of keys, priorities, counts, ends, the focus, the first frame."""

from __future__ import annotations

import ast
import gc
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lumen_rows import each_row

import lumen_tui
from lumen_tui.model import times
from lumen_tui.model.config import Config
from lumen_tui.model.loop import EngineEvent, event_line, went_wrong
from lumen_tui.model.snapshot import Snapshot, WakeState
from lumen_tui.tui import first_paint, words
from lumen_tui.tui.first_paint import frame
from lumen_tui.tui.panes.decay import _TOGETHER
from lumen_tui.tui.patches import terminal
from lumen_tui.tui.room_commands import COMMANDS


@pytest.mark.parametrize(
    ("pane", "action", "key"),
    [
        ("workers", "new_task", "ctrl+t"), ("signals", "send_signal", "ctrl+n"), ("loop", "beat", "f9"),
        ("loop", "new_task", "ctrl+t"), ("wake", "beat", "f9"),
    ],
)  # fmt: skip
async def test_an_empty_pane_names_the_key_in_force(
    open_room: Any, empty_snapshot: Snapshot, pane: str, action: str, key: str
) -> None:
    moved = msgspec.structs.replace(empty_snapshot, config=Config(keys={action: key}))
    async with open_room(moved) as room:
        await room.pane(pane).focus().press("z")
        shown = " ".join(room.pane(pane).text.replace("│", " ").split())
        assert any(f"{key} {verb}" in shown for verb in ("gives", "sends", "asks"))


async def test_a_signal_that_was_read_keeps_its_priority(open_room: Any, busy_snapshot: Snapshot) -> None:
    read = tuple(msgspec.structs.replace(row, unread=False) for row in busy_snapshot.signals)
    async with open_room(msgspec.structs.replace(busy_snapshot, signals=read)) as room:
        assert "P0 WU-100" in " ".join(room.pane("signals").text.split())


async def test_a_filter_that_leaves_nothing_says_how_many_there_are(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("discoveries").focus().press("slash", *"zzqq", "enter")
        assert "none found · 7 open · /zzqq" in room.pane("discoveries").text


async def test_text_that_goes_on_below_its_pane_says_so_until_its_end(open_room: Any, busy_snapshot: Snapshot) -> None:
    long = WakeState("## Next\n" + "\n".join(f"- step {number}" for number in range(40)), busy_snapshot.taken)
    async with open_room(msgspec.structs.replace(busy_snapshot, wake=long)) as room:
        pane = room.pane("wake").focus()
        assert "more lines below" in pane.text
        await pane.press("G")
        assert "step 39" in pane.text
        assert "below" not in pane.text


async def test_the_reason_of_a_failure_stands_once_and_leaves_the_objective_its_row(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    why = "the rate limit was reached (429): try again later"
    last = busy_snapshot.tasks[1].tail[-1]
    tasks = list(busy_snapshot.tasks)
    tasks[4] = msgspec.structs.replace(tasks[4], reason=why, tail=(msgspec.structs.replace(last, text=why),))
    async with open_room(msgspec.structs.replace(busy_snapshot, tasks=tuple(tasks))) as room:
        pane = room.pane("workers").focus()
        await pane.press("j", "j", "j", "j")
        assert pane.text.count("the rate limit") == 1
        assert "fetch the status page" in pane.text


@pytest.mark.parametrize("lean", [True, False])
async def test_the_focus_is_seen_without_colour(open_room: Any, monkeypatch: pytest.MonkeyPatch, lean: bool) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with open_room(lean=lean) as room:
        for pane, title in (("discoveries", "5 Discoveries"), ("loop", "1 Loop")):
            room.pane(pane).focus()
            await room.settle()
            marked = [
                segment.text.strip()
                for strip in room.app.screen._compositor.render_strips()
                for segment in strip
                if segment.style is not None and segment.style.reverse
            ]
            assert [text for text in marked if text.startswith(title)]
            assert len([text for text in marked if text[:2] in ("1 ", "2 ", "3 ", "4 ", "5 ", "6 ")]) == 1


@each_row(
    ("data", "line", "wrong"),
    [
        ({"status": "done"}, "done  builder: do it", False),
        ({"status": "failed", "reason": "429"}, "failed  builder: do it: 429", True),
        ({"status": "lost", "reason": "gone"}, "lost  builder: do it: gone", True),
        ({"status": "cancelled"}, "cancelled  builder: do it", False),
        ({}, "builder: do it", True),
    ],
)
def test_the_log_says_how_a_task_ended(data: dict[str, Any], line: str, wrong: bool) -> None:
    event = EngineEvent(1, "2026-01-01T00:00:00Z", "task_ended", "builder: do it", data=data)
    assert event_line(event) == line
    assert went_wrong(event) is wrong


@pytest.mark.parametrize("lean", [True, False])
def test_the_first_frame_is_of_the_kind_of_the_room(tmp_path: Any, lean: bool) -> None:
    (tmp_path / "index").mkdir()
    first_paint.save(str(tmp_path), (80, 24), ["top", "a row"], 5.0, lean=lean)
    assert first_paint.load(str(tmp_path), (80, 24), lean=lean) == (["top", "a row"], 5.0)
    assert first_paint.load(str(tmp_path), (80, 24), lean=not lean) == ([], 0.0)
    assert frame(["top", "a row"], 5.0, 70.0, 80, 24, lean=lean).isascii() is lean


async def test_a_sheet_says_the_same_age_as_the_room_however_old_its_picture_is(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    first, *rest = busy_snapshot.attention
    older = msgspec.structs.replace(
        busy_snapshot, taken=busy_snapshot.taken - 2,
        attention=(msgspec.structs.replace(first, since=busy_snapshot.taken - 61), *rest),
    )  # fmt: skip
    async with open_room(older) as room:
        await room.press("exclamation_mark")
        assert "1 min" in room.text
        assert "50 s" not in room.text
        room.port.change(unread=3)
        await room.settle()
        assert "50 s" not in room.text


@each_row(
    ("seconds", "said"),
    [(-5, "now"), (9.9, "now"), (19, "10 s"), (59.9, "50 s"), (60, "1 min"), (719, "11 min"), (720, "12 min"),
     (3599, "59 min"), (3600, "1 h"), (172_799, "47 h"), (172_800, "2 d")],
)  # fmt: skip
def test_an_age_is_rounded_down_and_by_one_function(seconds: float, said: str) -> None:
    assert times.age(seconds) == said
    assert words.age is times.age
    assert words.ago is times.ago
    assert words.until is times.until


def test_nobody_else_makes_ages() -> None:
    """A second function would round in its own way: the same moment had two ages on two screens."""
    root = Path(lumen_tui.__file__).parent
    own = re.compile(r"(?://|%|round|floor)[^\n]* ago\b|def (?:age|ago|minutes_ago)\b")
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if own.search(path.read_text())}
    assert found == {"model/times.py"}


async def test_the_last_words_of_a_task_stand_once(open_room: Any, busy_snapshot: Snapshot) -> None:
    why = "The offline provider has no playbook that understands every word of this"
    error = msgspec.structs.replace(busy_snapshot.tasks[1].tail[-1], kind="error", text=why)
    tail = (error, msgspec.structs.replace(error, kind="finished", text=f"failed: {why}"))
    tasks = (msgspec.structs.replace(busy_snapshot.tasks[4], reason=why, tail=tail),)
    async with open_room(msgspec.structs.replace(busy_snapshot, tasks=tasks)) as room:
        assert room.pane("workers").focus().text.count("The offline provider has no") == 1


async def test_words_that_were_streamed_stand_in_one_piece_below_the_workers(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    task = busy_snapshot.tasks[0]
    piece = msgspec.structs.replace(busy_snapshot.tasks[1].tail[-1], kind="text", text="I compare each list")
    tail = (piece, *(msgspec.structs.replace(piece, text=text) for text in ("ing with the one be", "fore.")))
    tasks = (msgspec.structs.replace(task, tail=tail),)
    async with open_room(msgspec.structs.replace(busy_snapshot, tasks=tasks)) as room:
        assert "I compare each listing with the one before." in room.pane("workers").focus().text


async def test_what_was_copied_is_named(open_room: Any) -> None:
    async with open_room(size=(80, 24)) as room:
        room.pane("workers").focus()
        await room.press("Y")
        assert "tsk-7f5x0000 is in the clipboard" in room.footer
        await room.press("space", "space", "Y")
        assert "2 marked rows are in the clipboard" in room.footer


@pytest.mark.parametrize("snapshot", ["empty_snapshot", "busy_snapshot"])
async def test_why_a_command_is_not_possible_is_read_to_its_end_in_80_columns(
    open_room: Any, request: pytest.FixtureRequest, snapshot: str
) -> None:
    async with open_room(request.getfixturevalue(snapshot), size=(80, 24)) as room:
        for keys in ((), ("right",)):  # the pane of the decay may look at another day
            await room.press("6", *keys)
            for command in COMMANDS:
                if room.app.room.why_not(command):
                    room.app.room.action_do(command.action)
                    await room.settle()
                    assert "…" not in room.footer, command.action
                    assert room.footer.rstrip().endswith(room.app.room.why_not(command))


async def test_a_list_without_rows_leaves_its_room_to_those_that_have_some(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    one = busy_snapshot.discoveries[0]
    crowd = tuple(
        msgspec.structs.replace(one, node=msgspec.structs.replace(one.node, id=f"mem-{number}")) for number in range(60)
    )
    async with open_room(msgspec.structs.replace(busy_snapshot, discoveries=crowd, tasks=(), signals=())) as room:
        assert room.pane("discoveries").text.count("Race condition") >= 26
        for name in ("workers", "signals"):
            text = room.pane(name).text
            assert len(text.splitlines()) == 1
            assert "none; i sends one" in text or "none; t gives one" in text
        await room.pane("workers").focus().press("z")
        assert len(room.pane("workers").text.splitlines()) == 40 - 2 - 5
        await room.press("z", "5", "slash", *"zzqq", "enter")
        assert len(room.pane("discoveries").text.splitlines()) == 40 - 2 - 5 - 1 - 2, "a filter empties no pane"
        room.port.change(signals=busy_snapshot.signals)
        await room.settle()
        assert len(room.pane("signals").text.splitlines()) >= 8


@pytest.mark.sweep(most=6)
@pytest.mark.parametrize(
    "keys",
    [("5", "m"), ("5", "p"), ("5", "a"), ("t",), ("i",), ("question_mark",), ("colon",), ("exclamation_mark",),
     ("3", "enter"), ("4", "enter"), ("5", "enter"), ("P",), ("S",)],
)  # fmt: skip
async def test_what_opens_over_a_lean_room_is_ascii_too(open_room: Any, keys: tuple[str, ...]) -> None:
    async with open_room(lean=True) as room:
        await room.press(*keys)
        await room.settle()
        assert room.text.isascii(), [line for line in room.lines if not line.isascii()]


def test_every_sign_in_the_rooms_own_words_has_a_twin_in_ascii() -> None:
    """But for the shapes of the theme, which are others in a lean room."""
    root = Path(lumen_tui.__file__).parent / "tui"
    sources = [path for path in root.rglob("*.py") if path.name not in ("theme.py", "guard.py")]
    gc.disable()  # Python 3.11 refuses a tree during whose making a collection makes another (python/cpython#106905)
    try:
        trees = [ast.parse(path.read_text()) for path in sources]
    finally:
        gc.enable()
    nodes = [node for tree in trees for node in ast.walk(tree)]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    literals = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in docstrings]
    signs = {sign for text in literals if isinstance(text, str) for sign in text if not sign.isascii()} - {_TOGETHER}
    assert {sign for sign in signs if not sign.translate(terminal._TWINS).isascii()} == set()
