"""SIGKILL of engine, worker, zygote, room and command line at random under load; every task ends exactly once.

What the model calls cost is counted once, and the day's cap, which is reached and raised now and then, is never passed.
What a command was asked to write is there exactly once, and what was typed into a room never twice.

    python tests/engine/supervisor/hammer.py SECONDS [SEED]

Real processes, and the vendor's SDK against a local server, in a folder below /var/tmp. Exit code 0 where all holds.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import budget
from lumen_tui.model.requests.engine import RaiseBudget
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.storage import lease, locks, process
from lumen_tui.storage.layout import Layout
from lumen_tui.store.ledger import ledger
from lumen_tui.store.settings.config import load_config

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parents[1] / "apiserver")]

from lumen_apiserver import Answer, ApiServer, Request, fail, text, tool  # noqa: E402
from pressed import WRITER, RoomUser  # noqa: E402
from shells import Shells, token  # noqa: E402
from spendreplay import Asked, Replay, replay, unreserved  # noqa: E402

CAP = 150_000  # tokens of a day, and each time that it is raised
SETTINGS = f"""
[heartbeat]
settle_seconds = 0.2
[workers]
limit = 4
retries = 10
deaths = 0
[models.endpoints.anthropic]
max_output = 1500
[budget]
day_tokens = {CAP}
day_usd = 0
"""
TOOLS = (
    ("list_dir", {"path": "/usr/lib"}),
    ("disk_usage", {"path": "/usr/share/doc"}),
    ("shell", {"command": "ls /etc"}),
)
MAIN = "deposit"  # a tool that only the main agent has
WAITS = 1.0  # seconds for which somebody waits before the cap is raised
OPEN_TASKS = 10  # that are waiting or running at once
SHELLS = 2  # that give commands, one after the other
PATIENCE = 120.0  # seconds in which one of the rest must end once nothing is killed any more, however busy the machine


class Hammer:
    """One state folder under fire."""

    def __init__(self, root: Path, seed: int, open_tasks: int) -> None:
        self.root, self.layout, self.open_tasks = root, Layout(root), open_tasks
        self.layout.create()
        self.layout.config.write_text(SETTINGS)
        self.random = random.Random(seed)  # noqa: S311
        self.port = RemotePort(root, "hammer")
        self.engine: subprocess.Popen[bytes] | None = None
        self.kills: Counter[str] = Counter()
        self.made: list[str] = []
        self.jobs: dict[str, str] = {}  # a number that stands in the objective -> the task
        self.asked: list[Asked] = []
        self.full_since = 0.0
        self.ledger = ledger.Ledger(self.layout)
        self.chance = random.Random(seed + 1)  # noqa: S311 - of the server's threads
        self.server = ApiServer()
        self.server.on_request = self.note
        self.server.otherwise(self.answer)
        self.shells = Shells(SHELLS, root, seed + 2)
        self.rooms = RoomUser(root, seed + 9, self.server.anthropic_env)

    def note(self, request: Request) -> None:
        if request.kind == "messages":
            size = self.layout.spend.stat().st_size if self.layout.spend.exists() else 0
            self.asked.append(Asked(job_of(request), size))

    def answer(self, request: Request) -> Answer:
        """Two tools and an answer, and now and then a server that is not well."""
        how = {"first_byte": self.chance.uniform(0, 0.15)}
        weather = self.chance.random()
        if weather < 0.08:
            return fail(429 if weather < 0.04 else 529, retry_after=0.05)
        if weather < 0.12:
            return text("It is cut here, in the middle of a sentence that goes on.", cut_after=4, **how)
        if not job_of(request) or len(request.called) >= 2:
            return text("There are five of them: the list stands above.", **how)
        name, arguments = self.chance.choice(TOOLS)
        return tool(name, arguments, how=how)

    def raise_cap(self) -> None:
        """More for today, once somebody has waited a while, or nothing may start: who waited may have been killed."""
        book, limits = self.ledger.refresh(), load_config(self.layout)[0].budget
        if not book.waits and not budget.blocked(book, limits, budget.day_of(time.time(), limits.day_starts)):
            self.full_since = 0.0
        elif not self.full_since:
            self.full_since = time.monotonic()
        elif time.monotonic() - self.full_since > WAITS:
            self.port.submit(RaiseBudget(tokens=CAP, reason="the hammer goes on"))
            self.full_since = 0.0

    def run(self, seconds: float) -> None:
        """Load and kills for that long."""
        ends = time.monotonic() + seconds
        self.shells.start()
        self.rooms.start()
        while time.monotonic() < ends:
            self.keep_engine()
            self.feed()
            self.raise_cap()
            time.sleep(self.random.uniform(0.02, 0.6))
            self.kill_one()

    def keep_engine(self) -> None:
        if self.engine is None or self.engine.poll() is not None:
            self.engine = subprocess.Popen(
                [sys.executable, "-m", "lumen_tui", "--engine-only", "--state", str(self.root)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**os.environ, **self.server.anthropic_env},
            )  # fmt: skip

    def feed(self) -> None:
        folders = [path.parent for path in self.layout.tasks.glob("[!.]*/spec.json")]
        waiting = sum(not (folder / "exit.json").exists() for folder in folders)
        for _ in range(self.open_tasks - waiting):
            job = str(len(self.made))
            objective = f"Job #{job}: what are the 5 largest files in /usr/lib?"
            self.made.append(self.port.submit(NewTask(objective=objective)).target)
            self.jobs[job] = self.made[-1]

    def kill_one(self) -> None:
        what = self.random.choices(("engine", "worker", "zygote"), (10, 50, 35))[0]
        found = list(getattr(self, f"{what}s")())
        if found:
            kill(self.random.choice(found))
            self.kills[what] += 1

    def engines(self) -> Iterator[int]:
        """The one that drives: ours, or one that the room started."""
        if lease.is_held(self.layout):
            yield lease.read_lease(self.layout).pid

    def workers(self) -> Iterator[int]:
        for path in self.layout.tasks.glob("*/run.json"):
            try:
                run = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
            if run.get("pid") and locks.is_locked(path.parent / "run.lock"):
                yield run["pid"]

    def zygotes(self) -> Iterator[int]:
        for engine in self.engines():
            yield from children(engine, "lumen-zygote")

    def settle(self) -> None:
        """Kill nothing more, and wait until all have ended."""
        self.rooms.end()
        self.shells.end()
        self.kills.update(room=self.rooms.kills, command=self.shells.kills)
        self.jobs |= self.shells.jobs
        self.made += self.shells.jobs.values()
        ends, before = time.monotonic() + PATIENCE, -1
        while (left := self.not_over()) and time.monotonic() < ends:
            self.keep_engine()
            self.raise_cap()
            if left != before:
                ends, before = time.monotonic() + PATIENCE, left
            time.sleep(0.1)
        self.end_engines()

    def end_engines(self) -> None:
        """End the engine that drives, and ours, which may have been started a moment ago and drive not yet."""
        asked: set[int] = set()
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            left = {*self.engines()}
            if self.engine is not None and self.engine.poll() is None:
                left.add(self.engine.pid)
            if not left:
                return
            for pid in left - asked:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            asked |= left
            time.sleep(0.05)

    def not_over(self) -> int:
        """How many tasks have not ended, and what else is to come."""
        open_tasks = sum(self.exit_of(task_id) is None for task_id in self.made)
        return open_tasks + self.uncollected() + self.left_open()

    def folders(self, task_id: str) -> list[Path]:
        live = self.layout.tasks / task_id
        return [live] * live.exists() + list(self.layout.archive.glob(f"*/*/{task_id}"))

    def exit_of(self, task_id: str) -> dict[str, object] | None:
        for folder in self.folders(task_id):
            if (folder / "exit.json").exists():
                found: dict[str, object] = json.loads((folder / "exit.json").read_bytes())
                return found
        return None

    def uncollected(self) -> bool:
        return any(not (folder / "collected.json").exists() for name in self.made for folder in self.folders(name))

    def left_open(self) -> bool:
        """Whether there are holds of workers that are gone."""
        return any(not process.is_same(ledger.owner(hold)) for hold in self.ledger.refresh().open.values())

    def replay(self) -> Replay:
        return replay(self.layout.spend, CAP)

    def spend_faults(self) -> list[str]:
        """What does not hold of the ledger."""
        told, book = self.replay(), ledger.Ledger(self.layout).refresh()
        faults = told.faults + unreserved(self.layout.spend, self.asked, self.jobs)
        for day, total in book.days.items():
            if total.tokens != told.spent[day]:
                faults.append(f"the totals say {total.tokens:,} tokens, the lines {told.spent[day]:,}")
        return faults + [f"{call} is set aside by nobody" for call in told.held]

    def faults(self) -> list[str]:
        """What does not hold."""
        found = [fault for task_id in self.made for fault in self.task_faults(task_id)]
        events = [json.loads(line) for path in (self.layout.earlier_events, self.layout.events) for line in lines(path)]
        told = Counter(event["task_id"] for event in events if event["kind"] == "task_ended")
        found += [f"{name}: its end was told {told[name]} times" for name in self.made if told[name] != 1]
        numbers = [event["seq"] for event in events]
        found += ["events.jsonl: a number comes twice or goes back"] * (numbers != sorted(set(numbers)))
        loops = [json.loads(line)["loop"] for line in lines(self.layout.packets)]
        found += [f"loops: {loops}"] * (loops != sorted(set(loops)))
        ends = time.monotonic() + 15
        while (left := left_over(self.root)) and time.monotonic() < ends:
            time.sleep(0.1)
        found += self.spend_faults() + self.rooms.faults + self.shells.faults() + self.strangers()
        return found + [f"a process is left: {pid}, {words_of(pid)}" for pid in left]

    def strangers(self) -> list[str]:
        """Tasks that nobody gave, or that were given once and made twice."""
        there = {path.parent.name for path in self.layout.tasks.rglob("tsk-*/spec.json")}
        return [f"{name} was not asked for" for name in sorted(there - set(self.made))]

    def task_faults(self, task_id: str) -> Iterator[str]:
        folders = self.folders(task_id)
        if len(folders) != 1:
            yield f"{task_id} stands in {len(folders)} places"
            return
        if self.exit_of(task_id) is None:
            yield f"{task_id} has not ended: {sorted(path.name for path in folders[0].iterdir())}"
        events = [json.loads(line) for line in lines(folders[0] / "events.jsonl")]
        attempts = [event.get("attempt", 1) for event in events]
        if attempts != sorted(attempts):
            yield f"{task_id}: two workers wrote at the same time: {attempts}"
        for kind in ("started", "finished"):
            twice = Counter(event.get("attempt", 1) for event in events if event["kind"] == kind)
            yield from (f"{task_id}: attempt {attempt} {kind} {n} times" for attempt, n in twice.items() if n > 1)


def job_of(request: Request) -> str:
    """The number of the job; empty where the main agent asks."""
    found = re.search(r"Job #(\d+):", request.first_text)
    return found[1] if found and MAIN not in request.tool_names else ""


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def children(parent: int, name: str) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(errors="replace")
        except OSError:
            continue
        comm, fields = text[text.index("(") + 1 : text.rindex(")")], text.rpartition(")")[2].split()
        if comm == name and fields[0] != "Z" and int(fields[1]) == parent:
            yield int(path.parent.name)


def left_over(root: Path) -> list[int]:
    """Processes that work in the folder: their current folder or a word of their command line lies in it."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if (str(root).encode() in words or _is_in(path / "cwd", root)) and int(path.name) != os.getpid():
            found.append(int(path.name))
    return found


