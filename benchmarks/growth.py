"""The commands of an agent's memory over a short history and over a long one: they must cost the same."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.hotverbs import in_turns
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
# what is asked of a long history again and again: name, words, goal in ms of processor time
READS: tuple[tuple[str, list[str], float], ...] = (
    ("status", ["status"], 100),
    ("inbox --count", ["inbox", "--count", "--reader", "nobody"], 100),
    ("why", ["why", "mem-0000000000007"], 100),
    ("why, of an old signal", ["why", "sig-0000000000007"], 100),
    ("triage", ["triage"], 100),
    ("decay --dry-run", ["decay", "--dry-run"], 100),
    ("recall", ["recall", UNIT], 100),
    ("doctor", ["doctor"], 1500),
)
FIRST_SEARCH_MB = 100
READY_RATIO = 1.1  # times what it takes over a short history


def used_by(command: list[str]) -> tuple[float, float]:
    """Return the processor time in ms, and the most memory in MiB, that a command took with all that it started."""
    with open(os.devnull, "wb") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink)
        _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0  # it was waited for
    return (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / 1024


def _processor_times(
    program: str, small: Path, large: Path, words: list[str], runs: int
) -> tuple[list[float], list[float]]:
    """Return the processor times in ms of a command over both, run in turns."""
    pairs = [[used_by([program, "--state", str(root), *words])[0] for root in (small, large)] for _ in range(runs)]
    return [few for few, _ in pairs], [many for _, many in pairs]


def _reads(program: str, small: Path, large: Path, runs: int) -> Iterator[Row]:
    """Yield the first search, which makes an index, and the processor time of each command that reads, warm."""
    taken, memory = used_by([program, "--state", str(large), "search", "step 17"])
    yield Row("H1", "first search of them, processor time", taken / 1000, "s")
    yield Row("H1", "first search of them, memory", memory, "MiB", FIRST_SEARCH_MB)
    for name, words, goal in READS:
        few, many = _processor_times(program, small, large, words, runs + 1)
        label = f"{name}, processor time, 1,000,000 and 100,000"
        yield Row("H1", label, share(many, 50), "ms", goal, False, "the same over 10 of each", share(few, 50))


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
            few, many = in_turns([[str(program), "--state", str(root), *words] for root in (small, large)], runs)
            other = ("the same over 10 of each", share(few, 50))
            label = f"{name}, 1,000,000 signals, 100,000 nodes"
            yield Row("G6", label, share(many, 50), "ms", goal, False, *other)
            if name == "ready":
                few, many = _processor_times(str(program), small, large, words, runs)
                other = ("the same over 10 of each", share(few, 50))
                yield Row("G6", f"CPU of {label}", share(many, 50), "ms", 0, False, *other, most_ratio=READY_RATIO)
        yield from _reads(str(program), small, large, max(3, runs // 5))
