"""The commands of an agent's memory over a short history and over a long one: they must cost the same."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.hotverbs import repeat
from benchmarks.state import make_state
from benchmarks.table import Row, share
from lumen_tui.actions.registry import named, perform
from lumen_tui.storage.store import Store

UNIT = "WU-008"  # one of the 400 that the history is about
VERBS: tuple[tuple[str, list[str], float], ...] = (
    ("signal", ["signal", "a bench was here", "--wu", UNIT], 25),
    ("create", ["create", "a bench was here"], 25),
    ("inbox", ["inbox", "--no-mark", "--limit", "10"], 40),
    ("checkpoint without a repository", ["checkpoint", "a bench was here"], 60),
    ("ready", ["ready", "--wu", UNIT], 60),
)


def _folder(root: Path, *, nodes: int, signals: int, newest: float) -> Path:
    """Return a state folder in which `bench` has an open session on the work unit and has read every signal."""
    store = Store(make_state(root, nodes=nodes, signals=signals, newest=newest).root)
    perform(store, named("wu.new", {"title": "A bench", "id": UNIT, "lane": "Core"}), by="bench", now=newest)
    perform(store, named("session.start", {"wu_id": UNIT}), by="bench", now=newest)
    perform(store, named("signal.read_all", {}), by="bench", now=newest)
    return root


@contextlib.contextmanager
def _as_bench(folder: Path) -> Iterator[None]:
    """Run the block as the operator `bench` in this folder, which is no repository."""
    before = Path.cwd()
    operator = os.environ.get("LUMEN_OPERATOR")
    os.chdir(folder)
    os.environ["LUMEN_OPERATOR"] = "bench"
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.pop("LUMEN_OPERATOR")
        if operator is not None:
            os.environ["LUMEN_OPERATOR"] = operator


def measure(folder: Path, newest: float, *, runs: int) -> Iterator[Row]:
    """Yield each command at both sizes."""
    program = Path(sys.executable).with_name("lumen-tui")
    if not program.exists():
        yield Row("G6", "commands over a long history", skipped="lumen-tui is not installed beside this python")
        return
    small = _folder(folder / "short", nodes=10, signals=10, newest=newest)
    large = _folder(folder / "long", nodes=100_000, signals=1_000_000, newest=newest)
    with _as_bench(folder):
        for name, words, goal in VERBS:
            few, many = (repeat([str(program), "--state", str(root), *words], runs) for root in (small, large))
            other = ("the same over 10 of each", share(few, 50))
            label = f"{name}, 1,000,000 signals, 100,000 nodes"
            yield Row("G6", label, share(many, 50), "ms", goal, False, *other)
