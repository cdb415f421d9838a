"""The search screen, driven by keys in a small app with the room's styles."""

from __future__ import annotations

from typing import Any

import msgspec
from lumen_robot import until
from lumen_stage import Stage
from textual.widgets import Static

from lumen_tui.engine.port import RemotePort
from lumen_tui.queries.search.search import Searcher
from lumen_tui.tui.kit.sheets import ReadingScreen
from lumen_tui.tui.screens.search import SearchScreen
from lumen_tui.tui.screens.task_detail import TaskDetailScreen


def on_stage(library: Any, query: str = "", refusal: str = "") -> Stage:
    port = RemotePort(library.root, "ann")
    snapshot = msgspec.structs.replace(port.snapshot(), taken=library.now)
    return Stage(SearchScreen(port, Searcher(library.layout), snapshot, refusal, query))


async def test_hits_come_while_one_types_and_open(filled: Any) -> None:
    app = on_stage(filled)
    async with app.run_test(size=(120, 40)) as pilot:
        assert "Type what you look for" in app.shown and "in:conversations looks through" in app.shown
        await pilot.press(*"certi")
        await until(pilot, lambda: "3 found" in app.shown)
        assert "bm25" in app.shown and "importance 0.90" in app.shown
        bold = [segment for strip in app.screen._compositor.render_strips() for segment in strip
                if "certificate" in segment.text and segment.style and segment.style.bold]  # fmt: skip
        assert len(bold) == 3
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, (ReadingScreen, TaskDetailScreen)))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.sheet)
        assert "certi" in app.shown


async def test_the_last_query_wins_and_problems_are_said(filled: Any) -> None:
    app = on_stage(filled, "since:soon")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "no age and no date" in app.shown)
        for text in ("certificate", "lock", "frobnicate", "pool"):
            app.sheet.query_one("#find").value = text  # type: ignore[attr-defined]
        await until(pilot, lambda: "1 found" in app.shown)
        assert "exhausted" in app.shown and "sig-pool" in str(app.sheet.query_one(".why", Static).content)
        app.sheet.query_one("#find").value = "frobnicate"  # type: ignore[attr-defined]
        await until(pilot, lambda: "No results" in app.shown)
        assert "nothing found" not in app.shown  # said once


async def test_a_conversation_opens_with_what_stands_around(filled: Any) -> None:
    filled.said("s1", ("user", "Why does it stall?"), ("assistant", "The queue is full."), ("user", "Thanks"))
    app = on_stage(filled, "in:conversations queue")
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "1 found" in app.shown)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))
        wanted = ("Why does it stall?", "> agent, line 2", "Thanks")
        await until(pilot, lambda: all(text in app.shown for text in wanted))
        await until(pilot, lambda: "/sessions/s1.jsonl:2found" in app.unwrapped)


async def test_a_note_is_kept_from_here(filled: Any) -> None:
    app = on_stage(filled, "tag:nginx")
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f2")
        await until(pilot, lambda: "Save a note" in app.shown)
        await pilot.press(*"Drain first", "enter")
        await until(pilot, lambda: "kept “Drain first” in the archive" in app.shown)
    assert [hit.tags for hit in filled.ask("drain").hits] == [("nginx",)]


async def test_a_read_only_room_says_why_no_note_is_kept(filled: Any) -> None:
    app = on_stage(filled, refusal="the disk is read-only")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f2")
        await until(pilot, lambda: "the disk is read-only" in app.shown)
