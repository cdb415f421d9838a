"""`python -m benchmarks`: measure and print the table."""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import (
    answers,
    appends,
    black_box,
    capsule,
    commands,
    demo,
    engine,
    evolution,
    freshness,
    growth,
    hosts,
    hotverbs,
    http,
    isolate,
    memory,
    outward,
    relay,
    room,
    sandbox,
    search,
    spending,
    talking,
)
from benchmarks.table import Row, Table

SIZES = [(10, 10), (10_000, 10_000), (100_000, 100_000)]
PARTS = (
    "appends", "verbs", "commands", "engine", "spending", "memory", "room", "sandbox", "evolution", "freshness",
    "capsule", "relay", "past", "search", "isolate", "answers", "demo", "outward",
    "http", "hosts",
)  # fmt: skip


QUICK = ("spending", "freshness", "capsule", "relay", "past", "room")  # what is over within two minutes


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--full", action="store_true", help="more runs, a whole idle minute, and 1,000,000 signals")
    parser.add_argument("--quick", action="store_true", help="in two minutes: few runs, smallest room, no long parts")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part of the table; may be repeated")
    parser.add_argument("--runs", type=int, default=0, help="starts of the room for each size")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--markdown", action="store_true", help="the table of docs/performance.md")
    return parser.parse_args()


def _measure(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    newest = time.time()
    parts = options.only or (QUICK if options.quick else PARTS)
    if "appends" in parts:
        yield from appends.measure(folder)
    if "verbs" in parts:
        yield from hotverbs.measure(folder, newest, runs=200 if options.full else 40)
        yield from growth.measure(folder, newest, runs=50 if options.full else 15)
    if "commands" in parts:
        yield from commands.measure(folder, newest, runs=5 if options.full else 3)
    if "engine" in parts:
        yield from engine.measure(folder)
    if "spending" in parts:
        yield from spending.measure(folder)
    if "freshness" in parts:
        yield from freshness.measure(folder)
    if "capsule" in parts:
        yield from capsule.measure(folder)
    if "hosts" in parts:
        yield from hosts.measure(folder, full=options.full)
    if "outward" in parts:
        yield from outward.measure(folder)
    if "http" in parts:
        yield from http.measure(folder, newest, seconds=20 if options.full else 8)
    if "relay" in parts:
        yield from relay.measure(folder)
    if "past" in parts:
        yield from black_box.measure(folder, newest)
    if "search" in parts:
        yield from search.measure(folder, newest)
    if "isolate" in parts:
        yield from isolate.measure(folder)
    if "answers" in parts:
        yield from answers.measure(folder)
    if "demo" in parts:
        yield from demo.measure(folder)
    if "sandbox" in parts:
        yield from sandbox.measure(folder)
    if "memory" in parts:
        yield from memory.measure(folder, newest, full=options.full)
    if "evolution" in parts:
        yield from evolution.measure(folder)
    if "room" in parts:
        effort = _effort(options)
        yield from talking.measure(folder, 10.0 if options.quick else max(effort.idle, 40.0))
        sizes = [*SIZES, (100_000, 1_000_000)] if options.full else SIZES[:1] if options.quick else SIZES
        yield from room.measure(folder, newest, sizes, effort)


def _effort(options: argparse.Namespace) -> room.Effort:
    effort = room.QUICK if options.quick else room.Effort(21, 60.0) if options.full else room.Effort(5, 20.0)
    return effort._replace(runs=options.runs) if options.runs else effort


def main() -> int:
    """Measure on a real disk ($LUMEN_BENCH_DIR, else /var/tmp, because /tmp is often memory); return the exit code."""
    options = _options()
    base = os.environ.get("LUMEN_BENCH_DIR") or "/var/tmp"
    folder = Path(tempfile.mkdtemp(prefix="lumen-bench-", dir=base))
    os.umask(0o077)
    # As installed: where PYTHONDONTWRITEBYTECODE is set, each start of a checkout would compile the modules again.
    compileall.compile_dir(Path(__file__).resolve().parents[1] / "lumen_tui", quiet=1)
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores, {base}", file=sys.stderr)
    table = Table(as_json=options.json, as_markdown=options.markdown)
    try:
        for row in _measure(options, folder):
            table.add(row)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
