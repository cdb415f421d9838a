"""A room with many keys and an engine with many beats: what they hold must not grow.

    python tests/tui/leaving/soak.py [TIMES [room|engine|day]]

A read-only room in a pseudo-terminal on a folder with content, and an engine on a clock that is moved on: TIMES keys
and TIMES beats (10,000). `day`, only where it is asked for, is a day of TIMES beats with ten new signals before each.
Prints a table of their memory and open files; the exit code is 0 where neither grew by more than 1 MiB behind the first
fifth, and no file was left open.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.engine import Engine
from lumen_tui.headless.engine_only import give_memory_back
from lumen_tui.model.records import Signal
from lumen_tui.model.times import DAY, iso
from lumen_tui.storage import files
from lumen_tui.storage.journal import encode
from lumen_tui.storage.store import Store

sys.path.append(str(Path(__file__).resolve().parents[2] / "support"))
import lumen_disk
from lumen_clock import HandClock, MovedClock
from lumen_filled import fill
from lumen_folder import StateFolder

TIMES, SAMPLES = 10_000, 20
LIMIT = 1024  # KiB by which the memory may grow behind the warm-up
# Bytes by which the index may grow for each signal, and the memory with it: four in an array, which grows ahead by
# a sixteenth, and one in a bytearray, which does so by an eighth.
_INDEXED = 4 * 17 / 16 + 9 / 8
FIRST = 5  # a fifth is warm-up: caches of a fixed size fill, modules are loaded
NEWS, DENSE = 100, 20  # beats from one round of news to the next, and in the warm-up
_BETWEEN = 900.0  # seconds between two beats
SIGNALS, _MORNING = 10, 1_800_000_000.0  # signals before each beat of a day, and when it begins
PROGRAM = [sys.executable, "-m", "lumen_tui"]
ESC = "\x1b"
# Panes and rows, every list and screen that opens from them, with what is typed into it; each ends in the room.
KEYS = (
    *("1", "2", "3", "4", "5", "6", "\t", "j", "j", "k", "G", "g", "z", "z"),
    *("3", "\r", ESC, "4", "\r", ESC, "5", "\r", ESC, "6", "x", ESC, "#", ESC, "w", ESC),
    *("J", ESC, "$", ESC, "?", "s", "i", ESC, ESC, ":", "b", "u", ESC, ESC, "S", "v", "a", "l", ESC, ESC),
    *("!", ESC, "F", ESC, "E", ESC, '"', ESC, "O", ESC, "L", ESC, "@", ESC, "H", ESC, "X", ESC, "h", ESC),
    *("/", "r", "e", ESC, ESC, "n", ESC, ESC, "N", ESC, ESC),
)


@dataclass
class Sample:
    """What one process holds after so many keys or beats."""

    count: int
    rss: int  # KiB
    pss: int
    files: int
    seconds: float


def sample(pid: int, count: int, began: float) -> Sample:
    """Look at a process."""
    sizes = dict(line.split(":") for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    rss, pss = (int(sizes[name].split()[0]) for name in ("Rss", "Pss"))
    return Sample(count, rss, pss, len(os.listdir(f"/proc/{pid}/fd")), time.monotonic() - began)


def ticks(pid: int) -> int:
    """The CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


class Room:
    """A read-only room in a pseudo-terminal."""

    def __init__(self, root: Path) -> None:
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:  # pragma: no cover - the child
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
            os.execv(sys.executable, [*PROGRAM, "--state", str(root), "--read-only"])  # noqa: S606

    def press(self, key: str) -> None:
        """Send a key and take in what it brings; one that brings nothing costs a moment."""
        os.write(self._terminal, key.encode())
        patience = 0.3
        while self._drain(patience):
            patience = 0.02

    def _drain(self, seconds: float) -> bytes:
        return os.read(self._terminal, 65536) if select.select([self._terminal], [], [], seconds)[0] else b""

    def rest(self) -> None:
        """Wait until the room has nothing more to do."""
        quiet = 0
        while quiet < 3:
            before = ticks(self.pid)
            while self._drain(0.2):
                pass
            quiet = quiet + 1 if ticks(self.pid) - before <= 1 else 0

    def end(self) -> None:
        os.kill(self.pid, signal.SIGTERM)
        ends = time.monotonic() + 10
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > ends:
                os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):  # its end of the terminal goes a moment before it
                self._drain(0.05)


