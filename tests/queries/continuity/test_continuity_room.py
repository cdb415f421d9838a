"""The room: one calm line after a long absence, the digest, the packets, and the note that somebody looks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import lumen_quiet
from lumen_robot import until

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.config import Config
from lumen_tui.model.loop import LeftOut
from lumen_tui.queries import digest
from lumen_tui.storage.watch import _WATCHED
from lumen_tui.tui.app import LumenApp


@asynccontextmanager
async def room(home: Any, **options: Any) -> AsyncIterator[tuple[LumenApp, Any]]:
    app = LumenApp(RemotePort(home.root, "ann"), operator="ann", **options)
    async with app.run_test(size=(120, 40)) as pilot:
        yield app, pilot


def titles(app: LumenApp) -> str:
    return str(app.screen.query_one(".box").border_title) if app.screen.query(".box") else ""


async def test_after_five_hours_one_line_says_what_happened_and_a_key_shows_it(home):
    from lumen_tui.engine.loops.capsules import Capsules

    now = time.time()
    digest.note_visit(home.layout, "ann", now - 5 * 3600)
    for number in range(12):
        home.ended(f"tsk-a{number}", at=now - 60)
    home.ended("tsk-bad", "failed", at=now - 30)
    Capsules(home.layout).wake(3, Config(), now)
    home.packets(home.packet(3, at=now - 20, abandoned=(LeftOut("the cache", "slow"),)))
    async with room(home) as (app, pilot):
        await until(pilot, lambda: app.room.around.notice)
        assert app.room.around.notice is not None
        said = app.room.around.notice.text
        assert said.startswith("since you left, 5 h: 12 tasks ended, 1 failed, 1 loop") and said.endswith("@ to read")
        await until(pilot, lambda: digest.read_visit(home.layout, "ann").at >= now - 1)
        await pilot.press("at")
        await until(pilot, lambda: "14 events" in titles(app))
        rows = app.screen.rows
        assert [(row.group.name, row.entry.target) for row in rows.model.rows][:2] == [
            ("failed", "tsk-bad"), ("ended", "tsk-a11"),
        ]  # fmt: skip
        rows.select_key("loops 0")
        await pilot.press("enter")
        await until(pilot, lambda: titles(app) == "Packets: 1 loop")
        await pilot.press("enter")
        await until(pilot, lambda: titles(app) == "Loop 3")
        await pilot.press("x")
        await until(pilot, lambda: titles(app) == "Capsule of loop 3")


async def test_a_short_absence_says_nothing_and_leaving_is_noted(home):
    began = time.time()
    digest.note_visit(home.layout, "ann", began - 60)
    home.ended("tsk-a", at=began - 30)
    async with room(home) as (app, pilot):
        await until(pilot, lambda: digest.read_visit(home.layout, "ann").at >= began - 1)
        assert app.room.around.notice is None
        digest.visit_path(home.layout, "ann").unlink()
        app.exit(0)
        seen = digest.read_visit(home.layout, "ann")
        assert seen is not None and seen.places["events.jsonl"].offset == home.layout.events.stat().st_size
    assert "sessions" not in _WATCHED, "the note wakes no watcher"


async def test_a_room_left_open_overnight_counts_from_the_last_key(home):
    clock = [float(int(time.time()))]
    async with room(home, clock=lambda: clock[0]) as (app, pilot):
        await until(pilot, lambda: digest.read_visit(home.layout, "ann"))
        clock[0] += 60
        await pilot.press("j")
        first = digest.read_visit(home.layout, "ann")
        clock[0] += 200
        await pilot.press("j")
        await until(pilot, lambda: digest.read_visit(home.layout, "ann").at > first.at + 200)
        clock[0] += 9 * 3600
        home.ended("tsk-night", "failed", at=clock[0] - 3600)
        app.presence.leave()
        assert digest.read_visit(home.layout, "ann").at < clock[0] - 8 * 3600, "nobody looked"
        await pilot.press("j")
        await until(pilot, lambda: app.room.around.notice)
        assert app.room.around.notice.text.startswith("since you left, 9 h: 1 failed")
        await until(pilot, lambda: digest.read_visit(home.layout, "ann").at == clock[0])


async def test_a_key_pressed_while_the_last_note_is_read_does_not_overwrite_it(home, monkeypatch):
    """A key reaches the room twice (Textual bubbles it), and a hand on the keyboard presses more than one."""
    begun, go, read = threading.Event(), threading.Event(), digest.read_visit

    def slow(*args: Any) -> Any:
        begun.set()
        assert go.wait(10)
        return read(*args)

    digest.note_visit(home.layout, "ann", time.time() - 5 * 3600)
    home.ended("tsk-night", "failed", at=time.time() - 3600)
    monkeypatch.setattr(digest, "read_visit", slow)
    async with room(home) as (app, pilot):
        with lumen_quiet.held():
            await until(pilot, begun.is_set)
            await pilot.press("j", "k")
        assert read(home.layout, "ann").at < time.time() - 4 * 3600
        go.set()
        await until(pilot, lambda: app.room.around.notice)
        assert app.room.around.notice.text.startswith("since you left, 5 h: 1 failed")
        await until(pilot, lambda: read(home.layout, "ann").at > time.time() - 60)


async def test_a_room_left_before_it_said_what_happened_leaves_the_last_note(home, monkeypatch):
    """Opened and left at once, over a slow line or by a hang-up: the next look says it still."""
    begun, go = threading.Event(), threading.Event()
    left = time.time() - 5 * 3600
    digest.note_visit(home.layout, "ann", left)
    home.ended("tsk-bad", "failed", at=left + 60)
    read = digest.read_visit(home.layout, "ann")

    def slow(*_: Any) -> Any:
        begun.set()
        assert go.wait(10)
        return read

    with monkeypatch.context() as patch:
        patch.setattr(digest, "read_visit", slow)
        async with room(home) as (app, _):
            assert await asyncio.to_thread(begun.wait, 10)
            app.exit(0)
            go.set()
    assert digest.read_visit(home.layout, "ann") == read
    async with room(home) as (app, pilot):
        await until(pilot, lambda: app.room.around.notice)
        assert app.room.around.notice.text.startswith("since you left, 5 h: 1 failed")


async def test_a_room_that_only_reads_leaves_no_note(home):
    async with room(home, read_only=True) as (app, pilot):
        await until(pilot, lambda: app.presence.ready)
        await pilot.press("H")
        await until(pilot, lambda: titles(app) == "Packets: 0 loops")
        app.exit(0)
    assert digest.read_visit(home.layout, "ann") is None
