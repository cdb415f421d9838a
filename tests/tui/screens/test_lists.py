"""Attention, problems, log, and the details of signals and nodes."""

from __future__ import annotations

import msgspec
from lumen_robot import until

from lumen_tui.model import times
from lumen_tui.model.loop import EngineEvent
from lumen_tui.model.problem import Problem
from lumen_tui.model.records import Node, Signal, SignalRow
from lumen_tui.model.snapshot import Attention, Need, Snapshot
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.screens.attention import AttentionScreen
from lumen_tui.tui.screens.engine import LogScreen, ProblemsScreen
from lumen_tui.tui.screens.memory import NodeDetail
from lumen_tui.tui.screens.signals import SignalDetail

NOW = 1_790_000_000.0
NEEDS = (
    Attention(Need.ENGINE, "engine", "nobody holds the engine's lock", NOW - 720),
    Attention(Need.FAILED, "tsk-1", "fetch the status page failed", NOW - 60),
)


def snapshot(**slices: object) -> Snapshot:
    return Snapshot(root="/state", taken=NOW, **slices)  # type: ignore[arg-type]


def _stays(need: Attention) -> str:
    return "it stays"


async def test_attention_stands_in_the_order_given_and_enter_jumps(room):
    async with room(AttentionScreen(snapshot(attention=NEEDS), _stays)) as (app, pilot):
        lines = app.shown.splitlines()
        assert "Needs you · 2" in lines[1]
        assert "nobody holds" in lines[2]
        assert "12 min" in lines[2]
        app.screen.show(snapshot(attention=NEEDS[1:]))
        await pilot.press("enter")
        assert app.answers == [NEEDS[1]]


async def test_nothing_that_needs_anybody_is_said(room):
    async with room(AttentionScreen(snapshot(), _stays), size=(80, 24)) as (app, pilot):
        assert "Nothing needs you." in app.shown
        await pilot.press("enter", "escape")
        assert app.answers == [None]


async def test_a_list_is_filtered_and_escape_gives_all_of_it_back(room):
    async with room(AttentionScreen(snapshot(attention=NEEDS), _stays)) as (app, pilot):
        await pilot.press("slash", "f", "e", "t", "enter")
        assert "nobody holds" not in app.shown
        await pilot.press("escape")
        assert "nobody holds" in app.shown
        assert not app.answers


async def test_a_problem_is_named_by_its_place_with_what_to_do(room, hostile):
    problems = (Problem("memory/signals.jsonl:41", "not JSON", "the rest is read"), Problem(hostile, hostile, hostile))
    async with room(ProblemsScreen(snapshot(problems=problems))) as (app, pilot):
        assert "memory/signals.jsonl:41" in app.shown
        assert "the rest is read" in app.shown
        await pilot.press("down", "enter")
        assert "what to do" in app.shown
        app.harmless()


async def test_the_log_is_newest_first_and_opens_an_event(room, port, hostile):
    events = [
        EngineEvent(seq=1, at=times.iso(NOW), kind="beat", text="first"),
        EngineEvent(seq=2, at=times.iso(NOW + 1), kind="task.failed", text=hostile, data={hostile: hostile}),
    ]
    data = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
    files.append(Layout(port.root).events, data)
    async with room(LogScreen(port, NOW)) as (app, pilot):
        await until(pilot, lambda: "2 events" in app.shown)
        lines = app.shown.splitlines()
        assert "task.failed" in lines[2]
        assert "first" in lines[3]
        app.harmless()
        await pilot.press("enter")
        assert "Event 2" in app.shown
        app.harmless()
        await pilot.press("escape", "escape")
        assert app.answers == [None]


async def test_a_signal_is_shown_in_full_and_answered(room, hostile):
    signal = Signal(id="sig-1", message=f"{hostile}\nsecond line", created_at=times.iso(NOW - 300), sender="agent-a")
    async with room(SignalDetail(SignalRow(signal, unread=True), NOW), size=(80, 24)) as (app, pilot):
        assert "second line" in app.shown
        assert "2026-09-21 14:08:20 UTC · 5 min ago" in app.shown
        assert "everyone" in app.shown
        app.harmless()
        await pilot.press("Y", "r")
        assert "second line" in app.copied[0]
        assert "\x1b" not in app.copied[0]
        assert app.answers == ["reply"]


async def test_a_node_shows_every_field_and_its_ages(room):
    meta = {"priority": "P1", "discovered_from": "tsk-7f2", "snoozed_until": times.iso(NOW + 7200), "n": {"a": [1]}}
    node = Node(
        id="mem-1", type="discovery", content="Race\nTwo sessions", created_at=times.iso(NOW - 200_000),
        wu_id="WU-042", tags=("bug", "auth"), metadata=meta,
    )  # fmt: skip
    async with room(NodeDetail(node, NOW)) as (app, pilot):
        for words in ("Two sessions", "2 d ago", "in 2 h", "bug auth", "tsk-7f2", '{"a": [1]}', "P1", "mem-1"):
            assert words in app.shown
        await pilot.press("K")
        assert app.answers == ["pin"]


async def test_a_node_of_hostile_words_is_archived_from_its_page(room, hostile):
    node = Node(
        id="mem-1", type="note", content=hostile, created_at=hostile, metadata={hostile: hostile, "pinned": True}
    )
    async with room(NodeDetail(node, NOW)) as (app, pilot):
        app.harmless()
        assert "unpin" in app.shown
        await pilot.press("a")
        assert app.answers == ["archive_node"]
