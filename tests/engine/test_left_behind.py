"""A folder on which engines worked, and were killed, is a healthy one: nothing that they leave makes the doctor ill."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from pathlib import Path

import msgspec
import pytest
from lumen_program import lumen

from lumen_tui.engine.doctor.examine import examine
from lumen_tui.model.tasks import Exit
from lumen_tui.model.times import iso
from lumen_tui.storage.layout import FOLDERS
from lumen_tui.storage.repair import OLD_SECONDS
from lumen_tui.tools.sandbox import tiers

ABANDONED = ".run.json.0123456789ab.tmp"


def abandon(folder: Path, age: float, now: float) -> Path:
    """What a writer leaves that was killed so many seconds ago."""
    left = folder / ABANDONED
    left.write_text("{")
    left.chmod(0o600)
    os.utime(left, (now - age, now - age))
    return left


@pytest.mark.parametrize("folder", ["", *FOLDERS])
def test_the_next_engine_takes_away_what_killed_writers_left(world, folder: str) -> None:
    left = abandon(world.root / folder, OLD_SECONDS + 1, world.clock.now())
    fresh = abandon(world.root / "memory", OLD_SECONDS - 1, world.clock.now()) if folder != "memory" else None
    world.engine()
    assert not left.exists()
    assert fresh is None or fresh.exists(), "a young one may be somebody's work"


async def test_an_engine_that_lives_takes_them_away_too(world) -> None:
    world.engine()
    left = abandon(world.root, OLD_SECONDS + 1, world.clock.pass_time(3601))
    await world.beat()
    assert not left.exists()


async def test_no_task_takes_one_with_it_into_the_archive(world) -> None:
    task = world.task("count the lines in /etc/hostname")
    await world.beat()
    left = abandon(world.layout.task(task), 1, world.clock.now())
    await world.until(lambda: (world.layout.task(task) / "exit.json").exists())
    for _ in range(100):
        world.clock.pass_time(1)
        await world.beat()
        if world.layout.archive.is_dir() and any(world.layout.archive.glob(f"*/*/{task}")):
            break
        await asyncio.sleep(0.02)
    assert not left.exists()
    assert list(world.layout.archive.rglob("*.tmp")) == []


@pytest.mark.threat("S8", "modes of all files under any umask; folders that others may write")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_doctor_finds_nothing_wrong_after_an_engine(tmp_path: Path, umask: int) -> None:
    root = tmp_path / "state"
    before = os.umask(umask)
    try:
        for words in (["init"], ["signal", "hello"], ["--engine-only", "--once"]):
            ran = lumen(["--state", str(root), *words], env=dict(os.environ), cwd=tmp_path)
            assert ran.returncode == 0, ran.stderr
    finally:
        os.umask(before)
    abandon(root, OLD_SECONDS + 1, time.time())
    from lumen_tui.storage.store import Store

    assert examine(Store(root), now=time.time()).left == []
    assert lumen(["--state", str(root), "doctor"], env=dict(os.environ), cwd=tmp_path).returncode == 0


def test_the_doctor_calls_neither_a_test_of_the_sandbox_ill_nor_a_task_that_is_over(world) -> None:
    lost, waiting = world.task(), world.task()
    end = Exit(lost, "lost", iso(world.clock.now()), reason="killed too often")
    (world.layout.task(lost) / "exit.json").write_bytes(msgspec.json.encode(end))
    os.chmod(world.layout.task(lost) / "exit.json", 0o600)
    probed = world.layout.index / tiers.FOLDER
    probed.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(probed):  # a path of a socket is short
        listener.bind("log")
        report = examine(world.store, now=world.clock.now())
    assert (report.left, [one for one in report.findings if one.check == "tasks"]) == ([], [])
    assert world.status(waiting) == "queued"
