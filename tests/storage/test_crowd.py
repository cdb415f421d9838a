"""Many writers on one journal: nothing lost, nothing twice, nothing glued together."""

import os
import random
from pathlib import Path

import pytest
from lumen_until import until

EACH = 300


@pytest.mark.fault("R6", "writers beside rewrites, killed at random")
@pytest.mark.sweep(most=1)
@pytest.mark.parametrize("count", [8, 16, 64])
def test_many_writers_lose_nothing_while_another_rewrites(crowd, look, tmp_path: Path, count: int) -> None:
    path = tmp_path / "signals.jsonl"
    rewriter = crowd.start("rewrite", str(path))
    until(lambda: "rewritten" in crowd.acknowledged())
    each = EACH * 8 // count
    writers = [crowd.start("append", str(path), f"w{n}", str(each)) for n in range(count)]
    for writer in writers:
        assert writer.wait(120) == 0
    crowd.kill(rewriter)
    crowd.wait()
    found = look(path)
    assert sorted(found.ids) == sorted(f"w{w}-{n}" for w in range(count) for n in range(each))
    assert (found.damaged, found.tail) == ([], b"")
    assert crowd.acknowledged().count("rewritten") > 3


@pytest.mark.fault("R6", "writers beside rewrites, killed at random")
def test_each_writer_finds_its_lines_in_its_order(crowd, look, tmp_path: Path) -> None:
    path = tmp_path / "signals.jsonl"
    for name in "abc":
        crowd.start("append", str(path), name, "50")
    crowd.wait()
    for name in "abc":
        assert [i for i in look(path).ids if i.startswith(name)] == [f"{name}-{n}" for n in range(50)]


@pytest.mark.fault("R6", "writers beside rewrites, killed at random")
def test_killed_writers_take_nothing_acknowledged_with_them(crowd, look, tmp_path: Path) -> None:
    path = tmp_path / "signals.jsonl"
    dice = random.Random(7)  # noqa: S311 - chance, not secrecy
    rewriter = crowd.start("rewrite", str(path))
    born = 0
    for _ in range(30):
        while len(crowd.running) < 6:
            born += 1
            crowd.start("append", str(path), f"w{born}")
        least = len(crowd.acknowledged()) + dice.randrange(1, 60)
        until(lambda least=least: len(crowd.acknowledged()) >= least)
        crowd.kill(dice.choice([process for process in crowd.running if process is not rewriter]))
    for process in list(crowd.running):
        crowd.kill(process)
    found = look(path)
    told = {name for name in crowd.acknowledged() if name != "rewritten"}
    assert len(told) > 100
    assert told - set(found.ids) == set()
    assert found.twice == []
    assert len(found.damaged) <= 30 + 6


@pytest.mark.fault("R6", "writers beside rewrites, killed at random")
def test_a_killed_rewriter_leaves_the_old_file_or_the_new(crowd, look, tmp_path: Path) -> None:
    path = tmp_path / "signals.jsonl"
    assert crowd.run("append", str(path), "old", "200") == 0
    for _ in range(10):
        before = crowd.acknowledged().count("rewritten")
        rewriter = crowd.start("rewrite", str(path))
        until(lambda seen=before: crowd.acknowledged().count("rewritten") > seen)
        crowd.kill(rewriter)
        assert look(path).ids == [f"old-{n}" for n in range(200)]


def test_the_lock_dies_with_its_holder(crowd, tmp_path: Path) -> None:
    from lumen_tui.storage import files

    path = tmp_path / "signals.jsonl"
    writer = crowd.start("append", str(path), "w")
    until(lambda: len(crowd.acknowledged()) > 5)
    crowd.kill(writer)
    files.append(path, b'{"id":"after"}\n')
    assert path.read_bytes().endswith(b'{"id":"after"}\n')


def test_looking_at_a_lock_never_makes_it_seem_taken(tmp_path: Path) -> None:
    """`is_locked` shares the lock for a moment; whoever wants it must not take that for a holder."""
    from threading import Event, Thread

    from lumen_tui.storage import locks

    path = tmp_path / "engine.lock"
    os.close(locks.try_lock(path))
    stop = Event()

    def watch() -> None:
        while not stop.is_set():
            locks.is_locked(path)

    watchers = [Thread(target=watch) for _ in range(3)]
    for watcher in watchers:
        watcher.start()
    try:
        held = locks.try_lock(path)
        assert held is not None
        assert locks.try_lock(path) is None
        os.close(held)
        for _ in range(500):
            fd = locks.try_lock(path)
            assert fd is not None
            os.close(fd)
    finally:
        stop.set()
        for watcher in watchers:
            watcher.join()
