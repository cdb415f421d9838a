"""The room's page of changes: what is in it, and its keys on real files."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from lumen_repository import Repository
from lumen_robot import until

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.port import RemotePort
from lumen_tui.model import ids
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.changes import AcceptChanges
from lumen_tui.model.snapshot import Need
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks import task_files
from lumen_tui.tools.isolation import living
from lumen_tui.tui.kit import editor
from lumen_tui.tui.screens.approval_answer import NeedsHost
from lumen_tui.tui.screens.approval_risks import NO_SANDBOX
from lumen_tui.tui.screens.attention import AttentionScreen
from lumen_tui.tui.screens.change_lines import ChangeLinesScreen
from lumen_tui.tui.screens.changes import ChangesScreen

_NOW = 1_790_000_000.0


def hand_in(root: Path, top: Path) -> Repository:
    repository = Repository(top)
    repository.commit(a__txt="one\n", b__txt="two\n")
    layout = Layout(root)
    made = perform(Store(root), named("task.new", {"objective": "better"}), by="ana", now=_NOW)
    order = living.IsolationRequest(layout, layout.task(made.target), "worktree", str(top), (), os.environ["PATH"])
    living.take(order, lambda: None)
    for name in ("a.txt", "b.txt"):
        (order.task / living.TREE / name).write_text("better\n")
    living.settle(layout, order.task, "2026-01-01T00:00:00Z")
    return repository


async def test_files_are_accepted_dropped_and_undone(room: Any, port: RemotePort, tmp_path: Path) -> None:
    root = tmp_path / "state"
    repository = hand_in(root, tmp_path / "mine")
    screen = ChangesScreen(port, _NOW, root)
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


_TEXT = "".join(f"line {number}\n" for number in range(1, 61))


def three_hunks(root: Path, top: Path) -> tuple[Repository, str, str]:
    """A list with one file of three hunks; return the task's id and what the file is with all of them."""
    repository = Repository(top)
    repository.commit(a__txt=_TEXT)
    layout = Layout(root)
    task_id = perform(Store(root), named("task.new", {"objective": "better"}), by="ana", now=_NOW).target
    order = living.IsolationRequest(layout, layout.task(task_id), "worktree", str(top), (), os.environ["PATH"])
    living.take(order, lambda: None)
    after = _TEXT.replace("line 5\n", f"five {'x' * 100} end\n").replace("line 30\n", "").replace("line 59\n", "59\n")
    (order.task / living.TREE / "a.txt").write_text(after)
    living.settle(layout, order.task, "2026-01-01T00:00:00Z")
    return repository, task_id, after


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_hunks_are_decided_one_by_one(room: Any, port: RemotePort, tmp_path: Path, size: tuple[int, int]) -> None:
    repository, task_id, _ = three_hunks(tmp_path / "state", tmp_path / "mine")
    mine = repository.root / "a.txt"
    async with room(ChangesScreen(port, _NOW, tmp_path / "state", at=task_id), size) as (app, pilot):
        await until(pilot, lambda: "1 file of 1 task" in app.shown)
        await pilot.press("enter")
        await until(pilot, lambda: "3 of 3 hunks open" in app.shown)
        assert "a accept" in app.shown
        assert "n next hunk" in app.shown
        await pilot.press("n", "n", "a")
        await until(pilot, lambda: mine.read_text() == _TEXT.replace("line 30\n", ""))
        await until(pilot, lambda: "2 of 3 hunks open" in app.shown)
        await pilot.press("a")
        await until(pilot, lambda: "Already decided" in app.shown)
        await pilot.press("n", "d")
        await until(pilot, lambda: "1 of 3 hunks open" in app.shown)
        await pilot.press("u")
        await until(pilot, lambda: "2 of 3 hunks open" in app.shown)
        await pilot.press("u")
        await until(pilot, lambda: mine.read_bytes() == _TEXT.encode())
        await pilot.press("g", "a")
        await until(pilot, lambda: "0 of 3 hunks open" in app.shown)
        await pilot.press("escape")
        await until(pilot, lambda: "No change list is open" in app.shown)


