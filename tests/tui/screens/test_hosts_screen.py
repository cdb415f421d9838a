"""The hosts in the room: which are open, what runs where, what is wrong; changed and undone by keys."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from lumen_robot import until

from lumen_tui import __version__
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.frames import Home
from lumen_tui.model.hosting import ROOM, HostEntry, HostFacts, HostSighting, Sightings
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.tasks import Run
from lumen_tui.queries.host_views import view_reader
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import hosts
from lumen_tui.store.tasks import homes
from lumen_tui.tui.screens.hosts import HostsScreen

NOW = 1_790_000_000.0
GOOD = HostFacts("attic", __version__, 4, (), "landlock", NOW, "boot", ROOM)


def screen(port: RemotePort, why: str = "") -> HostsScreen:
    return HostsScreen(port, NOW, view_reader(Layout(port.root), lambda: NOW), why)


@pytest.fixture
def layout(port: RemotePort) -> Layout:
    """Two hosts: one is open, the clock of the other is off by an hour."""
    layout = Layout(port.root)
    for name in ("attic", "cellar"):
        entry = HostEntry(name, "2026-09-01T00:00:00Z", "ann")
        hosts.change(layout, name, lambda _, entry=entry: entry)
    wrong = msgspec.structs.replace(GOOD, name="cellar", tier="bubblewrap", slots=2)
    seen = {"attic": HostSighting(GOOD, NOW - 3, 0.2), "cellar": HostSighting(wrong, NOW - 3, 3600.0)}
    hosts.see(layout, Sightings("tls://127.0.0.1:8786", hosts=seen))
    return layout


@pytest.fixture
def linked(layout: Layout) -> Any:
    with locks.waiting_lock(layout.link_lock):
        yield layout


async def test_an_empty_list_names_the_next_step(room, port):
    async with room(screen(port)) as (app, pilot):
        await until(pilot, lambda: "No hosts yet: `lumen-tui hosts add NAME`" in app.shown)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_what_is_wrong_with_a_host_is_said_beside_it(room, port, linked, size):
    async with room(screen(port), size) as (app, pilot):
        await until(pilot, lambda: "cellar" in app.shown)
        assert "0/4" in app.shown and "1 of 2 open" in app.shown
        await pilot.press("j")
        await until(pilot, lambda: "its clock is more than 60 s ahead" in app.shown)
        app.harmless()


async def test_what_runs_there_is_named_with_how_far_it_is_behind(room, port, linked):
    task_id = port.submit(NewTask(objective="Look at the logs", host="attic")).target
    folder = linked.task(task_id)
    files.replace(folder / "run.json", msgspec.json.encode(Run(1, "2026-09-21T00:00:00Z", host="attic")))
    homes.write(folder, Home(1, 5, "attic"))
    facts = msgspec.structs.replace(GOOD, workers=((task_id, 1, 8),))
    hosts.see(linked, Sightings(hosts={"attic": HostSighting(facts, NOW)}))
    with locks.waiting_lock(folder / "run.lock"):
        async with room(screen(port)) as (app, pilot):
            await until(pilot, lambda: "Look at the logs, 3 frames behind" in app.shown)
            assert "1/4" in app.shown
            await pilot.press("delete")
            await until(pilot, lambda: "`hosts drain attic` first" in app.shown)


async def test_it_is_cordoned_removed_and_brought_back_by_keys(room, port, linked):
    def states() -> dict[str, str]:
        return {entry.name: entry.cordon[:8] for entry in hosts.entries(linked)}

    async with room(screen(port)) as (app, pilot):
        await until(pilot, lambda: "attic" in app.shown)
        await pilot.press("P")
        await until(pilot, lambda: states()["attic"] == "cordoned")
        await until(pilot, lambda: "0 of 2 open" in app.shown)
        await pilot.press("P")
        await until(pilot, lambda: states()["attic"] == "")
        await pilot.press("c")
        await until(pilot, lambda: states()["attic"] == "drained ")
        assert [entry.leaves for entry in hosts.entries(linked)] == [True, False]
        await pilot.press("u")
        await until(pilot, lambda: states()["attic"] == "")
        await pilot.press("delete")
        await until(pilot, lambda: states() == {"cellar": ""})
        await pilot.press("u")
        await until(pilot, lambda: states() == {"attic": "", "cellar": ""})


async def test_who_only_looks_changes_nothing(room, port, linked):
    before = hosts.entries(linked)
    async with room(screen(port, "read-only")) as (app, pilot):
        await until(pilot, lambda: "attic" in app.shown)
        await pilot.press("P", "c", "delete", "u")
        await until(pilot, lambda: "read-only" in app.shown)
    assert hosts.entries(linked) == before


async def test_what_a_host_says_of_itself_is_made_safe(room, port, linked, hostile):
    facts = msgspec.structs.replace(GOOD, version=hostile, roles=(hostile,), tier=hostile)
    hosts.see(linked, Sightings(hosts={"attic": HostSighting(facts, NOW, trouble=hostile)}))
    async with room(screen(port)) as (app, pilot):
        await until(pilot, lambda: "attic" in app.shown)
        await pilot.press("enter")
        await pilot.pause()
        app.harmless()


def test_each_fault_of_a_host_needs_a_person_once_however_many_tasks_wait(port, linked):
    for number in range(5):
        port.submit(NewTask(objective=f"task {number}", host="cellar"))
    reader = SnapshotReader(port.root)
    snapshot = reader.snapshot(NOW)
    reader.close()
    assert [item.text for item in snapshot.attention if "cellar" in item.text] == [
        "host cellar: its clock is more than 60 s ahead: set it"
    ]
