"""G1 to G4, G10, G11: the room in a terminal of 120 x 40, beside the smallest Textual program of the same run."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.state import NEWEST, make_state, open_discoveries
from benchmarks.table import Row, share
from benchmarks.terminal import NO_FRAME, Terminal
from lumen_tui.model import times
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.lease import is_held, read_lease
from lumen_tui.storage.store import Store

ROOT = Path(__file__).resolve().parents[1]
SIGNALS, DOWN, UP, PAGE_DOWN, PAGE_UP, HELP, BACK = b"4", b"\x1b[B", b"\x1b[A", b"\x1b[6~", b"\x1b[5~", b"?", b"\x1b"
TOP, ZOOM = b"g", b"z"
DIALOG, NEEDS, DISCOVERIES, SNOOZE, ENTER = b"t", b"!", b"5", b"l", b"\r"
ZOOMED = "╭─ 4 Signals"  # beside other panes its frame has no corner of its own
HELP_SHOWN = "a word, a key"  # is on the help screen and nowhere else
MINIMAL = "minimal Textual program"
MINIMAL_SHOWN, MINIMAL_ROWS = "row 3 of a thousand", 1000
TRIAGED = 100  # discoveries
SECOND_FRAME = 0.06  # seconds of silence behind a key: by then all that it set off is painted
ROUNDS = 5  # of keys, in turns with the other program
SILENT = 5  # keys without any effect; after that the rest of their kind is not tried
LONG_WAIT = 30.0  # seconds; a room that needs longer counts as not answering


class Effort(NamedTuple):
    """How often each thing is done; `idle` are seconds."""

    runs: int
    idle: float
    keys: int = 60
    turns: int = 6  # of focus, dialog, sheet and verdict
    probes: int = 30
    triages: bool = True  # whether a hundred discoveries are decided


QUICK = Effort(runs=2, idle=5.0, keys=20, turns=2, probes=10, triages=False)


@dataclass
class Sample:
    """The measurements of several starts of one program. Times in ms."""

    first: float = 0.0  # first paint of the first room of all, which finds no last screen, no kept index, no engine
    paint: list[float] = field(default_factory=list)
    content: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    start_cpu: list[float] = field(default_factory=list)  # until content, or until the answer to a key
    cursor_cpu: list[float] = field(default_factory=list)  # of a key, with all of its frames
    scroll_cpu: list[float] = field(default_factory=list)
    cursor: list[float] = field(default_factory=list)
    cursor_bytes: list[float] = field(default_factory=list)
    scroll: list[float] = field(default_factory=list)
    scroll_bytes: list[float] = field(default_factory=list)
    switch: list[float] = field(default_factory=list)
    focus_bytes: list[float] = field(default_factory=list)
    opened_bytes: list[float] = field(default_factory=list)
    closed_bytes: list[float] = field(default_factory=list)
    back_bytes: list[float] = field(default_factory=list)
    verdict_bytes: list[float] = field(default_factory=list)
    pixels: list[float] = field(default_factory=list)
    idle_bytes: float = 0.0  # a minute
    idle_cpu: float = 0.0  # per cent of one core
    memory: float = 0.0  # MiB PSS


def missing() -> str:
    """Return why the room cannot be measured, or the empty string."""
    for name in ("lumen_tui/__main__.py", "lumen_tui/tui/app.py"):
        if not (ROOT / name).exists():
            return f"{name} is not there yet"
    return ""


def _room(layout: Layout) -> list[str]:
    return [sys.executable, "-m", "lumen_tui", "--state", str(layout.root)]


def _end_engine(layout: Layout) -> None:
    """End the engine that a room started, which has its own session and may outlive the room."""
    deadline = time.monotonic() + 10
    while is_held(layout) and time.monotonic() < deadline:
        try:
            os.kill(read_lease(layout).pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        time.sleep(0.1)


def _keys(terminal: Terminal, keys: list[bytes]) -> tuple[list[float], list[float]]:
    """Return ms to the first whole frame and bytes of all frames, of each key that had an effect."""
    terminal.settle(SECOND_FRAME, 1)
    times: list[float] = []
    sizes: list[float] = []
    silent = 0
    for key in keys:
        if silent >= SILENT or terminal.ended:
            break
        taken, count = terminal.react(key)
        count += terminal.settle(SECOND_FRAME, 0.5)
        silent += not count
        if count:
            times.append(taken)
            sizes.append(float(count))
    return times, sizes


class Gone(Exception):
    """The program ended by itself; the text is the last line on its screen."""


def _open(command: list[str], quiet: float = 0.8) -> Terminal:
    """Start the program and wait until it has been silent for so many seconds. Raise Gone."""
    terminal = Terminal(command)
    terminal.settle_in(quiet, LONG_WAIT)
    if terminal.ended:
        lines = [line.strip() for line in terminal.shown().text.splitlines() if line.strip()]
        terminal.leave()
        raise Gone(lines[-1] if lines else "it said nothing")
    return terminal


def _answer(sample: Sample, command: list[str]) -> None:
    """Measure how long a key typed at once takes to show its effect; 0 ms where it was lost."""
    terminal = Terminal(command)
    terminal.send(HELP)
    terminal.until(HELP_SHOWN, LONG_WAIT)
    sample.start_cpu.append(terminal.cpu() * 1000)
    terminal.settle(0.3, LONG_WAIT)
    sample.answered.append(terminal.when(HELP_SHOWN))
    terminal.send(BACK)
    terminal.settle(0.2, 2)
    terminal.leave()


def _start_minimal(sample: Sample) -> None:
    """Measure how long the smallest program takes until its rows are on the screen."""
    terminal = Terminal(_minimal())
    terminal.until(MINIMAL_SHOWN, LONG_WAIT)
    sample.start_cpu.append(terminal.cpu() * 1000)
    terminal.settle(0.3, LONG_WAIT)
    sample.paint.append(terminal.first_paint())
    sample.content.append(terminal.when(MINIMAL_SHOWN))
    terminal.leave()


def _minimal() -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("minimal.py"))]


def _start(sample: Sample, command: list[str], text: str) -> None:
    terminal = _open(command, 2.0)  # a room that is still reading would be shown like that by the next one
    sample.paint.append(terminal.first_paint())
    sample.content.append(terminal.when(text))
    terminal.leave()


def _probe(sample: Sample, terminal: Terminal, layout: Layout, probes: int) -> None:
    """Measure how long a signal of another process takes until its text is sent to the terminal."""
    for number in range(probes):
        terminal.send(TOP)  # else the selection keeps its row, and new rows are above the visible ones
        terminal.settle(0.05, 0.5)
        token = _token(number)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = f'{{"id":"sig-{os.getpid()}-{number}","message":"{token}","created_at":"{stamp}"}}\n'
        begin = time.perf_counter()
        output = b""
        files.append(layout.signals, line.encode(), durable=False)
        while token.encode() not in output and time.perf_counter() - begin < 2:
            output += terminal.read(0.05)
        if token.encode() in output:
            sample.pixels.append((time.perf_counter() - begin) * 1000)


def _token(number: int) -> str:
    """Return a text that has no character where that of the number before has it: all of it is sent."""
    return "".join(chr(ord("A") + (3 * number + place) % 26) for place in range(10))


def _use(sample: Sample, terminal: Terminal, *, keys: int, rows: int) -> None:
    """Press keys in a list of so many rows, each with an effect: after one without, the next tick would count."""
    pages = max(1, keys // 3)
    turns = [PAGE_DOWN] * pages + [PAGE_UP] * pages if rows > pages * terminal.rows else [PAGE_DOWN, PAGE_UP] * pages
    for keys_of_a_kind, times_of_it, sizes, cpu in (
        ([DOWN, DOWN, UP, UP] * max(1, keys // 4), sample.cursor, sample.cursor_bytes, sample.cursor_cpu),
        (turns, sample.scroll, sample.scroll_bytes, sample.scroll_cpu),
    ):
        before = terminal.cpu()
        taken, counts = _keys(terminal, keys_of_a_kind)
        times_of_it += taken
        sizes += counts
        if taken:
            cpu.append((terminal.cpu() - before) * 1000 / len(taken))


def _use_in_turns(room: Sample, minimal: Sample, terminal: Terminal, *, keys: int, rows: int) -> None:
    """Press the same keys in the room and in the smallest program, in turns: both have the same load beside them."""
    other = _open(_minimal())
    _use(Sample(), other, keys=4, rows=MINIMAL_ROWS)
    _use(Sample(), terminal, keys=4, rows=rows)
    for _ in range(ROUNDS):
        _use(room, terminal, keys=keys // ROUNDS, rows=rows)
        _use(minimal, other, keys=keys // ROUNDS, rows=MINIMAL_ROWS)
    minimal.memory = other.memory()
    other.leave()


def _switches(terminal: Terminal, count: int) -> list[float]:
    """Return ms until the help screen is painted, without the way back: a program must wait for bytes after esc."""
    times = []
    for _ in range(count):
        times += _keys(terminal, [HELP])[0]
        terminal.send(BACK)
        terminal.settle(0.2, 2)
    return times


def bytes_of(terminal: Terminal, key: bytes) -> int:
    """Return the bytes of all frames that a key sets off; the shape of the mouse alone, before them, is none."""
    terminal.send(key)
    count, deadline = 0, time.perf_counter() + LONG_WAIT
    while count < NO_FRAME and time.perf_counter() < deadline:
        count += len(terminal.read(0.1))
    if count < NO_FRAME:
        raise TimeoutError(f"{key!r} was not answered in {LONG_WAIT:.0f} s")
    return count + terminal.settle(0.3, 3)


def _weigh(sample: Sample, terminal: Terminal, count: int, discoveries: int) -> None:
    """Count what a focus that moves, a dialog, a sheet and a verdict in triage send; verdicts need as many rows."""
    for turn in range(count):
        sample.focus_bytes.append(float(bytes_of(terminal, b"345612"[turn % 6 :][:1])))
        sample.opened_bytes.append(float(bytes_of(terminal, DIALOG)))
        sample.closed_bytes.append(float(bytes_of(terminal, BACK)))
        bytes_of(terminal, NEEDS)
        sample.back_bytes.append(float(bytes_of(terminal, BACK)))
    bytes_of(terminal, DISCOVERIES)
    for _ in range(min(count, discoveries)):
        sample.verdict_bytes.append(float(bytes_of(terminal, SNOOZE)))
    bytes_of(terminal, ENTER)  # takes what the last one offers: it would take the number of a pane for its answer


def _zoom_signals(terminal: Terminal) -> None:
    """Zoom the pane that has the focus. Raise RuntimeError where it is another one: its rows would be measured."""
    terminal.react(ZOOM)
    terminal.settle(SECOND_FRAME, 1)
    if ZOOMED not in terminal.shown().text:
        raise RuntimeError(f"not the signals are zoomed:\n{terminal.shown().text}")


def _idle(sample: Sample, terminal: Terminal, seconds: float) -> None:
    terminal.settle(0.5, 3)
    cpu = terminal.cpu()
    begin = time.perf_counter()
    count = 0
    while (remaining := begin + seconds - time.perf_counter()) > 0:
        count += len(terminal.read(remaining))
    sample.idle_bytes = count * 60 / seconds
    sample.idle_cpu = (terminal.cpu() - cpu) * 100 / seconds
    sample.memory = terminal.memory()


def sample_both(layout: Layout, nodes: int, signals: int, effort: Effort) -> tuple[Sample, Sample]:
    """Measure the room on a state folder of `make_state`, and the smallest Textual program in turns with it."""
    room, minimal = Sample(), Sample()
    command = _room(layout)
    first = Sample()
    _start(first, command, NEWEST)
    room.first = first.paint[0]
    for _ in range(effort.runs):
        _start_minimal(minimal)
        _start(room, command, NEWEST)
        _answer(room, command)
    terminal = _open(command)
    terminal.react(SIGNALS)
    _idle(room, terminal, effort.idle)  # before the probes: the ages of what just came count in seconds
    _weigh(room, terminal, effort.turns, open_discoveries(nodes))
    terminal.react(SIGNALS)
    _probe(room, terminal, layout, effort.probes)
    _zoom_signals(terminal)
    _use_in_turns(room, minimal, terminal, keys=effort.keys, rows=signals)
    room.switch = _switches(terminal, 10)
    terminal.leave()
    _end_engine(layout)
    return room, minimal


def _times(
    id: str, label: str, times: list[float], p50: float, p99: float, other: list[float] | None = None
) -> Iterator[Row]:
    """Yield two rows, p50 and p99; zeros in `times` mean that there was no reaction."""
    came = [taken for taken in times if taken]
    if not came:
        yield Row(id, label, skipped="nothing on the screen reacted")
        return
    late = f" ({len(times) - len(came)} of {len(times)} never came)" if len(came) < len(times) else ""
    name = MINIMAL if other else ""
    yield Row(id, f"{label}, p50{late}", share(came, 50), "ms", p50, False, name, share(other or [], 50))
    yield Row(id, f"{label}, p99", share(came, 99), "ms", p99, False, name, share(other or [], 99))


def _beside(id: str, label: str, ours: list[float], theirs: list[float], most: float) -> Iterator[Row]:
    """Yield how many times as long as the smallest program the room takes, medians, and at most is to take."""
    if ours and theirs:
        yield Row(id, label, share(ours, 50), other_name=MINIMAL, other=share(theirs, 50), most_ratio=most)


def _answer_rows(size: str, many: bool, room: Sample, minimal: Sample) -> Iterator[Row]:
    """Yield what a key costs that is typed at the start, beside the start of the other program, in time and in CPU."""
    label = f"a key typed at the start is answered, {size}"
    yield from _times("G2", label, room.answered, 330, 0)
    most = 1.5 if many else 1.25
    yield from _beside("G2", f"the same beside the other's start, {size}", room.answered, minimal.content, most)
    yield from _beside("G2", f"CPU of the same, {size}", room.start_cpu, minimal.start_cpu, 0)


def _key_rows(size: str, many: bool, room: Sample, minimal: Sample) -> Iterator[Row]:
    """Yield times to the first whole frame, and the CPU of all frames; without many rows there are no pages."""
    yield from _times("G3", f"cursor key to paint, {size}", room.cursor, 4, 10)
    yield from _beside("G3", f"the same beside the other's, {size}", room.cursor, minimal.cursor, 1.0)
    yield from _beside("G3", f"CPU of a cursor key, {size}", room.cursor_cpu, minimal.cursor_cpu, 0)
    if many:
        yield from _times("G3", f"page key to paint, {size}", room.scroll, 13, 25)
        yield from _beside("G3", f"the same beside the other's, {size}", room.scroll, minimal.scroll, 0.45)
        yield from _beside("G3", f"CPU of a page key, {size}", room.scroll_cpu, minimal.scroll_cpu, 0)
    yield from _times("G3", f"screen switch, {size}", room.switch, 0, 50)


def rows(size: str, many: bool, room: Sample, minimal: Sample) -> Iterator[Row]:
    """Yield the rows of one size; with `many` rows a list is longer than the screen."""
    yield Row("G1", f"first paint of the first room, {size}", room.first, "ms", 500)
    yield from _times("G1", f"first paint, {size}", room.paint, 0, 0, minimal.paint)
    yield from _times("G1", f"first real content, {size}", room.content, 40, 80, minimal.content)
    yield from _answer_rows(size, many, room, minimal)
    yield from _key_rows(size, many, room, minimal)
    yield from _times("G4", f"file to pixels, {size}", room.pixels, 12, 30)
    yield Row("G10", f"memory of the room, PSS, {size}", room.memory, "MiB", 64, False, MINIMAL, minimal.memory)
    yield Row("G11", f"idle, bytes a minute, {size}", room.idle_bytes, "B", 2000)
    for label, ours, theirs, goal in (
        ("cursor key", room.cursor_bytes, minimal.cursor_bytes, 700),
        ("page key", room.scroll_bytes, minimal.scroll_bytes, 13_000),
    ):
        if ours:
            name = f"bytes for a {label}, {size}"
            yield Row("G11", name, share(ours, 50), "B", goal, False, MINIMAL, share(theirs, 50))
    for label, counts, goal in (
        ("focus that moves", room.focus_bytes, 1500),
        ("dialog that opens", room.opened_bytes, 4000),
        ("dialog that closes", room.closed_bytes, 4000),
        ("sheet that is left with esc", room.back_bytes, 4000),
        ("verdict in triage", room.verdict_bytes, 4000),
    ):
        yield Row("G11", f"bytes for a {label}, {size}", share(counts, 50), "B", goal)
        yield Row("G11", f"the same at 9,600 baud, {size}", share(counts, 50) * 10 / 9600, "s")
    yield Row("G12", f"idle CPU of the room, {size}", room.idle_cpu, "%", 0.3)


def triage(folder: Path, newest: float) -> Iterator[Row]:
    """Yield the bytes of a whole triage, one discovery after the other; the last reason needs no digit."""
    store = Store(make_state(folder / "triage", nodes=0, signals=0, newest=newest).root)
    for number in range(TRIAGED):
        store.nodes.append({
            "id": f"mem-{number:04d}", "type": "discovery", "content": f"Module {number * 7919} is slow",
            "created_at": times.iso(newest - times.DAY + number), "metadata": {"priority": f"P{number % 4}"},
        })  # fmt: skip
    terminal = _open([sys.executable, "-m", "lumen_tui", "--state", str(store.root)])
    terminal.react(DISCOVERIES)
    terminal.react(ENTER)
    terminal.settle()
    count = 0
    for number in range(TRIAGED):
        count += terminal.react(b"l" if number % 2 else b"a" if number else b"a2")[1]
    terminal.send(ENTER)  # else the answer that the last verdict offers counts some seconds later
    decided, deadline = False, time.perf_counter() + LONG_WAIT
    while not decided and time.perf_counter() < deadline:
        count += terminal.settle(0.3, LONG_WAIT)
        decided = "All decided" in terminal.shown().text
    terminal.send(BACK)
    terminal.leave()
    _end_engine(store.layout)
    what = f"bytes of a triage of {TRIAGED}, one by one"
    yield Row("G11", what, count, "B") if decided else Row("G11", what, skipped="not all were decided")


def measure(folder: Path, newest: float, sizes: list[tuple[int, int]], effort: Effort) -> Iterator[Row]:
    """Yield the rows of all `sizes`, which are pairs of nodes and signals."""
    if reason := missing():
        for id in ("G1", "G2", "G3", "G4", "G10", "G11"):
            yield Row(id, "the room", skipped=reason)
        return
    if effort.triages:
        yield from triage(folder, newest)
    for nodes, signals in sizes:
        size = f"{nodes:,} + {signals:,}" if nodes != signals else f"{nodes:,} each"
        layout = make_state(folder / f"room-{nodes}-{signals}", nodes=nodes, signals=signals, newest=newest)
        try:
            samples = sample_both(layout, nodes, signals, effort)
            yield from rows(size, signals > MINIMAL_ROWS // 2, *samples)
        except Gone as last_words:
            yield Row("G1", f"the room, {size}", skipped=f"it ended by itself: {last_words}")
        finally:
            _end_engine(layout)