async def test_a_hunk_that_does_not_fit_has_its_other_side_below_it(
    room: Any, port: RemotePort, tmp_path: Path
) -> None:
    root = tmp_path / "state"
    repository, task_id, _ = three_hunks(root, tmp_path / "mine")
    (repository.root / "a.txt").write_text(_TEXT.replace("line 30", "\x1b[2Jmine"))
    async with room(ChangeLinesScreen(port, _NOW, root, (task_id, "a.txt"))) as (app, pilot):
        await until(pilot, lambda: "3 of 3 hunks open · 1 in conflict" in app.shown)
        await pilot.press("n", "n")
        await until(pilot, lambda: "conflict" in app.shown)
        await pilot.press("a")
        await until(pilot, lambda: "nothing was accepted" in app.shown)
        await pilot.press("G")
        await until(pilot, lambda: "what is there now" in app.shown and "[2Jmine" in app.shown)
        assert "changed outside of change lists" in app.shown
        app.harmless()
        await pilot.press("g", "n", "a")
        await until(pilot, lambda: "2 of 3 hunks open" in app.shown)
        assert "five" in (repository.root / "a.txt").read_text()


async def test_a_file_is_edited_from_its_hunks_and_taken_back(
    room: Any, port: RemotePort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "state"
    repository, task_id, after = three_hunks(root, tmp_path / "mine")
    monkeypatch.setattr(editor, "edit", lambda app, text, suffix: text + "and more\n")
    async with room(ChangeLinesScreen(port, _NOW, root, (task_id, "a.txt"))) as (app, pilot):
        await until(pilot, lambda: "3 of 3 hunks open" in app.shown)
        await pilot.press("e")
        await until(pilot, lambda: (repository.root / "a.txt").read_text() == after + "and more\n")
        await pilot.press("u")
        await until(pilot, lambda: (repository.root / "a.txt").read_bytes() == _TEXT.encode())


@pytest.mark.parametrize("whole", [True, False])
async def test_a_file_that_does_not_fit_is_given_to_a_worker(
    room: Any, port: RemotePort, tmp_path: Path, whole: bool
) -> None:
    root = tmp_path / "state"
    repository, task_id, _ = three_hunks(root, tmp_path / "mine")
    (repository.root / "a.txt").write_text(_TEXT.replace("line 30", "mine"))
    place = (task_id, "a.txt")
    screen = ChangesScreen(port, _NOW, root) if whole else ChangeLinesScreen(port, _NOW, root, place)
    async with room(screen, (80, 24)) as (app, pilot):
        await until(pilot, lambda: "1 in conflict" in app.shown)
        assert "t to a worker" in app.shown
        await pilot.press("t")
        await until(pilot, lambda: "queued for builder" in app.shown)
    (given,) = [path.parent.name for path in Layout(root).tasks.glob("*/spec.json") if path.parent.name != task_id]
    spec = task_files.read_spec(Layout(root), given)
    assert spec is not None
    assert (spec.isolate, spec.folder) == ("copy", str(repository.root))
    assert (repository.root / "a.txt").read_text() == _TEXT.replace("line 30", "mine")


async def test_two_lists_that_change_one_file_name_each_other(room: Any, port: RemotePort, tmp_path: Path) -> None:
    root = tmp_path / "state"
    _, first, _ = three_hunks(root, tmp_path / "mine")
    layout = Layout(root)
    second = perform(Store(root), named("task.new", {"objective": "worse"}), by="ana", now=_NOW + 1).target
    order = living.IsolationRequest(
        layout, layout.task(second), "worktree", str(tmp_path / "mine"), (), os.environ["PATH"]
    )
    living.take(order, lambda: None)
    (order.task / living.TREE / "a.txt").write_text(_TEXT.replace("line 5\n", "V\n"))
    living.settle(layout, order.task, "2026-01-01T00:00:00Z")
    async with room(ChangesScreen(port, _NOW, root, at=first)) as (app, pilot):
        await until(pilot, lambda: f"changed by {ids.short(second)}, too" in app.shown)
        port.submit(AcceptChanges(task_id=second))
        app.screen.loader.load()
        await until(pilot, lambda: "1 in conflict" in app.shown)
        await pilot.press("enter")
        await until(pilot, lambda: "1 in conflict" in app.shown)
        await pilot.press("G")
        await until(pilot, lambda: f"brought in task {ids.short(second)}" in app.shown and "+V" in app.shown)


def _needs_host(port: RemotePort, refusal: str) -> NeedsHost:
    def send(request: Request, report: Callable[[str, bool], None]) -> None:
        try:
            report(port.submit(request).summary, False)
        except ActionError as error:
            report(str(error), True)

    nothing: Any = None
    return NeedsHost(
        send=send,
        ask_reason=nothing,
        refusal=lambda: refusal,
        open_task=nothing,
        snooze=lambda need: ("", ""),
        hour=lambda need: (0.0, ""),
        sandbox=lambda request: NO_SANDBOX,
        answer=nothing,
        waiting=lambda: (),
        reply=nothing,
        tell=nothing,
    )


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_list_is_answered_where_it_needs_a_person(
    room: Any, port: RemotePort, tmp_path: Path, size: tuple[int, int]
) -> None:
    root = tmp_path / "state"
    repository = hand_in(root, tmp_path / "mine")
    reader = SnapshotReader(root)
    screen = AttentionScreen(reader.snapshot(_NOW), lambda need: "it stays", _needs_host(port, ""))
    async with room(screen, size) as (app, pilot):
        assert "2 files +2 -2: better" in app.shown
        assert "a accept" in app.shown
        assert "d drop" in app.shown
        (repository.root / "b.txt").write_text("mine\n")
        await pilot.press("a")
        await until(pilot, lambda: "nothing was accepted" in app.shown)
        (repository.root / "b.txt").write_text("two\n")
        await pilot.press("a")
        await until(pilot, lambda: (repository.root / "b.txt").read_text() == "better\n")
        screen.show(reader.snapshot(_NOW))
        assert "Nothing needs you." in app.shown
        await pilot.press("u")
        await until(pilot, lambda: (repository.root / "b.txt").read_text() == "two\n")
        screen.show(reader.snapshot(_NOW))
        await pilot.press("d")
        assert not [need for need in reader.snapshot(_NOW).attention if need.need is Need.CHANGES]
        assert (repository.root / "b.txt").read_text() == "two\n"
    reader.close()


async def test_a_list_that_cannot_be_answered_from_here_says_why(room: Any, port: RemotePort, tmp_path: Path) -> None:
    root = tmp_path / "state"
    hand_in(root, tmp_path / "mine")
    reader = SnapshotReader(root)
    snapshot = reader.snapshot(_NOW)
    reader.close()
    async with room(AttentionScreen(snapshot, lambda need: "it stays", _needs_host(port, "read-only"))) as (app, pilot):
        await pilot.press("a")
        assert "accept: read-only" in app.shown
        await pilot.press("d")
        assert "drop: read-only" in app.shown
        await pilot.press("enter")
        assert [need.target for need in app.answers] == [snapshot.attention[0].target]


async def test_nothing_to_decide_is_one_sentence(room: Any, port: RemotePort, tmp_path: Path) -> None:
    async with room(ChangesScreen(port, _NOW, tmp_path / "state")) as (app, pilot):
        await until(pilot, lambda: "No change list is open" in app.shown)


class Lender:
    """An application whose terminal is lent to an editor."""

    def suspend(self) -> AbstractContextManager[None]:
        return nullcontext()


@pytest.mark.parametrize(
    ("text", "command", "wanted"),
    [
        ("one\r\ntwo\r\n", "true", None),
        ("one\r\ntwo\r\n", "printf 'three\\r\\n' >>", "one\r\ntwo\r\nthree\r\n"),
        ("one\rtwo\n", "printf 'three\\n' >>", "one\rtwo\nthree\n"),
        ("one\n", "printf 'two\\r\\n' >>", "one\ntwo\n"),
    ],
)
def test_line_ends_come_back_from_the_editor_as_they_were(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, command: str, wanted: str | None
) -> None:
    program = tmp_path / "editor"
    program.write_text(f'#!/bin/sh\n{command} "$1"\n')
    program.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(program))
    assert editor.edit(Lender(), text) == wanted
