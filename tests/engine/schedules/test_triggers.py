"""Runs on signals and on changed files: each once, bounded, and nothing feeds on itself."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from lumen_until import until

from lumen_tui.engine.schedules.watching import FileWatch
from lumen_tui.model.schedules import MOST_TRIGGERED
from tests.engine.schedules.conftest import Ground


def _send(ground: Ground, message: str = "it is stuck", by: str = "agent-b", **more: str) -> str:
    return ground.do("signal.send", by=by, message=message, **({"type": "blocked"} | more)).target


def test_a_signal_that_has_all_fields_starts_one_run(ground: Ground) -> None:
    ground.add("help", "", makes="task", on_signal=["kind:blocked", "from:agent-*", "text:STUCK"])
    ground.poll(1)
    wanted = _send(ground)
    _send(ground, "all is well")
    _send(ground, by="bo")
    _send(ground, type="progress")
    for _ in range(3):
        ground.poll(1)
    [run] = ground.runs("help")
    assert (str(run.state), run.about, run.cause) == ("run", wanted, "signal")
    assert ground.tasks() == [run.made]


def test_signals_that_came_while_no_engine_ran_start_their_runs_once(ground: Ground) -> None:
    _send(ground, "before there was a schedule")
    ground.now += 10
    ground.add("help", "", on_signal=["kind:blocked"])
    ground.poll(1)
    ground.crash()
    for number in range(3):
        _send(ground, f"stuck {number}")
    for _ in range(2):
        ground.poll(60)
        ground.crash()
    assert ground.states("help") == ["run"] * 3


def test_a_schedule_does_not_feed_on_what_schedules_send(ground: Ground) -> None:
    ground.add("echo", "", makes="signal", on_signal=["text:ping"], text="ping pong")
    ground.poll(1)
    _send(ground, "ping")
    for _ in range(5):
        ground.poll(60)
    assert ground.states("echo") == ["run"]
    assert len(list(ground.store.signals.lines())) == 2


def test_what_sets_off_its_own_trigger_comes_to_rest_and_says_so(ground: Ground) -> None:
    ground.add("loop", "", on_signal=["kind:blocked"])
    ground.poll(1)
    for number in range(MOST_TRIGGERED + 5):
        _send(ground, f"again {number}")  # as a worker does that the run before set to work
        ground.poll(10)
    states = ground.states("loop")
    assert (states.count("run"), states.count("skipped")) == (MOST_TRIGGERED, 5)
    assert f"{MOST_TRIGGERED} times within the hour" in ground.runs("loop")[-1].why
    ground.poll(3600)
    _send(ground, "an hour later")
    ground.poll(1)
    assert ground.states("loop").count("run") == MOST_TRIGGERED + 1


def _changes(ground: Ground, name: str, count: int) -> Callable[[], bool]:
    def look() -> bool:
        ground.poll(0.01)
        return len(ground.runs(name)) >= count

    return look


def test_changed_files_start_a_run_once_they_have_settled(ground: Ground, tmp_path: Path) -> None:
    source = tmp_path / "project" / "src"
    (source / "deep").mkdir(parents=True)
    given = {"on_change": ["src/**/*.py"], "folder": str(source.parent), "settle": 0.2}
    ground.add("lint", "", makes="task", overlap="queue", **given)
    ground.poll(1)
    (source / "notes.txt").write_text("no pattern has this")
    until(lambda: ground.scheduler._triggers is not None)
    for number in range(5):
        (source / "deep" / f"{number}.py").write_text("x")
    until(_changes(ground, "lint", 1))
    [run] = ground.runs("lint")
    assert (run.cause, Path(run.about).parent) == ("change", Path("src/deep"))
    assert ground.tasks() == [run.made]
    (source / "deep" / "0.py").write_text("y")
    until(_changes(ground, "lint", 2))
    assert ground.states("lint") == ["run", "queued"]


def test_what_changed_while_nobody_watched_counts(ground: Ground, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    ground.now = time.time() - 3600  # files have the times of the real clock
    ground.add("lint", "", on_change=["*.md"], folder=str(folder), settle=0.1)
    ground.poll()
    ground.crash()
    (folder / "new.md").write_text("x")
    ground.now = time.time()
    until(_changes(ground, "lint", 1))
    assert ground.runs("lint")[0].about == "new.md"
    ground.crash()
    ground.poll(1)
    watch = ground.scheduler._triggers
    assert watch is not None
    (folder / "other.md").write_text("x")
    until(_changes(ground, "lint", 2))
    assert [run.about for run in ground.runs("lint")] == ["new.md", "other.md"]


def test_the_watching_thread_ends_and_leaves_no_descriptor(ground: Ground, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    ground.add("lint", "", on_change=["**"], folder=str(folder))
    ground.poll(1)
    ground.crash()
    until(lambda: not _watching(folder))  # a thread of the library closes it
    ground.poll(1)
    assert ground.scheduler._triggers is not None
    watch: FileWatch = ground.scheduler._triggers._files
    thread = watch._thread
    assert thread is not None and thread.is_alive()
    until(lambda: _watching(folder))
    ground.crash()
    assert not thread.is_alive()
    until(lambda: not _watching(folder))


def _watching(folder: Path) -> list[str]:
    """Name the descriptors that this process watches the folder with; other threads of the tests watch theirs."""
    found, inode = [], f"ino:{folder.stat().st_ino:x} "
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}") == "anon_inode:inotify":
                found += [name] if inode in Path(f"/proc/self/fdinfo/{name}").read_text() else []
    return found
