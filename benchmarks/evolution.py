"""Evolution: a session file of 50 MB through the whole pipeline, offline."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.table import Row
from lumen_tui.engine.evolution import evolve
from lumen_tui.engine.evolution.pipeline import EvolutionPipeline
from lumen_tui.model.config import EvolutionConfig
from lumen_tui.storage.layout import Layout

SIZE = 50_000_000
_WORDS = (
    "the", "quick", "service", "fails", "when", "config", "loads", "twice", "and", "cache",
    "is", "stale", "while", "worker", "waits", "for", "lock",
)  # fmt: skip
_COMMANDS = ("pytest -q tests/t{}", "npm run build", "ls -la", "python3 x{}.py")


def _said(number: int, chance: random.Random) -> str:
    words = " ".join(chance.choices(_WORDS, k=4))
    return chance.choice((
        f"No, don't use {words} {number % 90} here.", f"Always run `make t{number % 120}` before you commit.",
        f"Please look at {words} and {words}", f"We decided to keep the {words}",
    ))  # fmt: skip


def _records(number: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    yield {"type": "user", "message": {"role": "user", "content": _said(number, chance)}}
    for place in range(3):
        call = f"t{number}.{place}"
        bad = chance.random() < 0.2
        command = chance.choice(_COMMANDS).format(number % 50)
        words = " ".join(chance.choices(_WORDS, k=60))
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
        yield {"type": "assistant", "message": {"content": [{"type": "text", "text": f"{words}."}, use]}}
        text = "\n".join(" ".join(chance.choices(_WORDS, k=12)) for _ in range(20))
        head = "Exit code 1\nModuleNotFoundError: No module named 'foo'\n" if bad else ""
        result = {"type": "tool_result", "tool_use_id": call, "content": head + text, "is_error": bad}
        yield {"type": "user", "message": {"content": [result]}}


def make_session(path: Path, size: int = SIZE) -> None:
    """Write a session file of that many bytes."""
    chance = random.Random(1)
    written = number = 0
    with path.open("w") as out:
        while written < size:
            number += 1
            for place, record in enumerate(_records(number, chance)):
                common = {"uuid": f"{number}.{place}", "cwd": "/home/ann/site", "sessionId": "big", "version": "2.0.1"}
                written += out.write(json.dumps({**common, **record}) + "\n")


def measure(folder: Path) -> Iterator[Row]:
    """Yield seconds for the whole file, and for finding that nothing is new."""
    path = folder / "big.jsonl"
    layout = Layout(folder / "evolved-state")
    make_session(path)
    layout.create()
    config = EvolutionConfig()
    for name, goal in (("a session file of 50 MB evolved offline", 10.0), ("the same again, nothing new", 0.1)):
        begin = time.perf_counter()
        outcome = evolve.evolve(layout, EvolutionPipeline(layout, config), [path], now=time.time())
        evolve.write(layout, outcome, config, now=time.time(), by="bench")
        yield Row("V", name, time.perf_counter() - begin, "s", goal)
    path.unlink()
