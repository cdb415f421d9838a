"""An upgrade replaces the program's files under an engine and a room: they say so, and nothing is misjudged."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import lumen_tui
from lumen_tui.engine.engine import Engine
from lumen_tui.engine.runner import Runner, RunOptions
from lumen_tui.model.loop import Heartbeat
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import integrity
from lumen_tui.store.tasks.task_records import read_json
from lumen_tui.worker import __main__ as worker

WHY = "the program was replaced while it ran; start it again"
CHECKOUT = Path(lumen_tui.__file__).parents[1]


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """A file that stands for the installed program of this process."""
    path = tmp_path / "__init__.py"
    path.write_text("1")
    monkeypatch.setattr(integrity, "_MARK", str(path))
    monkeypatch.setattr(integrity, "_STARTED", integrity._program_fingerprint())
    return path


def test_a_file_that_is_new_or_gone_means_another_program(mark):
    assert integrity.program_replaced() == ""
    mark.rename(mark.with_suffix(".old"))
    assert integrity.program_replaced() == WHY
    mark.write_text("1")
    assert integrity.program_replaced() == WHY  # the same words, another installation
    mark.unlink()
    mark.with_suffix(".old").rename(mark)
    assert integrity.program_replaced() == ""


async def test_the_engine_ends_and_leaves_what_waits_to_the_next(world, mark):
    engine = Engine.open(world.root)
    slept = asyncio.Event()
    runner = Runner(engine, RunOptions(signals=False, listeners=[lambda _: slept.set()]))
    running = asyncio.create_task(runner.run())
    await asyncio.wait_for(slept.wait(), 15)
    mark.unlink()
    task_id = world.task()
    assert await asyncio.wait_for(running, 15) == 1
    assert world.status(task_id) == "queued"
    assert os.listdir(world.layout.task(task_id)) == ["spec.json"]
    beat = read_json(world.layout.heartbeat, Heartbeat)
    assert beat is not None and (beat.phase, beat.note) == ("stopped", WHY)


@pytest.mark.parametrize("error", [ModuleNotFoundError("No module named 'lumen_tui.x'"), FileNotFoundError("roles")])
async def test_what_cannot_be_loaded_any_more_ends_it_with_the_reason(world, mark, monkeypatch, error):
    def beat(*_: object) -> None:
        mark.unlink()
        raise error

    engine = Engine.open(world.root)
    monkeypatch.setattr(engine, "beat", beat)
    runner = Runner(engine, RunOptions(signals=False))
    assert await runner.run() == 1
    assert runner.stop_reason == WHY


async def test_the_same_error_with_the_program_in_place_is_not_hidden(world, mark, monkeypatch):
    def beat(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'lumen_tui.x'")

    engine = Engine.open(world.root)
    monkeypatch.setattr(engine, "beat", beat)
    with pytest.raises(ModuleNotFoundError):
        await Runner(engine, RunOptions(signals=False)).run()


@pytest.mark.parametrize(("gone", "reason"), [(True, WHY), (False, "ModuleNotFoundError: No module named 'x'")])
def test_a_worker_that_breaks_over_it_gives_the_reason(mark, monkeypatch, gone, reason):
    def load(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'x'")

    if gone:
        mark.unlink()
    monkeypatch.setattr(worker, "Task", load)
    assert worker._attempt(SimpleNamespace(redact=str), None, []) == ("failed", reason)


def test_a_reader_names_it_among_the_problems_and_what_to_do(world, mark):
    reader = SnapshotReader(world.root)
    before = reader.snapshot(world.clock.now())
    assert before.problems == ()
    mark.unlink()
    after = reader.snapshot(world.clock.now())
    assert [(one.where, one.what) for one in after.problems] == [("lumen-tui", WHY)]
    assert "open it again" in after.problems[0].hint
    assert after.revisions.problems != before.revisions.problems
    assert [need.target for need in after.attention] == ["lumen-tui"]


def test_an_engine_whose_files_are_taken_away_says_so(world, tmp_path):
    tree = tmp_path / "site"
    for name in ("lumen_tui", "roles", "styles"):
        shutil.copytree(CHECKOUT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    engine = subprocess.Popen(
        [sys.executable, "-m", "lumen_tui", "--engine-only", "--state", str(world.root)], cwd=tmp_path, text=True,
        env={**os.environ, "PYTHONPATH": str(tree)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert engine.stdout is not None
        next(line for line in engine.stdout if line.startswith("beat 1"))
        tree.rename(tmp_path / "away")
        task_id = world.task()
        _, said = engine.communicate(timeout=20)
    finally:
        engine.kill()
        engine.wait()
    assert (engine.returncode, said) == (1, f"lumen-tui: engine stopped ({WHY})\n")
    assert world.status(task_id) == "queued"