def soak_room(root: Path, times: int) -> Iterator[Sample]:
    """Press keys, and look at the room now and then."""
    fill(root)
    room, began = Room(root), time.monotonic()
    try:
        room.rest()
        yield sample(room.pid, 0, began)
        for count, key in enumerate(itertools.islice(itertools.cycle(KEYS), times), start=1):
            room.press(key)
            if count % (times // SAMPLES) == 0:
                room.rest()
                yield sample(room.pid, count, began)
    finally:
        room.end()


def news(store: Store, number: int, now: float) -> None:
    """What comes in: a signal, a discovery, a task, a fact that is noted already, words for the engine."""
    do = StateFolder(store.root, now).do
    do("signal.send", message=f"round {number}", priority="P0" if number % (5 * NEWS) == 0 else "")
    do("node.create", content=f"a leak under sink {number}", priority="P2")
    do("task.new", objective="What are the 5 largest files in /etc/ssl?")
    do("engine.pause", reason="a look")
    try:
        do("fact.add", claim="the settings are there", probes=[f"file {store.layout.config}"])
    except ActionError:
        pass  # noted in an earlier round


async def beats(root: Path, times: int) -> None:
    """In a process of its own: say a line at each sample, and go on once one is read."""
    clock, store = MovedClock(), Store(root)
    give_memory_back()  # as the program does
    engine = Engine.open(root, clock)
    try:
        for count in range(times + 1):
            place = count % (DENSE if count < times // FIRST else NEWS)
            if place == 0 and count < times:
                news(store, count, clock.now())
            if place == 2:
                perform(store, named("engine.resume", {}), by="soak", now=clock.now())
            engine.beat(clock.now())
            if place < 4:
                await at_rest(engine)  # workers live in real time: by the moved clock they would be late, and fail
            clock.pass_time(_BETWEEN)
            if count % (times // SAMPLES) == 0:
                await at_rest(engine)
                say(str(count))
                sys.stdin.readline()
    finally:
        await engine.supervisor.wait_for_endings()
        engine.close("done")


async def at_rest(engine: Engine) -> None:
    """Let workers, probes and learning come to their end."""
    while engine.supervisor.index.running() or engine.freshness.busy:
        await asyncio.sleep(0.01)
        engine.poll(engine.clock.now())
    await engine.learning.settled()


async def day(root: Path, times: int) -> None:
    """In a process of its own: a day of so many beats, with ten signals before each."""
    lumen_disk.never_wait()
    clock = HandClock(_MORNING)
    give_memory_back()  # as the program does
    engine = Engine.open(root, clock)
    for count in range(times + 1):
        at = iso(clock.now())
        lines = [encode(Signal(f"sig-{count:09}{number:04}", f"beat {count}", at)) for number in range(SIGNALS)]
        files.append(engine.store.layout.signals, b"".join(lines))
        engine.beat(clock.now())
        clock.wall += DAY / times
        if count % (times // SAMPLES) == 0:
            say(str(count))
            sys.stdin.readline()
    engine.close("done")


def soak_engine(root: Path, times: int) -> Iterator[Sample]:
    """Let an engine beat, and look at it now and then."""
    return _sampled("--beats", root, times)


def soak_day(root: Path, times: int) -> Iterator[Sample]:
    """Let an engine live a day, and look at it now and then."""
    return _sampled("--day", root, times)


def _sampled(which: str, root: Path, times: int) -> Iterator[Sample]:
    root.mkdir(mode=0o700)
    words, began = [sys.executable, __file__, which, str(root), str(times)], time.monotonic()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin and child.stdout
        for line in child.stdout:
            yield sample(child.pid, int(line), began)
            child.stdin.write("on\n")
            child.stdin.flush()


def told(what: str, taken: Iterator[Sample], times: int) -> bool:
    """Print the table of one soak; whether nothing grew."""
    say(f"\n{what.split()[0]:>8}  RSS KiB  PSS KiB  open files  seconds")
    rows = []
    for one in taken:
        rows.append(one)
        say(f"{one.count:8}  {one.rss:7}  {one.pss:7}  {one.files:10}  {one.seconds:7.0f}")
    warm = [one for one in rows if one.count >= times // FIRST]
    if not warm or rows[-1].count < times:
        say(f"it ended before its time, at {rows[-1].count if rows else 0} {what}")
        return False
    grown, opened = warm[-1].rss - warm[0].rss, warm[-1].files - warm[0].files
    pss = warm[-1].pss - warm[0].pss
    say(f"behind the first {warm[0].count} {what}: {grown:+} KiB RSS, {pss:+} KiB PSS, {opened:+} open files")
    index = indexed(warm[-1].count - warm[0].count) if what == "beats of a day" else 0
    if index:
        say(f"of it {index} KiB are the index of the signals")
    return grown < LIMIT + index and opened <= 0


def indexed(times: int) -> int:
    """Return the KiB by which the index of the signals grows in so many beats of a day."""
    return int(_INDEXED * SIGNALS * times / 1024)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    if inner := {"--beats": beats, "--day": day}.get(sys.argv[1] if sys.argv[1:] else ""):
        asyncio.run(inner(Path(sys.argv[2]), int(sys.argv[3])))
        return 0
    times, only = int(sys.argv[1]) if sys.argv[1:] else TIMES, sys.argv[2:]
    soaks: dict[str, tuple[str, Callable[[Path, int], Iterator[Sample]]]] = {
        "room": ("keys", soak_room), "engine": ("beats", soak_engine), "day": ("beats of a day", soak_day),
    }  # fmt: skip
    folder, held = Path(tempfile.mkdtemp(prefix="lumen-soak-")), True
    try:
        for name, (what, soak) in soaks.items():
            if name in (only or ("room", "engine")):
                held &= told(what, soak(folder / name, times), times)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
