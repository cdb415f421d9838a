"""A sample of `make soak`: what a room and an engine hold is the same after more keys and more beats."""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import lumen_sweeps
import pytest
from lumen_clock import MovedClock
from lumen_robot import until
from textual.screen import Screen
from textual.widget import Widget

from lumen_tui.actions.registry import named, perform
from lumen_tui.engine import command_inbox
from lumen_tui.engine.engine import Engine
from lumen_tui.engine.port import RemotePort
from lumen_tui.queries.snapshot_reader import ChangedTasks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks import task_files
from lumen_tui.tui.app import LumenApp

_PROGRAM = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.FrameType)
_NAMED = {"\x1b": "escape", "\r": "enter", "\t": "tab"}
DEADLINE = 30.0
BEATS = 100_000 if lumen_sweeps.FULL else 400


@pytest.fixture(scope="module")
def soak() -> ModuleType:
    spec = importlib.util.spec_from_file_location("leaving_soak", Path(__file__).parent / "soak.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def no_collector() -> Iterator[None]:
    """The moment at which it comes round by itself depends on all that the process has done before."""
    yield
    gc.enable()


def held_by(root: object) -> Counter[str]:
    """What can be reached from an object, the program itself left out."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) not in seen and not isinstance(thing, _PROGRAM):
            seen[id(thing)] = thing
            waiting += gc.get_referents(thing)
    return Counter(type(thing).__name__ for thing in seen.values())


async def rounds(soak: ModuleType, engine: Engine, clock: MovedClock, numbers: range) -> None:
    """News, a pause and its end, and a task from its start to the archive, in four beats each."""
    for number in numbers:
        soak.news(engine.store, number, clock.now())
        for beat in range(4):
            if beat == 2:
                perform(engine.store, named("engine.resume", {}), by="soak", now=clock.now())
            engine.beat(clock.now())
            await soak.at_rest(engine)
            clock.pass_time(900)
    engine.poll(engine.clock.now())  # takes in what the last probes saw


@pytest.mark.fault("R15", "news to an engine and screens of a room, round after round: memory and descriptors")
async def test_an_engine_holds_nothing_of_what_is_over(soak, tmp_path, monkeypatch):
    monkeypatch.setattr(command_inbox, "_REMEMBERED", 4)
    monkeypatch.setattr(ChangedTasks, "LATE", 0.0)  # in seconds, of which this takes few
    (tmp_path / "state").mkdir(mode=0o700)
    clock = MovedClock()
    engine = Engine.open(tmp_path / "state", clock)
    try:
        await rounds(soak, engine, clock, range(5))  # by then its counters are past the numbers that Python keeps
        before, files = held_by(engine), len(os.listdir("/proc/self/fd"))
        await rounds(soak, engine, clock, range(5, 10))
        grown = held_by(engine) - before
        archived = list(engine.store.layout.archive.glob("*/*/tsk-*"))
        assert (len(archived), engine.beats) == (10, 40)
        assert grown.total() < 8, grown  # else one id at least for each task and each command
        assert len(os.listdir("/proc/self/fd")) <= files
    finally:
        await engine.supervisor.wait_for_endings()
        engine.close("done")


@pytest.mark.fault("R15", "a simulated day, ten signals before each beat: memory and descriptors", attempts=BEATS)
@pytest.mark.sweep
@pytest.mark.timeout(4 * 3600)  # the whole day takes half an hour of CPU
def test_an_engine_does_not_grow_in_a_day_of_beats_and_signals(soak, tmp_path):
    warm = max(BEATS // soak.FIRST, 200)
    taken = [one for one in soak.soak_day(tmp_path / "state", BEATS) if one.count >= warm]
    assert taken[-1].count == BEATS
    assert taken[-1].rss - taken[0].rss < soak.LIMIT + soak.indexed(BEATS - warm), taken
    assert taken[-1].files <= taken[0].files, taken
    signals = (tmp_path / "state" / "memory" / "signals.jsonl").read_bytes()
    assert signals.count(b"\n") == soak.SIGNALS * (BEATS + 1)


@pytest.mark.fault("R15", "news to an engine and screens of a room, round after round: memory and descriptors")
async def test_a_room_frees_each_screen_that_was_left_although_no_collector_comes_round(soak, tmp_path, no_collector):
    store = Store(tmp_path)
    store.layout.create()
    for number in range(6):
        perform(store, named("signal.send", {"message": f"note {number}"}), by="soak", now=1_790_000_000.0)
        perform(store, named("node.create", {"content": f"a leak, number {number}"}), by="soak", now=1_790_000_000.0)
    app = LumenApp(RemotePort(tmp_path, "me", read_only="as asked"), operator="me", read_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: gc.isenabled())  # which the first whole picture brings
        await pilot.pause()
        gc.collect()
        gc.disable()
        there = alive()
        for key in soak.KEYS:
            await pilot.press(_NAMED.get(key, key))
            await pilot.pause()
        assert app.screen is app.room
        await until(pilot, lambda: alive()[Screen] <= there[Screen])
        assert alive()[Widget] - there[Widget] < 20  # else some three hundred


def alive() -> Counter[type]:
    """Screens and widgets that were not freed, reachable or not."""
    things = gc.get_objects()
    return Counter({kind: sum(isinstance(thing, kind) for thing in things) for kind in (Screen, Widget)})


@pytest.mark.fault("R15", "news to an engine and screens of a room, round after round: memory and descriptors")
def test_to_ask_for_tasks_by_their_ids_leaves_nothing_in_memory(tmp_path):
    layout = Layout(tmp_path)
    layout.create()
    (layout.archive / "2026" / "11" / "tsk-there").mkdir(parents=True)
    assert task_files.folder_of(layout, "tsk-there") == layout.archive / "2026" / "11" / "tsk-there"

    def ask(numbers: range) -> int:
        assert not any(task_files.folder_of(layout, f"tsk-{number}") for number in numbers)
        gc.collect()
        return sys.getallocatedblocks()

    ask(range(10))
    before = ask(range(10, 20))
    assert ask(range(20, 30)) - before < 40  # else some ten for each, until the caches of patterns are full
