"""The room's page of changes: what is in it, and its keys on real files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lumen_repository import Repository
from lumen_robot import until

from lumen_tui.actions import change_views
from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.port import RemotePort
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.tools.isolation import living
from lumen_tui.tui.screens.changes import ChangesScreen

_NOW = 1_790_000_000.0


def hand_in(root: Path, top: Path) -> Repository:
    repository = Repository(top)
    repository.commit(a__txt="one\n", b__txt="two\n")
    layout = Layout(root)
    made = perform(Store(root), named("task.new", {"objective": "better"}), by="ana", now=_NOW)
    order = living.Order(layout, layout.task(made.target), "worktree", str(top), (), os.environ["PATH"])
    living.take(order, lambda: None)
    for name in ("a.txt", "b.txt"):
        (order.task / living.TREE / name).write_text("better\n")
    living.settle(layout, order.task, "2026-01-01T00:00:00Z")
    return repository


async def test_files_are_accepted_dropped_and_undone(room: Any, port: RemotePort, tmp_path: Path) -> None:
    root = tmp_path / "state"
    repository = hand_in(root, tmp_path / "mine")
    screen = ChangesScreen(port, _NOW, change_views.file_reader(root))
    async with room(screen) as (app, pilot):
        await until(pilot, lambda: "2 files of 1 task" in app.shown)
        await pilot.press("a")
        await until(pilot, lambda: (repository.root / "a.txt").read_text() == "better\n")
        await pilot.press("u")
        await until(pilot, lambda: (repository.root / "a.txt").read_text() == "one\n")
        (repository.root / "b.txt").write_text("mine\n")
        screen.loader.load()
        await until(pilot, lambda: "1 in conflict" in app.shown)
        await pilot.press("j", "enter")
        await until(pilot, lambda: "-two" in app.shown and "+better" in app.shown)
        assert (repository.root / "b.txt").read_text() == "mine\n"


async def test_nothing_to_decide_is_one_sentence(room: Any, port: RemotePort) -> None:
    async with room(ChangesScreen(port, _NOW, list)) as (app, pilot):
        await until(pilot, lambda: "No change list is open" in app.shown)
