"""A room that is told to end, or whose terminal goes: is it gone, is its terminal as it was, is anything left behind?

    python tests/tui/leaving/hangups.py [TIMES]

Every way to end under every process that may lead its session, so many times each, on real pseudo-terminals; and a real
sshd on the loopback where there is one. Prints a table; the exit code is 0 where every line holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout

sys.path += [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "support")]
import loopback as sshd
from loopback import Loopback, loopback
from lumen_until import until

REPO = Path(__file__).resolve().parents[3]
MARK = "LUMEN_LEAVING"
SOON = 1.0  # seconds in which a room is gone; only the table holds it to that, since a loaded machine tells nothing
FULL = 3500  # bytes that wait in a terminal that takes no more
TICKS = os.sysconf("SC_CLK_TCK")
PROGRAM = [sys.executable, "-m", "lumen_tui"]


def marked(mark: str) -> dict[int, str]:
    """The command lines, by pid, of all processes that carry this mark in their environment."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                if f"{MARK}={mark}".encode() in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found[int(name)] = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    return {pid: words for pid, words in found.items() if words}  # a zombie has none


def ticks(pid: int) -> int:
    """The CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def is_room(words: str) -> bool:
    program, _, rest = words.partition(" ")
    return "python" in program and not any(
        word in rest for word in ("--engine-only", "zygote", "headless.demo", "worker")
    )


@dataclass
class Opened:
    """One room, below whatever leads its session. `terminal` is our end of it; -1 where it is another program's."""

    words: list[str]
    rows: int = 40
    columns: int = 120
    reads: bool = True  # whether anybody looks at what the room writes
    environ: dict[str, str] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    leader: int = 0
    room: int = 0
    terminal: int = -1
    sent: bytes = b""

    def __enter__(self) -> Opened:
        self.leader, self.terminal = pty.fork()
        if self.leader == 0:  # pragma: no cover - the child
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))
            os.chdir(REPO)
            os.execvpe(self.words[0], self.words, environ(self.mark, **self.environ))  # noqa: S606
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.before = termios.tcgetattr(self.terminal)
        return self

    def __exit__(self, *_: object) -> None:
        for pid in marked(self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.leader, 0)

    def _read(self) -> None:
        while self.terminal >= 0:
            if not self.reads:
                time.sleep(0.01)
                continue
            with contextlib.suppress(OSError, ValueError):
                if select.select([self.terminal], [], [], 0.05)[0]:
                    self.sent += os.read(self.terminal, 65536)

    def open(self) -> Opened:
        """Wait until the room has taken the terminal over."""
        until(self._find, self._instead)
        return self

    def _instead(self) -> str:
        lines = [f"{pid} {words}: {standing(pid)}" for pid, words in marked(self.mark).items()]
        try:
            names = Path(f"/proc/{self.leader}/environ").read_bytes().count(b"\0")
            leader = f"leader {self.leader}: {names} variables, marked: {self.leader in marked(self.mark)}"
        except OSError as error:
            leader = f"leader {self.leader}: {error}"
        seen = f"sent {len(self.sent)} bytes: {self.sent[-400:]!r}"
        return "\n".join([*lines, f"room: {self.room}", leader, seen])

    def _find(self) -> bool:
        rooms = [pid for pid, words in marked(self.mark).items() if is_room(words)]
        self.room = rooms[0] if rooms else 0
        return bool(rooms) and takes_keys(self.room)

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        """What a dropped connection and a closed window do."""
        if self.terminal >= 0:
            last, self.terminal = self.terminal, -1
            self._reader.join()
            os.close(last)

    def gone(self) -> bool:
        """Whether no process is left of all that was started here."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.leader, os.WNOHANG)
        return not self.left()

    def left(self) -> dict[int, str]:
        """What is left of it, as `marked` returns it."""
        return marked(self.mark)

    def unread(self) -> int:
        """Bytes that wait to be read."""
        return int.from_bytes(fcntl.ioctl(self.terminal, termios.FIONREAD, bytes(4)), sys.byteorder)

    def restored(self) -> bool:
        """Whether the terminal has its modes, its own screen and its cursor again."""
        return termios.tcgetattr(self.terminal) == self.before and left_screen(self.sent)


def left_screen(sent: bytes) -> bool:
    """Whether what was written ends on the terminal's own screen, with a cursor, or never left it."""
    last = sent.rfind
    return all(last(off) >= last(on) for on, off in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h")))


class Drain:
    """Reads a terminal all the time."""

    def __init__(self, fd: int) -> None:
        self._fd, self._ends, self.all = fd, False, b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ends:
            if select.select([self._fd], [], [], 0.05)[0]:
                self.all += os.read(self._fd, 65536)

    def stop(self) -> None:
        self._ends = True
        self._thread.join()


def environ(mark: str, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR", "TMUX")}
    return {**kept, "TERM": "xterm-256color", MARK: mark, **more}


def takes_keys(pid: int) -> bool:
    """Whether the room's driver has set the terminal behind its standard input."""
    try:
        fd = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not termios.tcgetattr(fd)[3] & termios.ISIG
    except termios.error:
        return False
    finally:
        os.close(fd)


def standing(pid: int) -> str:
    """What a process does, and how the terminal behind its standard input is set, for a failure."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        fd = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        return str(error)
    terminal = os.readlink(f"/proc/self/fd/{fd}")
    said = f"state {state[0]}, parent {state[1]}, group {state[2]} of {state[5]}, input {terminal}"
    try:
        return f"{said}, local modes {termios.tcgetattr(fd)[3]:#o}"
    except termios.error as error:
        return f"{said}, {error}"
    finally:
        os.close(fd)


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A state folder with a few rows in it."""
    with tempfile.TemporaryDirectory(prefix="lumen-leaving-") as place:
        root = Path(place) / "state"
        Layout(root).create()
        RemotePort(root, "me").submit(CreateNode(content="something noticed", priority="P2"))
        yield root


def room(root: Path) -> list[str]:
    """The words of a room that starts no engine: what is left behind is the room's own."""
    return [*PROGRAM, "--read-only", "--state", str(root)]


def make(root: Path) -> list[str]:
    return ["make", "-s", "run", f"ARGS=--read-only --state {root}"]


LEADERS: dict[str, Callable[[Path], list[str]]] = {
    "the room": room,
    "sh": lambda root: ["sh", "-c", f"{shlex.join(room(root))}; true"],
    "bash, HUP ignored": lambda root: ["bash", "-c", f"trap '' HUP; {shlex.join(room(root))}; true"],
    "make": make,
    "bash, make": lambda root: ["bash", "-c", f"{shlex.join(make(root))}; true"],
    "tmux": lambda root: ["sh", "-c", f"{shlex.join(in_tmux(root))}; true"],
    "sudo": lambda root: ["sudo", "-n", f"--preserve-env={MARK}", *room(root)],
    "PID 1": lambda root: ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *room(root)],
}  # fmt: skip
"""What leads the session. PID 1 is that of a namespace, as in a container."""


def in_tmux(root: Path) -> list[str]:
    return ["tmux", "-f", "/dev/null", "-S", str(root.parent / "tmux"), "new", shlex.join(room(root))]


def signalled(number: signal.Signals) -> Callable[[Opened, Path], None]:
    return lambda opened, _: os.kill(opened.room, number)


def closed(opened: Opened, root: Path) -> None:
    if (socket := root.parent / "tmux").exists():  # whose server has the terminal, and outlives its client
        subprocess.run(["tmux", "-S", str(socket), "kill-server"], check=True)
    opened.close()


def leader_killed(opened: Opened, root: Path) -> None:
    os.kill(opened.leader, signal.SIGKILL)
    if (root.parent / "tmux").exists():
        for pid, words in marked(opened.mark).items():
            if words.startswith("tmux"):
                os.kill(pid, signal.SIGKILL)


WAYS: dict[str, Callable[[Opened, Path], None]] = {
    "the terminal goes": closed,
    "the leader is killed": leader_killed,
    "HUP": signalled(signal.SIGHUP),
    "TERM": signalled(signal.SIGTERM),
    "INT": signalled(signal.SIGINT),
}
SIZES = {"40x120": (40, 120), "0x0": (0, 0), "0x80": (0, 80)}


def lacking(leader: str) -> str:
    """Why this cannot be tried here, or the empty string."""
    if leader.startswith("sshd"):
        return sshd.lacking()
    program = {"sudo": "sudo", "tmux": "tmux", "PID 1": "unshare"}.get(leader, "sh")
    if shutil.which(program) is None:
        return f"{program} is not installed"
    tries = {"sudo": ["sudo", "-n", "true"], "PID 1": ["unshare", "--pid", "--fork", "--mount-proc", "true"]}
    if leader in tries and subprocess.run(tries[leader], capture_output=True, check=False).returncode:
        return f"{program} is not allowed here"
    return ""


def once(leader: str, way: str, size: str) -> float:
    """Open one room and end it; returns the seconds until all is gone."""
    rows, columns = SIZES[size]
    with folder() as root, Opened(LEADERS[leader](root), rows, columns) as opened:
        opened.open()
        began = time.monotonic()
        WAYS[way](opened, root)
        until(opened.gone, opened.left)
        took = time.monotonic() - began
        if opened.terminal >= 0 and way != "the leader is killed":
            until(opened.restored)
        return took


def unread() -> float:
    """TERM where nobody reads what the room writes, so that it waits to write, and hears nothing else."""
    with folder() as root, Opened(room(root)) as opened:
        opened.open().reads = False
        until(lambda: filled(opened))
        began = time.monotonic()
        os.kill(opened.room, signal.SIGTERM)
        until(lambda: opened.room not in marked(opened.mark))
        took = time.monotonic() - began
        opened.reads = True
        until(opened.restored)
        return took


def filled(opened: Opened) -> bool:
    """Let the room draw all anew some times; whether that brings nothing more."""
    before = opened.unread()
    for rows in (30, 45) * 3:
        opened.resize(rows, 200)
        time.sleep(0.05)
    return opened.unread() == before > FULL


def end_of_input() -> float:
    """Standard input ends, and the terminal that the room draws on is still there."""
    drawn, its = pty.openpty()
    words = [*PROGRAM, "--read-only", "--state"]
    try:
        with folder() as root, Opened(["sh", "-c", f"{shlex.join([*words, str(root)])} >{os.ttyname(its)}"]) as opened:
            sent = Drain(drawn)
            opened.open()
            began = time.monotonic()
            opened.close()
            until(opened.gone, opened.left)
            took = time.monotonic() - began
            until(lambda: left_screen(sent.all))
            return took
    finally:
        sent.stop()
        os.close(drawn)
        os.close(its)


EDITOR = "#!/bin/sh\ntrap '' HUP TERM INT\necho EDITING\nwhile :; do read line || sleep 0.05; done\n"


def in_the_editor(way: str) -> float:
    """While an editor that heeds nothing has the terminal."""
    with folder() as root:
        program = root.parent / "editor"
        program.write_text(EDITOR)
        program.chmod(0o700)
        driving = locks.try_lock(Layout(root).engine_lock)  # so that no engine is started, and stays
        with Opened([*PROGRAM, "--state", str(root)], environ={"EDITOR": str(program), "VISUAL": ""}) as opened:
            opened.open()
            until(lambda: b"something noticed" in opened.sent)
            opened.type("5e")
            until(lambda: b"EDITING" in opened.sent)
            took = ended(opened, way, root)
        os.close(driving or -1)
        return took


def ended(opened: Opened, way: str, root: Path) -> float:
    """End it in this way; the seconds until nothing of it was left."""
    began = time.monotonic()
    WAYS[way](opened, root)
    until(opened.gone, opened.left)
    took = time.monotonic() - began
    if opened.terminal >= 0:
        until(opened.restored)
    return took


def early(way: str, seconds: float) -> float:
    """So soon after the start, at whatever the room is by then."""
    with folder() as root, Opened(room(root)) as opened:
        time.sleep(seconds)
        opened.room = opened.leader
        return ended(opened, way, root)


def demo(way: str, *, filling: bool = False) -> float:
    """A demo takes its engine, its workers and its folder along. Returns the seconds until its room is gone."""
    place = Path(tempfile.mkdtemp(prefix="lumen-leaving-"))
    with Opened([*PROGRAM, "--demo"], environ={"TMPDIR": str(place)}) as opened:
        if filling:
            until(lambda: list(place.glob("*/state")))
            opened.room = opened.leader
        else:
            opened.open()
            until(lambda: any("--engine-only" in words for words in marked(opened.mark).values()))
        began = time.monotonic()
        WAYS[way](opened, place)
        until(lambda: opened.room not in marked(opened.mark))
        took = time.monotonic() - began
        until(opened.gone, opened.left)
        if opened.terminal >= 0 and way != "the leader is killed":
            until(opened.restored)
    left = [path.name for path in place.glob("lumen-demo-*")]
    shutil.rmtree(place)
    if left:
        raise AssertionError(f"{left} is left")
    return took


def still(size: str) -> None:
    """A room on a terminal of no size draws nothing and burns nothing, and draws once there is a size."""
    with folder() as root, Opened(room(root), *SIZES[size]) as opened:
        opened.open()
        until(lambda: resting(opened.room))
        if b"noticed" in opened.sent:
            raise AssertionError("it draws")
        opened.resize(40, 120)
        until(lambda: b"something noticed" in opened.sent)


def resized_at_once() -> None:
    """A room whose terminal changes its size while it opens draws in the new one, and rests."""
    with folder() as root, Opened(room(root)) as opened:
        redrawn(opened.open())


def resting(pid: int) -> bool:
    """Whether a process uses less than a tenth of a processor."""
    before = ticks(pid)
    time.sleep(0.5)
    return ticks(pid) - before <= TICKS * 0.05


def client_killed(opened: Opened, server: Loopback) -> None:
    os.kill(opened.leader, signal.SIGKILL)


def session_killed(opened: Opened, server: Loopback) -> None:
    server.drop()


def resized(opened: Opened, server: Loopback) -> None:
    """Not an end: the room draws in another size, rests, and is left by its key."""
    redrawn(opened)
    opened.type("q")


def redrawn(opened: Opened) -> None:
    """Give the terminal another size, also while the room opens."""
    opened.resize(50, 150)
    until(lambda: b"something noticed" in opened.sent)
    until(lambda: resting(opened.room))


SSH_WAYS: dict[str, Callable[[Opened, Loopback], None]] = {
    "the client is killed": client_killed,
    "the session of sshd is killed": session_killed,
    "the client's terminal goes": lambda opened, _: opened.close(),
    "another size, then q": resized,
}


def over_ssh(way: str, size: str = "40x120") -> float:
    """`ssh -tt host make run`. The mark travels with the connection, so all that was started there carries it."""
    mark = uuid.uuid4().hex
    with folder() as root, loopback() as server:
        command = f"cd {shlex.quote(str(REPO))} && TERM=xterm-256color exec {shlex.join(make(root))}"
        with Opened(server.words(command, MARK), *SIZES[size], mark=mark) as opened:
            opened.open()
            began = time.monotonic()
            SSH_WAYS[way](opened, server)
            until(opened.gone, opened.left)
            return time.monotonic() - began


def rows() -> Iterator[tuple[str, str, str, Callable[[], float]]]:
    """Every line of the table: leader, way, size, and what to do."""
    for leader in LEADERS:
        for way in WAYS:
            for size in SIZES:
                yield leader, way, size, partial(once, leader, way, size)
    for way in ("the terminal goes", "HUP", "TERM"):
        yield "the room, with an editor", way, "40x120", partial(in_the_editor, way)
    for way in WAYS:
        yield "a demo", way, "40x120", partial(demo, way)
    for way in ("the terminal goes", "TERM", "INT"):
        yield "a demo that is filled", way, "40x120", partial(demo, way, filling=True)
        for step in range(1, 8):
            yield f"the room, after {step * 60} ms", way, "40x120", partial(early, way, step * 0.06)
    yield "the room, unread", "TERM", "40x120", unread
    yield "the room", "standard input ends", "40x120", end_of_input
    for way in SSH_WAYS:
        yield "sshd, make", way, "40x120", partial(over_ssh, way)
    yield "sshd, make", "the client is killed", "0x0", partial(over_ssh, "the client is killed", "0x0")


def main() -> int:
    """Print the table; 1 where a line does not hold."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    wanted = sys.argv[2:]
    say(f"{'led by':28} {'what happens':30} {'size':8} {'times':>5} {'mean s':>7} {'worst s':>8}")
    broken = 0
    for leader, way, size, act in rows():
        if wanted and not any(word in f"{leader} {way} {size}" for word in wanted):
            continue
        if why := lacking(leader):
            say(f"{leader:28} {way:30} {size:8} not tried: {why}")
            continue
        took, why = several(act, times)
        broken += bool(why)
        figures = f"{len(took):5} {sum(took) / len(took):7.2f} {max(took):8.2f}" if took else f"{0:5}"
        say(f"{leader:28} {way:30} {size:8} {figures} {why}")
    return 1 if broken else 0


def several(act: Callable[[], float], times: int) -> tuple[list[float], str]:
    took: list[float] = []
    try:
        for _ in range(times):
            took.append(act())
    except AssertionError as failed:
        return took, f"FAILED: {failed}"
    return took, f"more than {SOON:.0f} s" if max(took) > SOON else ""


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
