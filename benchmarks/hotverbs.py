"""G6 and G7: commands from a cold start, as an agent's shell runs them."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.state import make_state
from benchmarks.table import Row, share
from lumen_tui.storage import backwards, files
from lumen_tui.storage.layout import Layout

ROOT = Path(__file__).resolve().parents[1]
BARE = (
    f"import sys; sys.path[:0] = [{str(ROOT)!r}]; sys.path.append({sysconfig.get_paths()['purelib']!r}); "
    "from lumen_tui.__main__ import start; start()"
)
PARSE_ALL = "import json,sys\nn=0\nfor line in open(sys.argv[1]):\n    n += not json.loads(line).get('read')\nprint(n)"
# What a durable line costs an interpreter that does nothing else: no signal can take less.
APPENDS = (
    "import os, sys; fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600); "
    "os.write(fd, b'x' * 135 + b'\\n'); os.fdatasync(fd)"
)
# wait4 would report the parent's peak where that is higher: the program reads its own from /proc at its end.
_HELLO = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%s,"clientInfo":{"name":"bench"}}}'
HELLOS = {kind: f"{_HELLO % version}\n".encode() for kind, version in (("mcp", '"2025-11-25"'), ("acp", "1"))}
SIGNAL_RATIO = 1.4  # times a bare interpreter
PEAK = "\nsys.stderr.write([line for line in open('/proc/self/status') if line[:6] == 'VmHWM:'][0])"


def run_once(command: list[str]) -> tuple[float, int]:
    """Run one command without output; return (wall ms, exit code)."""
    quiet = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, quiet, stream) for stream in (0, 1, 2)]
    begin = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    taken = (time.perf_counter() - begin) * 1000
    os.close(quiet)
    return taken, os.waitstatus_to_exitcode(status)


def repeat(command: list[str], times: int) -> list[float]:
    """Return the wall times in ms of `times` runs after one to warm up."""
    run_once(command)
    taken = []
    for _ in range(times):
        wall, code = run_once(command)
        if code not in (0, 3):
            raise SystemExit(f"{' '.join(command[-4:])} ended with {code}")
        taken.append(wall)
    return taken


def in_turns(commands: list[list[str]], times: int) -> list[list[float]]:
    """Return the wall times in ms of each command, run in turns, so that all have the same load beside them."""
    taken: list[list[float]] = [[] for _ in commands]
    for number in range(times + 1):
        for command, samples in zip(commands, taken, strict=True):
            wall, code = run_once(command)
            if code not in (0, 3):
                raise SystemExit(f"{' '.join(command[-4:])} ended with {code}")
            samples += [wall] if number else []  # the first one is to warm up
    return taken


def peak(code: str, *words: str) -> float:
    """Return the peak memory in MiB of a program of this code with these arguments."""
    command = [sys.executable, "-I", "-S", "-c", code + PEAK, *words]
    finished = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return int(finished.stderr.rpartition("VmHWM:")[2].split()[0]) / 1024


def missing() -> str:
    """Return why the commands cannot be measured, or the empty string."""
    return "" if (ROOT / "lumen_tui" / "__main__.py").exists() else "lumen_tui has no __main__ yet"


def _read_most(layout: Layout) -> None:
    """Write the receipt of a reader `bench` for everything but the newest hundred signals or so."""
    data = backwards.read_tail(layout.signals, 16 * 1024)
    line = data.partition(b"\n")[0]
    offset = layout.signals.stat().st_size - len(data)
    name = line.partition(b'"id":"')[2].partition(b'"')[0].decode()
    receipt = (
        f'{{"signal_id":"{name}","read_at":"2026-01-01T00:00:00Z","reader":"bench","upto":true,"offset":{offset}}}\n'
    )
    files.append(layout.receipts, receipt.encode())


def _signal_rows(root: Path, runs: int) -> Iterator[Row]:
    python = sys.executable
    words = ["--state", str(root), "signal", "a bench was here"]
    alone = [python, "-I", "-S", "-c", "pass"]
    appends = [python, "-I", "-S", "-c", APPENDS, str(root / "appended")]
    command = [python, "-I", "-S", "-c", BARE, *words]
    empty, limit, bare = in_turns([alone, appends, command], runs)
    other = ("python -I -S -c pass", share(empty, 50))
    yield Row("G6", "signal from cold, -I -S, p50", share(bare, 50), "ms", 15, False, *other)
    other = ("one that appends a line and syncs it", share(limit, 50))
    yield Row("G6", "the same beside its physical limit", share(bare, 50), "ms", 0, False, *other)
    least, spent = ([_cpu(each, b"") for _ in range(runs)] for each in (alone, command))
    other = ("python -I -S -c pass", share(least, 50))
    name = "CPU of signal from cold, -I -S, p50"
    yield Row("G6", name, share(spent, 50), "ms", 0, False, *other, most_ratio=SIGNAL_RATIO)
    yield Row("G6", "signal from cold, -I -S, p99", share(bare, 99), "ms")
    program = Path(python).with_name("lumen-tui")
    if not program.exists():
        yield Row("G6", "signal from cold, installed, p50", skipped="lumen-tui is not installed beside this python")
        return
    site, installed = in_turns([[python, "-c", "pass"], [str(program), *words]], runs)
    other = ("python -c pass", share(site, 50))
    yield Row("G6", "signal from cold, installed, p50", share(installed, 50), "ms", 25, False, *other)


def _inbox_rows(layout: Layout, runs: int) -> Iterator[Row]:
    python = sys.executable
    verb = ["--state", str(layout.root), "inbox", "--no-mark"]
    loop = repeat([python, "-c", PARSE_ALL, str(layout.signals)], 1)
    loop_peak = peak(PARSE_ALL, str(layout.signals))
    other = "json.loads of each line"
    for label, words, goal in (
        ("count, 100 unread", ["--count", "--reader", "bench"], True),
        ("list, 100 unread", ["--reader", "bench"], True),
        ("list, nothing ever read", ["--reader", "stranger"], True),
        ("count, nothing ever read", ["--count", "--reader", "stranger"], False),
    ):
        taken = repeat([python, "-I", "-S", "-c", BARE, *verb, *words], runs if goal else 2)
        name = f"inbox over 1,000,000 signals, {label}"
        yield Row("G7", name, share(taken, 50), "ms", 40 * goal, False, other, share(loop, 50))
        held = peak(BARE.replace("start", "main"), *verb, *words)  # `main` returns, `start` exits
        yield Row("G7", f"{name}, peak", held, "MiB", 25 * goal, False, other, loop_peak)


def _server_rows(root: Path, runs: int) -> Iterator[Row]:
    """Yield the CPU time until a server that an editor starts has answered; a busy machine changes it little."""
    program = Path(sys.executable).with_name("lumen-tui")
    if not program.exists():
        yield Row(
            "P5", "first answer of a server on its pipes", skipped="lumen-tui is not installed beside this python"
        )
        return
    bare = share([_cpu([sys.executable, "-c", "pass"], b"") for _ in range(runs)], 50)
    for kind, hello in HELLOS.items():
        taken = [_cpu([str(program), kind, "--state", str(root)], hello) for _ in range(runs)]
        yield Row("P5", f"{kind}: first answer, CPU, p50", share(taken, 50), "ms", 60, False, "python -c pass", bare)


def _cpu(command: list[str], given: bytes) -> float:
    """Return the CPU time in ms of a program that reads `given` and ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=given, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def measure(folder: Path, newest: float, *, runs: int) -> Iterator[Row]:
    """Yield `signal` and `inbox` beside the interpreter alone and a plain loop over the same file."""
    if reason := missing():
        yield Row("G6", "signal from cold", skipped=reason)
        yield Row("G7", "inbox over 1,000,000 signals", skipped=reason)
        return
    layout = make_state(folder / "million", nodes=10, signals=1_000_000, newest=newest)
    yield from _signal_rows(layout.root, runs)
    _read_most(layout)
    yield from _inbox_rows(layout, max(5, runs // 4))
    yield from _server_rows(layout.root, max(5, runs // 4))