def _is_in(link: Path, folder: Path) -> bool:
    try:
        return os.readlink(link).startswith(str(folder))
    except OSError:  # gone, or a worker, which shows that to root alone
        return False


def words_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "gone now"


def lines(path: Path) -> list[bytes]:
    """The whole lines that can be read; a line that a kill tore is no record."""
    good = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            json.loads(line)
        except ValueError:
            continue
        good.append(line)
    return good


def hammer(seconds: float, seed: int, open_tasks: int = OPEN_TASKS) -> tuple[Hammer, list[str]]:
    """All of it; the hammer and what does not hold."""
    root = Path(tempfile.mkdtemp(prefix="lumen-hammer-", dir="/var/tmp")) / "state"
    root.mkdir(mode=0o700)
    found = Hammer(root, seed, open_tasks)
    try:
        found.run(seconds)
        found.settle()
        return found, found.faults()
    finally:
        for pid in left_over(root):
            kill(pid)
        found.server.close()


def main() -> int:
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    say(f"seed {seed}")
    done, faults = hammer(seconds, seed)
    ends = Counter(str((done.exit_of(name) or {}).get("status")) for name in done.made)
    say(f"{len(done.made)} tasks: {dict(ends)}; killed {dict(done.kills)}")
    told = done.replay()
    rooms, found = done.rooms, done.shells.found()
    typed = sum(text.startswith(token(WRITER, 0)[:-1]) for text in found)
    say(f"commands {dict(done.shells.ran)}; {len(done.shells.acknowledged())} texts acknowledged")
    say(f"rooms: {rooms.kills} opened and killed, {rooms.keys} keys, {rooms.sent} signals typed, {typed} of them sent")
    say(f"{len(done.asked)} requests; ledger {dict(told.kinds)}; cap raised {told.grants} times")
    say(f"{sum(told.spent.values()):,} tokens spent; at most {told.most:.1%} of the cap spent or set aside")
    say("\n".join(faults) or "every task ended exactly once")
    if not faults:
        shutil.rmtree(done.root.parent)
    return 1 if faults else 0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
