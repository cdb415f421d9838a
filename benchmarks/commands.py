"""Each command of the command line over ten of each thing, by its processor time: the example of its help is run."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.state import make_state
from benchmarks.table import Row, share
from lumen_tui.cli.parser import Parser, build_parser

GOAL = 60.0  # ms
_SECONDS = 20.0  # after which a command that follows something is ended
# They serve, talk, follow, or put files into the home of whoever runs this; or look through all of the state folder.
_NOT = frozenset({"serve", "mcp", "acp", "host", "hook", "chat", "service", "events", "doctor", "completions"})


def _leaves(parser: Parser, name: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    """Yield each command and the words of its example."""
    below = parser.below()
    for word, inner in below.items():
        if word not in _NOT:
            yield from _leaves(inner, (*name, word))
    if not below and parser.epilog:
        example = parser.epilog.partition("lumen-tui ")[2].splitlines()[0]
        yield " ".join(name), shlex.split(example.partition("|")[0].partition(">")[0])


def _used(program: str, words: list[str], environ: dict[str, str], folder: Path) -> float:
    """Return the processor time in ms of a command; whether it refuses is all the same."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([program, *words], env=environ, cwd=folder, stdin=quiet, stdout=quiet, stderr=quiet)
    deadline = time.monotonic() + _SECONDS
    ended, usage = 0, None
    while not ended:
        ended, _, usage = os.wait4(process.pid, os.WNOHANG)
        if not ended and time.monotonic() > deadline:
            process.kill()
        time.sleep(0 if ended else 0.002)
    process.returncode = 0  # it was waited for
    return (usage.ru_utime + usage.ru_stime) * 1000 if usage else 0.0


def measure(folder: Path, newest: float, *, runs: int) -> Iterator[Row]:
    """Yield the median of all, and a row for each command that misses the goal."""
    program = Path(sys.executable).with_name("lumen-tui")
    if not program.exists():
        yield Row("G6", "CPU of each command", skipped="lumen-tui is not installed beside this python")
        return
    home = folder / "commands"
    layout = make_state(home / "state", nodes=10, signals=10, newest=newest)
    environ = {**os.environ, "HOME": str(home), "LUMEN_STATE": str(layout.root), "LUMEN_OPERATOR": "bench"}
    taken: dict[str, list[float]] = {}
    commands = list(_leaves(build_parser()))
    for _ in range(runs):
        for name, words in commands:
            taken.setdefault(name, []).append(_used(str(program), words, environ, home))
    middle = {name: share(samples, 50) for name, samples in taken.items()}
    bare = share([_used(sys.executable, ["-c", "pass"], environ, home) for _ in range(9)], 50)
    other = ("python -c pass", bare)
    yield Row(
        "G6", f"CPU of a command, median of {len(middle)}", share(list(middle.values()), 50), "ms", GOAL, False, *other
    )
    slow = sorted(((value, name) for name, value in middle.items() if value > GOAL), reverse=True)
    yield Row("G6", f"commands of {len(middle)} that take more than {GOAL:.0f} ms of CPU", len(slow), "")
    for value, name in slow:
        yield Row("G6", f"CPU of `{name}`", value, "ms", GOAL, False, *other)
